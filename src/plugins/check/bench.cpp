// Bench: memory, addresses, and what a run has done to them.
#include "plugins/check/bench.h"

#include <algorithm>
#include <cstring>

namespace tenon::plugins::check
{

namespace
{
constexpr uint32_t kFillSeed{77};

std::vector<int64_t> extentsAt(Shape const& shape, std::span<int64_t const> values)
{
    std::vector<int64_t> extents;
    for (ShapeExpr const& extent : shape)
        extents.push_back(extent.evaluate(values));
    return extents;
}

std::string placeOf(int64_t position, size_t size)
{
    return position < 0 ? fmt::format("{} bytes before its beginning", -position)
                        : fmt::format("{} bytes behind its end", position - static_cast<int64_t>(size));
}
} // namespace

Result<Bench> Bench::make(Host& host, Form const& form, Ready const& ready, Point point, uint32_t salt)
{
    Bench bench{host};
    bench.mForm = &form;
    bench.mValues = form.valuesAt(point);
    bench.mPorts = form.runPorts(point);
    for (size_t i = 0; i < bench.mPorts.all.size(); ++i)
    {
        nvinfer1::PluginTensorDesc& desc = bench.mPorts.all[i].desc;
        desc.type = ready.ports.all[i].desc.type;
        desc.format = ready.ports.all[i].desc.format;
        desc.scale = ready.ports.all[i].desc.scale;
    }
    TENON_TRY(bench.makeMemory(ready, host.options().seed + salt * 1009));
    return bench;
}

Result<Done> Bench::refill(size_t input, RealTensor& contents)
{
    if (!mHost->options().fill)
        return Done{};
    auto filled = mHost->options().fill(input, contents);
    if (!filled)
        mHost->find(flaw::kFill, Ask::kRun, filled.error().message);
    return filled;
}

Result<Done> Bench::makeMemory(Ready const& ready, uint32_t seed)
{
    mTakenOver.assign(static_cast<size_t>(mPorts.outputs()), -1);
    for (auto const& [output, input] : ready.aliases)
        mTakenOver[static_cast<size_t>(output)] = input;
    for (size_t i = 0; i < mPorts.all.size(); ++i)
    {
        nvinfer1::PluginTensorDesc const& desc = mPorts.all[i].desc;
        bool const isInput = i < mForm->inputs.size();
        Shape const& shape = isInput ? mForm->inputs[i] : mForm->outputs[i - mForm->inputs.size()];
        std::vector<int64_t> const extents = extentsAt(shape, mValues);
        if (!isAddressable(extents))
            return badConfig("{} has a negative or huge extent at these input shapes: {}",
                isInput ? "an input" : fmt::format("output {}", i - mForm->inputs.size()), portsText(mPorts));
        size_t const bytes = TENON_TRY(bytesFor(desc.type, desc.format, extents));
        mMemory.push_back(TENON_TRY(Guarded::make(bytes)));
        if (isInput)
        {
            RealTensor contents = widened(randomTensor(desc.type, extents, seed + static_cast<uint32_t>(i)));
            TENON_TRY(refill(i, contents));
            mInputs.push_back(narrowed(contents, desc.type));
            mInputBytes.push_back(laidOut(mInputs.back(), desc.format));
            mInputAddresses.push_back(mMemory.back().data());
        }
        else
        {
            int32_t const from = mTakenOver[i - mForm->inputs.size()];
            mOutputAddresses.push_back(from < 0 ? mMemory.back().data() : mMemory[static_cast<size_t>(from)].data());
        }
    }
    mInputAddresses.push_back(nullptr); // So that there is an address of addresses even without inputs.
    mOutputAddresses.push_back(nullptr);
    mWorkspace.push_back(TENON_TRY(Guarded::make(ready.workspace)));
    return Done{};
}

void Bench::prepare(Fill fill)
{
    for (size_t i = 0; i < mMemory.size(); ++i)
    {
        mMemory[i].fill(kFillSeed + static_cast<uint32_t>(i), fill.isOutputInverted);
        if (i < mInputBytes.size() && !mInputBytes[i].empty())
            std::memcpy(mMemory[i].data(), mInputBytes[i].data(), mInputBytes[i].size());
    }
    mWorkspace.front().fill(kFillSeed, fill.isWorkspaceInverted);
}

Result<Outcome> Bench::run(Plugin& plugin, Fill fill)
{
    TENON_TRY(plugin.reshape(mPorts));
    return runAgain(plugin, fill);
}

Result<Outcome> Bench::runAgain(Plugin& plugin, Fill fill)
{
    prepare(fill);
    TENON_TRY(plugin.run({mInputAddresses.data(), mOutputAddresses.data(), mWorkspace.front().data(), nullptr}));
    lookAround();
    return outcome();
}

void Bench::lookAround()
{
    std::string const where = "with " + portsText(mPorts);
    for (size_t i = 0; i < mMemory.size(); ++i)
    {
        bool const isInput = i < mInputBytes.size();
        if (auto const at = mMemory[i].damage())
            mHost->find(flaw::kOutputBounds, Ask::kRun,
                fmt::format("it wrote outside {} {}, {} ({} bytes long), {}", isInput ? "input" : "output",
                    isInput ? i : i - mInputBytes.size(), placeOf(*at, mMemory[i].size()), mMemory[i].size(), where));
        bool const isTaken = std::ranges::count(mTakenOver, static_cast<int32_t>(i)) != 0;
        if (isInput && !isTaken && !mInputBytes[i].empty()
            && std::memcmp(mMemory[i].data(), mInputBytes[i].data(), mInputBytes[i].size()) != 0)
            mHost->find(flaw::kInputsKept, Ask::kRun, fmt::format("it changed input {}, {}", i, where));
    }
    Guarded const& workspace = mWorkspace.front();
    if (auto const at = workspace.damage())
        mHost->find(flaw::kWorkspaceBounds, Ask::kRun,
            fmt::format("it wrote outside the {} bytes of workspace that getWorkspaceSize() named, {}, {}",
                workspace.size(), placeOf(*at, workspace.size()), where));
}

Result<Outcome> Bench::outcome()
{
    Outcome outcome = TENON_TRY(outcomeIn(mOutputAddresses));
    mRaw.clear();
    for (RealTensor const& output : outcome.outputs)
        mRaw.push_back(output.data);
    return outcome;
}

Result<Outcome> Bench::outcomeIn(std::span<void const* const> outputs) const
{
    std::vector<int64_t> values = mValues;
    for (size_t k = 0; k < mForm->sizeOutputs.size(); ++k)
    {
        auto const output = static_cast<size_t>(mForm->sizeOutputs[k]);
        int64_t size{0};
        if (mPorts.all[mForm->inputs.size() + output].desc.type == nvinfer1::DataType::kINT64)
            std::memcpy(&size, outputs[output], sizeof(int64_t));
        else
        {
            int32_t narrow{0};
            std::memcpy(&narrow, outputs[output], sizeof(narrow));
            size = narrow;
        }
        int64_t& value = values[mForm->symbols.size() + k];
        if (size < 0 || size > value)
        {
            mHost->find(flaw::kSizeTensor, Ask::kRun,
                fmt::format("it wrote {} to size tensor {}, whose upper bound is {}", size, k, value));
            return badConfig("size tensor {} holds {}", k, size);
        }
        value = size;
    }
    Outcome outcome;
    for (size_t i = 0; i < mForm->outputs.size(); ++i)
    {
        nvinfer1::PluginTensorDesc const& desc = mPorts.all[mForm->inputs.size() + i].desc;
        auto const* data = static_cast<uint8_t const*>(outputs[i]);
        outcome.outputs.push_back(rowMajor(data, desc.type, desc.format, extentsAt(mForm->outputs[i], values)));
    }
    return outcome;
}

std::string Bench::unwritten(
    Bench const& bench, std::vector<Bytes> const& plain, std::vector<Bytes> const& turned, Outcome const& outcome)
{
    for (size_t i = 0; i < outcome.outputs.size(); ++i)
    {
        if (bench.mTakenOver[i] >= 0 || plain[i].size() != turned[i].size())
            continue;
        nvinfer1::PluginTensorDesc const& desc = bench.mPorts.all[bench.mForm->inputs.size() + i].desc;
        RealTensor const& tensor = outcome.outputs[i];
        auto const port = static_cast<uint32_t>(bench.mForm->inputs.size() + i);
        // What was there before the run, in the order of the elements.
        Guarded const& memory = bench.mMemory[port];
        Bytes before(memory.size());
        for (size_t k = 0; k < before.size(); ++k)
            before[k] = patternAt(k, kFillSeed + port);
        Bytes const filled = rowMajor(before.data(), desc.type, desc.format, tensor.extents).data;
        auto const element = static_cast<size_t>(bitsOf(desc.type) / 8);
        for (size_t k = 0; k < filled.size(); ++k)
            if (plain[i][k] == filled[k] && turned[i][k] == static_cast<uint8_t>(~filled[k]))
                return fmt::format("element {} of the {} of output {} is not written, with {}", k / element,
                    filled.size() / element, i, portsText(bench.mPorts));
    }
    return {};
}

} // namespace tenon::plugins::check
