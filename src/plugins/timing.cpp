// Timing: made-up operands on the device, which runs the candidates and says how long each took.
#include "plugins/timing.h"

#include "device/host/host_device.h"
#include "plugins/cpu_body.h"
#include "plugins/formats.h"

#include <algorithm>
#include <random>

namespace tenon::plugins
{

namespace
{
//! Memory of the device for one run's operands.
class Operands
{
  public:
    explicit Operands(Device& device)
        : mDevice{device}
    {
    }
    Operands(Operands const&) = delete;
    Operands& operator=(Operands const&) = delete;
    ~Operands()
    {
        for (void* const memory : mAll)
            mDevice.release(memory);
    }
    Result<void*> make(int64_t bytes)
    {
        auto const size = static_cast<size_t>(std::max<int64_t>(bytes, 1)); // Never null (L23).
        void* const memory = mDevice.allocate(size);
        if (memory == nullptr)
            return errorOf(nvinfer1::ErrorCode::kFAILED_ALLOCATION, "no {} bytes for timing it", size);
        mAll.push_back(memory);
        return memory;
    }
    //! Numbers that each type can have: reals between −1 and 1, integers 0 and 1 (indices stay in range).
    Result<Done> fill(void* memory, Port const& port, int64_t bytes)
    {
        std::vector<uint8_t> data(static_cast<size_t>(bytes));
        auto const put = [&](auto value) {
            using T = decltype(value());
            for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T))
            {
                T const each = value();
                std::memcpy(data.data() + at, &each, sizeof each);
            }
        };
        switch (port.desc.type)
        {
        case DType::kFLOAT: put([&] { return std::uniform_real_distribution<float>{-1.0F, 1.0F}(mRandom); }); break;
        case DType::kHALF: put([&] { return static_cast<uint16_t>(mRandom() & 0xBBFFU); }); break; // Below 1.
        case DType::kBF16: put([&] { return static_cast<uint16_t>(0x3F00U | (mRandom() & 0x807FU)); }); break;
        case DType::kINT32: put([&] { return static_cast<int32_t>(mRandom() & 1U); }); break;
        case DType::kINT64: put([&] { return static_cast<int64_t>(mRandom() & 1U); }); break;
        default: put([&] { return static_cast<uint8_t>(mRandom() & 1U); }); break;
        }
        mDevice.copyFromHost(memory, data.data(), data.size());
        return Done{};
    }

  private:
    Device& mDevice;
    std::vector<void*> mAll;
    std::mt19937 mRandom{20261121}; //!< The same data for every candidate.
};

//! At the extents of kOPT; an extent that only running tells may be as large as its bound.
Result<int64_t> bytesOf(Ports const& ports, size_t at, std::span<std::array<int32_t, 2> const> dataExtents)
{
    Port const& port = ports.all[at];
    Layout const layout = TENON_TRY(layoutOf(port.desc.format));
    nvinfer1::Dims64 dims = port.opt;
    for (auto const& [output, axis] : dataExtents)
        if (static_cast<size_t>(ports.inputs + output) == at)
            dims.d[axis] = port.max.d[axis];
    return tenon::bytesOf(port.desc.type, layout, {dims.d, static_cast<size_t>(std::max(dims.nbDims, 0))});
}

//! A plugin as a step of the device, which is where operands can be read and the time is known.
class TimedStep final : public Prepared
{
  public:
    TimedStep(Plugin& plugin, CpuBody body, std::span<nvinfer1::PluginTensorDesc const> descs, int32_t inputs)
        : mPlugin{plugin},
          mBody{body},
          mDescs{descs},
          mInputs{inputs}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        TimingPhase const phase;
        return runOnHost(mBody, mPlugin, mDescs, mInputs,
            {call.inputs, call.outputs, call.scratch, static_cast<cudaStream_t>(call.stream)});
    }

  private:
    Plugin& mPlugin;
    CpuBody mBody;
    std::span<nvinfer1::PluginTensorDesc const> mDescs;
    int32_t mInputs;
};

//! One combination, ready to run.
class Candidate
{
  public:
    Candidate(Plugin& plugin, Ports ports, TimingOptions const& options)
        : mPlugin{plugin},
          mPorts{std::move(ports)},
          mOptions{options},
          mOperands{*options.device}
    {
    }

    //! The tactics; none at all where the workspace is too large.
    Result<std::optional<std::vector<int32_t>>> configure()
    {
        mCopy = TENON_TRY(mPlugin.clone());
        TENON_TRY(mCopy->configure(mPorts));
        std::vector<int32_t> tactics = TENON_TRY(mCopy->tactics());
        bool const sizesLate = isBatchless(mCopy->identity().generation); // J18
        if (!sizesLate)
            mWorkspace = TENON_TRY(workspaceOf(*mCopy, mPorts));
        TENON_TRY(mCopy->initialize());
        if (sizesLate)
            mWorkspace = TENON_TRY(workspaceOf(*mCopy, mPorts));
        if (mWorkspace > mOptions.mostWorkspace)
            return std::optional<std::vector<int32_t>>{};
        return std::optional{std::move(tactics)};
    }

    Result<Done> makeOperands()
    {
        for (size_t i = 0; i < mPorts.all.size(); ++i)
        {
            int64_t const bytes = TENON_TRY(bytesOf(mPorts, i, mOptions.dataExtents));
            void* const memory = TENON_TRY(mOperands.make(bytes));
            bool const isInput = static_cast<int32_t>(i) < mPorts.inputs;
            if (isInput)
                TENON_TRY(mOperands.fill(memory, mPorts.all[i], bytes));
            (isInput ? mInputs : mOutputs).push_back(memory);
        }
        if (mOptions.mayAlias)
            for (auto const& [output, input] : TENON_TRY(aliasesOf(*mCopy, mPorts)))
                mOutputs[static_cast<size_t>(output)] = mInputs[static_cast<size_t>(input)];
        mScratch = TENON_TRY(mOperands.make(mWorkspace));
        Ports const best = atOptimum(mPorts, mOptions.dataExtents);
        for (Port const& port : best.all)
            mDescs.push_back(port.desc);
        if (dynamic_cast<HostDevice const*>(mOptions.device) != nullptr) // The host's threads run its steps.
            mBody = findCpuBody(*mCopy);
        return mCopy->reshape(best);
    }

    //! Microseconds per run.
    Result<double> time(int32_t tactic)
    {
        std::vector<void const*> const inputs{mInputs.begin(), mInputs.end()};
        TimedStep const step{*mCopy, mBody, mDescs, mPorts.inputs};
        Launch const launch{&step, {inputs.data(), mOutputs.data(), mScratch}, 0, mInputs.size(), mOutputs.size()};
        TENON_TRY(mCopy->setTactic(tactic));
        TENON_TRY(mean({&launch, 1})); // Caches and pages are warm then.
        std::vector<Launch> const round(static_cast<size_t>(std::max(mOptions.average, 1)), launch);
        double best = TENON_TRY(mean(round));
        for (int32_t i = 1; i < mOptions.least; ++i)
            best = std::min(best, TENON_TRY(mean(round)));
        return best;
    }

  private:
    Result<double> mean(std::span<Launch const> launches)
    {
        double sum{0.0};
        StepObserver const add = [&](Launch const&, double microseconds) {
            sum += microseconds;
            return true;
        };
        RunOptions options;
        options.observer = &add;
        RunFailure failure;
        TENON_TRY(mOptions.device->runApart(launches, options, failure));
        return sum / static_cast<double>(launches.size());
    }

    Plugin& mPlugin;
    Ports mPorts;
    TimingOptions const& mOptions;
    Operands mOperands;
    PluginPtr mCopy;
    CpuBody mBody{nullptr};
    std::vector<nvinfer1::PluginTensorDesc> mDescs;
    int64_t mWorkspace{0};
    std::vector<void*> mInputs;
    std::vector<void*> mOutputs;
    void* mScratch{nullptr};
};

std::string textOf(Combination const& combination)
{
    std::string text;
    for (PortChoice const& choice : combination)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tenon::nameOf(choice.type), nameOf(choice.format));
    return text;
}
} // namespace

Result<Fastest> fastest(
    Plugin& plugin, Ports const& ports, std::span<Combination const> combinations, TimingOptions const& options)
{
    Fastest found;
    double best{-1.0};
    for (size_t i = 0; i < combinations.size(); ++i)
    {
        Candidate candidate{plugin, withCombination(ports, combinations[i]), options};
        auto const tactics = TENON_TRY(candidate.configure());
        if (!tactics)
            continue;
        if (combinations.size() == 1 && tactics->size() < 2)
        {
            if (!tactics->empty())
                found.tactic = tactics->front();
            return found;
        }
        TENON_TRY(candidate.makeOperands());
        for (int32_t const tactic : tactics->empty() ? std::vector<int32_t>{0} : *tactics)
        {
            double const microseconds = TENON_TRY(candidate.time(tactic));
            found.table += fmt::format("{}({}) tactic {}: {:.2f} us", found.table.empty() ? "" : "; ",
                textOf(combinations[i]), tactic, microseconds);
            if (best >= 0.0 && microseconds >= best)
                continue;
            best = microseconds;
            found.combination = i;
            found.tactic = tactics->empty() ? std::nullopt : std::optional{tactic};
        }
    }
    return found;
}

} // namespace tenon::plugins
