// Gather: rules, contents and plain loops of the three modes.
#include "layers/gather.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

using nvinfer1::GatherMode;

namespace
{
Result<Shape> defaultShape(Gather const& gather, Inputs const& in)
{
    int32_t const e = gather.nbElementWiseDims;
    TENON_TRY(Check(in, Gather::kName)
                  .that(e == 0 || e == 1, "has {} elementwise dimensions, takes 0 or 1", e)
                  .axis(0, gather.gatherAxis)
                  .that(e <= gather.gatherAxis, "gathers along axis {}, which is elementwise", gather.gatherAxis)
                  .rank(1, e, nvinfer1::Dims::MAX_DIMS)
                  .done());
    Shape const& data = in.type(0).shape;
    Shape const& indices = in.type(1).shape;
    Shape shape{data.begin(), data.begin() + gather.gatherAxis};
    if (e == 1)
        TENON_TRY(Check(in, Gather::kName).extent(1, 0, data[0]).done());
    shape.insert(shape.end(), indices.begin() + e, indices.end());
    shape.insert(shape.end(), data.begin() + gather.gatherAxis + 1, data.end());
    return shape;
}

Result<Shape> positionShape(Gather const& gather, Inputs const& in)
{
    Shape const& data = in.type(0).shape;
    Shape const& indices = in.type(1).shape;
    int32_t const e = gather.nbElementWiseDims;
    Check check{in, Gather::kName};
    check.rank(1, 1, nvinfer1::Dims::MAX_DIMS);
    check.that(e >= 0 && e < in.type(0).rank() && e < in.type(1).rank(), "has {} elementwise dimensions", e);
    if (check)
        check.input(1, indices.back().isConstant(), "has last extent {}, which must be known while building",
            indices.back().show());
    TENON_TRY(check.done());
    int64_t const depth = *indices.back().constant();
    TENON_TRY(check
                  .input(1, depth >= 1 && depth <= in.type(0).rank() - e, "names {} axes, the data has {}", depth,
                      in.type(0).rank() - e)
                  .done());
    Shape shape{indices.begin(), indices.end() - 1};
    for (int32_t axis = 0; axis < e; ++axis)
        TENON_TRY(check.extent(1, axis, data[static_cast<size_t>(axis)]).done());
    shape.insert(shape.end(), data.begin() + e + depth, data.end());
    return shape;
}

//! Position on an axis; −1 when out of bounds.
int64_t wrappedIndex(int64_t index, int64_t extent)
{
    int64_t const at = index < 0 ? index + extent : index;
    return at >= 0 && at < extent ? at : -1;
}
} // namespace

Result<WithBatch> Gather::withBatch(SampleInputs const& samples) const
{
    Gather batched = *this;
    bool const isLookup = gatherAxis == 0 || mode == GatherMode::kND;
    if (mode != GatherMode::kELEMENT && nbElementWiseDims == 0 && !samples.varies(0) && isLookup)
        return WithBatch{makeLayer(batched), {BatchUse::kShared, BatchUse::kBroadcast}, {}}; // One table for all.
    if (mode != GatherMode::kND)
        ++batched.gatherAxis;
    if (mode == GatherMode::kELEMENT)
        return WithBatch{makeLayer(batched), {BatchUse::kReplicated, BatchUse::kReplicated}, {}};
    if (mode == GatherMode::kDEFAULT && !samples.varies(1) && nbElementWiseDims == 0)
        return WithBatch{makeLayer(batched), {BatchUse::kBroadcast, BatchUse::kShared}, {}};
    if (mode == GatherMode::kDEFAULT && nbElementWiseDims != 0)
        return layerError(samples.in, kName, "has elementwise dimensions beside the batch, which is one by itself");
    ++batched.nbElementWiseDims;
    return WithBatch{makeLayer(batched), {BatchUse::kReplicated, BatchUse::kReplicated}, {}};
}

Result<TensorType> Gather::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(2).rank(0, 1, nvinfer1::Dims::MAX_DIMS).index(1).done());
    TensorType type{in.type(0).dtype, {}};
    switch (mode)
    {
    case GatherMode::kDEFAULT: type.shape = TENON_TRY(defaultShape(*this, in)); break;
    case GatherMode::kELEMENT:
    {
        Check check{in, kName};
        check.axis(0, gatherAxis).sameRank(1, 0);
        for (int32_t axis = 0; check && axis < in.type(0).rank(); ++axis)
            if (axis != gatherAxis)
                check.within(1, 0, axis);
        TENON_TRY(check.done());
        type.shape = in.type(1).shape;
        break;
    }
    case GatherMode::kND: type.shape = TENON_TRY(positionShape(*this, in)); break;
    default: return layerError(in, kName, fmt::format("unknown mode {}", static_cast<int32_t>(mode)));
    }
    if (type.rank() > nvinfer1::Dims::MAX_DIMS)
        return layerError(in, kName, fmt::format("the result would have rank {}", type.rank()));
    return type;
}

std::optional<Shape> Gather::contents(Inputs const& in) const
{
    return movedContents(in, {0}, [&](HostTensors const& tensors) { return reference(tensors); });
}

namespace
{
void gatherDefault(Gather const& gather, HostTensor const& data, HostTensor const& indices, HostTensor& out)
{
    Lanes const lanes{data.extents, static_cast<size_t>(gather.gatherAxis)};
    int64_t const shared = gather.nbElementWiseDims == 1 ? indices.extents[0] : 1;
    int64_t const perBatch = shared == 0 ? 0 : indices.count() / shared;
    int64_t const outerPerBatch = shared == 0 ? 0 : lanes.outer / shared;
    for (int64_t o = 0; o < lanes.outer; ++o)
        for (int64_t j = 0; j < perBatch; ++j)
        {
            int64_t const batch = gather.nbElementWiseDims == 1 ? o / outerPerBatch : 0;
            int64_t const at = wrappedIndex(indices.integers[static_cast<size_t>(batch * perBatch + j)], lanes.length);
            for (int64_t i = 0; at >= 0 && i < lanes.inner; ++i)
                copyElement(out, (o * perBatch + j) * lanes.inner + i, data, (o * lanes.length + at) * lanes.inner + i);
        }
}

void gatherElements(Gather const& gather, HostTensor const& data, HostTensor const& indices, HostTensor& out)
{
    std::vector<int64_t> const strides = stridesOf(data.extents);
    auto const axis = static_cast<size_t>(gather.gatherAxis);
    forEachPosition(out.extents, [&](int64_t linear, std::vector<int64_t> at) {
        at[axis] = wrappedIndex(indices.integers[static_cast<size_t>(linear)], data.extents[axis]);
        bool inside{at[axis] >= 0};
        for (size_t a = 0; a < at.size(); ++a)
            inside = inside && at[a] < data.extents[a];
        if (inside)
            copyElement(out, linear, data, linearOf(at, strides));
    });
}

void gatherPositions(Gather const& gather, HostTensor const& data, HostTensor const& indices, HostTensor& out)
{
    auto const e = static_cast<size_t>(gather.nbElementWiseDims);
    auto const depth = static_cast<size_t>(indices.extents.back());
    std::vector<int64_t> const strides = stridesOf(data.extents);
    int64_t const rows = depth == 0 ? 0 : indices.count() / indices.extents.back();
    int64_t const width = rows == 0 ? 0 : out.count() / rows;
    int64_t batches{1};
    for (size_t axis = 0; axis < e; ++axis)
        batches *= data.extents[axis];
    int64_t const batchStride = batches == 0 ? 0 : data.count() / batches;
    for (int64_t row = 0; row < rows; ++row)
    {
        int64_t from = batches == 0 ? 0 : row / (rows / batches) * batchStride;
        bool inside{true};
        for (size_t d = 0; d < depth; ++d)
        {
            int64_t const at =
                wrappedIndex(indices.integers[static_cast<size_t>(row) * depth + d], data.extents[e + d]);
            inside = inside && at >= 0;
            from += at * strides[e + d];
        }
        for (int64_t i = 0; inside && i < width; ++i)
            copyElement(out, row * width + i, data, from + i);
    }
}
} // namespace

std::optional<Gather::Outside> Gather::firstOutside(std::vector<int64_t> const& data, HostTensor const& indices) const
{
    bool const isPositions = mode == GatherMode::kND;
    int64_t const depth = isPositions && !indices.extents.empty() ? indices.extents.back() : 1;
    int32_t const first = isPositions ? nbElementWiseDims : gatherAxis;
    for (int64_t i = 0; i < indices.count(); ++i)
    {
        auto const axis = static_cast<size_t>(first + i % depth);
        int64_t const value = indices.integer(i);
        if (axis < data.size() && wrappedIndex(value, data[axis]) < 0)
            return Outside{i, value, data[axis]};
    }
    return std::nullopt;
}

Result<std::vector<HostTensor>> Gather::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    switch (mode)
    {
    case GatherMode::kDEFAULT: gatherDefault(*this, *in[0], *in[1], out); break;
    case GatherMode::kELEMENT: gatherElements(*this, *in[0], *in[1], out); break;
    default: gatherPositions(*this, *in[0], *in[1], out); break;
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
