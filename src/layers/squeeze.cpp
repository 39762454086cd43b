// Squeeze: rules, contents and reference.
#include "layers/squeeze.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shuffle.h"
#include "layers/squeeze_axes.h"

namespace tenon
{

Result<WithBatch> Squeeze::withBatch(SampleInputs const& samples) const
{
    return Shuffle{}.reshapingSamples(TENON_TRY(sampleExtents(*makeLayer(*this), samples.in)));
}

Result<TensorType> Squeeze::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(2).done());
    TensorType type{in.type(0).dtype, {}};
    std::vector<bool> const named = TENON_TRY(namedAxes(in, kName, in.type(0).rank()));
    for (size_t axis = 0; axis < named.size(); ++axis)
    {
        ShapeExpr const& extent = in.type(0).shape[axis];
        if (!named[axis])
            type.shape.push_back(extent);
        else if (extent.isConstant() && *extent.constant() != 1)
            return inputError(in, kName, 0, fmt::format("has extent {} on axis {}, must have 1", extent.show(), axis));
    }
    return type;
}

std::optional<Shape> Squeeze::contents(Inputs const& in) const
{
    return trackedCount(in.type(0).shape) ? knownValues(in, 0) : std::nullopt;
}

Result<std::vector<HostTensor>> Squeeze::reference(HostTensors const& in) const
{
    HostTensor const out = TENON_TRY(outputOf(*this, in));
    return oneOutput(withExtents(*in[0], out.extents));
}

} // namespace tenon
