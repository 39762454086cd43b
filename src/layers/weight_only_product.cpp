// WeightOnlyProduct: rules; the reference dequantizes and multiplies.
#include "layers/weight_only_product.h"

#include "layers/dequantize.h"
#include "layers/epilogue_rules.h"
#include "layers/matrix_multiply.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Result<Done> WeightOnlyProduct::verify() const
{
    return verifyEpilogue(epilogue);
}

Result<TensorType> WeightOnlyProduct::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, kFirstExtra + epilogue.extraInputs()).floating(0).sameType(2, 0).sameType(3, 0);
    check.types(1, {DType::kINT8, DType::kINT4}).rank(0, 2, nvinfer1::Dims::MAX_DIMS).rank(1, 2).rank(2, 2).rank(3, 1);
    TENON_TRY(check.done());
    int32_t const ofDepth = isTransposed ? 1 : 0;
    Shape const& weights = in.type(1).shape;
    Shape const& scales = in.type(2).shape;
    ShapeExpr const& depth = weights[static_cast<size_t>(ofDepth)];
    ShapeExpr const& columns = weights[static_cast<size_t>(1 - ofDepth)];
    ShapeExpr const& blocks = scales[static_cast<size_t>(ofDepth)];
    check.extent(0, in.type(0).rank() - 1, depth).extent(2, 1 - ofDepth, columns);
    bool const isKnown = depth.isConstant() && blocks.isConstant();
    bool const divides = isKnown && *blocks.constant() > 0 && *depth.constant() % *blocks.constant() == 0;
    check.input(2, divides, "has {} blocks, which do not divide the depth {}", blocks.show(), depth.show());
    if (in.has(3))
        check.extent(3, 0, columns);
    TENON_TRY(check.done());
    TensorType type = in.type(0);
    type.shape.back() = columns;
    TENON_TRY(checkExtras(in, kName, epilogue, kFirstExtra, type));
    return type;
}

Result<std::vector<HostTensor>> WeightOnlyProduct::reference(HostTensors const& in) const
{
    TENON_TRY(outputOf(*this, in)); // Whether the operands fit.
    std::vector<HostTensor> weights =
        TENON_TRY((Dequantize{.axis = isTransposed ? 1 : 0, .toType = in[0]->dtype}.reference({in[1], in[2]})));
    std::vector<int64_t>& extents = weights.front().extents;
    extents.insert(extents.begin(), in[0]->extents.size() - extents.size(), 1);
    MatrixMultiply product;
    product.operation1 = isTransposed ? nvinfer1::MatrixOperation::kTRANSPOSE : nvinfer1::MatrixOperation::kNONE;
    product.alpha = alpha;
    product.epilogue = epilogue;
    HostTensors operands{in[0], &weights.front()};
    operands.insert(operands.end(), in.begin() + 3, in.end());
    return product.reference(operands);
}

} // namespace tenon
