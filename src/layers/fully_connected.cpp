// FullyConnected: rules and plain loops.
#include "layers/fully_connected.h"

#include "layers/check.h"
#include "layers/shape_values.h"

namespace tenon
{

WithBatch FullyConnected::withBatch(SampleInputs const&) const
{
    return {makeLayer(*this), {BatchUse::kBroadcast, BatchUse::kShared, BatchUse::kShared}, {}};
}

bool FullyConnected::lacksBatch(Inputs const& in) const
{
    return in.has(0) && in.type(0).rank() == kVectorAxes;
}

Result<TensorType> FullyConnected::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(2, 3).floating(0).rank(0, kVectorAxes + 1, nvinfer1::Dims::MAX_DIMS);
    check.sameType(1, 0).rank(1, 2).sameType(2, 0).rank(2, 1);
    check.that(nbOutputChannels > 0, "has {} outputs", nbOutputChannels);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    Shape const vector{x.end() - kVectorAxes, x.end()};
    ShapeExpr const length = TensorType{in.type(0).dtype, vector}.volume();
    check.input(0, length.isConstant(), "has the extents {} on its last three axes, which must be known while building",
        show(vector));
    check.extent(1, 0, nbOutputChannels).extent(1, 1, length).extent(2, 0, nbOutputChannels);
    TENON_TRY(check.done());
    TensorType type{in.type(0).dtype, {x.begin(), x.end() - kVectorAxes}};
    type.shape.insert(type.shape.end(), {nbOutputChannels, 1, 1});
    return type;
}

Result<std::vector<HostTensor>> FullyConnected::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    int64_t const length = in[1]->extents.at(1);
    bool const hasBias = in.size() > 2 && in[2] != nullptr;
    for (int64_t i = 0; i < out.count(); ++i)
    {
        int64_t const row = i / nbOutputChannels;
        int64_t const output = i % nbOutputChannels;
        double sum{hasBias ? in[2]->real(output) : 0.0};
        for (int64_t k = 0; k < length; ++k)
            sum += in[0]->real(row * length + k) * in[1]->real(output * length + k);
        out.set(i, sum);
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
