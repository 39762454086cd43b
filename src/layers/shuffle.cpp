// Shuffle: rules, contents and plain loops.
#include "layers/shuffle.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Shuffle Shuffle::transpose(AxisOrder const& order)
{
    Shuffle shuffle;
    shuffle.firstTranspose = order;
    return shuffle;
}

Shuffle Shuffle::reshape(std::vector<int64_t> const& extents)
{
    Shuffle shuffle;
    shuffle.zeroIsPlaceholder = false;
    shuffle.reshapeDimensions.nbDims = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), shuffle.reshapeDimensions.d);
    return shuffle;
}

bool isTrivialOrder(AxisOrder const& order, Shape const& shape)
{
    int32_t last{-1};
    for (size_t axis = 0; axis < shape.size(); ++axis)
    {
        auto const from = static_cast<size_t>(order[axis]);
        if (from >= shape.size())
            return false;
        if (shape[from] == ShapeExpr{1})
            continue;
        if (order[axis] < last)
            return false;
        last = order[axis];
    }
    return true;
}

namespace
{
bool isPermutation(AxisOrder const& order, size_t rank)
{
    uint32_t seen{0};
    for (size_t axis = 0; axis < rank && axis < order.size(); ++axis)
    {
        if (order[axis] < 0 || static_cast<size_t>(order[axis]) >= rank)
            return false;
        seen |= 1U << order[axis];
    }
    return rank <= order.size() && seen == (1U << rank) - 1U;
}

template <typename T>
std::vector<T> permuted(std::vector<T> const& extents, AxisOrder const& order)
{
    std::vector<T> result;
    for (size_t axis = 0; axis < extents.size(); ++axis)
        result.push_back(extents[static_cast<size_t>(order[axis])]);
    return result;
}

//! volume(from) / volume(of), extents that stand in both left out first.
ShapeExpr quotient(Shape from, Shape const& of)
{
    ShapeExpr divisor{1};
    for (ShapeExpr const& extent : of)
    {
        auto const found = std::find(from.begin(), from.end(), extent);
        if (found != from.end())
            from.erase(found);
        else
            divisor = divisor * extent;
    }
    return floorDiv(TensorType{DType::kINT32, std::move(from)}.volume(), divisor);
}

//! Whether a value that the user gives to the run decides: it may be a placeholder. Extents are what they are.
bool isGivenValue(ShapeExpr const& extent, SymbolTable const* symbols)
{
    if (extent.isConstant() || symbols == nullptr)
        return false;
    std::vector<int32_t> const all = extent.symbols();
    return std::any_of(
        all.begin(), all.end(), [&](int32_t id) { return symbols->at(id).kind == SymbolKind::kInputValue; });
}

//! Extents asked for, with what 0 copies filled in, also where only running tells whether an extent is 0.
struct Wanted
{
    Shape shape;
    std::vector<bool> isCopied; //!< For sure.
};

Result<Wanted> withCopies(Shape wanted, Shape const& from, SymbolTable const* symbols)
{
    std::vector<bool> isCopied(wanted.size(), false);
    for (size_t axis = 0; axis < wanted.size(); ++axis)
    {
        ShapeExpr& extent = wanted[axis];
        isCopied[axis] = extent == ShapeExpr{0};
        if (isCopied[axis] && axis >= from.size())
            return badArgument("extent 0 on axis {} copies nothing: the input has rank {}", axis, from.size());
        if (isCopied[axis])
            extent = from[axis];
        else if (axis < from.size() && isGivenValue(extent, symbols))
            extent = select(equalOf(extent, 0, symbols), from[axis], extent);
    }
    return Wanted{std::move(wanted), std::move(isCopied)};
}

//! What -1 stands for on an axis: a copied extent is left out on both sides, so that it may be 0.
ShapeExpr restOf(Wanted const& wanted, size_t rest, Shape const& from)
{
    Shape before;
    for (size_t axis = 0; axis < from.size(); ++axis)
        if (axis >= wanted.isCopied.size() || !wanted.isCopied[axis])
            before.push_back(from[axis]);
    Shape others;
    for (size_t axis = 0; axis < wanted.shape.size(); ++axis)
        if (axis != rest && !wanted.isCopied[axis])
            others.push_back(wanted.shape[axis]);
    return quotient(std::move(before), others);
}

//! With -1 filled in, also where only running tells which extent it is; two of them then give a wrong volume, which
//! running refuses.
Shape withRest(Wanted const& wanted, Shape const& from, SymbolTable const* symbols)
{
    Shape shape = wanted.shape;
    bool const isFixed = std::ranges::find(wanted.shape, ShapeExpr{-1}) != wanted.shape.end();
    for (size_t axis = 0; axis < shape.size(); ++axis)
    {
        ShapeExpr const& extent = wanted.shape[axis];
        bool const mayBe = extent.isConstant() || (!isFixed && isGivenValue(extent, symbols));
        ShapeExpr const isRest = mayBe ? equalOf(extent, -1, symbols) : 0;
        if (!(isRest == ShapeExpr{0}))
            shape[axis] = select(isRest, restOf(wanted, axis, from), extent);
    }
    return shape;
}

//! Extents asked for, placeholders filled in; `from` is the shape that is reshaped.
Result<Shape> resolved(Shape extents, Shape const& from, bool zeroCopies, SymbolTable const* symbols)
{
    Wanted wanted{std::move(extents), {}};
    if (zeroCopies)
        wanted = TENON_TRY(withCopies(std::move(wanted.shape), from, symbols));
    wanted.isCopied.resize(wanted.shape.size(), false);
    int32_t rests{0};
    bool hasZero{false};
    for (size_t axis = 0; axis < wanted.shape.size(); ++axis)
    {
        std::optional<int64_t> const extent = wanted.shape[axis].constant();
        if (extent && *extent < -1)
            return badArgument("extent {} on axis {} is negative", *extent, axis);
        rests += extent && *extent == -1 ? 1 : 0;
        hasZero = hasZero || (extent && *extent == 0 && !wanted.isCopied[axis]);
    }
    if (rests > 1)
        return badArgument("more than one extent is -1");
    if (rests == 1 && hasZero)
        return badArgument("an extent of -1 cannot be told where another is 0");
    Shape shape = withRest(wanted, from, symbols);
    ShapeExpr const before = TensorType{DType::kINT32, from}.volume();
    ShapeExpr const after = TensorType{DType::kINT32, shape}.volume();
    if (before.isConstant() && after.isConstant() && !(before == after))
        return badArgument("{} elements of {} cannot be reshaped to {}", before.show(), show(from), show(shape));
    return shape;
}
} // namespace

Result<Shape> Shuffle::reshaped(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(1, 2).done());
    Shape const& x = in.type(0).shape;
    if (!isPermutation(firstTranspose, x.size()))
        return layerError(in, kName, fmt::format("the first transpose is no permutation of {} axes", x.size()));
    Shape const transposed = permuted(x, firstTranspose);
    Shape wanted;
    if (in.has(1))
        wanted = TENON_TRY(shapeOperand(in, kName, 1));
    else if (reshapeDimensions.nbDims < 0)
        return transposed;
    else
        wanted.assign(reshapeDimensions.d, reshapeDimensions.d + reshapeDimensions.nbDims);
    if (wanted.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
        return layerError(in, kName, fmt::format("cannot reshape to rank {}", wanted.size()));
    Result<Shape> shape = resolved(std::move(wanted), transposed, zeroIsPlaceholder, in.symbols());
    if (!shape)
        return inputError(in, kName, 0, shape.error().message);
    return shape;
}

namespace
{
AxisOrder withBatchInFront(AxisOrder const& order)
{
    AxisOrder more{kSameOrder};
    for (size_t axis = 0; axis + 1 < more.size(); ++axis)
        more[axis + 1] = order[axis] + 1;
    return more;
}
} // namespace

Result<WithBatch> Shuffle::withBatch(SampleInputs const& samples) const
{
    Shuffle batched = *this;
    batched.firstTranspose = withBatchInFront(firstTranspose);
    batched.secondTranspose = withBatchInFront(secondTranspose);
    TENON_TRY(sampleExtents(*makeLayer(*this), samples.in));
    if (!samples.in.has(1) && reshapeDimensions.nbDims < 0)
        return WithBatch{makeLayer(batched), {}, {}};
    return batched.reshapingSamples(*staticExtents(TENON_TRY(reshaped(samples.in))));
}

WithBatch Shuffle::reshapingSamples(std::vector<int64_t> const& extents) const
{
    Shuffle batched = *this;
    bool const isEmpty = std::ranges::find(extents, 0) != extents.end();
    batched.zeroIsPlaceholder = !isEmpty;
    batched.reshapeDimensions =
        isEmpty ? nvinfer1::Dims{-1, {}} : inFront(0, reshape(extents).reshapeDimensions); // 0 copies the batch.
    std::optional<std::vector<int64_t>> const operand = isEmpty ? std::optional{extents} : std::nullopt;
    return WithBatch{makeLayer(batched), {BatchUse::kBroadcast, BatchUse::kDropped}, operand};
}

Result<TensorType> Shuffle::infer(Inputs const& in) const
{
    Shape const middle = TENON_TRY(reshaped(in));
    if (!isPermutation(secondTranspose, middle.size()))
        return layerError(in, kName, fmt::format("the second transpose is no permutation of {} axes", middle.size()));
    return TensorType{in.type(0).dtype, permuted(middle, secondTranspose)};
}

bool Shuffle::isReshape(Shape const& shape) const
{
    // The middle shape is not known here: a second transpose counts as one unless it is none.
    bool second{true};
    for (size_t axis = 0; axis < secondTranspose.size(); ++axis)
        second = second && secondTranspose[axis] == static_cast<int32_t>(axis);
    return second && isTrivialOrder(firstTranspose, shape);
}

std::optional<Shape> Shuffle::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    if (!type || !trackedCount(in.type(0).shape))
        return std::nullopt;
    if (isReshape(in.type(0).shape))
        return knownValues(in, 0);
    return movedContents(in, {0}, [&](HostTensors const& tensors) { return reference(tensors); });
}

namespace
{
HostTensor transposed(HostTensor const& x, AxisOrder const& order)
{
    HostTensor out{x.dtype, permuted(x.extents, order)};
    std::vector<int64_t> const strides = permuted(stridesOf(x.extents), order);
    forEachPosition(out.extents,
        [&](int64_t linear, std::vector<int64_t> const& at) { copyElement(out, linear, x, linearOf(at, strides)); });
    return out;
}
} // namespace

Result<std::vector<HostTensor>> Shuffle::reference(HostTensors const& in) const
{
    ConcreteInputs concrete{in};
    TENON_TRY(infer(concrete.inputs()));
    Shape const middle = TENON_TRY(reshaped(concrete.inputs()));
    HostTensor x =
        isTrivialOrder(firstTranspose, shapeOf(in[0]->extents)) ? *in[0] : transposed(*in[0], firstTranspose);
    x.extents = *staticExtents(middle);
    if (volumeOf(x.extents) != in[0]->count())
        return badConfig("{} elements cannot be reshaped to {}", in[0]->count(), show(middle));
    return oneOutput(transposed(x, secondTranspose));
}

} // namespace tenon
