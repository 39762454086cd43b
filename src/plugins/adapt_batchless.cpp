// Plugins of V2, V2Ext and V2IOExt: the batch is a number of its own, and the other extents are fixed.
#include "plugins/builtin/batchless.h"
#include "plugins/cpu_body.h"
#include "plugins/v2_family.h"

#include <algorithm>

namespace tenon::plugins
{

using nvinfer1::Dims;
using nvinfer1::IPluginV2IOExt;
using nvinfer1::PluginTensorDesc;

namespace
{
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

//! The first one that is not 1: tensors of the extent 1 are for the whole batch.
ShapeExpr batchOf(std::span<Shape const> inputs)
{
    for (Shape const& shape : inputs)
        if (!shape.empty() && shape.front() != ShapeExpr{1})
            return shape.front();
    return ShapeExpr{1};
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
            bool const isOne = inputs[i].front() == ShapeExpr{1};
            if (inputs[i].front() != batch && !isOne)
                return badConfig(
                    "input {} of plugin {} has the batch extent {}, others have {}: it must be the same, or 1", i,
                    mIdentity.show(), inputs[i].front().show(), batch.show());
            shared[i] = inputs[i].front() != batch && canShareInput(*this, static_cast<int32_t>(i));
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
        forgetExplanation(); // None of them answers anything.
        return Done{};
    }

    Result<size_t> workspace(Ports const& ports) override
    {
        return mPlugin->getWorkspaceSize(maxBatchOf(ports));
    }

    Result<Done> reshape(Ports const& ports) override
    {
        mInputs = ports.inputs;
        mOutputs = ports.outputs();
        mBatch = 1;
        for (Port const& port : ports.in()) // An input that all of the batch shares has the extent 1 there.
            if (port.desc.dims.nbDims > 0 && port.desc.dims.d[0] != 1)
            {
                mBatch = static_cast<int32_t>(std::min<int64_t>(port.desc.dims.d[0], INT32_MAX));
                break;
            }
        if (mBatch == 0)
            return Done{}; // It will not run.
        // Users' own plugins look after themselves, and are not called here.
        if (std::string const why = builtin::differsFrom(*mPlugin, descsOf(ports.all), mInputs, mBatch); !why.empty())
            return badConfig("plugin {}: {}", mIdentity.show(), why);
        return Done{};
    }

    Result<Done> run(Work const& work) override
    {
        if (mBatch == 0)
            return Done{}; // Nothing to do, and no plugin of these generations expects to be asked.
        UntoldCounts const counts{mInputs, mOutputs};
        int32_t const code = mPlugin->enqueue(mBatch, work.inputs, work.outputs, work.workspace, work.stream);
        return checked("enqueue()", code);
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
    bool isSharedOutput(int32_t output, bool const* sharedInputs, int32_t inputs) const
    {
        return mIdentity.generation != Generation::kV2
            && alsoTold("isOutputBroadcastAcrossBatch", "the output's first extent depends on it",
                [&] { return ext().isOutputBroadcastAcrossBatch(output, sharedInputs, inputs); });
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
    int32_t mInputs{0};
    int32_t mOutputs{0};
};
} // namespace

bool canShareInput(Plugin& plugin, int32_t input)
{
    Generation const generation = plugin.identity().generation;
    if (generation != Generation::kV2Ext && generation != Generation::kV2IOExt)
        return false;
    auto& object = static_cast<nvinfer1::IPluginV2Ext&>(*plugin.v2());
    return alsoTold("canBroadcastInputAcrossBatch", "the input has one entry for the whole batch",
        [&] { return object.canBroadcastInputAcrossBatch(input); });
}

std::vector<size_t> unshareable(Plugin& plugin, std::span<Shape const> inputs)
{
    std::vector<size_t> found;
    if (!isBatchless(plugin.identity().generation) || batchOf(inputs) == ShapeExpr{1})
        return found;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i].empty() && inputs[i].front() == ShapeExpr{1} && !canShareInput(plugin, static_cast<int32_t>(i)))
            found.push_back(i);
    return found;
}

PluginPtr makeBatchless(nvinfer1::IPluginV2* plugin, Generation generation)
{
    return std::make_unique<Batchless>(plugin, generation);
}

} // namespace tenon::plugins
