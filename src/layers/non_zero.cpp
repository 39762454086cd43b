// NonZero: rules and plain loops.
#include "layers/non_zero.h"

#include "layers/check.h"
#include "layers/positions.h"

namespace tenon
{

Result<TensorType> NonZero::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName)
                  .that(indicesType == DType::kINT32 || indicesType == DType::kINT64, "indices cannot be {}",
                      nameOf(indicesType))
                  .count(1)
                  .done());
    ShapeExpr const found = in.dataExtent(0, in.type(0).volume());
    return TensorType{indicesType, {in.type(0).rank(), found}};
}

Result<std::vector<HostTensor>> NonZero::reference(HostTensors const& in) const
{
    HostTensor const& x = *in.at(0);
    std::vector<std::vector<int64_t>> found;
    forEachPosition(x.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        if (x.isReal() ? x.real(linear) != 0.0 : x.integer(linear) != 0)
            found.push_back(at);
    });
    auto const rank = static_cast<int64_t>(x.extents.size());
    auto const count = static_cast<int64_t>(found.size());
    HostTensor out{indicesType, {rank, count}};
    for (int64_t i = 0; i < count; ++i)
        for (int64_t axis = 0; axis < rank; ++axis)
            out.setInteger(axis * count + i, found[static_cast<size_t>(i)][static_cast<size_t>(axis)]);
    std::vector<HostTensor> outputs;
    outputs.push_back(std::move(out));
    return outputs;
}

} // namespace tenon
