// DynamicQuantize: rules and plain loops.
#include "layers/dynamic_quantize.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/quantization.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

Result<Done> DynamicQuantize::verify() const
{
    if (toType != DType::kFP4 && toType != DType::kFP8 && toType != DType::kINT8)
        return badArgument("quantizes to {}; it can to fp4, fp8 and int8", nameOf(toType));
    if (!isFloating(scaleType) || scaleType == DType::kFP4)
        return badArgument("scales cannot be {}", nameOf(scaleType));
    if (blockShape.nbDims <= 0 && blockSize < 1)
        return badArgument("blocks of {} elements", blockSize);
    return Done{};
}

Result<std::vector<TensorType>> DynamicQuantize::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1, 2).floating(0);
    if (in.has(1))
        check.input(1, isFloating(in.type(1).dtype), "is no real number").rank(1, 0);
    bool const isShaped = blockShape.nbDims > 0;
    if (check)
        check.that(!isShaped || blockShape.nbDims == in.type(0).rank(), "has blocks of {} axes, input 0 has {}",
            blockShape.nbDims, in.type(0).rank());
    if (check && !isShaped)
        check.axis(0, axis);
    TENON_TRY(check.done());
    TensorType scales{scaleType, in.type(0).shape};
    for (int32_t i = 0; i < in.type(0).rank(); ++i)
    {
        ShapeExpr& extent = scales.shape[static_cast<size_t>(i)];
        int64_t const length = isShaped ? blockShape.d[i] : i == axis ? blockSize : 1;
        check.that(length == -1 || length > 0, "has blocks of length {} on axis {}", length, i);
        check.input(0, length == -1 || !extent.isConstant() || *extent.constant() % std::max<int64_t>(length, 1) == 0,
            "has extent {} on axis {}, which blocks of {} do not divide", extent.show(), i, length);
        extent = length == -1 ? ShapeExpr{1} : floorDiv(extent, std::max<int64_t>(length, 1));
    }
    TENON_TRY(check.done());
    return std::vector<TensorType>{{toType, in.type(0).shape}, std::move(scales)};
}

Result<std::vector<HostTensor>> DynamicQuantize::reference(HostTensors const& in) const
{
    ConcreteInputs concrete{in};
    std::vector<TensorType> const types = TENON_TRY(infer(concrete.inputs()));
    HostTensor const& x = *in[0];
    HostTensor numbers{toType, x.extents};
    HostTensor scales{scaleType, *staticExtents(types[1].shape)};
    double const factor = in.size() > 1 && in[1] != nullptr ? in[1]->real(0) : 1.0;
    ScaleView const view = viewOf(x.extents, scales.extents, {-1, blockShape});
    std::vector<int64_t> const strides = broadcastStrides(view.scale);
    std::vector<double> largest(static_cast<size_t>(scales.count()), 0.0);
    forEachPosition(view.x, [&](int64_t linear, std::vector<int64_t> const& at) {
        double& most = largest[static_cast<size_t>(linearOf(at, strides))];
        most = std::max(most, std::abs(x.real(linear)));
    });
    for (int64_t i = 0; i < scales.count(); ++i)
    {
        // A power of two is the next one above, so that no number of the block is too large for it.
        double const scale = largest[static_cast<size_t>(i)] / rangeOf(toType).second / factor;
        scales.set(i, static_cast<double>(static_cast<float>(scale)));
    }
    forEachPosition(view.x, [&](int64_t linear, std::vector<int64_t> const& at) {
        double const scale = scales.real(linearOf(at, strides)) * factor;
        numbers.set(linear, scale == 0.0 ? 0.0 : quantized(x.real(linear), scale, toType));
    });
    return std::vector<HostTensor>{std::move(numbers), std::move(scales)};
}

} // namespace tenon
