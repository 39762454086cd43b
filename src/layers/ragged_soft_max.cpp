// RaggedSoftMax: rules and plain loops.
#include "layers/ragged_soft_max.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

Result<TensorType> RaggedSoftMax::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(2).floating(0).index(1).rank(0, 2, nvinfer1::Dims::MAX_DIMS).sameRank(1, 0);
    for (int32_t axis = 0; check && axis < in.type(0).rank(); ++axis)
        check.extent(1, axis, axis + 1 < in.type(0).rank() ? in.type(0).shape[static_cast<size_t>(axis)] : 1);
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> RaggedSoftMax::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    if (x.count() == 0) // Rows of no elements are none to divide by.
        return oneOutput(std::move(out));
    Lanes const rows{x.extents, x.extents.size() - 1};
    rows.forEach([&](int64_t first) {
        int64_t const length = std::clamp<int64_t>(in[1]->integer(first / rows.length), 0, rows.length);
        double peak{-INFINITY};
        for (int64_t i = 0; i < length; ++i)
            peak = std::max(peak, x.real(first + i));
        double sum{0.0};
        for (int64_t i = 0; i < length; ++i)
            sum += std::exp(x.real(first + i) - peak);
        for (int64_t i = 0; i < length; ++i)
            out.set(first + i, std::exp(x.real(first + i) - peak) / sum);
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
