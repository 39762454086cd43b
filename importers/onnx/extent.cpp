// Arithmetic on extents, and the layers that take them: reshape, slice, expand, ranges.
#include "extent.h"

#include "network.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

int64_t floorQuotient(int64_t a, int64_t b)
{
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Value tensorOf(Node& node, Extent const& extent)
{
    return extent.known ? node.integerConstant({*extent.known}) : extent.tensor;
}

Extent combined(Node& node, Extent const& a, Extent const& b, ElementWiseOperation operation)
{
    return Extent{node.binary(tensorOf(node, a), tensorOf(node, b), operation)};
}

int64_t checked(bool overflow, int64_t result)
{
    if (overflow)
    {
        fail(ErrorCode::kINVALID_VALUE, "an extent overflows");
    }
    return result;
}

} // namespace

Value shapeTensor(Node& node, Value const& x)
{
    if (x.isConstant())
    {
        return node.integerConstant(x.shape());
    }
    Value& cached = node.network().shapes[x.tensor()];
    if (!cached.exists())
    {
        cached = node.output(node.api().addShape(node.tensor(x)), "shape");
        cached = node.cast(cached, DataType::kINT64);
    }
    return cached;
}

Extent extentOf(Node& node, Value const& x, int32_t axis)
{
    if (axis < 0 || axis >= x.rank())
    {
        fail(ErrorCode::kINVALID_NODE,
            x.rank() < 0 ? fmt::format("{} does not fit its inputs{}", node.op(), node.network().reasons.text())
                         : fmt::format("{} needs axis {} of an operand of rank {}", node.op(), axis, x.rank()));
    }
    int64_t const known = x.shape()[static_cast<size_t>(axis)];
    if (known >= 0)
    {
        return known;
    }
    Value& cached = node.network().extents[x.tensor()][axis];
    if (!cached.exists())
    {
        nvinfer1::Dims const one{1, {1}};
        nvinfer1::Dims const start{1, {axis}};
        cached = node.output(node.api().addSlice(node.tensor(shapeTensor(node, x)), start, one, one), "extent");
    }
    return Extent{cached};
}

Extents extentsOf(Node& node, Value const& x)
{
    if (x.rank() < 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            "a layer that it is made of does not fit its operands" + node.network().reasons.text());
    }
    Extents result;
    for (int32_t axis = 0; axis < x.rank(); ++axis)
    {
        result.push_back(extentOf(node, x, axis));
    }
    return result;
}

Extents elementsOf(Node& node, Value const& integers)
{
    Extents result;
    if (integers.isConstant())
    {
        for (int64_t const element : integersOf(integers.constant()))
        {
            result.emplace_back(element);
        }
        return result;
    }
    Value wide = node.cast(integers, DataType::kINT64);
    if (wide.rank() == 0)
    {
        return {Extent{node.unsqueeze(wide, {0})}};
    }
    constexpr int64_t kMax{4096}; // The network follows no more of them.
    if (wide.rank() != 1 || wide.shape()[0] < 0 || wide.shape()[0] > kMax)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC,
            fmt::format("a list of extents must have rank 1 and a known length up to {}, not shape {}", kMax,
                shapeText(wide.shape())));
    }
    for (int64_t i = 0; i < wide.shape()[0]; ++i)
    {
        nvinfer1::Dims const one{1, {1}};
        result.emplace_back(
            node.output(node.api().addSlice(node.tensor(wide), nvinfer1::Dims{1, {i}}, one, one), "element"));
    }
    return result;
}

Extent add(Node& node, Extent const& a, Extent const& b)
{
    if (a.known && b.known)
    {
        int64_t sum{0};
        bool const overflow = __builtin_add_overflow(*a.known, *b.known, &sum);
        return checked(overflow, sum);
    }
    return a.is(0) ? b : b.is(0) ? a : combined(node, a, b, ElementWiseOperation::kSUM);
}

Extent subtract(Node& node, Extent const& a, Extent const& b)
{
    if (a.known && b.known)
    {
        int64_t difference{0};
        bool const overflow = __builtin_sub_overflow(*a.known, *b.known, &difference);
        return checked(overflow, difference);
    }
    return b.is(0) ? a : combined(node, a, b, ElementWiseOperation::kSUB);
}

Extent multiply(Node& node, Extent const& a, Extent const& b)
{
    if (a.known && b.known)
    {
        int64_t product{0};
        bool const overflow = __builtin_mul_overflow(*a.known, *b.known, &product);
        return checked(overflow, product);
    }
    return a.is(1) ? b : b.is(1) ? a : combined(node, a, b, ElementWiseOperation::kPROD);
}

Extent floorDivide(Node& node, Extent const& a, Extent const& b)
{
    if (b.is(0))
    {
        fail(ErrorCode::kINVALID_VALUE, "an extent is divided by 0");
    }
    if (a.known && b.known)
    {
        return floorQuotient(*a.known, *b.known);
    }
    return b.is(1) ? a : combined(node, a, b, ElementWiseOperation::kFLOOR_DIV);
}

Extent ceilDivide(Node& node, Extent const& a, Extent const& b)
{
    return b.is(1) ? a : subtract(node, 0, floorDivide(node, subtract(node, 0, a), b));
}

Extent smaller(Node& node, Extent const& a, Extent const& b)
{
    return a.known && b.known ? Extent{std::min(*a.known, *b.known)} : combined(node, a, b, ElementWiseOperation::kMIN);
}

Extent larger(Node& node, Extent const& a, Extent const& b)
{
    return a.known && b.known ? Extent{std::max(*a.known, *b.known)} : combined(node, a, b, ElementWiseOperation::kMAX);
}

Extent product(Node& node, Extents const& extents)
{
    Extent result{1};
    for (Extent const& extent : extents)
    {
        result = multiply(node, result, extent);
    }
    return result;
}

bool areKnown(Extents const& extents)
{
    return std::all_of(extents.begin(), extents.end(), [](Extent const& e) { return e.known.has_value(); });
}

Shape knownOf(Extents const& extents)
{
    Shape result;
    for (Extent const& extent : extents)
    {
        result.push_back(extent.known.value());
    }
    return result;
}

Value tensorOf(Node& node, Extents const& extents)
{
    if (areKnown(extents))
    {
        return node.integerConstant(knownOf(extents));
    }
    if (extents.size() == 1)
    {
        return extents[0].tensor;
    }
    std::vector<nvinfer1::ITensor*> parts;
    for (size_t i = 0; i < extents.size();)
    {
        Integers run; // Neighbours that are known become one constant.
        for (; i < extents.size() && extents[i].known; ++i)
        {
            run.push_back(*extents[i].known);
        }
        if (!run.empty())
        {
            parts.push_back(&node.tensor(node.integerConstant(run)));
            continue;
        }
        parts.push_back(&node.tensor(extents[i++].tensor));
    }
    return node.output(node.api().addConcatenation(parts.data(), static_cast<int32_t>(parts.size())), "extents");
}

Value scalarOf(Node& node, Extent const& extent)
{
    return extent.known ? node.integerScalar(*extent.known) : node.squeeze(extent.tensor, {0});
}

Value reshapeTo(Node& node, Value const& x, Extents const& extents)
{
    // One open extent is what is left over: no tensor is needed for it unless another extent is 0.
    auto const open = std::count_if(extents.begin(), extents.end(), [](Extent const& e) { return !e.known; });
    bool const empty = std::any_of(extents.begin(), extents.end(), [](Extent const& e) { return e.is(0); });
    if (open == 0 && x.isConstant())
    {
        return node.reshapedConstant(x, knownOf(extents));
    }
    if (open == 0 || (open == 1 && !empty))
    {
        Shape shape;
        for (Extent const& extent : extents)
        {
            shape.push_back(extent.known.value_or(-1));
        }
        return node.reshape(x, shape);
    }
    nvinfer1::ITensor& dimensions = node.tensor(tensorOf(node, extents)); // Before the layer that reads it.
    nvinfer1::IShuffleLayer* const layer = node.added(node.api().addShuffle(node.tensor(x)), "reshape");
    layer->setZeroIsPlaceholder(false);
    layer->setInput(1, dimensions);
    return layer->getOutput(0);
}

Value slice(Node& node, Value const& x, Cut const& cut, std::string_view role)
{
    auto const rank = static_cast<size_t>(x.rank());
    auto const dims = [rank](Extents const& extents, int64_t otherwise) {
        Shape shape;
        for (size_t i = 0; i < rank; ++i)
        {
            shape.push_back(extents[i].known.value_or(otherwise));
        }
        return dimsOf(shape);
    };
    // What the layer reads is made before it, so that it is never seen half finished.
    Extents const* const lists[]{&cut.start, &cut.size, &cut.stride};
    nvinfer1::ITensor* operands[]{nullptr, nullptr, nullptr, nullptr};
    for (size_t i = 0; i < 3; ++i)
    {
        operands[i] = areKnown(*lists[i]) ? nullptr : &node.tensor(tensorOf(node, *lists[i]));
    }
    if (cut.mode == nvinfer1::SampleMode::kFILL && cut.fill.exists())
    {
        operands[3] = &node.tensor(cut.fill);
    }
    nvinfer1::ISliceLayer* const layer = node.added(
        node.api().addSlice(node.tensor(x), dims(cut.start, 0), dims(cut.size, 1), dims(cut.stride, 1)), role);
    layer->setMode(cut.mode);
    for (int32_t i = 0; i < 4; ++i)
    {
        if (operands[i] != nullptr)
        {
            layer->setInput(i + 1, *operands[i]);
        }
    }
    if (layer->getOutput(0)->getDimensions().nbDims < 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} cannot cut {}{}", node.op(), shapeText(x.shape()), node.network().reasons.text()));
    }
    return layer->getOutput(0);
}

Value sliceAxis(Node& node, Value const& x, int32_t axis, Extent const& begin, Extent const& size)
{
    auto const rank = static_cast<size_t>(x.rank());
    Cut cut{.start = Extents(rank, 0), .size = extentsOf(node, x), .stride = Extents(rank, 1), .fill = {}};
    cut.start[static_cast<size_t>(axis)] = begin;
    cut.size[static_cast<size_t>(axis)] = size;
    return slice(node, x, cut);
}

namespace
{

//! One axis of a slice that repeats by NumPy's rule: an extent of 1 on either side takes the other's.
struct Repeated
{
    Extent start;
    Extent size;
    Extent stride;
};

Repeated alongKnown(Extent const& from, Extent const& to, size_t axis)
{
    if (*from.known != *to.known && !from.is(1) && !to.is(1))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("cannot expand extent {} of axis {} to {}", *from.known, axis, *to.known));
    }
    return from.is(1) ? Repeated{0, to, 0} : Repeated{0, from, 1};
}

Extent whereOne(Node& node, Extent const& extent, Extent const& yes, Extent const& no)
{
    if (extent.known)
    {
        return extent.is(1) ? yes : no;
    }
    Value const isOne = node.binary(extent.tensor, node.integerConstant({1}), ElementWiseOperation::kEQUAL);
    return Extent{node.select(isOne, tensorOf(node, yes), tensorOf(node, no))};
}

Repeated repeatedAlong(Node& node, Extent const& from, Extent const& to, size_t axis)
{
    if (to.is(1))
    {
        return {0, from, 1};
    }
    if (from.known && to.known)
    {
        return alongKnown(from, to, axis);
    }
    if (from.is(1))
    {
        return {0, to, 0};
    }
    // Extents that differ although none is 1 make the slice start in front of the input, which fails in the run.
    Extent const mismatch = smaller(node, subtract(node, from, to), subtract(node, to, from));
    Extent const start = whereOne(node, from, 0, whereOne(node, to, 0, mismatch));
    if (from.known)
    {
        return {start, from, 1};
    }
    bool const isResult = to.known && !to.is(0); // Whatever the old extent is.
    return {start, isResult ? to : whereOne(node, from, to, from), smaller(node, 1, subtract(node, from, 1))};
}

} // namespace

Value expandTo(Node& node, Value const& x, Extents const& shape)
{
    Value const source = node.withRank(x, static_cast<int32_t>(shape.size()));
    Extents const from = extentsOf(node, source);
    Cut cut{.start = {}, .size = {}, .stride = {}, .fill = {}};
    bool changes{false};
    for (size_t i = 0; i < shape.size(); ++i)
    {
        Repeated const along = repeatedAlong(node, from[i], shape[i], i);
        cut.start.push_back(along.start);
        cut.size.push_back(along.size);
        cut.stride.push_back(along.stride);
        changes = changes || !along.start.is(0) || !along.stride.is(1);
    }
    return changes ? slice(node, source, cut, "expand") : source;
}

Value zerosLike(Node& node, Value const& x)
{
    return x.isConstant() ? node.filled(0.0, x.type(), x.shape())
                          : expandTo(node, node.scalar(0.0, x.type()), extentsOf(node, x));
}

Value range(Node& node, Extent const& count, Extent const& start, Extent const& step)
{
    nvinfer1::ITensor& dimensions = node.tensor(tensorOf(node, Extents{count}));
    nvinfer1::ITensor& alpha = node.tensor(scalarOf(node, start));
    nvinfer1::ITensor& beta = node.tensor(tensorOf(node, Extents{step}));
    nvinfer1::IFillLayer* const layer = node.added(
        node.api().addFill(nvinfer1::Dims{1, {1}}, nvinfer1::FillOperation::kLINSPACE, DataType::kINT64), "range");
    layer->setInput(0, dimensions);
    layer->setInput(1, alpha);
    layer->setInput(2, beta);
    return layer->getOutput(0);
}

Value iota(Node& node, Extent const& count, int64_t start, int64_t step)
{
    constexpr int64_t kSmall{4096}; // A constant of the model's; longer ones are made when the network is.
    if (count.known && *count.known <= kSmall)
    {
        if (*count.known < 0)
        {
            fail(ErrorCode::kINVALID_VALUE, "a range of negative length");
        }
        Integers elements(static_cast<size_t>(*count.known));
        for (size_t i = 0; i < elements.size(); ++i)
        {
            elements[i] = start + static_cast<int64_t>(i) * step;
        }
        return node.integerConstant(elements);
    }
    return range(node, count, start, step);
}

} // namespace tenon::onnx
