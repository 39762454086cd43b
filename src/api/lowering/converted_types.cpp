// Types of weakly typed networks: casts where a layer reads its operands in one type, and int8 that stands for reals.
#include "api/lowering/graph_writer.h"
#include "api/network/operand_views.h"

#include "layers/cast.h"
#include "layers/dequantize.h"
#include "layers/plugin.h"
#include "layers/quantize.h"

namespace tenon::api
{

std::optional<DType> GraphWriter::readType(LayerBase& layer) const
{
    bool const isGiven = mRequest.precisions != PrecisionUse::kHint && layer.precisionIsSet();
    if (isGiven && layer.kind() != CustomLayer::kName && mNetwork.computesIn(layer, layer.getPrecision()))
        return layer.getPrecision();
    return layer.readType;
}

Result<ValueId> GraphWriter::converted(ValueId value, DType type, std::string const& name)
{
    Graph& graph = mResult.graph;
    ValueId const made = graph.node(TENON_TRY(graph.addNode(makeLayer(Cast{type}), name, {value}))).output();
    if (mBatch)
        mBatch->follow(value, made);
    return made;
}

Result<Done> GraphWriter::convertOperands(LayerBase const& layer, DType type, std::vector<ValueId>& operands)
{
    for (size_t i = 0; i < operands.size(); ++i)
    {
        if (operands[i] == kNone)
            continue;
        DType const own = mResult.graph.typeOf(operands[i]).dtype;
        if (own != type && isConvertedOperand(own, i, layer.shapeOperands()))
            operands[i] = TENON_TRY(converted(operands[i], type,
                fmt::format("{} of '{}' for '{}'", nameOf(type), mResult.graph.value(operands[i]).name, layer.name())));
    }
    return Done{};
}

Result<ValueId> GraphWriter::scaled(LayerPtr layer, Tensor const& tensor, ValueId value, std::string const& name)
{
    Graph& graph = mResult.graph;
    float const step = *tensor.scale();
    ValueId const factor = graph.addConstant(tensor.name() + " scale", makeConstant(DType::kFLOAT, {}, &step));
    ValueId const made = graph.node(TENON_TRY(graph.addNode(std::move(layer), name, {value, factor}))).output();
    if (mBatch)
        mBatch->follow(value, made);
    return made;
}

Result<ValueId> GraphWriter::quantized(Tensor const& tensor, ValueId value)
{
    if (mResult.graph.typeOf(value).dtype != DType::kFLOAT) // Scales are of the operand's type.
        value = TENON_TRY(converted(value, DType::kFLOAT, tensor.name() + " in float32"));
    return scaled(makeLayer(Quantize{}), tensor, value, tensor.name() + " in int8");
}

Result<ValueId> GraphWriter::dequantized(Tensor const& tensor, ValueId value)
{
    return scaled(makeLayer(Dequantize{}), tensor, value, tensor.name() + " from int8");
}

} // namespace tenon::api
