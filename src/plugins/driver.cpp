// The driver: negotiation of types and formats, and the last calls of a build.
#include "plugins/driver.h"

#include "plugins/failure.h"
#include "plugins/formats.h"
#include "plugins/in_callback.h"

#include "NvInferRuntimeBase.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace tenon::plugins
{

namespace
{
using nvinfer1::TensorFormat;

std::string choicesText(std::span<PortChoice const> choices)
{
    std::string text;
    for (PortChoice const& choice : choices)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tenon::nameOf(choice.type), nameOf(choice.format));
    return text;
}

//! So many questions about types and formats suffice for every plugin that accepts something reasonable.
constexpr int64_t kMaxQuestions{100000};

//! Answers to questions that differ in their last port only, and what follows where one was accepted.
struct Answers
{
    struct Answer
    {
        bool isKnown{false};
        bool isAccepted{false};
        std::unique_ptr<Answers> next;
    };
    std::vector<Answer> ofChoices;
};

//! Depth first over the ports: a prefix that the plugin refuses is not continued. Combinations whose ports are all
//! alike come first, then those with one change from a port to the next, and so on: most plugins accept one of the
//! first, while there are exponentially many of the last.
class Negotiation
{
  public:
    Negotiation(Plugin& plugin, Ports ports, std::span<PortOffer const> offers, size_t most)
        : mPlugin{plugin},
          mPorts{std::move(ports)},
          mOffers{offers},
          mMost{most}
    {
        for (Port& port : mPorts.all)
            poison(port);
    }

    Result<std::vector<Combination>> run()
    {
        forgetExplanation(); // Whatever it is about, it is no answer to these questions.
        Answers answers;
        for (size_t changes = 0; changes < std::max<size_t>(mPorts.all.size(), 1) && !isOver(); ++changes)
            descend(0, {}, changes, answers);
        if (mFound.empty())
            return refusal();
        return std::move(mFound);
    }

  private:
    bool isOver() const noexcept
    {
        return mFound.size() >= mMost || mIsCutShort;
    }

    //! The choice like that of the ports before: of the same type and format, else of the format.
    size_t alike(size_t position, std::optional<PortChoice> const& before) const
    {
        std::vector<PortChoice> const& choices = mOffers[position].choices;
        auto const isSame = [&](PortChoice const& choice) {
            return choice.type == before->type && choice.format == before->format;
        };
        auto const hasFormat = [&](PortChoice const& choice) { return choice.format == before->format; };
        for (auto found : {std::ranges::find_if(choices, isSame), std::ranges::find_if(choices, hasFormat)})
            if (found != choices.end())
                return static_cast<size_t>(found - choices.begin());
        return 0;
    }

    //! `changes`: exactly as many ports from here on are unlike those before them.
    void descend(size_t position, std::optional<PortChoice> const& before, size_t changes, Answers& answers)
    {
        size_t const left = mPorts.all.size() - position;
        if (changes > left)
            return;
        if (left == 0)
        {
            mFound.push_back(mCurrent);
            return;
        }
        if (position > mDeepest || mPrefix.empty())
        {
            mDeepest = position;
            mPrefix = choicesText(mCurrent);
        }
        std::vector<PortChoice> const& choices = mOffers[position].choices;
        answers.ofChoices.resize(choices.size());
        size_t const same = before ? alike(position, before) : 0;
        for (size_t i = 0; i < choices.size() && !isOver(); ++i)
        {
            bool const isChange = before && i != same;
            if ((isChange && changes == 0) || !accepts(position, choices[i], answers.ofChoices[i]))
                continue;
            mCurrent.push_back(choices[i]);
            // A port that cannot be like those before it leaves the ports behind it to follow those.
            descend(position + 1, !before || isChange ? choices[i] : before, changes - (isChange ? 1 : 0),
                *answers.ofChoices[i].next);
            mCurrent.pop_back();
        }
        poison(mPorts.all[position]);
    }

    //! The plugin's answer, asked for once.
    bool accepts(size_t position, PortChoice const& choice, Answers::Answer& answer)
    {
        put(mPorts.all[position], choice);
        if (answer.isKnown)
            return answer.isAccepted;
        if (mQuestions == kMaxQuestions)
        {
            mIsCutShort = true;
            return false;
        }
        ++mQuestions;
        answer.isKnown = true;
        InCallback const inside{Ask::kAccepts, mPlugin.identity()};
        answer.isAccepted = mPlugin.accepts(static_cast<int32_t>(position), mPorts);
        if (answer.isAccepted)
        {
            forgetExplanation();
            answer.next = std::make_unique<Answers>();
        }
        return answer.isAccepted;
    }

    Error refusal() const
    {
        PortOffer const& offer = mOffers[mDeepest];
        return badConfig(
            "plugin {} accepts no type and format for {}{}: refused were {}{}; let it accept one of these{}",
            mPlugin.identity().show(), offer.name,
            mPrefix.empty() ? "" : fmt::format(" (after {} for the ports before it)", mPrefix),
            offer.choices.empty() ? "none, since no type can be offered there" : choicesText(offer.choices),
            mIsCutShort ? fmt::format(" (the search ended after {} questions)", kMaxQuestions) : "", because());
    }

    Plugin& mPlugin;
    Ports mPorts;
    std::span<PortOffer const> mOffers;
    size_t mMost;
    std::vector<Combination> mFound;
    Combination mCurrent;
    size_t mDeepest{0};
    std::string mPrefix;
    int64_t mQuestions{0};
    bool mIsCutShort{false};
};

} // namespace

nvinfer1::Dims64 dimsAt(Shape const& shape, std::span<int64_t const> values)
{
    nvinfer1::Dims64 dims = dimsOf(shape);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        dims.d[i] = shape[static_cast<size_t>(i)].evaluate(values);
    return dims;
}

void poison(Port& port) noexcept
{
    port.desc.type = static_cast<DType>(-1);
    port.desc.format = static_cast<TensorFormat>(-1);
}

void put(Port& port, PortChoice const& choice) noexcept
{
    port.desc.type = choice.type;
    port.desc.format = choice.format;
    port.desc.scale = choice.type == DType::kINT8 ? choice.scale : -1.0F; // J12
}

Result<std::vector<Combination>> negotiate(Plugin& plugin, Ports ports, std::span<PortOffer const> offers, size_t most)
{
    int32_t const limit = plugin.combinationLimit();
    if (limit < 1)
        return badConfig(
            "getFormatCombinationLimit() of plugin {} answers {}: it is at least 1", plugin.identity().show(), limit);
    return Negotiation{plugin, std::move(ports), offers, std::min(most, static_cast<size_t>(limit))}.run();
}

Ports withCombination(Ports ports, Combination const& combination)
{
    for (size_t i = 0; i < ports.all.size(); ++i)
        put(ports.all[i], combination[i]);
    return ports;
}

Ports atOptimum(Ports ports, std::span<std::array<int32_t, 2> const> dataExtents)
{
    for (Port& port : ports.all)
    {
        port.desc.dims = port.opt;
        port.min = port.opt;
        port.max = port.opt;
    }
    for (auto const& [output, axis] : dataExtents)
        ports.all[static_cast<size_t>(ports.inputs + output)].desc.dims.d[axis] = -1;
    return ports;
}

Result<Aliases> aliasesOf(Plugin& plugin, Ports const& ports)
{
    Aliases aliases;
    for (int32_t output = 0; output < ports.outputs(); ++output)
    {
        int32_t const input = plugin.aliasedInput(output);
        if (input == -1)
            continue;
        if (input < 0 || input >= ports.inputs)
            return badConfig("getAliasedInput({}) of plugin {} answers {}: there are {} inputs", output,
                plugin.identity().show(), input, ports.inputs);
        bool const isTaken = std::ranges::any_of(aliases, [&](auto const& each) { return each.second == input; });
        if (isTaken)
            return badConfig(
                "getAliasedInput() of plugin {} gives input {} to two outputs", plugin.identity().show(), input);
        Port const& from = ports.all[static_cast<size_t>(input)];
        Port const& to = ports.all[static_cast<size_t>(ports.inputs + output)];
        bool const isSame = from.desc.type == to.desc.type && from.desc.format == to.desc.format
            && from.desc.dims.nbDims == to.desc.dims.nbDims
            && std::equal(from.max.d, from.max.d + std::max(from.max.nbDims, 0), to.max.d);
        if (!isSame)
            return badConfig("getAliasedInput({}) of plugin {} names input {}, whose type, format or shape is another",
                output, plugin.identity().show(), input);
        aliases.emplace_back(output, input);
    }
    return aliases;
}

//! Without the feature outputs have memory of their own, and a function that works in its input's would compute
//! something else.
Result<Done> checkNoAlias(Plugin& plugin, Ports const& ports)
{
    for (int32_t output = 0; output < ports.outputs(); ++output)
        if (int32_t const input = plugin.describedAlias(output); input >= 0)
            return badConfig("output {} of plugin {} takes over the memory of input {}, for which "
                             "PreviewFeature::kALIASED_PLUGIN_IO_10_03 must be on: setPreviewFeature switches it on",
                output, plugin.identity().show(), input);
    return Done{};
}

Result<int64_t> workspaceOf(Plugin& plugin, Ports const& ports)
{
    constexpr size_t kLimit{size_t{1} << 48U};
    size_t const bytes = TENON_TRY(plugin.workspace(ports));
    if (bytes > kLimit)
        return badConfig("getWorkspaceSize() of plugin {} failed, or answers more than there is: {}{}",
            plugin.identity().show(), bytes, because());
    return static_cast<int64_t>(bytes);
}

Result<Finished> finish(Plugin& plugin, std::span<Ports const> profiles, FinishOptions const& options)
{
    PluginPtr const copy = TENON_TRY(plugin.clone());
    bool const sizesLate = isBatchless(copy->identity().generation); // J18
    Finished result;
    auto const grow = [&](Ports const& ports) -> Result<Done> {
        int64_t const bytes = TENON_TRY(workspaceOf(*copy, ports));
        if (bytes > options.maxWorkspace)
            return badConfig("plugin {} wants a workspace of {} bytes, and the limit of MemoryPoolType::kWORKSPACE is "
                             "{}; raise the limit, or lower the bounds of the profiles",
                copy->identity().show(), bytes, options.maxWorkspace);
        result.workspace = std::max(result.workspace, bytes);
        return Done{};
    };
    for (Ports const& ports : profiles)
    {
        InCallback const inside{Ask::kConfigure, copy->identity()};
        TENON_TRY(copy->configure(ports));
        result.tactics = TENON_TRY(copy->tactics());
        if (!sizesLate)
            TENON_TRY(grow(ports));
    }
    result.timingCacheId = copy->timingCacheId();
    result.tactic = options.tactic ? *options.tactic : result.tactics.empty() ? 0 : result.tactics.front();
    if (options.mayAlias)
        result.aliases = TENON_TRY(aliasesOf(*copy, profiles.front()));
    else
        TENON_TRY(checkNoAlias(*copy, profiles.front()));
    TENON_TRY(copy->initialize());
    for (Ports const& ports : profiles)
    {
        if (sizesLate)
            TENON_TRY(grow(ports));
        InCallback const inside{Ask::kReshape, copy->identity()};
        TENON_TRY(copy->reshape(atOptimum(ports, options.dataExtents)));
    }
    InCallback const inside{Ask::kStore, copy->identity()};
    result.stored = TENON_TRY(copy->stored());
    result.metadata = copy->metadata();
    return result;
}

} // namespace tenon::plugins
