// Serialization: sizes, bytes, and what becomes of them when a plan is loaded.
#include "plugins/check/groups.h"
#include "plugins/registry.h"

#include <algorithm>

namespace tenon::plugins::check
{

namespace
{
struct Written
{
    Guarded memory;
    size_t size{0};
};

Result<Written> write(Host& host, nvinfer1::IPluginV2& plugin, bool isInverted)
{
    host.watch().enter("getSerializationSize");
    size_t const size = plugin.getSerializationSize();
    auto memory = Guarded::make(size);
    if (!memory)
    {
        host.watch().find(flaw::kSerializeSize, host.generation(), "getSerializationSize", memory.error().message);
        return std::move(memory).error();
    }
    Written written{*std::move(memory), size};
    written.memory.fill(3, isInverted);
    host.watch().enter(Ask::kStore, host.generation());
    plugin.serialize(written.memory.data());
    host.watch().enter(nullptr);
    return written;
}

//! Twice into memory that holds other things: what differs was not written.
Result<Done> checkSizes(Host& host, nvinfer1::IPluginV2& plugin)
{
    Written const plain = TENON_TRY(write(host, plugin, false));
    Written const turned = TENON_TRY(write(host, plugin, true));
    if (plain.size != turned.size)
    {
        host.watch().find(flaw::kStable, host.generation(), "getSerializationSize",
            fmt::format("it answered {} and then {}", plain.size, turned.size));
        return Done{};
    }
    if (auto const at = plain.memory.damage())
        host.find(flaw::kSerializeSize, Ask::kStore,
            fmt::format(
                "it wrote past the {} bytes that getSerializationSize() named: byte {} is damaged", plain.size, *at));
    for (size_t i = 0; i < plain.size; ++i)
    {
        uint8_t const a = plain.memory.data()[i];
        uint8_t const b = turned.memory.data()[i];
        if (a == b)
            continue;
        bool const isLeft = a == patternAt(i, 3) && b == static_cast<uint8_t>(~a);
        if (isLeft)
            host.find(flaw::kSerializeSize, Ask::kStore,
                fmt::format("it left byte {} of the {} that getSerializationSize() named as it was", i, plain.size));
        else
            host.find(flaw::kStable, Ask::kStore, fmt::format("byte {} is another each time", i));
        break;
    }
    return Done{};
}

//! As an engine does when it is loaded.
Result<PluginPtr> restored(Host& host, Plugin& original, Bytes const& stored)
{
    Identity identity = original.identity();
    std::string const nameSpace = registeredUnder(host.subject());
    if (host.generation() != Generation::kV3)
        identity.nameSpace = nameSpace; // As the network would have told it.
    Registry registry;
    TENON_TRY(registry.add(*host.subject().creator, nameSpace));
    host.watch().enter(Ask::kRestore, host.generation());
    auto made = registry.restore(identity, "checked", stored);
    host.watch().enter(nullptr);
    if (!made)
    {
        host.find(flaw::kRoundTrip, Ask::kRestore, made.error().message);
        return std::move(made).error().in("not restored");
    }
    PluginPtr plugin = watched(*std::move(made), host.watch(), host.body());
    TENON_TRY(plugin->initialize());
    return plugin;
}

Result<Done> checkRoundTrip(Host& host, Scene& scene, Bytes const& stored)
{
    size_t const before = host.watch().count();
    auto again = restored(host, *scene.ready.plugin, stored);
    if (!again && host.watch().count() != before)
        return Done{};
    PluginPtr const plugin = TENON_TRY(std::move(again));
    Bytes const twice = TENON_TRY(plugin->stored());
    if (twice != stored)
    {
        size_t const at = static_cast<size_t>(
            std::mismatch(stored.begin(), stored.end(), twice.begin(), twice.end()).first - stored.begin());
        host.find(flaw::kRoundTrip, Ask::kRestore,
            fmt::format("the restored plugin stores {} bytes, the original {}, and byte {} is the first that differs",
                twice.size(), stored.size(), at));
        return Done{};
    }
    if (host.generation() != Generation::kV3)
        if (Form const form = TENON_TRY(host.form(*plugin)); form.outputs != scene.form.outputs)
            host.find(flaw::kRoundTrip, Ask::kRestore, "the restored plugin has outputs of other shapes");
    Bench bench = TENON_TRY(Bench::make(host, scene.form, scene.ready, Point::kOpt));
    bool const isV3 = host.generation() == Generation::kV3;
    PluginPtr const mine = isV3 ? TENON_TRY(host.attached(*scene.ready.plugin, scene.ready.tactic())) : nullptr;
    PluginPtr const theirs = isV3 ? TENON_TRY(host.attached(*plugin, scene.ready.tactic())) : nullptr;
    Outcome const wanted = TENON_TRY(bench.run(isV3 ? *mine : *scene.ready.plugin));
    Watch::Quiet const quiet{host.watch()};
    auto const outcome = bench.run(isV3 ? *theirs : *plugin);
    std::string const wrong = outcome ? (*outcome).differenceFrom(wanted) : outcome.error().message;
    if (!wrong.empty())
        host.find(flaw::kRoundTrip, Ask::kStore, "the restored plugin computes something else: " + wrong);
    return Done{};
}
} // namespace

Result<Done> checkStore(Host& host)
{
    Scene scene = TENON_TRY(setScene(host));
    size_t const before = host.watch().count();
    if (nvinfer1::IPluginV2* const v2 = scene.ready.plugin->v2())
        TENON_TRY(checkSizes(host, *v2));
    if (host.watch().count() != before)
        return Done{};
    Bytes const stored = TENON_TRY(scene.ready.plugin->stored());
    if (TENON_TRY(scene.ready.plugin->stored()) != stored)
        host.find(flaw::kStable, Ask::kStore, "it stores something else each time");
    else if (host.subject().creator != nullptr)
        return checkRoundTrip(host, scene, stored);
    else
        host.watch().note("not read again: what is stored, since no creator was given");
    return Done{};
}

} // namespace tenon::plugins::check
