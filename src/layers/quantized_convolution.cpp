// QuantizedConvolution: rules and reference.
#include "layers/quantized_convolution.h"

#include "layers/check.h"

#include <algorithm>

namespace tenon
{

KernelChannels QuantizedConvolution::channels(std::vector<int64_t> const& kernel) const
{
    return {product.nbOutputMaps, std::max<int64_t>(volumeOf(kernel) / std::max<int64_t>(product.nbOutputMaps, 1), 1)};
}

Result<TensorType> QuantizedConvolution::infer(Inputs const& in) const
{
    TensorType type = TENON_TRY(inferQuantized(
        in, kName, *makeLayer(product), product.epilogue, {inputScale, outputScale, realType, inputZero, outputZero}));
    TENON_TRY(checkKernelScales(in, kName, ShapeExpr{product.nbOutputMaps}));
    return type;
}

Result<std::vector<HostTensor>> QuantizedConvolution::reference(HostTensors const& in) const
{
    return quantizedReference(in, *makeLayer(product), product.epilogue,
        {inputScale, outputScale, realType, inputZero, outputZero}, channels(in.at(1)->extents));
}

} // namespace tenon
