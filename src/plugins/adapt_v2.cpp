// Plugins of the V2 family: V2, V2Ext, V2IOExt, whose dims leave out the batch, and V2DynamicExt.
#include "plugins/check/check.h"
#include "plugins/guarded_bytes.h"
#include "plugins/name_limits.h"
#include "plugins/shape_builder.h"

#include <algorithm>

namespace tenon::plugins
{

using nvinfer1::Dims;
using nvinfer1::IPluginV2;
using nvinfer1::IPluginV2DynamicExt;
using nvinfer1::IPluginV2Ext;
using nvinfer1::IPluginV2IOExt;
using nvinfer1::PluginTensorDesc;

namespace
{
std::string textOf(char const* text)
{
    return text == nullptr ? "" : text;
}

std::vector<PluginTensorDesc> descsOf(std::span<Port const> ports)
{
    std::vector<PluginTensorDesc> descs;
    for (Port const& port : ports)
        descs.push_back(port.desc);
    return descs;
}

//! What all generations of the family share.
class V2Family : public Plugin
{
  public:
    V2Family(IPluginV2* plugin, Generation generation)
        : mPlugin{plugin},
          mIdentity{textOf(plugin->getPluginType()), textOf(plugin->getPluginVersion()),
              textOf(plugin->getPluginNamespace()), generation}
    {
    }
    ~V2Family() override
    {
        terminate();
        if (mIsAttached)
            ext().detachFromContext();
        if (mIsOwned)
            mPlugin->destroy();
    }
    void disown() noexcept
    {
        mIsOwned = false;
    }

    Identity const& identity() const noexcept override
    {
        return mIdentity;
    }
    IPluginV2* v2() noexcept override
    {
        return mPlugin;
    }
    int32_t outputCount() override
    {
        return mPlugin->getNbOutputs();
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        std::vector<DType> types;
        for (int32_t i = 0; i < outputCount(); ++i)
        {
            DType const standard = inputs.empty() ? DType::kFLOAT : inputs.front(); // J9
            types.push_back(mIdentity.generation == Generation::kV2
                    ? standard
                    : ext().getOutputDataType(i, inputs.data(), static_cast<int32_t>(inputs.size())));
            if (!isValid(types.back()))
                return badConfig("getOutputDataType({}) of plugin {} answers {}, which is no type", i, mIdentity.show(),
                    static_cast<int32_t>(types.back()));
        }
        return types;
    }
    int32_t combinationLimit() override
    {
        return IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT;
    }
    Result<std::vector<int32_t>> tactics() override
    {
        return std::vector<int32_t>{};
    }
    Result<Done> setTactic(int32_t) override
    {
        return Done{};
    }

    Result<Done> initialize() override
    {
        if (int32_t const code = mPlugin->initialize(); code != 0)
            return errorOf(nvinfer1::ErrorCode::kFAILED_INITIALIZATION, "initialize() of plugin {} returned {}",
                mIdentity.show(), code);
        mIsInitialized = true;
        return Done{};
    }
    void terminate() noexcept override
    {
        if (mIsInitialized)
            mPlugin->terminate();
        mIsInitialized = false;
    }
    Result<PluginPtr> clone() override
    {
        return take(TENON_TRY(cloned()));
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        PluginPtr copy = TENON_TRY(clone());
        auto& attached = static_cast<V2Family&>(*copy);
        if (attached.mIdentity.generation != Generation::kV2)
        {
            // Neither cuDNN nor cuBLAS stands behind this device.
            attached.ext().attachToContext(nullptr, nullptr, resources.allocator);
            attached.mIsAttached = true;
        }
        return copy;
    }
    Result<Bytes> stored() override
    {
        size_t const size = mPlugin->getSerializationSize();
        GuardedBytes bytes = TENON_TRY(GuardedBytes::make(size));
        mPlugin->serialize(bytes.data());
        if (!bytes.isIntact())
            return badConfig("serialize() of plugin {} wrote past the {} bytes that getSerializationSize() named",
                mIdentity.show(), size);
        return std::move(bytes).take();
    }

  protected:
    IPluginV2Ext& ext() const noexcept
    {
        return static_cast<IPluginV2Ext&>(*mPlugin);
    }
    Error failed(char const* call, int32_t code) const
    {
        return errorOf(
            nvinfer1::ErrorCode::kFAILED_EXECUTION, "{} of plugin {} returned {}", call, mIdentity.show(), code);
    }

    IPluginV2* mPlugin;
    Identity mIdentity;

  private:
    Result<IPluginV2*> cloned() const
    {
        IPluginV2* const copy = mPlugin->clone();
        if (copy == nullptr)
            return badConfig("clone() of plugin {} returned null", mIdentity.show());
        return copy;
    }

    bool mIsInitialized{false};
    bool mIsAttached{false};
    bool mIsOwned{true};
};

// ---- generations without the batch
// -----------------------------------------------------------------------------------

Dims withoutBatch(Dims const& dims)
{
    Dims rest{};
    rest.nbDims = std::max(dims.nbDims - 1, 0);
    std::copy(dims.d + 1, dims.d + 1 + rest.nbDims, rest.d);
    return rest;
}

std::vector<Dims> batchlessDims(std::span<Port const> ports)
{
    std::vector<Dims> dims;
    for (Port const& port : ports)
        dims.push_back(withoutBatch(port.max));
    return dims;
}

int32_t maxBatchOf(Ports const& ports)
{
    int64_t most{1};
    for (Port const& port : ports.all)
        if (port.max.nbDims > 0)
            most = std::max(most, port.max.d[0]);
    return static_cast<int32_t>(std::min<int64_t>(most, INT32_MAX));
}

class Batchless final : public V2Family
{
  public:
    using V2Family::V2Family;

    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const&) override
    {
        if (!shapeInputs.empty())
            return badConfig("plugin {} is of generation {}, which knows no shape inputs", mIdentity.show(),
                nameOf(mIdentity.generation));
        std::vector<Dims> const dims = TENON_TRY(dimsWithoutBatch(inputs));
        ShapeExpr const batch = batchOf(inputs);
        auto const shared = std::make_unique<bool[]>(inputs.size() + 1);
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            shared[i] = inputs[i].front() != batch;
            if (shared[i] && !mayShare(static_cast<int32_t>(i), inputs[i].front() == ShapeExpr{1}))
                return badConfig(
                    "input {} of plugin {} has the batch extent {}, others have {}: it must be the same, or "
                    "1 where canBroadcastInputAcrossBatch({}) answers true",
                    i, mIdentity.show(), inputs[i].front().show(), batch.show(), i);
        }
        OutputShapes found;
        for (int32_t i = 0; i < outputCount(); ++i)
        {
            Dims const out = mPlugin->getOutputDimensions(i, dims.data(), static_cast<int32_t>(dims.size()));
            if (out.nbDims < 0 || out.nbDims >= Dims::MAX_DIMS)
                return badConfig(
                    "getOutputDimensions({}) of plugin {} gives dims of rank {}", i, mIdentity.show(), out.nbDims);
            Shape shape{isSharedOutput(i, shared.get(), static_cast<int32_t>(inputs.size())) ? ShapeExpr{1} : batch};
            shape.insert(shape.end(), out.d, out.d + out.nbDims);
            found.shapes.push_back(std::move(shape));
        }
        return found;
    }

    bool accepts(int32_t position, Ports const& ports) override
    {
        auto const at = static_cast<size_t>(position);
        PluginTensorDesc const& desc = ports.all[at].desc;
        if (mIdentity.generation == Generation::kV2IOExt)
        {
            std::vector<PluginTensorDesc> descs = descsOf(ports.all);
            for (PluginTensorDesc& each : descs)
                each.dims = withoutBatch(each.dims);
            return static_cast<IPluginV2IOExt&>(ext()).supportsFormatCombination(
                position, descs.data(), ports.inputs, ports.outputs());
        }
        // One format for all; V2 has one type for all, too, and V2Ext says the types of outputs itself.
        PluginTensorDesc const& first = ports.all.front().desc;
        if (desc.format != first.format || (mIdentity.generation == Generation::kV2 && desc.type != first.type))
            return false;
        return mPlugin->supportsFormat(desc.type, desc.format);
    }

    Result<Done> configure(Ports const& ports) override
    {
        std::vector<Dims> const in = batchlessDims(ports.in());
        std::vector<Dims> const out = batchlessDims(ports.out());
        int32_t const batch = maxBatchOf(ports);
        auto const nbIn = ports.inputs;
        int32_t const nbOut = ports.outputs();
        PluginTensorDesc const first = ports.all.empty() ? PluginTensorDesc{} : ports.all.front().desc;
        if (mIdentity.generation == Generation::kV2)
            mPlugin->configureWithFormat(in.data(), nbIn, out.data(), nbOut, first.type, first.format, batch);
        else if (mIdentity.generation == Generation::kV2Ext)
        {
            std::vector<DType> types;
            for (Port const& port : ports.all)
                types.push_back(port.desc.type);
            auto const shared = sharedPorts(ports);
            ext().configurePlugin(in.data(), nbIn, out.data(), nbOut, types.data(), types.data() + nbIn, shared.get(),
                shared.get() + nbIn, first.format, batch);
        }
        else
        {
            std::vector<PluginTensorDesc> descs = descsOf(ports.all);
            for (size_t i = 0; i < descs.size(); ++i)
                descs[i].dims = withoutBatch(ports.all[i].max);
            static_cast<IPluginV2IOExt&>(ext()).configurePlugin(descs.data(), nbIn, descs.data() + nbIn, nbOut);
        }
        return Done{};
    }

    Result<size_t> workspace(Ports const& ports) override
    {
        return mPlugin->getWorkspaceSize(maxBatchOf(ports));
    }

    Result<Done> reshape(Ports const& ports) override
    {
        mBatch = 1;
        for (Port const& port : ports.in()) // An input that all of the batch shares has the extent 1 there.
            if (port.desc.dims.nbDims > 0 && port.desc.dims.d[0] != 1)
            {
                mBatch = static_cast<int32_t>(std::min<int64_t>(port.desc.dims.d[0], INT32_MAX));
                break;
            }
        return Done{};
    }

    Result<Done> run(Work const& work) override
    {
        if (mBatch == 0)
            return Done{}; // Nothing to do, and no plugin of these generations expects to be asked.
        int32_t const code = mPlugin->enqueue(mBatch, work.inputs, work.outputs, work.workspace, work.stream);
        return code == 0 ? Result<Done>{Done{}} : failed("enqueue()", code);
    }

  private:
    Result<std::vector<Dims>> dimsWithoutBatch(std::span<Shape const> inputs) const
    {
        std::vector<Dims> dims;
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            if (inputs[i].empty())
                return badConfig("input {} of plugin {} has rank 0: there is no batch extent", i, mIdentity.show());
            dims.push_back(withoutBatch(dimsOf(inputs[i])));
            for (int32_t k = 0; k < dims.back().nbDims; ++k)
                if (dims.back().d[k] < 0)
                    return badConfig("input {} of plugin {} has the dynamic extent {}: plugins of generation {} know "
                                     "no dynamic extents behind the batch; use V2DynamicExt or V3",
                        i, mIdentity.show(), k + 1, nameOf(mIdentity.generation));
        }
        return dims;
    }
    //! The first one that is not 1: tensors of the extent 1 may be shared by the whole batch.
    static ShapeExpr batchOf(std::span<Shape const> inputs)
    {
        for (Shape const& shape : inputs)
            if (shape.front() != ShapeExpr{1})
                return shape.front();
        return ShapeExpr{1};
    }
    bool mayShare(int32_t input, bool isOne) const
    {
        return isOne && mIdentity.generation != Generation::kV2 && ext().canBroadcastInputAcrossBatch(input);
    }
    bool isSharedOutput(int32_t output, bool const* sharedInputs, int32_t inputs) const
    {
        return mIdentity.generation != Generation::kV2
            && ext().isOutputBroadcastAcrossBatch(output, sharedInputs, inputs);
    }
    //! One flag for each port.
    std::unique_ptr<bool[]> sharedPorts(Ports const& ports) const
    {
        auto flags = std::make_unique<bool[]>(ports.all.size() + 1);
        auto const isBatched = [](Port const& port) { return port.desc.dims.nbDims > 0 && port.desc.dims.d[0] != 1; };
        bool const hasBatch = std::ranges::any_of(ports.in(), isBatched);
        for (int32_t i = 0; i < ports.inputs; ++i)
            flags[static_cast<size_t>(i)] = hasBatch && !isBatched(ports.all[static_cast<size_t>(i)]);
        for (int32_t i = 0; i < ports.outputs(); ++i)
            flags[static_cast<size_t>(ports.inputs + i)] = isSharedOutput(i, flags.get(), ports.inputs);
        return flags;
    }

    int32_t mBatch{1};
};

// ---- V2DynamicExt
// ----------------------------------------------------------------------------------------------------

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
            auto const dims = plugin().getOutputDimensions(i, in.data(), static_cast<int32_t>(in.size()), builder);
            auto shape = builder.shapeOf(dims);
            if (!shape)
                return std::move(shape).error().in(
                    fmt::format("getOutputDimensions({}) of plugin {}", i, mIdentity.show()));
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
        return code == 0 ? Result<Done>{Done{}} : failed("enqueue()", code);
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
    return PluginPtr{std::make_unique<Batchless>(plugin, generation)};
}

Result<PluginPtr> adopt(IPluginV2& plugin)
{
    TENON_TRY(checkLengths({textOf(plugin.getPluginType()), textOf(plugin.getPluginVersion()),
        textOf(plugin.getPluginNamespace()), generationOf(plugin)}));
    if (int32_t const outputs = plugin.getNbOutputs(); outputs < 1)
        return badArgument(
            "plugin '{}' has {} outputs: it needs at least one", textOf(plugin.getPluginType()), outputs);
    IPluginV2* const copy = plugin.clone();
    if (copy == nullptr)
        return badArgument("clone() of plugin '{}' returned null", textOf(plugin.getPluginType()));
    return take(copy);
}

Result<PluginPtr> borrow(IPluginV2& plugin)
{
    PluginPtr borrowed = TENON_TRY(take(&plugin));
    static_cast<V2Family&>(*borrowed).disown();
    return borrowed;
}

} // namespace tenon::plugins
