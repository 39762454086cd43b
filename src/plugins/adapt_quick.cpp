// Plugins whose capabilities are those of decorated Python plugins: all combinations at once, and either a callback
// that runs or a kernel that goes into the plan.
#include "plugins/capability.h"
#include "plugins/failure.h"
#include "plugins/formats.h"
#include "plugins/launch_params.h"
#include "plugins/trace.h"

#include <algorithm>

namespace tenon::plugins
{

using nvinfer1::IPluginV3;
using nvinfer1::IPluginV3QuickAOTBuild;
using nvinfer1::IPluginV3QuickBuild;
using nvinfer1::IPluginV3QuickCore;
using nvinfer1::IPluginV3QuickRuntime;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginTensorDesc;

namespace
{
constexpr int32_t kMaxCombinations{1 << 16};

struct QuickCapabilities
{
    IPluginV3QuickCore* core{nullptr};
    IPluginV3QuickBuild* build{nullptr};     //!< Null: an object for running only.
    IPluginV3QuickAOTBuild* ahead{nullptr};  //!< The same, when its kernel goes into the plan.
    IPluginV3QuickRuntime* runtime{nullptr}; //!< Null when its kernel goes into the plan.
};

Result<QuickCapabilities> quickCapabilitiesOf(IPluginV3& plugin, bool needsBuild)
{
    QuickCapabilities all;
    all.core = TENON_TRY(capability<IPluginV3QuickCore>(plugin, PluginCapabilityType::kCORE, "PLUGIN_V3QUICK_CORE"));
    nvinfer1::IPluginCapability* const build = plugin.getCapabilityInterface(PluginCapabilityType::kBUILD);
    if (build != nullptr && std::string_view{build->getInterfaceInfo().kind} == "PLUGIN_V3QUICKAOT_BUILD")
    {
        all.ahead = static_cast<IPluginV3QuickAOTBuild*>(build);
        all.build = all.ahead;
        return all;
    }
    if (needsBuild || build != nullptr)
        all.build =
            TENON_TRY(capability<IPluginV3QuickBuild>(plugin, PluginCapabilityType::kBUILD, "PLUGIN_V3QUICK_BUILD"));
    all.runtime =
        TENON_TRY(capability<IPluginV3QuickRuntime>(plugin, PluginCapabilityType::kRUNTIME, "PLUGIN_V3QUICK_RUNTIME"));
    return all;
}

//! Distance of neighbours along each axis, in elements; formats in blocks of channels have none: as if row-major.
nvinfer1::Dims stridesOf(PluginTensorDesc const& desc)
{
    nvinfer1::Dims strides{};
    strides.nbDims = desc.dims.nbDims;
    auto const layout = layoutOf(desc.format);
    bool const isLast = layout
        && (*layout == Layout::kChannelsLast || *layout == Layout::kChannelsLast8
            || *layout == Layout::kChannelsLast16);
    int64_t next{1};
    auto const place = [&](int32_t axis, int64_t extent) {
        strides.d[axis] = next;
        next *= std::max<int64_t>(extent, 1);
    };
    if (isLast && desc.dims.nbDims > 1)
    {
        int64_t const block = blockOf(*layout);
        place(1, (desc.dims.d[1] + block - 1) / block * block);
    }
    for (int32_t axis = desc.dims.nbDims - 1; axis >= 0; --axis)
        if (!isLast || axis != 1)
            place(axis, desc.dims.d[axis]);
    return strides;
}

class Quick final : public Plugin
{
  public:
    Quick(std::unique_ptr<IPluginV3> plugin, QuickCapabilities const& capabilities)
        : mPlugin{std::move(plugin)},
          mOwn{capabilities},
          mIdentity{stringOf(mOwn.core->getPluginName()), stringOf(mOwn.core->getPluginVersion()),
              stringOf(mOwn.core->getPluginNamespace()), Generation::kV3}
    {
    }

    ~Quick() override
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
    bool isAhead() const noexcept override
    {
        return mOwn.ahead != nullptr;
    }
    int32_t outputCount() override
    {
        if (mOwn.build == nullptr)
            return 0;
        return alsoTold("getNbOutputs", "its outputs are counted", [&] { return mOwn.build->getNbOutputs(); });
    }

    void inputRanks(std::span<int32_t const> ranks) override
    {
        mRanks.assign(ranks.begin(), ranks.end());
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        IPluginV3QuickBuild& build = *TENON_TRY(forBuilding("getOutputDataTypes()"));
        std::vector<DType> types(static_cast<size_t>(std::max(outputCount(), 0)), static_cast<DType>(-1));
        TENON_TRY(checked("getOutputDataTypes()",
            build.getOutputDataTypes(types.data(), static_cast<int32_t>(types.size()), inputs.data(), mRanks.data(),
                static_cast<int32_t>(inputs.size()))));
        for (size_t i = 0; i < types.size(); ++i)
            if (!isValid(types[i]))
                return badConfig("getOutputDataTypes() of plugin {} left the type of output {} at {}", mIdentity.show(),
                    i, static_cast<int32_t>(types[i]));
        mTypes.assign(inputs.begin(), inputs.end());
        mTypes.insert(mTypes.end(), types.begin(), types.end());
        mAsked.clear();
        return types;
    }

    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) override
    {
        if (!shapeInputs.empty())
            return badConfig("plugin {} takes no shape inputs (N10)", mIdentity.show());
        ShapeBuilder builder{std::max(outputCount(), 0), dataExtent};
        return askShapes(builder, exprsOf(builder, inputs));
    }

    bool accepts(int32_t position, Ports const& ports) override
    {
        if (mOwn.build == nullptr || !askCombinations(ports))
            return false;
        size_t const count = ports.all.size();
        for (size_t first = 0; first + count <= mCombinations.size(); first += count)
        {
            bool fits{true};
            for (size_t i = 0; fits && i <= static_cast<size_t>(position); ++i)
                fits = mCombinations[first + i].type == ports.all[i].desc.type
                    && mCombinations[first + i].format == ports.all[i].desc.format;
            if (fits)
                return true;
        }
        return false;
    }
    int32_t combinationLimit() override
    {
        return kMaxCombinations;
    }
    Result<Done> configure(Ports const& ports) override
    {
        IPluginV3QuickBuild& build = *TENON_TRY(forBuilding("configurePlugin()"));
        return checked("configurePlugin()",
            build.configurePlugin(ports.in().data(), ports.inputs, ports.out().data(), ports.outputs()));
    }
    Result<size_t> workspace(Ports const&) override
    {
        return size_t{0}; // This generation has none.
    }

    Result<std::vector<int32_t>> tactics() override
    {
        IPluginV3QuickBuild& build = *TENON_TRY(forBuilding("getValidTactics()"));
        return validTactics(build, build.getNbTactics(), mIdentity);
    }
    Result<Done> setTactic(int32_t tactic) override
    {
        return checked("setTactic()", isAhead() ? mOwn.ahead->setTactic(tactic) : mOwn.runtime->setTactic(tactic));
    }

    Result<Done> initialize() override
    {
        return Done{}; // Objects are born ready (L5).
    }
    void terminate() noexcept override {}

    Result<PluginPtr> clone() override
    {
        std::unique_ptr<IPluginV3> owned{TENON_TRY(newObject(mPlugin->clone(), mPlugin.get(), "clone()", mIdentity))};
        auto capabilities = quickCapabilitiesOf(*owned, mOwn.build != nullptr);
        if (!capabilities)
            return std::move(capabilities).error().in(fmt::format("clone() of plugin {}", mIdentity.show()));
        auto copy = std::make_unique<Quick>(std::move(owned), *capabilities);
        copy->mRanks = mRanks;
        copy->mTypes = mTypes;
        return PluginPtr{std::move(copy)};
    }
    Result<PluginPtr> attach(Resources const&) override
    {
        return clone();
    }

    Result<Done> reshape(Ports const& ports) override
    {
        mDescs.clear();
        mStrides.clear();
        for (Port const& port : ports.all)
        {
            mDescs.push_back(port.desc);
            mStrides.push_back(stridesOf(port.desc));
        }
        mInputs = ports.inputs;
        return Done{};
    }
    Result<Done> run(Work const& work) override
    {
        if (isAhead())
            return errorOf(
                ErrorCode::kINTERNAL_ERROR, "plugin {} runs as the kernel that it supplies", mIdentity.show());
        return checked("enqueue()",
            mOwn.runtime->enqueue(mDescs.data(), mDescs.data() + mInputs, work.inputs, work.outputs, mStrides.data(),
                mStrides.data() + mInputs, mInputs, static_cast<int32_t>(mDescs.size()) - mInputs, work.stream));
    }

    Result<Bytes> stored() override
    {
        if (isAhead())
            return Bytes{};  // N6
        forgetExplanation(); // Of questions before.
        return storedFields(mOwn.runtime->getFieldsToSerialize(), mIdentity);
    }
    int32_t aliasedInput(int32_t output) override
    {
        return mOwn.build == nullptr ? -1 : mOwn.build->getAliasedInput(output);
    }
    int32_t describedAlias(int32_t output) override
    {
        return aliasedInput(output);
    }
    std::string timingCacheId() override
    {
        return mOwn.build == nullptr ? "" : unfailing(stringOf(mOwn.build->getTimingCacheID()));
    }
    std::string metadata() override
    {
        return mOwn.build == nullptr ? "" : unfailing(stringOf(mOwn.build->getMetadataString()));
    }

    Result<AheadKernel> kernel(std::span<Shape const> inputs, Ports const& ports) override
    {
        if (!isAhead())
            return Plugin::kernel(inputs, ports);
        AheadKernel kernel;
        TENON_TRY(askLaunch(inputs, ports, kernel));
        std::vector<PluginTensorDesc> descs;
        for (Port const& port : ports.all)
            descs.push_back(port.desc);
        char const* name{nullptr};
        char* code{nullptr};
        int32_t bytes{0};
        TENON_TRY(checked("getKernel()",
            mOwn.ahead->getKernel(
                descs.data(), ports.inputs, descs.data() + ports.inputs, ports.outputs(), &name, &code, &bytes)));
        if (name == nullptr || *name == '\0' || code == nullptr || bytes <= 0)
            return badConfig("getKernel() of plugin {} gave {}", mIdentity.show(),
                name == nullptr || *name == '\0' ? "no name" : "no code");
        kernel.name = name;
        kernel.code.assign(code, code + bytes);
        return kernel;
    }

  private:
    static std::vector<nvinfer1::DimsExprs> exprsOf(ShapeBuilder& builder, std::span<Shape const> shapes)
    {
        std::vector<nvinfer1::DimsExprs> exprs;
        for (Shape const& shape : shapes)
            exprs.push_back(builder.exprs(shape));
        return exprs;
    }

    Result<OutputShapes> askShapes(ShapeBuilder& builder, std::vector<nvinfer1::DimsExprs> const& in)
    {
        IPluginV3QuickBuild& build = *TENON_TRY(forBuilding("getOutputShapes()"));
        int32_t const count = std::max(outputCount(), 0);
        std::vector<nvinfer1::DimsExprs> out(static_cast<size_t>(count), {-1, {}}); // Untouched: no shape.
        int32_t const code = build.getOutputShapes(
            in.data(), static_cast<int32_t>(in.size()), nullptr, 0, out.data(), count, builder.asked());
        if (code != 0)
            return builder.problem().empty() ? failed("getOutputShapes()", code)
                                             : failed("getOutputShapes()", code).in(builder.problem());
        return builder.shapesOf(out, fmt::format("getOutputShapes() of plugin {}", mIdentity.show()));
    }

    Result<Done> askLaunch(std::span<Shape const> inputs, Ports const& ports, AheadKernel& kernel)
    {
        int32_t sizes{-1}; // What only running tells is a symbol that nobody knows the value of.
        ShapeBuilder builder{
            ports.outputs(), [&](int32_t, ShapeExpr const&) { return ShapeExpr::symbol(INT32_MAX + sizes--); }};
        std::vector<nvinfer1::DimsExprs> const in = exprsOf(builder, inputs);
        // Once more by this builder: plugins keep the expressions of their outputs and say launches by them.
        TENON_TRY(askShapes(builder, in));
        builder.forgetSizeTensors();
        LaunchParams launch{builder};
        KernelArguments arguments{builder};
        int32_t const code = mOwn.ahead->getLaunchParams(
            in.data(), ports.all.data(), ports.inputs, ports.outputs(), &launch, &arguments, builder.asked());
        for (std::string const& problem : {launch.problem(), builder.problem()})
            if (!problem.empty())
                return badConfig("getLaunchParams() of plugin {}: {}", mIdentity.show(), problem);
        TENON_TRY(checked("getLaunchParams()", code));
        std::copy_n(launch.values().begin(), kernel.extents.size(), kernel.extents.begin());
        kernel.sharedBytes = launch.values().back();
        auto values = arguments.values();
        if (!values)
            return std::move(values).error().in(fmt::format("getLaunchParams() of plugin {}", mIdentity.show()));
        kernel.arguments = *std::move(values);
        return Done{};
    }

    //! All combinations for ports of these extents; asked once for the same ones.
    bool askCombinations(Ports const& ports)
    {
        auto const isSame = [](Port const& a, Port const& b) {
            auto const equal = [](nvinfer1::Dims const& x, nvinfer1::Dims const& y) {
                return x.nbDims == y.nbDims && std::equal(x.d, x.d + std::max(x.nbDims, 0), y.d);
            };
            return equal(a.desc.dims, b.desc.dims) && equal(a.min, b.min) && equal(a.opt, b.opt) && equal(a.max, b.max);
        };
        if (std::ranges::equal(mAsked, ports.all, isSame))
            return !mCombinations.empty();
        std::vector<Port> told = ports.all; // Types as the network has them, where the driver has none yet.
        for (size_t i = 0; i < told.size(); ++i)
        {
            told[i].desc.type = i < mTypes.size() ? mTypes[i] : DType::kFLOAT;
            told[i].desc.format = nvinfer1::TensorFormat::kLINEAR;
        }
        mAsked = ports.all;
        mCombinations.clear();
        int32_t const count = alsoTold("getNbSupportedFormatCombinations", "all are asked for at once",
            [&] { return mOwn.build->getNbSupportedFormatCombinations(told.data(), ports.inputs, ports.outputs()); });
        if (count <= 0 || count > kMaxCombinations)
            return false;
        mCombinations.resize(static_cast<size_t>(count) * told.size());
        int32_t const code = alsoTold("getSupportedFormatCombinations", "all are asked for at once", [&] {
            return mOwn.build->getSupportedFormatCombinations(
                told.data(), ports.inputs, ports.outputs(), mCombinations.data(), count);
        });
        if (code != 0)
            mCombinations.clear();
        return !mCombinations.empty();
    }

    Result<IPluginV3QuickBuild*> forBuilding(char const* call) const
    {
        if (mOwn.build == nullptr)
            return errorOf(ErrorCode::kINTERNAL_ERROR, "{}: plugin {} has no build capability", call, mIdentity.show());
        return mOwn.build;
    }
    Error failed(char const* call, int32_t code) const
    {
        return failedCall(call, mIdentity, code);
    }
    Result<Done> checked(char const* call, int32_t code) const
    {
        return checkedCall(call, mIdentity, code);
    }

    std::unique_ptr<IPluginV3> mPlugin;
    QuickCapabilities mOwn;
    Identity mIdentity;
    std::vector<int32_t> mRanks; //!< Of inputs, as last told.
    std::vector<DType> mTypes;   //!< Of all ports, as last told.
    std::vector<Port> mAsked;
    std::vector<PluginTensorDesc> mCombinations;
    std::vector<PluginTensorDesc> mDescs;
    std::vector<nvinfer1::Dims> mStrides;
    int32_t mInputs{0};
};
} // namespace

Result<PluginPtr> takeQuick(std::unique_ptr<IPluginV3> plugin, nvinfer1::TensorRTPhase phase)
{
    QuickCapabilities const capabilities =
        TENON_TRY(quickCapabilitiesOf(*plugin, phase == nvinfer1::TensorRTPhase::kBUILD));
    return PluginPtr{std::make_unique<Quick>(std::move(plugin), capabilities)};
}

} // namespace tenon::plugins
