// ShapeLayer: rules, contents and reference.
#include "layers/shape.h"

#include "layers/check.h"

namespace tenon
{

Result<TensorType> ShapeLayer::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(1).done());
    return TensorType{DType::kINT64, {in.type(0).rank()}};
}

std::optional<Shape> ShapeLayer::contents(Inputs const& in) const
{
    return in.type(0).shape;
}

Result<std::vector<HostTensor>> ShapeLayer::reference(HostTensors const& in) const
{
    HostTensor out{DType::kINT64, {static_cast<int64_t>(in.at(0)->extents.size())}};
    out.integers = in[0]->extents;
    return std::vector<HostTensor>{std::move(out)};
}

} // namespace tenon
