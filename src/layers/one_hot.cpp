// OneHot: rules and plain loops.
#include "layers/one_hot.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

WithBatch OneHot::withBatch(SampleInputs const&) const
{
    OneHot batched = *this;
    if (batched.axis >= 0)
        ++batched.axis;
    return {makeLayer(batched), {BatchUse::kBroadcast, BatchUse::kShared, BatchUse::kShared}, {}};
}

Result<TensorType> OneHot::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(3).index(0).rank(1, 1).done());
    std::vector<int64_t> const depth = TENON_TRY(constantOperand(in, kName, 2));
    int32_t const rank = in.type(0).rank() + 1;
    TENON_TRY(Check(in, kName)
                  .extent(1, 0, 2)
                  .input(2, depth.size() == 1 && depth[0] > 0, "gives the depth, must be one positive number")
                  .that(axis >= -rank && axis < rank, "axis {} of a result of rank {}", axis, rank)
                  .that(rank <= nvinfer1::Dims::MAX_DIMS, "the result would have rank {}", rank)
                  .done());
    TensorType type{in.type(1).dtype, in.type(0).shape};
    type.shape.insert(type.shape.begin() + (axis < 0 ? axis + rank : axis), ShapeExpr{depth[0]});
    return type;
}

Result<std::vector<HostTensor>> OneHot::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    auto const rank = static_cast<int32_t>(out.extents.size());
    Lanes const lanes{out.extents, static_cast<size_t>(axis < 0 ? axis + rank : axis)};
    int64_t next{0};
    lanes.forEach([&](int64_t first) {
        int64_t index = in[0]->integers[static_cast<size_t>(next++)];
        index = index < 0 ? index + lanes.length : index;
        for (int64_t i = 0; i < lanes.length; ++i)
            copyElement(out, first + i * lanes.inner, *in[1], i == index ? 1 : 0);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
