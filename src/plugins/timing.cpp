// Timing: each candidate is a copy of the plugin, configured as it would be, that the device measures.
#include "plugins/timing.h"

#include "device/measure.h"
#include "plugins/formats.h"

#include <algorithm>

namespace tenon::plugins
{

namespace
{
//! At the extents of kOPT; an extent that only running tells may be as large as its bound.
Result<TensorArg> operandAt(Ports const& ports, size_t at, std::span<std::array<int32_t, 2> const> dataExtents)
{
    Port const& port = ports.all[at];
    nvinfer1::Dims64 dims = port.opt;
    for (auto const& [output, axis] : dataExtents)
        if (static_cast<size_t>(ports.inputs + output) == at)
            dims.d[axis] = port.max.d[axis];
    TensorArg arg;
    arg.dtype = port.desc.type;
    arg.layout = TENON_TRY(layoutOf(port.desc.format));
    arg.extents.assign(dims.d, dims.d + std::max(dims.nbDims, 0));
    return arg;
}

//! One combination, ready to run.
class TimedCombination
{
  public:
    TimedCombination(Plugin& plugin, Ports ports, TimingOptions const& options)
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
        if (mWorkspace > mOptions.maxWorkspace)
            return std::optional<std::vector<int32_t>>{};
        return std::optional{std::move(tactics)};
    }

    Result<Done> makeOperands()
    {
        TENON_TRY(addOperands());
        Ports const best = atOptimum(mPorts, mOptions.dataExtents);
        std::vector<nvinfer1::PluginTensorDesc> descs;
        for (Port const& port : best.all)
            descs.push_back(port.desc);
        auto const workspace = static_cast<size_t>(std::max<int64_t>(mWorkspace, 0));
        mStep = mOptions.stepOf({*mCopy, std::move(descs), mPorts.inputs, workspace});
        mLaunch = TENON_TRY(mOperands.launch(*mStep));
        return mCopy->reshape(best);
    }

    //! Microseconds per run.
    Result<double> time(int32_t tactic)
    {
        TENON_TRY(mCopy->setTactic(tactic));
        return measure(*mOptions.device, {&mLaunch, 1}, {.rounds = mOptions.least, .runs = mOptions.average});
    }

  private:
    Result<Done> addOperands()
    {
        std::vector<int32_t> inputsUnder(mPorts.all.size() - static_cast<size_t>(mPorts.inputs), -1);
        if (mOptions.mayAlias)
            for (auto const& [output, input] : TENON_TRY(aliasesOf(*mCopy, mPorts)))
                inputsUnder[static_cast<size_t>(output)] = input;
        for (size_t i = 0; i < mPorts.all.size(); ++i)
        {
            TensorArg const arg = TENON_TRY(operandAt(mPorts, i, mOptions.dataExtents));
            size_t const output = i - static_cast<size_t>(mPorts.inputs);
            if (static_cast<int32_t>(i) < mPorts.inputs)
                TENON_TRY(mOperands.addInput(arg));
            else if (inputsUnder[output] >= 0)
                mOperands.addOutputOver(static_cast<size_t>(inputsUnder[output]));
            else
                TENON_TRY(mOperands.addOutput(arg));
        }
        return Done{};
    }

    Plugin& mPlugin;
    Ports mPorts;
    TimingOptions const& mOptions;
    TrialOperands mOperands;
    PluginPtr mCopy;
    int64_t mWorkspace{0};
    std::unique_ptr<Prepared> mStep;
    Launch mLaunch;
};

std::string combinationText(Combination const& combination)
{
    std::string text;
    for (PortChoice const& choice : combination)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tenon::nameOf(choice.type), nameOf(choice.format));
    return text;
}
//! All that the measurements of two layers must have in common to say the same.
std::string problemText(
    Identity const& identity, std::string const& id, Ports const& ports, std::span<Combination const> combinations)
{
    std::string text =
        fmt::format("plugin {} {} {} {}\n{}\n", identity.type, identity.version, identity.nameSpace, id, ports.inputs);
    for (Port const& port : ports.all)
        for (nvinfer1::Dims64 const& dims : {port.min, port.opt, port.max})
        {
            for (int32_t i = 0; i < dims.nbDims; ++i)
                text += fmt::format("{} ", dims.d[i]);
            text += ';';
        }
    for (Combination const& combination : combinations)
        for (PortChoice const& choice : combination)
            text += fmt::format(
                "{} {} {} ", static_cast<int32_t>(choice.type), static_cast<int32_t>(choice.format), choice.scale);
    return text;
}

//! A choice as the number of an entry: the combination, whether there is a tactic, and which.
uint64_t numberOf(Fastest const& choice) noexcept
{
    uint64_t const tactic = choice.tactic ? uint64_t{1} << 32 | static_cast<uint32_t>(*choice.tactic) : 0;
    return static_cast<uint64_t>(choice.combination) << 33 | tactic;
}

//! None: somebody has edited the entry to what the plugin does not offer.
std::optional<Fastest> choiceOf(TimedTactics::Entry const& entry, size_t combinations)
{
    Fastest choice;
    choice.combination = static_cast<size_t>(entry.tactic >> 33);
    if (choice.combination >= combinations)
        return std::nullopt;
    if ((entry.tactic >> 32 & 1) != 0)
        choice.tactic = static_cast<int32_t>(static_cast<uint32_t>(entry.tactic));
    choice.table = fmt::format("known from before: combination {}, {:.2f} us", choice.combination,
        static_cast<double>(entry.milliseconds) * 1000.0);
    return choice;
}
} // namespace

Result<Fastest> fastest(
    Plugin& plugin, Ports const& ports, std::span<Combination const> combinations, TimingOptions const& options)
{
    std::string const id = options.known.tactics == nullptr ? std::string{} : plugin.timingCacheId();
    TimedTactics::Key key{};
    if (!id.empty())
    {
        key = TimedTactics::keyOf(problemText(plugin.identity(), id, ports, combinations));
        if (auto const entry = options.known.tactics->find(key))
            if (auto known = choiceOf(*entry, combinations.size()))
                return *std::move(known);
    }
    Fastest found;
    double best{-1.0};
    for (size_t i = 0; i < combinations.size(); ++i)
    {
        TimedCombination candidate{plugin, withCombination(ports, combinations[i]), options};
        auto const tactics = TENON_TRY(candidate.configure());
        if (!tactics)
            continue;
        if (combinations.size() == 1 && tactics->size() < 2)
        {
            if (!tactics->empty())
                found.tactic = tactics->front();
            return found;
        }
        if (options.known.mustKnow)
            return badConfig("the timing cache does not know plugin {}{}, and BuilderFlag::kERROR_ON_TIMING_CACHE_MISS "
                             "forbids to measure it",
                plugin.identity().show(), id.empty() ? ", which has no timing cache ID" : "");
        TENON_TRY(candidate.makeOperands());
        for (int32_t const tactic : tactics->empty() ? std::vector<int32_t>{0} : *tactics)
        {
            double const microseconds = TENON_TRY(candidate.time(tactic));
            found.table += fmt::format("{}({}) tactic {}: {:.2f} us", found.table.empty() ? "" : "; ",
                combinationText(combinations[i]), tactic, microseconds);
            if (best >= 0.0 && microseconds >= best)
                continue;
            best = microseconds;
            found.combination = i;
            found.tactic = tactics->empty() ? std::nullopt : std::optional{tactic};
        }
    }
    if (!id.empty() && best >= 0.0)
        options.known.tactics->add(key, {numberOf(found), static_cast<float>(best / 1000.0)});
    return found;
}

} // namespace tenon::plugins
