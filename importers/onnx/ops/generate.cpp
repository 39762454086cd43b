// Operators that make elements from nothing: constants, ranges, masks, random numbers.
#include "../network.h"
#include "../operators.h"

#include <cmath>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::FillOperation;
using nvinfer1::UnaryOperation;
using Wide = __int128; //!< Differences of 64-bit limits.

Outputs importConstant(Node& node)
{
    auto const count = [](auto const& list) { return static_cast<int64_t>(list.size()); };
    Model& model = node.network().model;
    if (::onnx::TensorProto const* const tensor = node.tensorAttribute("value"))
    {
        return {Value{model.tensor(*tensor), node.name()}};
    }
    if (node.hasAttribute("value_float"))
    {
        std::vector<float> const one{node.floatOr("value_float", 0)};
        return {Value{model.own(DataType::kFLOAT, {}, one), node.name()}};
    }
    if (node.hasAttribute("value_int"))
    {
        Integers const one{node.intOr("value_int", 0)};
        return {Value{model.own(DataType::kINT64, {}, one), node.name()}};
    }
    if (node.hasAttribute("value_floats"))
    {
        std::vector<float> const list = node.floatsOr("value_floats", {});
        return {Value{model.own(DataType::kFLOAT, {count(list)}, list), node.name()}};
    }
    if (node.hasAttribute("value_ints"))
    {
        Integers const list = node.intsOr("value_ints", {});
        return {Value{model.own(DataType::kINT64, {count(list)}, list), node.name()}};
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "a Constant of strings, of sparse elements, or without a value");
}

//! One element repeated: a slice with stride 0.
Value repeated(Node& node, Value const& element, Extents const& shape)
{
    if (shape.empty())
    {
        return element;
    }
    return expandTo(node, node.reshapedConstant(element, Shape(shape.size(), 1)), shape);
}

constexpr int64_t kMaxConstant{4096}; // As constants; what is longer is made by a layer.

//! The same, known: its bytes are copied, so that every integer stays exact.
Value copies(Node& node, Constant const& element, Shape const& shape)
{
    auto const size = static_cast<size_t>(bytesOf(element.type));
    auto const* const bytes = static_cast<uint8_t const*>(element.data);
    std::vector<uint8_t> elements(size * static_cast<size_t>(volumeOf(shape)));
    for (size_t i = 0; i < elements.size(); ++i)
    {
        elements[i] = bytes[i % size];
    }
    return node.named(node.network().model.own(element.type, shape, elements), "constant");
}

Outputs importConstantOfShape(Node& node)
{
    ::onnx::TensorProto const* const tensor = node.tensorAttribute("value");
    Value const element = tensor != nullptr ? node.named(node.network().model.tensor(*tensor), "value")
                                            : node.scalar(0.0, DataType::kFLOAT);
    if (element.constant().count != 1)
    {
        fail(ErrorCode::kINVALID_NODE, "the value of ConstantOfShape has more than one element");
    }
    Extents const shape = elementsOf(node, node.in(0));
    if (areKnown(shape) && volumeOf(knownOf(shape)) <= kMaxConstant)
    {
        return {copies(node, element.constant(), knownOf(shape))};
    }
    return {repeated(node, node.reshapedConstant(element, {}), shape)};
}

bool allConstant(Node const& node)
{
    return node.in(0).isConstant() && node.in(1).isConstant() && node.in(2).isConstant();
}

constexpr char const* kRangeInputs[]{"start", "limit", "delta"};

//! An operand that is known, and has one element.
int64_t wholeOperand(Node& node, int input)
{
    Integers const elements = node.integers(input, kRangeInputs[input]);
    if (elements.size() != 1)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("input {} ({}) has {} elements, not 1", input, kRangeInputs[input], elements.size()));
    }
    return elements.front();
}

//! Whole numbers from whole numbers on, and, of those operands that are known, numbers and a step that is none of 0.
void checkRangeOperands(Node& node)
{
    for (int i = 0; i < 3; ++i)
    {
        if (isFloating(node.in(i).type()) && !isFloating(node.in(0).type()))
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("Range whose {} is of {}, and whose start is of {}: they must be of one type",
                    kRangeInputs[i], nameOf(node.in(i).type()), nameOf(node.in(0).type())));
        }
        if (!node.in(i).isConstant())
        {
            continue;
        }
        bool const isReal = isFloating(node.in(i).type());
        double const number = isReal ? node.number(i, kRangeInputs[i], 0) : static_cast<double>(wholeOperand(node, i));
        if (!std::isfinite(number))
        {
            fail(ErrorCode::kINVALID_VALUE,
                fmt::format("Range whose {} is {}: start, limit and delta must be finite", kRangeInputs[i], number));
        }
        if (i == 2 && number == 0.0)
        {
            fail(ErrorCode::kINVALID_VALUE, "Range whose delta is 0 never reaches its limit");
        }
    }
}

void checkCount(double start, double limit, double delta, double count)
{
    constexpr double kLimit{1 << 28};
    if (!(count <= kLimit))
    {
        fail(ErrorCode::kINVALID_VALUE,
            fmt::format("Range from {} to {} by {} has {} elements, and may have {}", start, limit, delta, count,
                static_cast<int64_t>(kLimit)));
    }
}

//! start, start + delta, … as long as limit is not reached; all three are known.
Outputs constantIntegers(Node& node)
{
    int64_t const start = wholeOperand(node, 0);
    int64_t const limit = wholeOperand(node, 1);
    int64_t const delta = wholeOperand(node, 2);
    Wide const span = Wide{limit} - Wide{start};
    Wide const wide = (span + delta + (delta > 0 ? -1 : 1)) / delta;
    auto const count = static_cast<double>(std::max<Wide>(wide, 0));
    checkCount(static_cast<double>(start), static_cast<double>(limit), static_cast<double>(delta), count);
    return {node.cast(iota(node, static_cast<int64_t>(count), start, delta), node.in(0).type())};
}

Outputs constantRange(Node& node)
{
    if (!isFloating(node.in(0).type()))
    {
        return constantIntegers(node);
    }
    double const start = node.number(0, "start", 0);
    double const limit = node.number(1, "limit", 0);
    double const delta = node.number(2, "delta", 1);
    double const count = std::max(0.0, std::ceil((limit - start) / delta));
    checkCount(start, limit, delta, count);
    auto const length = static_cast<int64_t>(count);
    if (length > kMaxConstant)
    {
        nvinfer1::IFillLayer* const layer = node.added(
            node.api().addFill(nvinfer1::Dims{1, {length}}, FillOperation::kLINSPACE, node.in(0).type()), "range");
        layer->setAlpha(start);
        layer->setBeta(delta);
        return {layer->getOutput(0)};
    }
    std::vector<double> elements(static_cast<size_t>(count));
    for (size_t i = 0; i < elements.size(); ++i)
    {
        elements[i] = start + static_cast<double>(i) * delta;
    }
    return {node.numbers(elements, {static_cast<int64_t>(elements.size())}, node.in(0).type())};
}

//! Of floating limits that follow from shapes: start + i · delta, computed in float, or in double.
Value floatingRange(Node& node)
{
    DataType const type = wideOf(node.in(0).type());
    auto const number = [&](int input) {
        Value const x = node.cast(node.in(input), type);
        return x.rank() == 1 ? x : node.reshape(x, {1});
    };
    Value const start = number(0);
    Value const delta = number(2);
    Value const span = node.binary(number(1), start, ElementWiseOperation::kSUB);
    Value const steps = node.unary(node.binary(span, delta, ElementWiseOperation::kDIV), UnaryOperation::kCEIL);
    Value const count = node.binary(steps, node.scalar(0.0, type, 1), ElementWiseOperation::kMAX);
    Value const places = node.cast(iota(node, Extent{node.cast(count, DataType::kINT64)}), type);
    Value const moved =
        node.binary(node.binary(places, delta, ElementWiseOperation::kPROD), start, ElementWiseOperation::kSUM);
    return node.cast(moved, node.in(0).type());
}

//! Integers whose differences stay within 64 bits; what only the run knows, the profile bounds.
void checkFarLimits(Node& node)
{
    constexpr int64_t kFarthest{int64_t{1} << 62};
    for (int i = 0; i < 3; ++i)
    {
        int64_t const number = node.in(i).isConstant() ? wholeOperand(node, i) : 0;
        if (number > kFarthest || number < -kFarthest)
        {
            fail(ErrorCode::kINVALID_VALUE,
                fmt::format("Range whose {} is {}, beyond 2^62, and whose other operands only the run knows: their "
                            "difference may have more than 64 bits",
                    kRangeInputs[i], number));
        }
    }
}

Outputs importRange(Node& node)
{
    checkRangeOperands(node);
    if (allConstant(node))
    {
        return constantRange(node);
    }
    DataType const type = node.in(0).type();
    if (type != DataType::kINT64 && type != DataType::kINT32)
    {
        return {floatingRange(node)};
    }
    checkFarLimits(node);
    Extent const start = elementsOf(node, node.in(0)).at(0);
    Extent const limit = elementsOf(node, node.in(1)).at(0);
    Extent const delta = elementsOf(node, node.in(2)).at(0);
    Extent const count = larger(node, 0, ceilDivide(node, subtract(node, limit, start), delta));
    if (!delta.known)
    {
        Value const isZero = node.binary(delta.tensor, node.integerConstant({0}), ElementWiseOperation::kEQUAL);
        std::string const text = fmt::format("Range '{}': delta must not be 0", node.name());
        Value const holds = node.unary(isZero, UnaryOperation::kNOT);
        node.added(node.api().addAssertion(node.tensor(holds), text.c_str()), "assertion");
    }
    return {node.cast(range(node, count, start, delta), type)};
}

//! Row and column numbers of the last two axes, broadcast against each other.
struct Positions
{
    Value row;
    Value column;
};

Positions positionsOf(Node& node, Value const& x)
{
    if (x.rank() < 2)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} of shape {}", node.op(), shapeText(x.shape())));
    }
    Value const rows = iota(node, extentOf(node, x, x.rank() - 2));
    return {node.unsqueeze(rows, {1}), iota(node, extentOf(node, x, x.rank() - 1))};
}

Outputs importTrilu(Node& node)
{
    Value const x = node.in(0);
    Positions const positions = positionsOf(node, x);
    Value const k = node.has(1) ? node.cast(node.in(1), DataType::kINT64) : node.integerScalar(0);
    Value const diagonal = node.binary(positions.row, k, ElementWiseOperation::kSUM);
    bool const upper = node.intOr("upper", 1) != 0;
    auto const outside = upper ? ElementWiseOperation::kLESS : ElementWiseOperation::kGREATER;
    Value const drops = node.binary(positions.column, diagonal, outside);
    return {node.select(drops, node.scalar(0.0, x.type()), x)};
}

Outputs importEyeLike(Node& node)
{
    Value const x = node.in(0);
    Positions const positions = positionsOf(node, x);
    Value const shifted =
        node.binary(positions.row, node.integerScalar(node.intOr("k", 0)), ElementWiseOperation::kSUM);
    Value const same = node.binary(positions.column, shifted, ElementWiseOperation::kEQUAL);
    DataType const type = node.hasAttribute("dtype") ? typeOfOnnx(node.int32Or("dtype", 0)) : x.type();
    return {node.cast(same, type)};
}

//! The seed has no effect: each engine has its own sequence.
Outputs random(Node& node, Extents const& shape, DataType type)
{
    bool const isNormal = node.op().substr(0, 12) == "RandomNormal";
    nvinfer1::ITensor* const open = areKnown(shape) ? nullptr : &node.tensor(tensorOf(node, shape));
    nvinfer1::IFillLayer* const layer =
        node.added(node.api().addFill(dimsOf(Shape(shape.size(), 1)),
                       isNormal ? FillOperation::kRANDOM_NORMAL : FillOperation::kRANDOM_UNIFORM, type),
            "random");
    if (open != nullptr)
    {
        layer->setInput(0, *open);
    }
    else
    {
        layer->setDimensions(dimsOf(knownOf(shape)));
    }
    layer->setAlpha(isNormal ? node.floatOr("mean", 0.0F) : node.floatOr("low", 0.0F));
    layer->setBeta(isNormal ? node.floatOr("scale", 1.0F) : node.floatOr("high", 1.0F));
    return {layer->getOutput(0)};
}

Outputs importRandom(Node& node)
{
    Shape const shape = node.intsOr("shape", {});
    return random(node, {shape.begin(), shape.end()}, typeOfOnnx(node.int32Or("dtype", ::onnx::TensorProto::FLOAT)));
}

Outputs importRandomLike(Node& node)
{
    DataType const type = node.hasAttribute("dtype") ? typeOfOnnx(node.int32Or("dtype", 0)) : node.in(0).type();
    return random(node, extentsOf(node, node.in(0)), type);
}

//! 1 where a number drawn from [0, 1) lies below the operand's.
Outputs importBernoulli(Node& node)
{
    Value const p = node.in(0);
    DataType const type = node.hasAttribute("dtype") ? typeOfOnnx(node.int32Or("dtype", 0)) : p.type();
    Value const drawn = random(node, extentsOf(node, p), DataType::kFLOAT)[0];
    Value const limit = p.type() == DataType::kFLOAT ? p : node.cast(p, DataType::kFLOAT);
    return {node.cast(node.binary(drawn, limit, nvinfer1::ElementWiseOperation::kLESS), type)};
}

//! Classes drawn with the probabilities whose logarithms, up to a summand per row, are the operand: as many classes as
//! end below a number drawn from [0, 1) lie in front of the one that it falls into.
Outputs importMultinomial(Node& node)
{
    Value const logits = node.in(0);
    if (logits.rank() != 2)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Multinomial of {}", shapeText(logits.shape())));
    }
    int64_t const samples = node.intOr("sample_size", 1);
    DataType const type = typeOfOnnx(node.int32Or("dtype", ::onnx::TensorProto::INT32));
    Value const chances = node.softmax(node.cast(logits, DataType::kFLOAT), 1);
    Value const ends =
        node.output(node.api().addCumulative(node.tensor(chances), node.tensor(node.scalar(1.0, DataType::kINT32)),
                        nvinfer1::CumulativeOperation::kSUM, false, false),
            "ends");
    Extent const batch = extentOf(node, logits, 0);
    Value const drawn = random(node, {batch, samples, 1}, DataType::kFLOAT)[0];
    Value const isBehind = node.binary(node.unsqueeze(ends, {1}), drawn, ElementWiseOperation::kLESS);
    Value const passed =
        node.reduce(node.cast(isBehind, DataType::kINT32), nvinfer1::ReduceOperation::kSUM, {2}, false);
    // Rounding may leave the last end below 1.
    Extent const classes = extentOf(node, logits, 1);
    Value const last = node.cast(scalarOf(node, subtract(node, classes, 1)), DataType::kINT32);
    return {node.cast(node.binary(passed, last, ElementWiseOperation::kMIN), type)};
}

constexpr Operator kGenerateTable[]{
    {"Bernoulli", importBernoulli},
    {"Constant", importConstant},
    {"ConstantOfShape", importConstantOfShape},
    {"EyeLike", importEyeLike},
    {"Multinomial", importMultinomial},
    {"RandomNormal", importRandom},
    {"RandomNormalLike", importRandomLike},
    {"RandomUniform", importRandom},
    {"RandomUniformLike", importRandomLike},
    {"Range", importRange},
    {"Trilu", importTrilu},
};

} // namespace

constinit std::span<Operator const> const kGenerateOperators{kGenerateTable};

} // namespace tenon::onnx
