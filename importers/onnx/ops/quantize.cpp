// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: the engine's layers where the type is one of theirs and
// the zero point 0, or known and of bytes (uint8 numbers are int8 ones and 128), plain arithmetic elsewhere.
#include "../held.h"
#include "../network.h"
#include "../own_calls.h"
#include "quantization.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

bool isZero(Value const& zeroPoint)
{
    if (!zeroPoint.exists())
    {
        return true;
    }
    if (!zeroPoint.isConstant())
    {
        return false;
    }
    if (zeroPoint.type() == DataType::kFP8)
    {
        auto const* const bits = static_cast<uint8_t const*>(zeroPoint.constant().data);
        constexpr uint8_t kMagnitude{0x7F};
        return std::all_of(bits, bits + zeroPoint.constant().count, [](uint8_t b) { return (b & kMagnitude) == 0; });
    }
    std::vector<double> const zeros = numbersOf(zeroPoint.constant());
    return std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0.0; });
}

namespace
{

bool hasLayer(DataType type)
{
    return type == DataType::kINT8 || type == DataType::kFP8 || type == DataType::kINT4 || type == DataType::kFP4;
}

//! A scale of one element as a tensor of rank 0.
Value asScalar(Node& node, Value const& scale)
{
    if (scale.rank() == 0)
    {
        return scale;
    }
    return scale.isConstant() ? node.reshapedConstant(scale, {}) : node.reshape(scale, {});
}

//! Whether the layer can tell that blocks and tensor fit: it compares what is known.
bool isFitting(Quantization const& q)
{
    Shape const x = q.x.shape();
    Shape const scale = q.scale.shape();
    bool const isKnown = std::all_of(x.begin(), x.end(), [](int64_t extent) { return extent >= 0; })
        && std::all_of(scale.begin(), scale.end(), [](int64_t extent) { return extent >= 0; });
    return q.blockSize == 0 || isKnown;
}

bool isOneElement(Value const& scale)
{
    Shape const shape = scale.shape();
    return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent == 1; }) && shape.size() < 2;
}

//! How x and its scales are cut so that they broadcast: blocks get an axis of their own.
struct Cuts
{
    Value x;
    Value scale;
    Value zeroPoint;
    bool isBlocked{false};
};

Value alongAxis(Node& node, Value const& scale, int32_t axis, int32_t rank)
{
    std::vector<int32_t> axes;
    for (int32_t i = 0; i < rank; ++i)
    {
        if (i != axis)
        {
            axes.push_back(i);
        }
    }
    return node.unsqueeze(scale, axes);
}

Cuts cutsOf(Node& node, Quantization const& q)
{
    Cuts cuts{q.x, q.scale, q.zeroPoint, false};
    int32_t const rank = q.x.rank();
    auto const both = [&](auto const& change) {
        cuts.scale = change(cuts.scale);
        if (cuts.zeroPoint.exists())
        {
            cuts.zeroPoint = change(cuts.zeroPoint);
        }
    };
    if (isOneElement(q.scale))
    {
        both([&](Value const& value) { return asScalar(node, value); });
    }
    else if (q.scale.rank() == 1 && q.blockSize == 0)
    {
        both([&](Value const& value) { return alongAxis(node, value, q.axis, rank); });
    }
    else
    {
        cuts.isBlocked = true;
        both([&](Value const& value) { return node.unsqueeze(value, {q.axis + 1}); });
        Extents extents = extentsOf(node, q.x);
        auto const at = static_cast<size_t>(q.axis);
        Extent const blocks = extentOf(node, q.scale, q.axis);
        extents.insert(extents.begin() + q.axis + 1, floorDivide(node, extents[at], blocks));
        extents[at] = blocks;
        cuts.x = reshapeTo(node, q.x, extents);
    }
    return cuts;
}

std::pair<double, double> limitsOf(DataType type, int32_t onnxType)
{
    if (Held const* const held = heldBy(onnxType); held != nullptr && held->isInteger())
    {
        double const range = std::ldexp(1.0, held->isSigned ? held->bits - 1 : held->bits);
        return {held->isSigned ? -range : 0.0, range - 1.0};
    }
    switch (type)
    {
    case DataType::kINT8: return {-128.0, 127.0};
    case DataType::kUINT8: return {0.0, 255.0};
    case DataType::kINT4: return {-8.0, 7.0};
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("numbers quantized to {}", nameOf(type)));
    }
}

//! `isOne`: there is one scale, which must be asked before there is a layer that lacks its axis.
template <typename Layer>
Value finished(Node& node, Layer* layer, Quantization const& q, bool isOne)
{
    node.added(layer, "quantization");
    if (!isOne)
    {
        layer->setAxis(q.axis);
    }
    Value const result = layer->getOutput(0);
    if (layer->getOutput(0)->getDimensions().nbDims < 0)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{}: the scales do not fit", node.op()));
    }
    return result;
}

bool isOfBytes(DataType type)
{
    return type == DataType::kINT8 || type == DataType::kUINT8;
}

constexpr int32_t kMiddle{128}; //!< From int8 numbers to uint8 ones.

//! The zero point of bytes as int8 numbers, where a layer takes it: scale and zero point are known, and one for all.
std::optional<int32_t> knownZeroPoint(Quantization const& q, DataType type)
{
    bool const isKnown = isOfBytes(type) && q.blockSize == 0 && q.scale.isConstant() && isOneElement(q.scale)
        && q.scale.type() == DataType::kFLOAT && numbersOf(q.scale.constant()).front() > 0.0;
    if (!isKnown || !hasZeroPoints())
    {
        return std::nullopt;
    }
    double zeroPoint{0.0};
    if (q.zeroPoint.exists())
    {
        if (!q.zeroPoint.isConstant() || !isOneElement(q.zeroPoint))
        {
            return std::nullopt;
        }
        zeroPoint = numbersOf(q.zeroPoint.constant()).front();
        auto const [least, most] = limitsOf(type, 0);
        bool const isOne = zeroPoint >= least && zeroPoint <= most && zeroPoint == std::trunc(zeroPoint);
        if (!isOne) // Of some other type than x: a fraction, or not a number at all.
        {
            return std::nullopt;
        }
    }
    return static_cast<int32_t>(zeroPoint) - (type == DataType::kUINT8 ? kMiddle : 0);
}

//! Bytes with or without sign from those of the other kind.
Value moved(Node& node, Value const& x, int32_t by, DataType type)
{
    Value const wide = node.cast(x, DataType::kINT32);
    Value const shift = node.scalar(static_cast<double>(by), DataType::kINT32);
    return node.cast(node.binary(wide, shift, ElementWiseOperation::kSUM), type);
}

} // namespace

Value signedForm(Node& node, Value const& x)
{
    if (x.type() == DataType::kINT8)
    {
        return x;
    }
    if (!x.isConstant())
    {
        auto const& forms = node.network().signedForms;
        auto const found = forms.find(&node.tensor(x));
        return found != forms.end() ? found->second : moved(node, x, -kMiddle, DataType::kINT8);
    }
    Constant const& from = x.constant();
    auto const* const bytes = static_cast<uint8_t const*>(from.data);
    std::vector<int8_t> elements(static_cast<size_t>(from.count));
    std::transform(
        bytes, bytes + from.count, elements.begin(), [](uint8_t byte) { return static_cast<int8_t>(byte - kMiddle); });
    return node.named(node.network().model.own(DataType::kINT8, from.dims, elements), "numbers");
}

namespace
{

void giveZeroPoint(Node& node, nvinfer1::ILayer& layer, int32_t zeroPoint)
{
    if (zeroPoint != 0 && !setZeroPoint(layer, zeroPoint))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("{} with a zero point of {}", node.op(), zeroPoint));
    }
}

Value quantizedToBytes(Node& node, Quantization const& q, int32_t zeroPoint, DataType type)
{
    nvinfer1::IQuantizeLayer* const layer =
        node.api().addQuantize(node.tensor(q.x), node.tensor(q.scale), DataType::kINT8);
    Value const numbers = finished(node, layer, q, true);
    giveZeroPoint(node, *layer, zeroPoint);
    if (type == DataType::kINT8)
    {
        return numbers;
    }
    Value const result = moved(node, numbers, kMiddle, DataType::kUINT8);
    node.network().signedForms.emplace(&node.tensor(result), numbers);
    return result;
}

//! Whether uint8 numbers of this zero point are int8 ones without any.
bool isInTheMiddle(Quantization const& q)
{
    if (q.x.type() != DataType::kUINT8 || q.blockSize != 0 || !q.x.isConstant() || !q.zeroPoint.exists()
        || !q.zeroPoint.isConstant())
    {
        return false;
    }
    std::vector<double> const zeros = numbersOf(q.zeroPoint.constant());
    return std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == kMiddle; });
}

} // namespace

Value quantize(Node& node, Quantization const& q, DataType type, int32_t onnxType)
{
    Held const* const held = heldBy(onnxType);
    bool const isRounded = held != nullptr && !held->isInteger();
    if (held == nullptr && hasLayer(type) && isZero(q.zeroPoint) && (type != DataType::kINT8 || isFitting(q)))
    {
        bool const isOne = isOneElement(q.scale);
        return finished(node, node.api().addQuantize(node.tensor(q.x), node.tensor(q.scale), type), q, isOne);
    }
    std::optional<int32_t> const zeroPoint = knownZeroPoint(q, type);
    if (held == nullptr && zeroPoint && q.x.type() == DataType::kFLOAT)
    {
        return quantizedToBytes(node, q, *zeroPoint, type);
    }
    Cuts const cuts = cutsOf(node, q);
    Value const x = node.cast(cuts.x, DataType::kFLOAT);
    Value const quotient = node.binary(x, node.cast(cuts.scale, DataType::kFLOAT), ElementWiseOperation::kDIV);
    if (isRounded)
    {
        Value const near = convertedTo(node, quotient, *held, node.intOr("saturate", 1) != 0);
        return cuts.isBlocked ? reshapeTo(node, near, extentsOf(node, q.x)).marked(onnxType) : near;
    }
    auto const [least, most] = limitsOf(type, onnxType);
    Value moved = node.unary(quotient, UnaryOperation::kROUND);
    if (cuts.zeroPoint.exists())
    {
        moved = node.binary(moved, node.cast(cuts.zeroPoint, DataType::kFLOAT), ElementWiseOperation::kSUM);
    }
    Value const result = node.cast(
        node.activation(moved, nvinfer1::ActivationType::kCLIP, static_cast<float>(least), static_cast<float>(most)),
        type);
    Value const whole = cuts.isBlocked ? reshapeTo(node, result, extentsOf(node, q.x)) : result;
    return held != nullptr ? whole.marked(onnxType) : whole;
}

Value dequantize(Node& node, Quantization const& q, DataType type)
{
    if (hasLayer(q.x.type()) && isZero(q.zeroPoint) && (q.x.type() != DataType::kINT8 || isFitting(q)))
    {
        bool const isOne = isOneElement(q.scale);
        return finished(node, node.api().addDequantize(node.tensor(q.x), node.tensor(q.scale), type), q, isOne);
    }
    std::optional<int32_t> zeroPoint = knownZeroPoint(q, q.x.type());
    if (isInTheMiddle(q))
    {
        zeroPoint = 0;
    }
    if (zeroPoint)
    {
        Value const numbers = signedForm(node, q.x);
        bool const isOne = isOneElement(q.scale);
        nvinfer1::IDequantizeLayer* const layer =
            node.api().addDequantize(node.tensor(numbers), node.tensor(q.scale), type);
        Value const result = finished(node, layer, q, isOne);
        giveZeroPoint(node, *layer, *zeroPoint);
        return result;
    }
    Cuts const cuts = cutsOf(node, q);
    Value x = node.cast(cuts.x, DataType::kFLOAT);
    if (!isZero(cuts.zeroPoint))
    {
        x = node.binary(x, node.cast(cuts.zeroPoint, DataType::kFLOAT), ElementWiseOperation::kSUB);
    }
    Value const product = node.binary(x, node.cast(cuts.scale, DataType::kFLOAT), ElementWiseOperation::kPROD);
    Value const result = node.cast(product, type);
    return cuts.isBlocked ? reshapeTo(node, result, extentsOf(node, q.x)) : result;
}

namespace
{

Quantization quantizationOf(Node& node)
{
    Quantization q{.x = node.in(0), .scale = node.in(1), .zeroPoint = {}};
    if (node.has(2))
    {
        q.zeroPoint = node.in(2);
    }
    q.blockSize = node.intOr("block_size", 0);
    bool const isWhole = isOneElement(q.scale) && q.blockSize == 0;
    q.axis = isWhole ? 0 : node.axis(node.intOr("axis", 1), q.x.rank());
    return q;
}

//! The same where the last block is cut short, or may be: with a scale for each element along the axis.
Quantization withWholeBlocks(Node& node, Quantization q)
{
    if (q.blockSize == 0)
    {
        return q;
    }
    if (q.blockSize < 0 || (q.scale.rank() != q.x.rank() && !isOneElement(q.scale)))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{}: scales of shape {} for a tensor of shape {} in blocks of {} (block_size)", node.op(),
                shapeText(q.scale.shape()), shapeText(q.x.shape()), q.blockSize));
    }
    if (q.scale.rank() != q.x.rank())
    {
        return q;
    }
    Extent const extent = extentOf(node, q.x, q.axis);
    Extent const blocks = extentOf(node, q.scale, q.axis);
    if (extent.known && blocks.known)
    {
        if (*blocks.known != (*extent.known + q.blockSize - 1) / q.blockSize)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{}: {} scales along axis {} for an extent of {} in blocks of {} (block_size)", node.op(),
                    *blocks.known, q.axis, *extent.known, q.blockSize));
        }
        if (*extent.known == 0) // Of nothing there is no scale.
        {
            return {.x = q.x, .scale = node.scalar(1.0, q.scale.type()), .zeroPoint = {}};
        }
        if (*extent.known == *blocks.known * q.blockSize)
        {
            return q;
        }
    }
    auto const perElement = [&](Value const& value) {
        Extents apart = extentsOf(node, value);
        Extents together = apart;
        apart.insert(apart.begin() + q.axis + 1, Extent{q.blockSize});
        together[static_cast<size_t>(q.axis)] = multiply(node, blocks, q.blockSize);
        Value const repeated = expandTo(node, node.unsqueeze(value, {q.axis + 1}), apart);
        return sliceAxis(node, reshapeTo(node, repeated, together), q.axis, Extent{0}, extent);
    };
    q.scale = perElement(q.scale);
    q.zeroPoint = isZero(q.zeroPoint) ? Value{} : perElement(node.cast(q.zeroPoint, DataType::kFLOAT));
    return q;
}

//! Types by their numbers in ONNX, as far as something can be quantized to them.
DataType typeOf(int64_t number)
{
    switch (number)
    {
    case 1: return DataType::kFLOAT;
    case 2: return DataType::kUINT8;
    case 3: return DataType::kINT8;
    case 10: return DataType::kHALF;
    case 16: return DataType::kBF16;
    case 17: return DataType::kFP8;
    case 22: return DataType::kINT4;
    case 23: return DataType::kFP4;
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("output_dtype {}", number));
    }
}

Outputs importQuantize(Node& node)
{
    Quantization const q = quantizationOf(node);
    int32_t const wanted = node.int32Or("output_dtype", 0);
    int32_t const held = q.zeroPoint.exists() ? q.zeroPoint.held() : heldBy(wanted) != nullptr ? wanted : 0;
    DataType const type = q.zeroPoint.exists() ? q.zeroPoint.type()
        : held != 0                            ? heldBy(held)->type
        : wanted != 0                          ? typeOf(wanted)
                                               : DataType::kUINT8;
    return {quantize(node, withWholeBlocks(node, q), type, held)};
}

Outputs importDequantize(Node& node)
{
    int64_t const wanted = node.intOr("output_dtype", 0);
    Quantization q = quantizationOf(node);
    q.x = unheld(q.x);
    return {dequantize(node, withWholeBlocks(node, q), wanted != 0 ? typeOf(wanted) : node.in(1).type())};
}

} // namespace

namespace
{
struct ByteScale
{
    Value scale;
    Value zeroPoint;
    Value realZeroPoint;
};

//! Scale and zero point by the range of x, in arithmetic: for networks of libraries without the layer, and for doubles.
ByteScale byteScaleWrittenOut(Node& node, Value const& x)
{
    std::vector<int32_t> axes;
    for (int32_t axis = 0; axis < x.rank(); ++axis)
    {
        axes.push_back(axis);
    }
    Value const zero = node.scalar(0.0, DataType::kFLOAT);
    auto const bound = [&](ReduceOperation reduction, ElementWiseOperation withZero) {
        Value const extreme = axes.empty() ? x : node.reduce(x, reduction, axes, false);
        return node.binary(extreme, zero, withZero);
    };
    Value const least = bound(ReduceOperation::kMIN, ElementWiseOperation::kMIN);
    Value const most = bound(ReduceOperation::kMAX, ElementWiseOperation::kMAX);
    Value const steps = node.scalar(255.0, DataType::kFLOAT);
    Value const range = node.binary(most, least, ElementWiseOperation::kSUB);
    // Of zeros alone the scale is 1.
    Value const isNone = node.binary(range, zero, ElementWiseOperation::kEQUAL);
    Value const scale = node.binary(node.select(isNone, steps, range), steps, ElementWiseOperation::kDIV);
    Value const shift =
        node.binary(node.binary(zero, least, ElementWiseOperation::kSUB), scale, ElementWiseOperation::kDIV);
    Value const zeroPoint = node.cast(
        node.unary(node.activation(shift, nvinfer1::ActivationType::kCLIP, 0.0F, 255.0F), UnaryOperation::kROUND),
        DataType::kUINT8);
    return {scale, zeroPoint, node.cast(zeroPoint, DataType::kFLOAT)};
}

ByteScale byteScale(Node& node, Value const& x)
{
    if (x.type() != DataType::kFLOAT || !hasByteScales())
    {
        return byteScaleWrittenOut(node, x);
    }
    nvinfer1::ILayer* const layer = node.added(addByteScale(node.api(), node.tensor(x)), "range");
    return {layer->getOutput(0), layer->getOutput(1), layer->getOutput(2)};
}
} // namespace

Outputs dynamicallyQuantized(Node& node, Value const& x)
{
    auto const [scale, zeroPoint, realZeroPoint] = byteScale(node, x);
    Quantization const q{.x = x, .scale = scale, .zeroPoint = realZeroPoint};
    return {quantize(node, q, DataType::kUINT8), scale, zeroPoint};
}

namespace
{
Outputs importDynamicQuantize(Node& node)
{
    return dynamicallyQuantized(node, node.in(0));
}

constexpr Operator kQuantizeTable[]{
    {"DequantizeLinear", importDequantize},
    {"DynamicQuantizeLinear", importDynamicQuantize},
    {"QuantizeLinear", importQuantize},
};

} // namespace

constinit std::span<Operator const> const kQuantizeOperators{kQuantizeTable};

} // namespace tenon::onnx
