// NormalizedProduct: rules and reference.
#include "layers/normalized_product.h"

#include "layers/check.h"

#include <cmath>
#include <span>

namespace tenon
{

Result<Done> NormalizedProduct::verify() const
{
    using nvinfer1::MatrixOperation;
    TENON_TRY(product.verify());
    if (product.operation0 != MatrixOperation::kNONE || product.operation1 == MatrixOperation::kVECTOR)
        return badArgument("its product takes its left operand turned around, or a vector");
    if (product.alpha != 1.0F || product.epilogue.extraInputs() > 0)
        return badArgument("its product has a factor, or reads more tensors");
    return Done{};
}

Result<TensorType> NormalizedProduct::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2, kSums + 1).that(in.has(kSums), "lacks the sums of its columns");
    check.types(kSums, {DType::kFLOAT}).rank(kSums, 1);
    TENON_TRY(check.done());
    std::vector<Input> inner;
    for (int32_t i = 0; i < kSums; ++i)
        inner.push_back(in[i]);
    TensorType type = TENON_TRY(product.infer(in.with(std::move(inner))));
    TENON_TRY(check.extent(kSums, 0, type.shape.back()).done());
    return type;
}

Result<std::vector<HostTensor>> NormalizedProduct::reference(HostTensors const& in) const
{
    if (in.size() <= kSums || in[0] == nullptr || in[1] == nullptr || in[0]->extents.empty())
        return badArgument("a product of normalized rows lacks an operand");
    HostTensor x = *in[0];
    int64_t const length = x.extents.back();
    auto const count = static_cast<double>(length);
    for (int64_t row = 0; length > 0 && row < x.count() / length; ++row)
    {
        std::span<double> const elements{x.reals.data() + row * length, static_cast<size_t>(length)};
        double mean{0.0};
        double variance{0.0};
        for (double const each : elements)
            mean += each / count;
        for (double const each : elements)
            variance += (each - mean) * (each - mean) / count;
        double const factor = 1.0 / std::sqrt(variance + static_cast<double>(epsilon));
        for (double& each : elements) // Not rounded: kernels that multiply x as it is write none of these down.
            each = (each - mean) * factor;
    }
    return product.reference({&x, in[1], in[2]});
}

} // namespace tenon
