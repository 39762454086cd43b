// QuantizedProduct: the rules and the reference of a product in real numbers, around which scales stand.
#include "layers/quantized_product.h"

#include "layers/check.h"
#include "layers/quantization.h"

#include <cmath>

namespace tenon
{

namespace
{
bool takesOperand(EpilogueStep const& step) noexcept
{
    return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
}

//! Inputs of the product among those of the layer around it: all but the scales.
std::vector<int32_t> inputsOfProduct(int32_t count)
{
    std::vector<int32_t> inputs;
    for (int32_t i = 0; i < count; ++i)
        if (i != QuantizedOperands::kScales)
            inputs.push_back(i);
    return inputs;
}
} // namespace

bool isInt8Scale(float scale) noexcept
{
    constexpr float kLeast{0x1p-100F};
    constexpr float kMax{0x1p100F};
    return scale >= kLeast && scale <= kMax;
}

Result<Done> QuantizedScales::verify() const
{
    if (!isInt8Scale(std::abs(input)) || (output != 0.0F && !isInt8Scale(output)))
        return badArgument("has scales {} and {}", input, output);
    if (real != DType::kFLOAT && real != DType::kHALF && real != DType::kBF16)
        return badArgument("gives real numbers in {}; it can in float32, float16 and bfloat16", nameOf(real));
    if (output == 0.0F && outputZero != 0)
        return badArgument("has a zero point of {} for a result in real numbers", outputZero);
    return Done{};
}

Result<TensorType> inferQuantized(
    Inputs const& in, std::string_view kind, Layer const& product, Epilogue const& epilogue, QuantizedScales scales)
{
    Check check{in, kind};
    check.fields(scales.verify());
    check.count(2, QuantizedOperands::kFirstExtra + epilogue.extraInputs()).types(0, {DType::kINT8, DType::kFP8});
    check.types(2, {DType::kFLOAT, scales.real});
    check.that(in.has(QuantizedOperands::kScales), "lacks the scales of its kernel");
    TENON_TRY(check.done());
    DType const narrow = in.type(0).dtype;
    check.fields(verifyZeroPoint(scales.inputZero, narrow)).fields(verifyZeroPoint(scales.outputZero, narrow));
    TENON_TRY(check.types(1, {narrow}).done());
    std::vector<TensorType> types(static_cast<size_t>(in.size()));
    std::vector<Input> inner;
    for (int32_t const i : inputsOfProduct(in.size()))
    {
        Input each = in[i];
        if (in.has(i))
        {
            check.types(i, {narrow, DType::kFLOAT, scales.real});
            types[static_cast<size_t>(i)] = {DType::kFLOAT, in.type(i).shape};
            each.type = &types[static_cast<size_t>(i)];
        }
        each.contents = nullptr;
        each.constant = nullptr;
        inner.push_back(each);
    }
    TENON_TRY(check.done());
    TensorType type = TENON_TRY(product.infer(in.with(std::move(inner)))).at(0);
    int32_t const last = QuantizedOperands::kFirstExtra + epilogue.extraInputs();
    for (int32_t i = QuantizedOperands::kFirstExtra; i < last && i < in.size(); ++i)
        check.input(i, !in.has(i) || in.type(i).shape.size() == type.shape.size(), "has another rank than the result");
    TENON_TRY(check.done());
    type.dtype = scales.output > 0.0F ? narrow : scales.real;
    return type;
}

Result<Done> checkKernelScales(Inputs const& in, std::string_view kind, ShapeExpr const& channels)
{
    Check check{in, kind};
    constexpr int32_t kScales{QuantizedOperands::kScales};
    check.types(kScales, {DType::kFLOAT}).rank(kScales, 0, 1);
    if (check && in.type(kScales).rank() == 1 && in.type(kScales).shape[0] != ShapeExpr{1})
        check.extent(kScales, 0, channels);
    return check.done();
}

namespace
{
HostTensor realsOf(HostTensor const& from, double scale)
{
    HostTensor reals{DType::kFLOAT, from.extents};
    for (int64_t i = 0; i < reals.count(); ++i)
        reals.reals[static_cast<size_t>(i)] = from.real(i) * scale;
    return reals;
}
} // namespace

Result<std::vector<HostTensor>> quantizedReference(HostTensors const& in, Layer const& product,
    Epilogue const& epilogue, QuantizedScales scales, KernelChannels const& channels)
{
    if (in.size() <= QuantizedOperands::kScales || in[QuantizedOperands::kScales] == nullptr)
        return badArgument("the scales of the kernel are missing");
    HostTensor const& kernelScales = *in[QuantizedOperands::kScales];
    std::vector<HostTensor> made;
    made.reserve(in.size());
    HostTensors inner;
    for (int32_t const i : inputsOfProduct(static_cast<int32_t>(in.size())))
    {
        HostTensor const* const each = in[static_cast<size_t>(i)];
        if (each != nullptr)
            made.push_back(realsOf(*each, 1.0));
        inner.push_back(each == nullptr ? nullptr : &made.back());
    }
    for (double& x : made.at(0).reals) // Neither x nor the kernel can be absent.
        x -= scales.inputZero;
    HostTensor& kernel = made.at(1);
    for (int64_t i = 0; i < kernel.count(); ++i)
    {
        int64_t const channel = kernelScales.count() == 1 ? 0 : channels.of(i);
        kernel.reals[static_cast<size_t>(i)] *= static_cast<double>(scales.input) * kernelScales.real(channel);
    }
    size_t extra = QuantizedOperands::kFirstExtra;
    for (EpilogueStep const& step : epilogue.steps)
    {
        if (!takesOperand(step))
            continue;
        if (extra >= in.size() || in[extra] == nullptr)
            return badArgument("extra input {} is missing, an epilogue step reads it", extra);
        if (isQuantizedType(in[extra]->dtype))
            for (double& value : made.at(made.size() - (in.size() - extra)).reals)
                value *= static_cast<double>(step.alpha);
        ++extra;
    }
    std::vector<HostTensor> result = TENON_TRY(product.reference(inner));
    DType const narrow = in[0]->dtype;
    HostTensor out{scales.output > 0.0F ? narrow : scales.real, result.at(0).extents};
    for (int64_t i = 0; i < out.count(); ++i)
        out.set(i,
            scales.output > 0.0F
                ? quantized(result[0].real(i), static_cast<double>(scales.output), narrow, scales.outputZero)
                : result[0].real(i));
    return std::vector<HostTensor>{std::move(out)};
}

} // namespace tenon
