// The checking host: subjects, the table of groups, and the report.
#include "plugins/check/check.h"

#include "plugins/check/groups.h"
#include "plugins/check/isolated.h"
#include "plugins/failure.h"
#include "plugins/registry.h"
#include "plugins/text.h"

#include "impl/NvInferPythonPlugin.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace tenon::plugins::check
{

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginCreatorV3One;
using nvinfer1::IPluginCreatorV3Quick;
using nvinfer1::IPluginV3;
using nvinfer1::PluginFieldCollection;
using nvinfer1::TensorRTPhase;

namespace
{
std::atomic<Mark const*> gChecked{nullptr}; //!< Of the check that runs in this process.
std::atomic<pid_t> gProcess{0};             //!< This: a child that a callback forks may end as it likes.

void onExit() noexcept
{
    Mark const* const mark = getpid() == gProcess ? gChecked.load() : nullptr;
    char const* const callback = mark == nullptr ? nullptr : mark->callback.load();
    if (callback == nullptr)
        return;
    std::fprintf(stderr, "tenon: the plugin that is checked ended the process by exit() in %s(): %s\n", callback,
        flaw::kEnds.change.data());
    std::fflush(nullptr);
    _exit(EXIT_FAILURE); // Whoever waits for this process must not read success.
}

//! While it lives, a plugin that ends the process is told.
class ExitGuard
{
  public:
    explicit ExitGuard(Mark const& mark)
    {
        [[maybe_unused]] static int const isListening = std::atexit(onExit);
        gProcess = getpid();
        gChecked = &mark;
    }
    ~ExitGuard()
    {
        gChecked = nullptr;
    }
    ExitGuard(ExitGuard const&) = delete;
    ExitGuard& operator=(ExitGuard const&) = delete;
};

//! A user's V3 object as one that may be deleted.
class Lent final : public IPluginV3
{
  public:
    explicit Lent(IPluginV3& plugin)
        : mPlugin{plugin}
    {
    }
    nvinfer1::APILanguage getAPILanguage() const noexcept override
    {
        return mPlugin.getAPILanguage();
    }
    nvinfer1::IPluginCapability* getCapabilityInterface(nvinfer1::PluginCapabilityType type) noexcept override
    {
        return mPlugin.getCapabilityInterface(type);
    }
    IPluginV3* clone() noexcept override
    {
        return mPlugin.clone();
    }

  private:
    IPluginV3& mPlugin;
};

//! What the library asks every object of the V2 family first, each question marked: one of them may throw.
void introduce(nvinfer1::IPluginV2& plugin, Watch& watch)
{
    watch.enter("getTensorRTVersion", Generation::kV2);
    Generation const generation = generationOf(plugin);
    watch.enter("getPluginType", generation);
    plugin.getPluginType();
    watch.enter("getPluginVersion");
    plugin.getPluginVersion();
    watch.enter("getPluginNamespace");
    plugin.getPluginNamespace();
}

Result<PluginPtr> madeBy(
    IPluginCreatorInterface& creator, std::string const& nameSpace, PluginFieldCollection const* fields, Watch& watch)
{
    constexpr char const* kName{"checked"};
    PluginFieldCollection const none{};
    fields = fields == nullptr ? &none : fields;
    forgetExplanation();
    auto const answered = [](auto* plugin) -> Result<decltype(plugin)> {
        if (plugin == nullptr)
            return badConfig("createPlugin() returned null for the fields given{}", because());
        return plugin;
    };
    switch (kindOf(creator))
    {
    case CreatorKind::kV1:
    {
        auto* const plugin = TENON_TRY(answered(static_cast<IPluginCreator&>(creator).createPlugin(kName, fields)));
        introduce(*plugin, watch);
        return take(plugin);
    }
    case CreatorKind::kV3One:
        return take(TENON_TRY(answered(
                        static_cast<IPluginCreatorV3One&>(creator).createPlugin(kName, fields, TensorRTPhase::kBUILD))),
            TensorRTPhase::kBUILD);
    case CreatorKind::kV3Quick:
        return take(
            TENON_TRY(answered(static_cast<IPluginCreatorV3Quick&>(creator).createPlugin(kName, nameSpace.c_str(),
                fields, TensorRTPhase::kBUILD, nvinfer1::QuickPluginCreationRequest::kPREFER_JIT))),
            TensorRTPhase::kBUILD);
    case CreatorKind::kUnknown: break;
    }
    return badArgument("the creator is of an unknown kind: '{}'", creator.getInterfaceInfo().kind);
}

//! What its plugins are to be called.
Identity identityOf(IPluginCreatorInterface& creator)
{
    auto const said = [](auto& its, Generation generation) -> Identity {
        return {plugins::stringOf(its.getPluginName()), plugins::stringOf(its.getPluginVersion()),
            plugins::stringOf(its.getPluginNamespace()), generation};
    };
    switch (kindOf(creator))
    {
    case CreatorKind::kV1: return said(static_cast<IPluginCreator&>(creator), Generation::kV2);
    case CreatorKind::kV3One: return said(static_cast<IPluginCreatorV3One&>(creator), Generation::kV3);
    case CreatorKind::kV3Quick: return said(static_cast<IPluginCreatorV3Quick&>(creator), Generation::kV3);
    case CreatorKind::kUnknown: break;
    }
    return {};
}

Result<Done> checkOptions(Options const& options)
{
    for (InputSpec const& spec : options.inputs)
    {
        if (spec.isValues)
            continue;
        if (spec.opt.nbDims < 0 || spec.opt.nbDims > nvinfer1::Dims::MAX_DIMS || spec.min.nbDims != spec.opt.nbDims
            || spec.max.nbDims != spec.opt.nbDims)
            return badArgument("an input has ranks {}, {} and {}", spec.min.nbDims, spec.opt.nbDims, spec.max.nbDims);
        for (int32_t i = 0; i < spec.opt.nbDims; ++i)
            if (spec.min.d[i] < 0 || spec.min.d[i] > spec.opt.d[i] || spec.opt.d[i] > spec.max.d[i])
                return badArgument(
                    "extent {} of an input goes from {} over {} to {}", i, spec.min.d[i], spec.opt.d[i], spec.max.d[i]);
    }
    for (DType const type : options.types)
        if (!isValid(type) || bitsOf(type) < 8 || type == DType::kBOOL || type == DType::kUINT8)
            return badArgument("type {} is never offered to plugins here", static_cast<int32_t>(type));
    return Done{};
}
} // namespace

std::string registeredUnder(Subject const& subject)
{
    return subject.nameSpace         ? *subject.nameSpace
        : subject.creator == nullptr ? std::string{}
                                     : identityOf(*subject.creator).nameSpace;
}

std::vector<Group> const& allGroups()
{
    static std::vector<Group> const groups{{"names", checkNames}, {"objects", checkObjects}, {"shapes", checkShapes},
        {"formats", checkFormats}, {"clones", checkClones}, {"lives", checkLives}, {"store", checkStore},
        {"runs", checkRuns}, {"tactics", checkTactics}, {"empties", checkEmpties}, {"contexts", checkContexts},
        {"gpu", checkGpu}};
    return groups;
}

Subject subjectOf(
    IPluginCreatorInterface& creator, std::optional<std::string> nameSpace, PluginFieldCollection const* fields)
{
    Subject subject;
    subject.make = [&creator, nameSpace, fields](Watch& watch) {
        return madeBy(creator, nameSpace.value_or(identityOf(creator).nameSpace), fields, watch);
    };
    subject.expected = kindOf(creator) == CreatorKind::kV1 ? Generation::kV2 : Generation::kV3;
    subject.creator = &creator;
    subject.nameSpace = std::move(nameSpace);
    subject.fields = fields;
    return subject;
}

Subject subjectOf(nvinfer1::IPluginV2& plugin)
{
    Subject subject;
    subject.make = [&plugin](Watch& watch) {
        introduce(plugin, watch);
        return borrow(plugin);
    };
    subject.expected = Generation::kV2;
    subject.maker = "getTensorRTVersion";
    subject.object = &plugin;
    return subject;
}

Subject subjectOf(IPluginV3& plugin)
{
    Subject subject;
    subject.make = [&plugin](Watch&) { return take(new Lent{plugin}, TensorRTPhase::kBUILD); };
    subject.maker = "getCapabilityInterface";
    subject.object = &plugin;
    return subject;
}

void tellGroup(Options const& options, size_t group)
{
    if (options.onGroup)
        options.onGroup(allGroups()[group].name, group, allGroups().size());
}

Result<Report> checkPlugin(Subject const& subject, Options const& options)
{
    TENON_TRY(checkOptions(options));
    Report report;
    if (options.isolated)
        TENON_TRY(runIsolated(subject, options, report));
    else
    {
        Mark mark;
        ExitGuard const guard{mark};
        bool mayContinue{true};
        for (size_t i = 0; i < allGroups().size() && mayContinue; ++i)
        {
            tellGroup(options, i);
            mayContinue = runGroup(allGroups()[i], subject, options, mark, report);
        }
    }
    return report;
}

bool runGroup(Group const& group, Subject const& subject, Options const& options, Mark& mark, Report& report)
{
    Watch watch{mark};
    {
        Host host{subject, options, watch};
        if (report.identity.type.empty())
        {
            auto const plugin = host.make();
            if (plugin)
                report.identity = (*plugin)->identity();
            else if (subject.creator != nullptr)
                report.identity = identityOf(*subject.creator);
        }
        if (!watch.isStopped())
            if (auto const done = group.check(host); !done && !watch.hasTold(done.error()) && watch.count() == 0)
                watch.add({std::string{flaw::kRefused.check}, std::string{flaw::kRefused.ruleV3}, group.name,
                    done.error().message, std::string{flaw::kRefused.change}});
    }
    bool const mayContinue = !watch.isStopped();
    watch.moveInto(report);
    return mayContinue;
}

} // namespace tenon::plugins::check
