// EngineObject, ContextObject: from what a plan stores to objects that are ready to run.
#include "backends/plugin/object.h"

#include "plugins/driver.h"
#include "plugins/in_callback.h"
#include "plugins/registry.h"

#include <algorithm>

namespace tenon::custom
{

namespace
{
//! A plan may lie: the fields fit the step.
Result<ObjectFacts> factsOf(KernelSource const& source)
{
    LayerPtr const layer = TENON_TRY(loadLayer(CustomLayer::kName, source.fields));
    ObjectFacts facts;
    CustomLayer& fields = facts.ports.fields;
    fields = *as<CustomLayer>(*layer);
    int32_t const data = fields.dataInputs(static_cast<int32_t>(source.weights.size()));
    facts.ports.inputs = static_cast<size_t>(std::max(data, 0));
    facts.ports.outputs = source.outputs;
    facts.ports.dataDependent = source.produces;
    if (data < 0 || fields.ports.size() != facts.ports.inputs + source.outputs
        || source.produces > fields.sizeOutputs.size())
        return badArgument("the step of plugin {} has {} inputs, {} outputs and {} values to tell, which do not fit",
            fields.identity().show(), source.weights.size(), source.outputs, source.produces);
    for (auto const& [output, axis] : fields.dataExtents)
        if (static_cast<size_t>(output) >= source.outputs)
            return badArgument(
                "plugin {} tells extents of output {}, which it has not", fields.identity().show(), output);
    return facts;
}

Result<plugins::PluginPtr> objectOf(CustomLayer const& fields, KernelSource const& source)
{
    if (source.plugins == nullptr)
        return badConfig("there is no registry to make plugin {} with", fields.identity().show());
    auto const& registry = static_cast<plugins::Registry const&>(*source.plugins);
    plugins::Identity const identity = fields.identity();
    plugins::InCallback const inside{plugins::Ask::kRestore, identity};
    plugins::PluginPtr plugin = TENON_TRY(registry.restore(identity, std::string{source.layer}, fields.stored));
    if (int32_t const count = plugin->outputCount(); // 0: an object for running only, which has no such call.
        count != static_cast<int32_t>(source.outputs) && (count != 0 || plugin->v2() != nullptr))
        return badConfig("plugin {} had {} outputs when the plan was built; what the creator made of what the plan "
                         "stores has {}",
            fields.identity().show(), source.outputs, count);
    return plugin;
}

//! Plugins of generations without the batch are asked again when an engine is made (J3).
Result<Done> askAgain(plugins::Plugin& plugin, PluginPorts const& ports)
{
    if (!plugins::isBatchless(plugin.identity().generation))
        return Done{};
    std::vector<plugins::PortOffer> offers;
    for (PluginPort const& agreed : ports.fields.ports)
        offers.push_back({fmt::format("port {}", offers.size()), {{agreed.type, agreed.format, agreed.scale}}});
    auto accepted = plugins::negotiate(plugin, ports.atMost(), offers, 1);
    if (!accepted)
        return std::move(accepted).error().in("what it was built for is no longer accepted");
    return Done{};
}

Result<int64_t> workspaceIn(plugins::Plugin& plugin, PluginPorts const& ports)
{
    if (!plugins::isBatchless(plugin.identity().generation))
        return ports.fields.workspace;
    return plugins::workspaceOf(plugin, ports.atMost()); // J18: asked in each engine.
}
} // namespace

ContextObject::ContextObject(std::shared_ptr<ObjectFacts const> facts, plugins::PluginPtr plugin)
    : mFacts{std::move(facts)},
      mPlugin{std::move(plugin)}
{
}

Result<Done> ContextObject::reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    TENON_TRY(mFacts->ports.check(inputs, outputs));
    plugins::Ports const ports = mFacts->ports.at(inputs, outputs);
    mDescs.clear();
    for (plugins::Port const& port : ports.all)
        mDescs.push_back(port.desc);
    mTakeOvers = mFacts->ports.takeOvers(outputs);
    plugins::InCallback const inside{plugins::Ask::kReshape, mPlugin->identity()};
    TENON_TRY(mPlugin->reshape(ports));
    return checkWorkspace(ports);
}

//! A plan may lie, and a plugin may have changed since: the memory must suffice. V3 objects for running have no such
//! call.
Result<Done> ContextObject::checkWorkspace(plugins::Ports const& ports)
{
    if (mPlugin->identity().generation != plugins::Generation::kV2DynamicExt)
        return Done{};
    int64_t const bytes = TENON_TRY(plugins::workspaceOf(*mPlugin, ports));
    if (bytes <= mFacts->workspace)
        return Done{};
    return badConfig("plugin {} wants a workspace of {} bytes, and was built with {}",
        mFacts->ports.fields.identity().show(), bytes, mFacts->workspace);
}

EngineObject::EngineObject(std::shared_ptr<ObjectFacts const> facts, plugins::PluginPtr plugin)
    : mFacts{std::move(facts)},
      mPlugin{std::move(plugin)}
{
}

Result<EngineObject> EngineObject::restore(KernelSource const& source)
{
    auto facts = std::make_shared<ObjectFacts>(TENON_TRY(factsOf(source)));
    plugins::PluginPtr plugin = TENON_TRY(objectOf(facts->ports.fields, source));
    TENON_TRY(askAgain(*plugin, facts->ports));
    plugins::InCallback const inside{plugins::Ask::kInitialize, plugin->identity()};
    TENON_TRY(plugin->initialize());
    facts->workspace = TENON_TRY(workspaceIn(*plugin, facts->ports));
    facts->ports.fields.stored.clear(); // The object has it now.
    return EngineObject{std::move(facts), std::move(plugin)};
}

Result<ContextObject> EngineObject::attach(ContextResources const& resources, plugins::LibraryHandles const& handles)
{
    plugins::InCallback const inside{plugins::Ask::kAttach, mPlugin->identity()};
    plugins::PluginPtr copy = TENON_TRY(mPlugin->attach({resources.allocator, resources.recorder, handles}));
    TENON_TRY(copy->setTactic(mFacts->ports.fields.tactic));
    return ContextObject{mFacts, std::move(copy)};
}

Result<Bytes> EngineObject::storedFields()
{
    CustomLayer fields = mFacts->ports.fields;
    fields.stored = TENON_TRY(mPlugin->stored());
    return makeLayer(std::move(fields))->stored();
}

} // namespace tenon::custom
