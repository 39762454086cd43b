// Timing: made-up operands on the device, and the clock around runs.
#include "plugins/timing.h"

#include "device/device.h"
#include "plugins/cpu_body.h"
#include "plugins/formats.h"

#include <algorithm>
#include <chrono>
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

double microsecondsOf(std::chrono::steady_clock::duration time)
{
    return std::chrono::duration<double, std::micro>(time).count();
}

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
        if (mOptions.device->usesHostMemory())
            mBody = findCpuBody(mCopy->identity());
        return mCopy->reshape(best);
    }

    //! Microseconds per run.
    Result<double> time(int32_t tactic)
    {
        std::vector<void const*> const inputs{mInputs.begin(), mInputs.end()};
        Work const work{inputs.data(), mOutputs.data(), mScratch, nullptr};
        TimingPhase const phase;
        TENON_TRY(mCopy->setTactic(tactic));
        TENON_TRY(run(work)); // Caches and pages are warm then.
        double best{0.0};
        for (int32_t round = 0; round < std::max(mOptions.least, 1); ++round)
        {
            auto const start = std::chrono::steady_clock::now();
            for (int32_t i = 0; i < std::max(mOptions.average, 1); ++i)
                TENON_TRY(run(work));
            double const mean =
                microsecondsOf(std::chrono::steady_clock::now() - start) / std::max(mOptions.average, 1);
            best = round == 0 ? mean : std::min(best, mean);
        }
        return best;
    }

  private:
    Result<Done> run(Work const& work)
    {
        return runOnHost(mBody, *mCopy, mDescs, mPorts.inputs, work);
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
