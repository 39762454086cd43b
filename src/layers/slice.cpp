// Slice: rules, contents and plain loops of all modes.
#include "layers/slice.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <numeric>

namespace tenon
{

using nvinfer1::SampleMode;

namespace
{
Result<Shape> operand(Inputs const& in, int32_t i, nvinfer1::Dims const& field)
{
    if (in.has(i))
        return shapeOperand(in, Slice::kName, i);
    return Shape(field.d, field.d + std::max(field.nbDims, 0));
}

Result<std::vector<size_t>> axesOf(Slice const& slice, Inputs const& in)
{
    auto const rank = static_cast<int64_t>(in.type(0).rank());
    std::vector<int64_t> given;
    if (in.has(5))
        given = TENON_TRY(constantOperand(in, Slice::kName, 5));
    else
        given.assign(slice.axes.d, slice.axes.d + std::max(slice.axes.nbDims, 0));
    std::vector<size_t> axes;
    if (given.empty())
        for (int64_t axis = 0; axis < rank; ++axis)
            axes.push_back(static_cast<size_t>(axis));
    for (int64_t const axis : given)
    {
        int64_t const at = axis < 0 ? axis + rank : axis;
        bool const twice = std::find(axes.begin(), axes.end(), static_cast<size_t>(at)) != axes.end();
        if (at < 0 || at >= rank || twice)
            return layerError(in, Slice::kName,
                fmt::format("axis {} of input 0 '{}' of rank {} {}", axis, in[0].name, rank,
                    twice ? "is named twice" : "does not exist"));
        axes.push_back(static_cast<size_t>(at));
    }
    return axes;
}

Result<Done> checkBounds(Inputs const& in, size_t axis, Slice::Cut const& cut)
{
    ShapeExpr const& extent = in.type(0).shape[axis];
    if (cut.size[axis] == ShapeExpr{0})
        return Done{};
    ShapeExpr const last = cut.start[axis] + (cut.size[axis] - ShapeExpr{1}) * cut.stride[axis];
    for (ShapeExpr const& at : {cut.start[axis], last})
    {
        bool const below = at.isConstant() && *at.constant() < 0;
        bool const above = (at - extent).isConstant() && *(at - extent).constant() >= 0;
        bool const mayBeEmpty = !cut.size[axis].isConstant();
        if ((below || above) && !mayBeEmpty)
            return inputError(in, Slice::kName, 0,
                fmt::format("has extent {} on axis {}; the slice reads position {}", extent.show(), axis, at.show()));
    }
    return Done{};
}
} // namespace

Result<Slice::Cut> Slice::cut(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(1, 6).done());
    Shape const& x = in.type(0).shape;
    std::vector<size_t> const named = TENON_TRY(axesOf(*this, in));
    Shape const starts = TENON_TRY(operand(in, 1, start));
    Shape const sizes = TENON_TRY(operand(in, 2, size));
    Shape strides = TENON_TRY(operand(in, 3, stride));
    if (strides.empty())
        strides.assign(named.size(), ShapeExpr{1});
    if (starts.size() != named.size() || sizes.size() != named.size() || strides.size() != named.size())
        return layerError(in, kName,
            fmt::format("start, size and stride have {}, {} and {} entries, must have {}", starts.size(), sizes.size(),
                strides.size(), named.size()));
    Cut cut{Shape(x.size(), ShapeExpr{0}), x, Shape(x.size(), ShapeExpr{1})};
    for (size_t i = 0; i < named.size(); ++i)
    {
        cut.start[named[i]] = starts[i];
        cut.size[named[i]] = sizes[i];
        cut.stride[named[i]] = strides[i];
    }
    return cut;
}

WithBatch Slice::withBatch(SampleInputs const& samples) const
{
    Slice batched = *this;
    std::vector<BatchUse> uses(6, BatchUse::kShared);
    uses[0] = BatchUse::kBroadcast;
    if (std::optional<std::vector<int64_t>> const named = constantValues(samples.in, 5); named && !named->empty())
    {
        batched.axes.nbDims = std::min(static_cast<int32_t>(named->size()), +nvinfer1::Dims::MAX_DIMS);
        std::copy_n(named->begin(), batched.axes.nbDims, batched.axes.d);
        uses[5] = BatchUse::kDropped;
    }
    if (batched.axes.nbDims <= 0)
    {
        batched.axes.nbDims = samples.in.type(0).rank();
        std::iota(batched.axes.d, batched.axes.d + batched.axes.nbDims, 0);
    }
    for (int32_t i = 0; i < batched.axes.nbDims; ++i)
        if (batched.axes.d[i] >= 0) // Others count from behind.
            ++batched.axes.d[i];
    return {makeLayer(batched), std::move(uses), {}};
}

Result<TensorType> Slice::infer(Inputs const& in) const
{
    Cut const cut = TENON_TRY(this->cut(in));
    Check check{in, kName};
    check.that(mode >= SampleMode::kSTRICT_BOUNDS && mode <= SampleMode::kREFLECT, "unknown mode {}",
        static_cast<int32_t>(mode));
    if (in.has(4))
        check.input(4, mode == SampleMode::kFILL, "is a fill value, which only kFILL reads")
            .sameType(4, 0)
            .rank(4, 0, 1);
    TENON_TRY(check.done());
    bool const stretches = mode == SampleMode::kCLAMP || mode == SampleMode::kREFLECT || mode == SampleMode::kWRAP;
    for (size_t axis = 0; axis < cut.size.size(); ++axis)
    {
        if (cut.size[axis].isConstant() && *cut.size[axis].constant() < 0)
            return layerError(in, kName, fmt::format("size {} on axis {} is negative", cut.size[axis].show(), axis));
        if (mode == SampleMode::kSTRICT_BOUNDS)
            TENON_TRY(checkBounds(in, axis, cut));
        bool const isEmpty = in.type(0).shape[axis] == ShapeExpr{0};
        if (stretches && isEmpty && cut.size[axis].isConstant() && !(cut.size[axis] == ShapeExpr{0}))
            return inputError(in, kName, 0, fmt::format("is empty on axis {}: there is nothing to repeat", axis));
    }
    return TensorType{in.type(0).dtype, cut.size};
}

std::optional<Shape> Slice::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    if (!type || !trackedCount(type->shape))
        return std::nullopt; // A fill may ask for any number of elements.
    std::vector<int32_t> data{0};
    if (in.has(4))
        data.push_back(4);
    return movedContents(in, data, [&](HostTensors const& tensors) { return reference(tensors); });
}

namespace
{
typedef __int128 Wide; //!< Any start plus any number of strides fits.

int64_t modulo(Wide a, int64_t n)
{
    return static_cast<int64_t>((a % n + n) % n);
}

} // namespace

int64_t Slice::sampled(int64_t start, int64_t stride, int64_t step, int64_t extent) const
{
    Wide const at = start + static_cast<Wide>(step) * stride;
    if (at >= 0 && at < extent)
        return static_cast<int64_t>(at);
    if (extent == 0)
        return -1;
    switch (mode)
    {
    case SampleMode::kWRAP: return modulo(at, extent);
    case SampleMode::kCLAMP: return at < 0 ? 0 : extent - 1;
    case SampleMode::kREFLECT:
    {
        if (extent == 1)
            return 0;
        int64_t const period = 2 * (extent - 1);
        int64_t const folded = modulo(at, period);
        return folded < extent ? folded : period - folded;
    }
    default: return -1;
    }
}

Result<std::vector<HostTensor>> Slice::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    ConcreteInputs concrete{in};
    Cut const cut = TENON_TRY(this->cut(concrete.inputs()));
    std::vector<int64_t> const starts = *staticExtents(cut.start);
    std::vector<int64_t> const steps = *staticExtents(cut.stride);
    std::vector<int64_t> const& extents = in[0]->extents;
    std::vector<int64_t> const strides = stridesOf(extents);
    HostTensor const* fill = in.size() > 4 ? in[4] : nullptr;
    forEachPosition(out.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        int64_t from{0};
        for (size_t axis = 0; axis < at.size(); ++axis)
        {
            int64_t const position = sampled(starts[axis], steps[axis], at[axis], extents[axis]);
            if (position < 0)
            {
                if (fill != nullptr)
                    copyElement(out, linear, *fill, 0);
                return;
            }
            from += position * strides[axis];
        }
        copyElement(out, linear, *in[0], from);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
