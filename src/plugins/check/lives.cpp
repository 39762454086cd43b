// How objects of a plugin begin and end: new objects, clones that carry everything, ends that leave others alone.
#include "plugins/capability.h"
#include "plugins/check/groups.h"

#include <algorithm>

namespace tenon::plugins::check
{

using nvinfer1::IPluginV2;
using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneRuntime;

namespace
{
//! Lends nothing; for a call whose result goes at once.
class NoResources final : public nvinfer1::IPluginResourceContext
{
  public:
    nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override
    {
        return mAllocator;
    }
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return nullptr;
    }
    explicit NoResources(nvinfer1::IGpuAllocator* allocator)
        : mAllocator{allocator}
    {
    }

  private:
    nvinfer1::IGpuAllocator* mAllocator;
};

void checkCloneV2(Host& host, IPluginV2& plugin)
{
    host.watch().enter(Ask::kClone, host.generation());
    IPluginV2* const first = plugin.clone();
    IPluginV2* const second = plugin.clone();
    host.watch().enter(nullptr);
    if (first == nullptr || second == nullptr)
    {
        host.watch().failed(Ask::kClone, host.generation(), badConfig("it returned null{}", because()));
        host.watch().stop();
    }
    else if (first == &plugin || second == &plugin || first == second)
        host.find(flaw::kNewObject, Ask::kClone, "it returned an object that somebody has already");
    else
    {
        host.watch().enter(Ask::kDestroy, host.generation());
        first->destroy();
        second->destroy();
        host.watch().enter(nullptr);
    }
}

void checkNewV3(Host& host, Ask ask, IPluginV3 const* original, IPluginV3* first, IPluginV3* second)
{
    host.watch().enter(nullptr);
    if (first == nullptr || second == nullptr)
    {
        host.watch().failed(ask, host.generation(), badConfig("it returned null{}", because()));
        host.watch().stop();
    }
    else if (first == original || second == original || first == second || first == host.subject().object)
        host.find(flaw::kNewObject, ask, "it returned an object that somebody has already");
    else
    {
        host.watch().enter(Ask::kDestroy, host.generation());
        delete first;
        delete second;
        host.watch().enter(nullptr);
    }
}

//! Objects whose results are compared: each is told the shapes and runs on the same memory.
Result<std::string> differs(Bench& bench, Plugin& plugin, Outcome const& wanted)
{
    Outcome const outcome = TENON_TRY(bench.run(plugin));
    return outcome.differenceFrom(wanted);
}

//! The text of what differs or failed; empty: all is as before.
std::string trouble(Host& host, Bench& bench, Plugin& plugin, Outcome const& wanted)
{
    Watch::Quiet const quiet{host.watch()};
    auto const text = differs(bench, plugin, wanted);
    return text ? *text : text.error().message;
}

Result<Bytes> quietly(Host& host, Plugin& plugin)
{
    Watch::Quiet const quiet{host.watch()};
    return plugin.stored();
}
} // namespace

Result<Scene> setScene(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    Scene scene;
    scene.form = TENON_TRY(host.form(*plugin));
    scene.combinations = TENON_TRY(host.combinations(*plugin, scene.form));
    auto ready = host.ready(scene.form, scene.combinations.front());
    if (!ready)
        host.watch().stop(); // Nothing can run.
    scene.ready = TENON_TRY(std::move(ready));
    return scene;
}

Result<Done> checkObjects(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    if (IPluginV2* const v2 = plugin->v2())
    {
        checkCloneV2(host, *v2);
        return Done{};
    }
    IPluginV3& v3 = *plugin->v3();
    host.watch().enter(Ask::kClone, host.generation());
    IPluginV3* const first = v3.clone();
    checkNewV3(host, Ask::kClone, &v3, first, v3.clone());
    if (host.watch().isStopped() || isQuick(v3))
        return Done{};
    auto* const runtime = TENON_TRY(
        capability<IPluginV3OneRuntime>(v3, nvinfer1::PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME"));
    NoResources context{&host.allocator()};
    NoResources other{&host.allocator()};
    host.watch().enter(Ask::kAttach, host.generation());
    IPluginV3* const attached = runtime->attachToContext(&context);
    checkNewV3(host, Ask::kAttach, &v3, attached, runtime->attachToContext(&other));
    return Done{};
}

Result<Done> checkClones(Host& host)
{
    Scene scene = TENON_TRY(setScene(host));
    Ready& ready = scene.ready;
    PluginPtr const clone = TENON_TRY(ready.plugin->clone());
    auto const mine = quietly(host, *ready.plugin);
    auto const theirs = quietly(host, *clone);
    if (mine && (!theirs || *mine != *theirs))
        host.find(flaw::kCloneCarries, Ask::kClone, "what the clone stores is not what the original stores");
    {
        Watch::Quiet const quiet{host.watch()};
        if (auto const bytes = clone->workspace(ready.ports); bytes && *bytes != ready.workspace)
            host.find(flaw::kCloneCarries, Ask::kClone,
                fmt::format("the clone asks for {} bytes of workspace, the original for {}", *bytes, ready.workspace));
    }
    Bench bench = TENON_TRY(Bench::make(host, scene.form, ready, Point::kOpt));
    // The V2 family may run the object itself; one of V3 runs attached only.
    PluginPtr const attached = TENON_TRY(host.attached(*ready.plugin, ready.tactic()));
    PluginPtr const ofClone = TENON_TRY(host.attached(*clone, ready.tactic()));
    bool const isV3 = host.generation() == Generation::kV3;
    Plugin& first = isV3 ? *attached : *ready.plugin;
    Outcome const wanted = TENON_TRY(bench.run(first));
    if (std::string const text = TENON_TRY(bench.runAgain(first)).differenceFrom(wanted); !text.empty())
    {
        host.find(flaw::kRepeatable, Ask::kRun, "a second run with the same inputs gives something else: " + text);
        return Done{};
    }
    std::string const wrong = trouble(host, bench, isV3 ? *ofClone : *attached, wanted);
    if (wrong.empty())
        return Done{};
    // Does it miss what initialize() makes, or a member?
    PluginPtr const again = TENON_TRY(ready.plugin->clone());
    bool const helps = !isV3 && again->initialize() && trouble(host, bench, *again, wanted).empty();
    if (helps)
        host.find(flaw::kCloneReady, Ask::kClone,
            "the clone of an initialized plugin works only after another initialize(): " + wrong);
    else
        host.find(flaw::kCloneCarries, Ask::kClone, "the clone computes something else than the original: " + wrong);
    return Done{};
}

namespace
{
//! `end` lets go of another object; the one at work has to go on as before.
template <typename End>
bool survives(Host& host, Bench& bench, Plugin& plugin, Outcome const& wanted, Flaw const& flaw, Ask ask, End&& end)
{
    if (auto const done = end(); !done)
        return true; // Told where it happened.
    std::string const wrong = trouble(host, bench, plugin, wanted);
    if (wrong.empty())
        return true;
    host.find(flaw, ask, fmt::format("afterwards another object goes wrong: {}", wrong));
    host.watch().stop();
    return false;
}

Result<Done> checkTerminate(Host& host, Bench& bench, Plugin& original, Plugin& running, Outcome const& wanted)
{
    bool const holds =
        survives(host, bench, running, wanted, flaw::kTerminateKeeps, Ask::kTerminate, [&]() -> Result<Done> {
            PluginPtr const copy = TENON_TRY(original.clone());
            TENON_TRY(copy->initialize());
            copy->terminate();
            return Done{};
        });
    if (!holds)
        return Done{};
    PluginPtr const copy = TENON_TRY(original.clone());
    TENON_TRY(copy->initialize());
    copy->terminate();
    TENON_TRY(copy->initialize());
    if (std::string const wrong = trouble(host, bench, *copy, wanted); !wrong.empty())
        host.find(flaw::kInitializeAgain, Ask::kInitialize,
            "after initialize(), terminate() and initialize() it goes wrong: " + wrong);
    return Done{};
}
} // namespace

Result<Done> checkLives(Host& host)
{
    Scene scene = TENON_TRY(setScene(host));
    Ready& ready = scene.ready;
    Bench bench = TENON_TRY(Bench::make(host, scene.form, ready, Point::kOpt));
    {
        PluginPtr const running = TENON_TRY(host.attached(*ready.plugin, ready.tactic()));
        Outcome const wanted = TENON_TRY(bench.run(*running));
        bool mayContinue =
            survives(host, bench, *running, wanted, flaw::kDestroyKeeps, Ask::kDestroy, [&]() -> Result<Done> {
                PluginPtr const copy = TENON_TRY(ready.plugin->clone());
                return Done{};
            });
        mayContinue = mayContinue
            && survives(host, bench, *running, wanted, flaw::kDetachKeeps, Ask::kDetach, [&]() -> Result<Done> {
                   PluginPtr const other = TENON_TRY(host.attached(*ready.plugin, ready.tactic()));
                   TENON_TRY(bench.run(*other));
                   return Done{};
               });
        if (mayContinue && host.generation() != Generation::kV3)
            TENON_TRY(checkTerminate(host, bench, *ready.plugin, *running, wanted));
    }
    ready.plugin.reset();
    if (size_t const left = host.allocator().outstanding(); left != 0)
        host.find(flaw::kAllocations, Ask::kDetach,
            fmt::format("{} blocks of the context's allocator were not given back", left));
    return Done{};
}

} // namespace tenon::plugins::check
