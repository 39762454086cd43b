// Unsqueeze: rules, contents and reference.
#include "layers/unsqueeze.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shuffle.h"
#include "layers/squeeze_axes.h"

namespace tenon
{

Result<WithBatch> Unsqueeze::withBatch(SampleInputs const& samples) const
{
    return Shuffle{}.reshapingSamples(TENON_TRY(sampleExtents(*makeLayer(*this), samples.in)));
}

Result<TensorType> Unsqueeze::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(2).done());
    auto const added = static_cast<int32_t>(TENON_TRY(constantOperand(in, kName, 1)).size());
    int32_t const rank = in.type(0).rank() + added;
    TENON_TRY(Check(in, kName)
                  .that(rank <= nvinfer1::Dims::MAX_DIMS, "the result would have rank {}, at most {} are possible",
                      rank, nvinfer1::Dims::MAX_DIMS)
                  .done());
    std::vector<bool> const named = TENON_TRY(namedAxes(in, kName, rank));
    TensorType type{in.type(0).dtype, {}};
    size_t next{0};
    for (bool const isNew : named)
        type.shape.push_back(isNew ? ShapeExpr{1} : in.type(0).shape[next++]);
    return type;
}

std::optional<Shape> Unsqueeze::contents(Inputs const& in) const
{
    return trackedCount(in.type(0).shape) ? knownValues(in, 0) : std::nullopt;
}

Result<std::vector<HostTensor>> Unsqueeze::reference(HostTensors const& in) const
{
    HostTensor const out = TENON_TRY(outputOf(*this, in));
    return oneOutput(withExtents(*in[0], out.extents));
}

} // namespace tenon
