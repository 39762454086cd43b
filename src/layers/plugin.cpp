// CustomLayer: rules that the object behind the layer answers.
#include "layers/plugin.h"

#include "layers/check.h"

#include <cmath>

namespace tenon
{

namespace
{
Result<Shape> valuesOf(Inputs const& in, int32_t i)
{
    std::optional<Shape> values = in.values(i);
    if (!values)
        return badConfig("[layer '{}'] shape input {} (tensor '{}') of a plugin: its values are not known while the "
                         "network is built, nor do they follow from shapes and shape tensors of the network's inputs",
            in.layerName(), i, in[i].name);
    if (hasReal(*values))
        return badConfig("[layer '{}'] shape input {} (tensor '{}') of a plugin: its values are no integers",
            in.layerName(), i, in[i].name);
    return *std::move(values);
}
//! Constant extents that no tensor can have are the plugin's mistake, and told where it was made.
Result<Done> checkExtents(Inputs const& in, plugins::Identity const& identity, std::vector<Shape> const& outputs)
{
    for (size_t i = 0; i < outputs.size(); ++i)
        for (size_t axis = 0; axis < outputs[i].size(); ++axis)
        {
            int64_t const extent = outputs[i][axis].constant().value_or(0);
            if (extent < 0 || extent > kMaxTensorElements)
                return badConfig("[layer '{}'] output {} of plugin {} has the extent {} on axis {}: {}", in.layerName(),
                    i, identity.show(), extent, axis,
                    extent < 0 ? "extents are never negative" : "no tensor is so large, or its expression overflows");
        }
    return Done{};
}

Error withoutObject(CustomLayer const& layer, Inputs const& in)
{
    return errorOf(ErrorCode::kINTERNAL_ERROR, "[layer '{}'] plugin {} stands without its object", in.layerName(),
        layer.identity().show());
}
} // namespace

std::vector<DType> CustomLayer::toldTypes(Inputs const& in) const
{
    std::vector<DType> types;
    for (int32_t i = 0; i < dataInputs(in.size()); ++i)
        types.push_back(isStronglyTyped ? in.type(i).dtype : weakType(in.type(i).dtype));
    return types;
}

Result<std::vector<DType>> CustomLayer::outputTypes(Inputs const& in) const
{
    if (live == nullptr)
        return withoutObject(*this, in);
    std::vector<int32_t> ranks;
    for (int32_t i = 0; i < dataInputs(in.size()); ++i)
        ranks.push_back(in.type(i).rank());
    live->inputRanks(ranks);
    auto types = live->outputTypes(toldTypes(in));
    if (!types)
        return std::move(types).error().in(fmt::format("[layer '{}']", in.layerName()));
    return types;
}

Result<plugins::OutputShapes> CustomLayer::outputShapes(Inputs const& in) const
{
    if (live == nullptr)
        return withoutObject(*this, in);
    int32_t const data = dataInputs(in.size());
    std::vector<Shape> shapes;
    std::vector<Shape> values;
    for (int32_t i = 0; i < data; ++i)
        shapes.push_back(in.type(i).shape);
    for (int32_t i = data; i < in.size(); ++i)
        values.push_back(TENON_TRY(valuesOf(in, i)));
    auto found = live->outputShapes(
        shapes, values, [&](int32_t index, ShapeExpr const& upper) { return in.dataExtent(index, upper); });
    if (!found)
        return std::move(found).error().in(fmt::format("[layer '{}']", in.layerName()));
    TENON_TRY(checkExtents(in, identity(), found->shapes));
    return found;
}

Result<std::vector<TensorType>> CustomLayer::infer(Inputs const& in) const
{
    TENON_TRY(
        Check(in, kName)
            .that(shapeInputs >= 0 && dataInputs(in.size()) >= 0, "has {} shape inputs of {}", shapeInputs, in.size())
            .count(in.size())
            .done());
    // Before shapes: objects keep what they learn of types.
    std::vector<DType> const types = TENON_TRY(outputTypes(in));
    plugins::OutputShapes found = TENON_TRY(outputShapes(in));
    auto const data = static_cast<size_t>(dataInputs(in.size()));
    std::vector<TensorType> outputs;
    for (size_t i = 0; i < found.shapes.size() && i < types.size(); ++i)
    {
        DType const answered = types[i];
        DType const agreed = ports.size() > data + i ? ports[data + i].type : answered;
        outputs.push_back(
            {isStronglyTyped || !ports.empty() ? agreed : weakType(answered), std::move(found.shapes[i])});
    }
    for (int32_t const output : found.sizeOutputs)
    {
        TensorType const& type = outputs.at(static_cast<size_t>(output));
        if ((type.dtype != DType::kINT32 && type.dtype != DType::kINT64) || type.rank() != 0)
            return badConfig(
                "[layer '{}'] output {} of plugin {} is a size tensor: it must be a 0-D int32 or int64, not {}",
                in.layerName(), output, identity().show(), type.show());
    }
    return outputs;
}

Result<WithBatch> CustomLayer::withBatch(SampleInputs const& samples) const
{
    if (!plugins::isBatchless(generation))
        return layerError(samples.in, kName,
            fmt::format("{} is of generation {}, whose dims have the batch: it cannot stand in a network with implicit "
                        "batch; make the network with kEXPLICIT_BATCH",
                identity().show(), plugins::nameOf(generation)));
    return WithBatch{makeLayer(*this), {}, {}}; // What all samples share is copied where the object is asked (J19).
}

bool CustomLayer::lacksBatch(Inputs const& in) const
{
    constexpr int32_t kImageRank{3};
    bool isImage = plugins::isBatchless(generation) && in.size() > 0;
    for (int32_t i = 0; i < in.size(); ++i)
        isImage = isImage && in.has(i) && in.type(i).rank() == kImageRank && in.type(i).isStatic();
    return isImage;
}

Result<Done> CustomLayer::verify() const
{
    auto const count = static_cast<int32_t>(ports.size());
    bool sound = shapeInputs >= 0 && workspace >= 0;
    for (PluginPort const& port : ports)
        sound = sound && isValid(port.type) && port.most.nbDims >= 0 && std::isfinite(port.scale) && port.scale > 0.0F;
    for (int32_t const output : sizeOutputs)
        sound = sound && output >= 0 && output < count;
    for (auto const* list : {&dataExtents, &aliases})
        for (auto const& [output, other] : *list)
            sound = sound && output >= 0 && output < count && other >= 0 && other < count + nvinfer1::Dims64::MAX_DIMS;
    if (!sound || generation > plugins::Generation::kV3)
        return badArgument("plugin {} is stored with fields that do not fit each other", identity().show());
    return Done{};
}

} // namespace tenon
