// QuantizedMatrixMultiply: rules and reference.
#include "layers/quantized_matrix_multiply.h"

#include "layers/check.h"

#include <algorithm>

namespace tenon
{

KernelChannels QuantizedMatrixMultiply::channels(std::vector<int64_t> const& kernel) const
{
    bool const isTransposed = product.operation1 == nvinfer1::MatrixOperation::kTRANSPOSE;
    size_t const last = kernel.size() - 1;
    return {std::max<int64_t>(kernel[isTransposed ? last - 1 : last], 1),
        isTransposed ? std::max<int64_t>(kernel[last], 1) : 1};
}

Result<TensorType> QuantizedMatrixMultiply::infer(Inputs const& in) const
{
    using Op = nvinfer1::MatrixOperation;
    TENON_TRY(Check(in, kName)
                  .that(product.operation0 == Op::kNONE && product.operation1 != Op::kVECTOR,
                      "takes x as it is and a matrix as kernel")
                  .done());
    TensorType type = TENON_TRY(inferQuantized(
        in, kName, *makeLayer(product), product.epilogue, {inputScale, outputScale, realType, inputZero, outputZero}));
    TENON_TRY(checkKernelScales(in, kName, type.shape.back()));
    return type;
}

Result<std::vector<HostTensor>> QuantizedMatrixMultiply::reference(HostTensors const& in) const
{
    return quantizedReference(in, *makeLayer(product), product.epilogue,
        {inputScale, outputScale, realType, inputZero, outputZero}, channels(in.at(1)->extents));
}

} // namespace tenon
