// Operators that meant something else before opset 9.
#include "old_opsets.h"

#include <optional>
#include <span>

namespace tenon::onnx
{
namespace
{

//! Before some opset, what of a node has another meaning; nothing when it has not.
struct Change
{
    std::string_view op;
    int64_t until; //!< The first opset with today's meaning.
    std::optional<std::string> (*difference)(Node const& node);
};

using Difference = std::optional<std::string>;

//! Only operands of equal shapes, unless the attribute broadcast says otherwise. Axis is read by the arithmetic ones.
Difference operandsOfEqualShape(Node const& node)
{
    if (node.intOr("broadcast", 0) == 0 && node.in(0).shape() != node.in(1).shape())
    {
        return fmt::format("its operands {} and {} must have one shape, since 'broadcast' is not set",
            shapeText(node.in(0).shape()), shapeText(node.in(1).shape()));
    }
    return std::nullopt;
}

Difference broadcastAlongAnAxis(Node const& node)
{
    if (node.hasAttribute("axis"))
    {
        return "its attribute 'axis' places the axes of the second operand";
    }
    return operandsOfEqualShape(node);
}

Difference statisticsOfTheBatch(Node const& node)
{
    if (node.intOr("is_test", 0) == 0)
    {
        return "it computes the statistics of its input, since 'is_test' is not set";
    }
    return std::nullopt;
}

Difference statisticsPerElement(Node const& node)
{
    if (node.intOr("spatial", 1) == 0)
    {
        return "its statistics are per element, since 'spatial' is 0";
    }
    return std::nullopt;
}

Difference droppingElements(Node const& node)
{
    if (node.intOr("is_test", 0) == 0)
    {
        return "it drops elements, since 'is_test' is not set";
    }
    return std::nullopt;
}

Difference scalesPerSide(Node const&)
{
    return "it is scaled by 'height_scale' and 'width_scale'";
}

Difference tilesAlongOneAxis(Node const&)
{
    return "it repeats its input along one axis";
}

Difference lengthsAsAnInput(Node const& node)
{
    return node.has(1) ? Difference{"the lengths of its parts are an input"} : std::nullopt;
}

Difference paddings(Node const& node)
{
    return node.hasAttribute("paddings") ? Difference{"its padding is called 'paddings'"} : std::nullopt;
}

Difference coarserDefaults(Node const& node)
{
    if (node.hasAttribute("alpha") && node.hasAttribute("gamma"))
    {
        return std::nullopt;
    }
    return "its defaults of 'alpha' and 'gamma' are other numbers";
}

constexpr Change kChanges[]{
    {"Add", 7, operandsOfEqualShape},
    {"And", 7, operandsOfEqualShape},
    {"BatchNormalization", 7, statisticsOfTheBatch},
    {"BatchNormalization", 9, statisticsPerElement},
    {"Div", 7, operandsOfEqualShape},
    {"Dropout", 7, droppingElements},
    {"Equal", 7, broadcastAlongAnAxis},
    {"Greater", 7, operandsOfEqualShape},
    {"Less", 7, operandsOfEqualShape},
    {"Mul", 7, operandsOfEqualShape},
    {"Or", 7, operandsOfEqualShape},
    {"Pad", 2, paddings},
    {"Pow", 7, broadcastAlongAnAxis},
    {"Selu", 6, coarserDefaults},
    {"Split", 2, lengthsAsAnInput},
    {"Sub", 7, operandsOfEqualShape},
    {"Tile", 6, tilesAlongOneAxis},
    {"Upsample", 7, scalesPerSide},
    {"Xor", 7, operandsOfEqualShape},
};

} // namespace

void refuseOldMeaning(Node const& node)
{
    for (Change const& change : kChanges)
    {
        if (change.op != node.op() || node.opset() >= change.until)
        {
            continue;
        }
        if (Difference const why = change.difference(node))
        {
            fail(ErrorCode::kUNSUPPORTED_NODE,
                fmt::format("{} at opset {}: {}; this is not supported before opset {}", node.op(), node.opset(), *why,
                    change.until));
        }
    }
}

} // namespace tenon::onnx
