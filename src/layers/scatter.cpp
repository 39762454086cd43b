// Scatter: rules and plain loops.
#include "layers/scatter.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

using nvinfer1::ScatterMode;

namespace
{
Result<Done> checkPositions(Inputs const& in)
{
    Shape const& data = in.type(0).shape;
    Shape const& indices = in.type(1).shape;
    Check check{in, Scatter::kName};
    TENON_TRY(check.rank(1, 1, nvinfer1::Dims::MAX_DIMS).done());
    check.input(1, indices.back().isConstant(), "has last extent {}, which must be known while building",
        indices.back().show());
    TENON_TRY(check.done());
    int64_t const depth = *indices.back().constant();
    check.input(
        1, depth >= 1 && depth <= in.type(0).rank(), "names {} axes, the data has {}", depth, in.type(0).rank());
    TENON_TRY(check.done());
    Shape wanted(indices.begin(), indices.end() - 1);
    wanted.insert(wanted.end(), data.begin() + depth, data.end());
    check.rank(2, static_cast<int32_t>(wanted.size()));
    for (size_t axis = 0; check && axis < wanted.size(); ++axis)
        check.extent(2, static_cast<int32_t>(axis), wanted[axis]);
    return check.done();
}

Result<int64_t> checkedIndex(int64_t index, int64_t extent)
{
    int64_t const at = index < 0 ? index + extent : index;
    if (at < 0 || at >= extent)
        return errorOf(ErrorCode::kFAILED_EXECUTION, "scatter index {} on an axis of extent {}", index, extent);
    return at;
}
} // namespace

Result<WithBatch> Scatter::withBatch(SampleInputs const& samples) const
{
    if (mode != ScatterMode::kELEMENT)
        return layerError(samples.in, kName,
            "of the mode kND has no form for networks with implicit batch; make the network with kEXPLICIT_BATCH");
    Scatter batched = *this;
    if (batched.axis >= 0)
        ++batched.axis;
    return WithBatch{makeLayer(batched), std::vector(3, BatchUse::kReplicated), {}};
}

Result<TensorType> Scatter::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.that(
        mode == ScatterMode::kELEMENT || mode == ScatterMode::kND, "unknown mode {}", static_cast<int32_t>(mode));
    check.count(3).index(1).sameType(2, 0).rank(0, 1, nvinfer1::Dims::MAX_DIMS);
    if (mode == ScatterMode::kELEMENT)
        check.axis(0, axis).sameRank(1, 0).sameRank(2, 0);
    TENON_TRY(check.done());
    if (mode == ScatterMode::kND)
        TENON_TRY(checkPositions(in));
    else
        for (int32_t a = 0; a < in.type(1).rank(); ++a)
        {
            check.extent(2, a, in.type(1).shape[static_cast<size_t>(a)]);
            if (a != axis)
                check.within(1, 0, a);
        }
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> Scatter::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& indices = *in[1];
    out = *in[0];
    std::vector<int64_t> const strides = stridesOf(out.extents);
    if (mode == ScatterMode::kELEMENT)
    {
        Result<Done> done{Done{}};
        forEachPosition(indices.extents, [&](int64_t linear, std::vector<int64_t> at) {
            Result<int64_t> const to =
                checkedIndex(indices.integers[static_cast<size_t>(linear)], out.extents[static_cast<size_t>(axis)]);
            if (!to)
                done = Result<Done>{to.error()};
            else
            {
                at[static_cast<size_t>(axis)] = *to;
                copyElement(out, linearOf(at, strides), *in[2], linear);
            }
        });
        TENON_TRY(std::move(done));
        return oneOutput(std::move(out));
    }
    auto const depth = static_cast<size_t>(indices.extents.back());
    int64_t const rows = indices.count() / indices.extents.back();
    int64_t const width = rows == 0 ? 0 : in[2]->count() / rows;
    for (int64_t row = 0; row < rows; ++row)
    {
        int64_t to{0};
        for (size_t d = 0; d < depth; ++d)
            to += TENON_TRY(checkedIndex(indices.integers[static_cast<size_t>(row) * depth + d], out.extents[d]))
                * strides[d];
        for (int64_t i = 0; i < width; ++i)
            copyElement(out, to + i, *in[2], row * width + i);
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
