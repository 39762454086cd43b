// Kernel "plugin": a custom layer on a device whose memory is the host's. The engine's object makes a copy for each
// context, which runs.
#include "backends/ref/plugin_ports.h"
#include "device/host/host_kernel.h"
#include "device/user_code.h"
#include "plugins/cpu_body.h"
#include "plugins/driver.h"
#include "plugins/registry.h"

#include <algorithm>
#include <cstring>

namespace tenon::ref
{

namespace
{
using nvinfer1::PluginTensorDesc;

//! What engine and contexts share.
struct Shared
{
    PluginPorts ports;    //!< Without `stored`, which the object has now.
    int64_t workspace{0}; //!< What the object wants in this engine.

    CustomLayer const& fields() const noexcept
    {
        return ports.fields;
    }
};

plugins::Port portOf(TensorArg const& arg, PluginPort const& agreed)
{
    plugins::Port port{};
    port.desc.dims.nbDims = static_cast<int32_t>(arg.extents.size());
    std::ranges::copy(arg.extents, port.desc.dims.d);
    port.desc.type = agreed.type;
    port.desc.format = agreed.format;
    port.desc.scale = agreed.type == DType::kINT8 ? agreed.scale : -1.0F;
    port.min = port.max = port.opt = port.desc.dims;
    return port;
}

//! What stands for the step in a prepared run that contexts share: its workspace. It never runs.
class PluginShape final : public HostPrepared
{
  public:
    explicit PluginShape(int64_t workspace)
        : mWorkspace{workspace}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mWorkspace);
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const&, Lane const&) const override
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "a plugin runs in a context only");
    }

  private:
    int64_t mWorkspace;
};

class AttachedPlugin final : public HostPrepared, public Attached
{
  public:
    AttachedPlugin(std::shared_ptr<Shared const> shared, plugins::PluginPtr plugin)
        : mShared{std::move(shared)},
          mPlugin{std::move(plugin)},
          mBody{plugins::findCpuBody(*mPlugin)},
          mInputs(mShared->ports.inputs + 1, nullptr)
    {
    }

    Prepared const& prepared() const noexcept override
    {
        return *this;
    }
    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) override
    {
        TENON_TRY(mShared->ports.check(inputs, outputs));
        plugins::Ports ports;
        ports.inputs = static_cast<int32_t>(mShared->ports.inputs);
        for (size_t i = 0; i < mShared->ports.inputs; ++i)
            ports.all.push_back(portOf(inputs[i], mShared->fields().ports[i]));
        for (size_t i = 0; i < outputs.size(); ++i)
            ports.all.push_back(portOf(outputs[i], mShared->fields().ports[mShared->ports.inputs + i]));
        for (auto const& [output, axis] : mShared->fields().dataExtents)
        {
            plugins::Port& port = ports.all.at(mShared->ports.inputs + static_cast<size_t>(output));
            if (axis < port.desc.dims.nbDims)
                port.desc.dims.d[axis] = -1; // Known once it has run (L12).
        }
        mDescs.clear();
        for (plugins::Port const& port : ports.all)
            mDescs.push_back(port.desc);
        mAliasBytes = mShared->ports.aliasBytes(outputs);
        UserCode const inside{*this};
        TENON_TRY(mPlugin->reshape(ports));
        return checkWorkspace(ports);
    }
    //! The V2 family is configured anew when shapes or the profile change, and by nothing else (K2, K3).
    bool hearsAddresses() const noexcept override
    {
        return mPlugin->identity().generation == plugins::Generation::kV3;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        std::copy_n(call.inputs, mShared->ports.inputs, mInputs.begin());
        mShared->ports.takeOver(call, mAliasBytes, mInputs.data());
        plugins::Work const work{mInputs.data(), call.outputs, call.scratch, static_cast<cudaStream_t>(call.stream)};
        UserCode const inside{*this};
        TENON_TRY(plugins::runOnHost(mBody, *mPlugin, mDescs, static_cast<int32_t>(mShared->ports.inputs), work));
        for (size_t i = 0; i < mShared->ports.tells; ++i)
            call.produced[i] = *static_cast<int32_t const*>(call.outputs[mShared->fields().sizeOutputs[i]]);
        return Done{};
    }

  private:
    //! A plan may lie, and a plugin may have changed since: the memory must suffice. V3 objects for running have no
    //! such call.
    Result<Done> checkWorkspace(plugins::Ports const& ports)
    {
        if (mPlugin->identity().generation != plugins::Generation::kV2DynamicExt)
            return Done{};
        int64_t const bytes = TENON_TRY(plugins::workspaceOf(*mPlugin, ports));
        if (bytes <= mShared->workspace)
            return Done{};
        return badConfig("plugin {} wants a workspace of {} bytes, and was built with {}",
            mShared->fields().identity().show(), bytes, mShared->workspace);
    }

    std::shared_ptr<Shared const> mShared;
    plugins::PluginPtr mPlugin;
    CpuBody mBody; //!< Null: the plugin's own.
    std::vector<PluginTensorDesc> mDescs;
    mutable std::vector<void const*> mInputs; //!< Of the run at hand; a context runs one at a time.
    std::vector<size_t> mAliasBytes;
};

class PluginKernel final : public Kernel
{
  public:
    PluginKernel(std::shared_ptr<Shared const> shared, plugins::PluginPtr plugin)
        : mShared{std::move(shared)},
          mPlugin{std::move(plugin)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mShared->ports.check(inputs, outputs));
        return std::shared_ptr<Prepared const>{std::make_shared<PluginShape>(mShared->workspace)};
    }
    Result<std::unique_ptr<Attached>> attach(ContextResources const& resources) override
    {
        plugins::PluginPtr copy = TENON_TRY(mPlugin->attach({resources.allocator, resources.recorder}));
        TENON_TRY(copy->setTactic(mShared->fields().tactic));
        return std::unique_ptr<Attached>{std::make_unique<AttachedPlugin>(mShared, std::move(copy))};
    }
    Result<std::optional<Bytes>> storedFields() override
    {
        CustomLayer fields = mShared->fields();
        fields.stored = TENON_TRY(mPlugin->stored());
        return std::optional<Bytes>{makeLayer(std::move(fields))->stored()};
    }

  private:
    std::shared_ptr<Shared const> mShared;
    plugins::PluginPtr mPlugin;
};

//! Every port at the largest extents of all profiles.
plugins::Ports portsOf(Shared const& shared)
{
    plugins::Ports ports;
    ports.inputs = static_cast<int32_t>(shared.ports.inputs);
    for (PluginPort const& agreed : shared.fields().ports)
        ports.all.push_back({{agreed.most, agreed.type, agreed.format, -1.0F}, agreed.most, agreed.most, agreed.most});
    return ports;
}

//! Plugins of generations without the batch are asked again when an engine is made (J3).
Result<Done> askAgain(plugins::Plugin& plugin, Shared const& shared)
{
    if (!plugins::isBatchless(plugin.identity().generation))
        return Done{};
    std::vector<plugins::PortOffer> offers;
    for (PluginPort const& agreed : shared.fields().ports)
        offers.push_back({fmt::format("port {}", offers.size()), {{agreed.type, agreed.format, agreed.scale}}});
    auto accepted = plugins::negotiate(plugin, portsOf(shared), offers, 1);
    if (!accepted)
        return std::move(accepted).error().in("what it was built for is no longer accepted");
    return Done{};
}

Result<int64_t> workspaceOf(plugins::Plugin& plugin, Shared const& shared)
{
    if (!plugins::isBatchless(plugin.identity().generation))
        return shared.fields().workspace;
    return plugins::workspaceOf(plugin, portsOf(shared)); // J18: asked in each engine.
}

} // namespace

std::variant<std::vector<Offer>, Refusal> offerPlugin(Problem const& problem)
{
    if (problem.fields<CustomLayer>().kernel)
        return refuse("plugin", "the custom layer has a kernel and no object");
    return offerPorts(problem, "plugin");
}

Result<KernelSpec> buildPlugin(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "plugin", .args = {}, .packed = {}}; // The node's fields say everything.
}

Result<std::unique_ptr<Kernel>> loadPlugin(KernelSource const& source)
{
    auto shared = std::make_shared<Shared>();
    LayerPtr const layer = TENON_TRY(loadLayer(CustomLayer::kName, source.fields));
    CustomLayer& fields = shared->ports.fields;
    fields = *as<CustomLayer>(*layer);
    int32_t const data = fields.dataInputs(static_cast<int32_t>(source.weights.size()));
    shared->ports.inputs = static_cast<size_t>(std::max(data, 0));
    shared->ports.outputs = source.outputs;
    shared->ports.tells = source.produces;
    if (data < 0 || fields.ports.size() != shared->ports.inputs + source.outputs
        || source.produces > fields.sizeOutputs.size())
        return badArgument("the step of plugin {} has {} inputs, {} outputs and {} values to tell, which do not fit",
            fields.identity().show(), source.weights.size(), source.outputs, source.produces);
    for (auto const& [output, axis] : fields.dataExtents)
        if (static_cast<size_t>(output) >= source.outputs)
            return badArgument(
                "plugin {} tells extents of output {}, which it has not", fields.identity().show(), output);
    if (source.plugins == nullptr)
        return badConfig("there is no registry to make plugin {} with", fields.identity().show());
    auto const& registry = static_cast<plugins::Registry const&>(*source.plugins);
    plugins::PluginPtr plugin =
        TENON_TRY(registry.restore(fields.identity(), std::string{source.layer}, fields.stored));
    if (int32_t const count = plugin->outputCount(); // 0: an object for running only, which has no such call.
        count != static_cast<int32_t>(source.outputs) && (count != 0 || plugin->v2() != nullptr))
        return badConfig("plugin {} had {} outputs when the plan was built; what the creator made of what the plan "
                         "stores has {}",
            fields.identity().show(), source.outputs, count);
    TENON_TRY(askAgain(*plugin, *shared));
    TENON_TRY(plugin->initialize());
    shared->workspace = TENON_TRY(workspaceOf(*plugin, *shared));
    fields.stored.clear(); // The object has it now.
    return std::unique_ptr<Kernel>{std::make_unique<PluginKernel>(std::move(shared), std::move(plugin))};
}

} // namespace tenon::ref
