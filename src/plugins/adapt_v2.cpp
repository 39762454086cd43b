// Plugins of V2DynamicExt, and which generation an object of the V2 family is of.
#include "plugins/check/check.h"
#include "plugins/name_limits.h"
#include "plugins/shape_builder.h"
#include "plugins/v2_family.h"

#include <algorithm>

namespace tenon::plugins
{

using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::PluginTensorDesc;

namespace
{
class Dynamic final : public V2Family
{
  public:
    using V2Family::V2Family;

    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const&) override
    {
        if (!shapeInputs.empty())
            return badConfig("plugin {} is of generation V2DynamicExt, which knows no shape inputs", mIdentity.show());
        OutputShapes found;
        for (int32_t i = 0; i < outputCount(); ++i)
        {
            ShapeBuilder builder{outputCount(), {}};
            std::vector<nvinfer1::DimsExprs> in;
            for (Shape const& shape : inputs)
                in.push_back(builder.exprs(shape));
            auto const dims =
                plugin().getOutputDimensions(i, in.data(), static_cast<int32_t>(in.size()), builder.asked());
            auto shape = builder.shapeOf(dims);
            if (!shape)
            {
                Error error = std::move(shape).error();
                error.message += because();
                return std::move(error).in(fmt::format("getOutputDimensions({}) of plugin {}", i, mIdentity.show()));
            }
            found.shapes.push_back(*std::move(shape));
        }
        return found;
    }
    bool accepts(int32_t position, Ports const& ports) override
    {
        std::vector<PluginTensorDesc> const descs = descsOf(ports.all);
        return plugin().supportsFormatCombination(position, descs.data(), ports.inputs, ports.outputs());
    }
    Result<Done> configure(Ports const& ports) override
    {
        plugin().configurePlugin(ports.in().data(), ports.inputs, ports.out().data(), ports.outputs());
        forgetExplanation(); // It answers nothing.
        return Done{};
    }
    Result<size_t> workspace(Ports const& ports) override
    {
        std::vector<PluginTensorDesc> descs = descsOf(ports.all);
        for (size_t i = 0; i < descs.size(); ++i)
            descs[i].dims = ports.all[i].max;
        return plugin().getWorkspaceSize(descs.data(), ports.inputs, descs.data() + ports.inputs, ports.outputs());
    }
    Result<Done> reshape(Ports const& ports) override
    {
        mDescs = descsOf(ports.all);
        mInputs = ports.inputs;
        return configure(ports);
    }
    Result<Done> run(Work const& work) override
    {
        int32_t const code = plugin().enqueue(
            mDescs.data(), mDescs.data() + mInputs, work.inputs, work.outputs, work.workspace, work.stream);
        return checked("enqueue()", code);
    }

  private:
    IPluginV2DynamicExt& plugin() const noexcept
    {
        return static_cast<IPluginV2DynamicExt&>(*mPlugin);
    }

    std::vector<PluginTensorDesc> mDescs;
    int32_t mInputs{0};
};
} // namespace

Generation generationOf(IPluginV2 const& plugin) noexcept
{
    auto const version = static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24U;
    return static_cast<Generation>(
        std::min(version & ~static_cast<uint32_t>(nvinfer1::kPLUGIN_VERSION_PYTHON_BIT), 3U));
}

Result<PluginPtr> take(IPluginV2* plugin)
{
    if (plugin == nullptr)
        return badArgument("the plugin is null");
    Generation const generation = generationOf(*plugin);
    if (generation == Generation::kV2DynamicExt)
        return PluginPtr{std::make_unique<Dynamic>(plugin, generation)};
    return makeBatchless(plugin, generation);
}

Result<PluginPtr> adopt(IPluginV2& plugin)
{
    forgetExplanation();
    Identity const identity{stringOf(plugin.getPluginType()), stringOf(plugin.getPluginVersion()),
        stringOf(plugin.getPluginNamespace()), generationOf(plugin)};
    TENON_TRY(checkLengths(identity));
    int32_t const outputs = toldOf("the user's plugin ", identity, "getNbOutputs", "it is added to a network",
        [&] { return plugin.getNbOutputs(); });
    TENON_TRY(checkOutputs(identity, outputs));
    IPluginV2* const copy = toldOf("the user's plugin ", identity, "clone", "it is added to a network",
        [&] { return static_cast<IPluginV2*>(plugin.clone()); });
    if (copy == nullptr)
        return badArgument("clone() of plugin {} returned null{}", identity.show(), because());
    if (copy == &plugin)
        return badArgument("clone() of plugin {} returned the plugin itself: it must be a new object", identity.show());
    return take(copy);
}

Result<PluginPtr> borrow(IPluginV2& plugin)
{
    PluginPtr borrowed = TENON_TRY(take(&plugin));
    static_cast<V2Family&>(*borrowed).disown();
    return borrowed;
}

} // namespace tenon::plugins
