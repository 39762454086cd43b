// Plugins of IPluginV3: one object with capabilities for its name, for building and for running.
#include "base/recorder.h"
#include "plugins/capability.h"
#include "plugins/failure.h"
#include "plugins/name_limits.h"
#include "plugins/shape_builder.h"
#include "plugins/trace.h"

#include <string_view>

namespace tenon::plugins
{

using nvinfer1::IPluginCapability;
using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3OneBuild;
using nvinfer1::IPluginV3OneBuildV2;
using nvinfer1::IPluginV3OneCore;
using nvinfer1::IPluginV3OneRuntime;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginTensorDesc;

namespace
{
//! What attachToContext gets: neither cuDNN nor cuBLAS, only memory and the recorder (L8).
class ResourceContext final : public nvinfer1::IPluginResourceContext
{
  public:
    explicit ResourceContext(Resources const& resources)
        : mResources{resources}
    {
    }
    nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override
    {
        return mResources.allocator;
    }
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return mResources.recorder == nullptr ? nullptr : mResources.recorder->get().get();
    }

  private:
    Resources mResources;
};

struct Capabilities
{
    IPluginV3OneCore* core{nullptr};
    IPluginV3OneBuild* build{nullptr}; //!< Null: an object for running only.
    IPluginV3OneRuntime* runtime{nullptr};
};

Result<Capabilities> capabilitiesOf(IPluginV3& plugin, bool needsBuild)
{
    Capabilities all;
    all.core = TENON_TRY(capability<IPluginV3OneCore>(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3ONE_CORE"));
    if (needsBuild || plugin.getCapabilityInterface(PluginCapabilityType::kBUILD) != nullptr)
        all.build =
            TENON_TRY(capability<IPluginV3OneBuild>(plugin, PluginCapabilityType::kBUILD, "PLUGIN_V3ONE_BUILD"));
    all.runtime =
        TENON_TRY(capability<IPluginV3OneRuntime>(plugin, PluginCapabilityType::kRUNTIME, "PLUGIN_V3ONE_RUNTIME"));
    return all;
}

Identity identityOf(IPluginV3OneCore& core)
{
    return {stringOf(core.getPluginName()), stringOf(core.getPluginVersion()), stringOf(core.getPluginNamespace()),
        Generation::kV3};
}

class V3 final : public Plugin
{
  public:
    V3(std::unique_ptr<IPluginV3> plugin, Capabilities const& capabilities, std::unique_ptr<ResourceContext> resources)
        : mResources{std::move(resources)},
          mPlugin{std::move(plugin)},
          mCore{*capabilities.core},
          mBuild{capabilities.build},
          mRuntime{*capabilities.runtime},
          mIdentity{identityOf(mCore)}
    {
    }

    ~V3() override
    {
        alsoTold("destructor", "whoever had it is gone", [&] { mPlugin.reset(); });
    }

    Identity const& identity() const noexcept override
    {
        return mIdentity;
    }
    IPluginV3* v3() noexcept override
    {
        return mPlugin.get();
    }
    int32_t outputCount() override
    {
        if (mBuild == nullptr)
            return 0;
        return alsoTold("getNbOutputs", "its outputs are counted", [&] { return mBuild->getNbOutputs(); });
    }

    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        IPluginV3OneBuild& build = *TENON_TRY(forBuilding("getOutputDataTypes()"));
        int32_t const outputs = outputCount();
        std::vector<DType> types(static_cast<size_t>(std::max(outputs, 0)), static_cast<DType>(-1));
        int32_t const code = build.getOutputDataTypes(
            types.data(), static_cast<int32_t>(types.size()), inputs.data(), static_cast<int32_t>(inputs.size()));
        if (code != 0)
            return failed("getOutputDataTypes()", code);
        for (size_t i = 0; i < types.size(); ++i)
            if (!isValid(types[i]))
                return badConfig("getOutputDataTypes() of plugin {} left the type of output {} at {}", mIdentity.show(),
                    i, static_cast<int32_t>(types[i]));
        return types;
    }

    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) override
    {
        IPluginV3OneBuild& build = *TENON_TRY(forBuilding("getOutputShapes()"));
        int32_t const count = std::max(outputCount(), 0);
        ShapeBuilder builder{count, dataExtent};
        std::vector<nvinfer1::DimsExprs> in;
        std::vector<nvinfer1::DimsExprs> values;
        for (Shape const& shape : inputs)
            in.push_back(builder.exprs(shape));
        for (Shape const& each : shapeInputs)
        {
            if (each.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
                return badConfig("a shape input of plugin {} has {} values: at most {} can be passed", mIdentity.show(),
                    each.size(), nvinfer1::Dims::MAX_DIMS);
            values.push_back(builder.exprs(each));
        }
        std::vector<nvinfer1::DimsExprs> out(static_cast<size_t>(count), {-1, {}}); // Untouched: no shape.
        int32_t const code = build.getOutputShapes(in.data(), static_cast<int32_t>(in.size()), values.data(),
            static_cast<int32_t>(values.size()), out.data(), count, builder.asked());
        if (code != 0)
            return builder.problem().empty() ? failed("getOutputShapes()", code)
                                             : failed("getOutputShapes()", code).in(builder.problem());
        OutputShapes found =
            TENON_TRY(builder.shapesOf(out, fmt::format("getOutputShapes() of plugin {}", mIdentity.show())));
        return found;
    }

    bool accepts(int32_t position, Ports const& ports) override
    {
        return mBuild != nullptr
            && mBuild->supportsFormatCombination(position, ports.all.data(), ports.inputs, ports.outputs());
    }
    int32_t combinationLimit() override
    {
        return mBuild == nullptr ? 0 : mBuild->getFormatCombinationLimit();
    }
    Result<Done> configure(Ports const& ports) override
    {
        IPluginV3OneBuild& build = *TENON_TRY(forBuilding("configurePlugin()"));
        return checked("configurePlugin()",
            build.configurePlugin(ports.in().data(), ports.inputs, ports.out().data(), ports.outputs()));
    }
    Result<size_t> workspace(Ports const& ports) override
    {
        IPluginV3OneBuild& build = *TENON_TRY(forBuilding("getWorkspaceSize()"));
        return build.getWorkspaceSize(ports.in().data(), ports.inputs, ports.out().data(), ports.outputs());
    }

    Result<std::vector<int32_t>> tactics() override
    {
        IPluginV3OneBuild& build = *TENON_TRY(forBuilding("getValidTactics()"));
        int32_t const count =
            alsoTold("getNbTactics", "getValidTactics() wants room", [&] { return build.getNbTactics(); });
        return validTactics(build, count, mIdentity);
    }
    Result<Done> setTactic(int32_t tactic) override
    {
        return checked("setTactic()", mRuntime.setTactic(tactic));
    }

    Result<Done> initialize() override
    {
        return Done{}; // Objects are born ready (L5).
    }
    void terminate() noexcept override {}

    Result<PluginPtr> clone() override
    {
        return made(mPlugin->clone(), "clone()", mBuild != nullptr, nullptr);
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        auto context = std::make_unique<ResourceContext>(resources);
        IPluginV3* const attached = mRuntime.attachToContext(context.get());
        return made(attached, "attachToContext()", false, std::move(context));
    }

    Result<Done> reshape(Ports const& ports) override
    {
        mDescs.clear();
        for (Port const& port : ports.all)
            mDescs.push_back(port.desc);
        mInputs = ports.inputs;
        return checked("onShapeChange()",
            mRuntime.onShapeChange(mDescs.data(), ports.inputs, mDescs.data() + ports.inputs, ports.outputs()));
    }
    Result<Done> run(Work const& work) override
    {
        return checked("enqueue()",
            mRuntime.enqueue(
                mDescs.data(), mDescs.data() + mInputs, work.inputs, work.outputs, work.workspace, work.stream));
    }

    Result<Bytes> stored() override
    {
        forgetExplanation(); // Of questions before.
        return storedFields(mRuntime.getFieldsToSerialize(), mIdentity);
    }
    int32_t aliasedInput(int32_t output) override
    {
        if (mBuild == nullptr || mBuild->getInterfaceInfo().major < 2)
            return -1;
        return static_cast<IPluginV3OneBuildV2*>(mBuild)->getAliasedInput(output);
    }
    std::string timingCacheId() override
    {
        return mBuild == nullptr ? "" : unfailing(stringOf(mBuild->getTimingCacheID()));
    }
    std::string metadata() override
    {
        return mBuild == nullptr ? "" : unfailing(stringOf(mBuild->getMetadataString()));
    }

  private:
    Result<IPluginV3OneBuild*> forBuilding(char const* call) const
    {
        if (mBuild == nullptr)
            return errorOf(
                nvinfer1::ErrorCode::kINTERNAL_ERROR, "{}: plugin {} has no build capability", call, mIdentity.show());
        return mBuild;
    }
    Error failed(char const* call, int32_t code) const
    {
        return failedCall(call, mIdentity, code);
    }
    Result<Done> checked(char const* call, int32_t code) const
    {
        return checkedCall(call, mIdentity, code);
    }
    Result<PluginPtr> made(
        IPluginV3* object, char const* call, bool needsBuild, std::unique_ptr<ResourceContext> resources) const
    {
        std::unique_ptr<IPluginV3> owned{TENON_TRY(newObject(object, mPlugin.get(), call, mIdentity))};
        auto capabilities = capabilitiesOf(*owned, needsBuild);
        if (!capabilities)
            return std::move(capabilities).error().in(fmt::format("{} of plugin {}", call, mIdentity.show()));
        return PluginPtr{std::make_unique<V3>(std::move(owned), *capabilities, std::move(resources))};
    }

    std::unique_ptr<ResourceContext> mResources; //!< Lives until the attached object is gone.
    std::unique_ptr<IPluginV3> mPlugin;
    IPluginV3OneCore& mCore;
    IPluginV3OneBuild* mBuild;
    IPluginV3OneRuntime& mRuntime;
    Identity mIdentity;
    std::vector<PluginTensorDesc> mDescs;
    int32_t mInputs{0};
};
} // namespace

Result<PluginPtr> take(IPluginV3* plugin, nvinfer1::TensorRTPhase phase)
{
    std::unique_ptr<IPluginV3> owned{plugin};
    if (owned == nullptr)
        return badArgument("the plugin is null");
    if (isQuick(*owned))
        return takeQuick(std::move(owned), phase);
    Capabilities const capabilities = TENON_TRY(capabilitiesOf(*owned, phase == nvinfer1::TensorRTPhase::kBUILD));
    return PluginPtr{std::make_unique<V3>(std::move(owned), capabilities, nullptr)};
}

Result<PluginPtr> adopt(IPluginV3& plugin)
{
    if (!isQuick(plugin))
        TENON_TRY(capabilitiesOf(plugin, true)); // Of the object itself (L1), before it is asked for a copy.
    auto* const core = plugin.getCapabilityInterface(PluginCapabilityType::kCORE);
    forgetExplanation();
    Identity identity; // As a decorated plugin's: unknown before it is taken.
    if (!isQuick(plugin) && core != nullptr)
        identity = identityOf(*static_cast<IPluginV3OneCore*>(core));
    IPluginV3* const copy =
        toldOf("the user's plugin ", identity, "clone", "it is added to a network", [&] { return plugin.clone(); });
    if (copy == nullptr)
        return badArgument("clone() of plugin {} returned null{}", identity.show(), because());
    if (copy == &plugin)
        return badArgument("clone() of plugin {} returned the plugin itself: it must be a new object", identity.show());
    PluginPtr adopted = TENON_TRY(take(copy, nvinfer1::TensorRTPhase::kBUILD));
    TENON_TRY(checkLengths(adopted->identity()));
    return adopted;
}

} // namespace tenon::plugins
