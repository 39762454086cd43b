// withBatch: the form that each kind of layer has for a whole batch, as the build found the kinds.
#include "layers/with_batch.h"

#include "layers/check.h"

#include "layers_includes.inc"

#include <algorithm>

namespace tenon
{

namespace
{
template <typename L>
L const& fieldsOf(Layer const& layer)
{
    return static_cast<LayerOf<L> const&>(layer).get();
}

template <typename L>
Result<WithBatch> withBatchOf(Layer const& layer, SampleInputs const& samples)
{
    L const& fields = fieldsOf<L>(layer);
    if constexpr (requires { L::kKeepsFrontAxes; })
        return WithBatch{makeLayer(fields), {}, {}};
    else if constexpr (requires { fields.withBatch(samples); })
        return fields.withBatch(samples);
    else
        return layerError(samples.in, L::kName,
            "has no form for networks with implicit batch; make the network with kEXPLICIT_BATCH");
}

template <typename L>
bool frontIsBatchOf(Layer const& layer)
{
    if constexpr (requires { fieldsOf<L>(layer).frontIsBatch(); })
        return fieldsOf<L>(layer).frontIsBatch();
    else
        return false;
}

template <typename L>
bool lacksBatchOf(Layer const& layer, Inputs const& in)
{
    if constexpr (requires { fieldsOf<L>(layer).lacksBatch(in); })
        return fieldsOf<L>(layer).lacksBatch(in);
    else
        return false;
}

struct BatchEntry
{
    std::string_view name;
    Result<WithBatch> (*withBatch)(Layer const&, SampleInputs const&);
    bool (*frontIsBatch)(Layer const&);
    bool (*lacksBatch)(Layer const&, Inputs const&);
};

constexpr BatchEntry kEntries[]{
#define TENON_TABLE_ENTRY(Name) {Name::kName, &withBatchOf<Name>, &frontIsBatchOf<Name>, &lacksBatchOf<Name>},
#include "layers_table.inc"
#undef TENON_TABLE_ENTRY
};

BatchEntry const* entryOf(Layer const& layer)
{
    auto const* const at = std::ranges::find(kEntries, layer.name(), &BatchEntry::name);
    return at == std::end(kEntries) ? nullptr : at;
}
} // namespace

Result<WithBatch> withBatch(Layer const& layer, SampleInputs const& samples)
{
    BatchEntry const* const entry = entryOf(layer);
    if (entry == nullptr)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "layer kind {} is in no table", layer.name());
    for (int32_t i = 0; i < samples.in.size(); ++i)
        if (samples.in.has(i) && samples.varies(i) && samples.in.type(i).rank() >= nvinfer1::Dims64::MAX_DIMS)
            return inputError(samples.in, layer.name(), i,
                fmt::format("has rank {}: with the batch in front there are {} axes at most", samples.in.type(i).rank(),
                    +nvinfer1::Dims64::MAX_DIMS));
    return entry->withBatch(layer, samples);
}

bool frontIsBatch(Layer const& layer)
{
    BatchEntry const* const entry = entryOf(layer);
    return entry != nullptr && entry->frontIsBatch(layer);
}

bool lacksBatch(Layer const& layer, Inputs const& in)
{
    BatchEntry const* const entry = entryOf(layer);
    return entry != nullptr && entry->lacksBatch(layer, in);
}

nvinfer1::Dims64 inFront(int64_t extent, nvinfer1::Dims64 const& dims)
{
    nvinfer1::Dims64 more{std::min(dims.nbDims + 1, +nvinfer1::Dims64::MAX_DIMS), {extent}};
    std::copy(dims.d, dims.d + std::max(more.nbDims - 1, 0), more.d + 1);
    return more;
}

Result<std::vector<int64_t>> sampleExtents(Layer const& layer, Inputs const& in)
{
    std::vector<TensorType> const types = TENON_TRY(layer.infer(in));
    std::optional<std::vector<int64_t>> extents = types.empty() ? std::nullopt : staticExtents(types.front().shape);
    if (!extents)
        return layerError(
            in, layer.name(), "has extents that only running tells, which networks with implicit batch do not have");
    if (extents->size() >= nvinfer1::Dims64::MAX_DIMS)
        return layerError(in, layer.name(), "has an output of 8 axes: there is no room for the batch");
    return *std::move(extents);
}

} // namespace tenon
