// QuantizeLinear and DequantizeLinear.
#include "../network.h"
#include "../operators.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

//! The engine's quantization is symmetric.
void checkZeroPoint(Node const& node)
{
    if (!node.has(2))
    {
        return;
    }
    std::vector<double> const zeros = node.numbers(2, "zero point");
    if (node.in(2).type() != DataType::kINT8)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("{} with a zero point of type {}", node.op(), nameOf(node.in(2).type())));
    }
    if (std::any_of(zeros.begin(), zeros.end(), [](double z) { return z != 0.0; }))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, fmt::format("{} with a zero point that is not 0", node.op()));
    }
}

//! What could be wrong with the arguments was checked before: a network that refuses the layer does not have it.
template <typename AddLayer>
Outputs finished(Node& node, AddLayer const& add)
{
    auto* const layer = node.network().lacking.count(std::string{node.op()}) == 0 ? add() : nullptr;
    if (layer == nullptr)
    {
        node.network().lacking.emplace(node.op());
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("the network has no layer for {} yet", node.op()));
    }
    node.added(layer, "quantization");
    if (node.in(1).rank() > 0)
    {
        layer->setAxis(node.axis(node.intOr("axis", 1), node.in(0).rank()));
    }
    return {layer->getOutput(0)};
}

void refuseBlocks(Node const& node)
{
    if (node.intOr("block_size", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("{} in blocks", node.op()));
    }
}

Outputs importQuantize(Node& node)
{
    refuseBlocks(node);
    checkZeroPoint(node);
    if (!node.has(2))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, "QuantizeLinear to uint8, which a missing zero point means");
    }
    return finished(node,
        [&] { return node.api().addQuantize(node.tensor(node.in(0)), node.tensor(node.in(1)), DataType::kINT8); });
}

Outputs importDequantize(Node& node)
{
    refuseBlocks(node);
    checkZeroPoint(node);
    return finished(node,
        [&] { return node.api().addDequantize(node.tensor(node.in(0)), node.tensor(node.in(1)), node.in(1).type()); });
}

constexpr Operator kQuantizeTable[]{
    {"DequantizeLinear", importDequantize},
    {"QuantizeLinear", importQuantize},
};

} // namespace

constinit std::span<Operator const> const kQuantizeOperators{kQuantizeTable};

} // namespace tenon::onnx
