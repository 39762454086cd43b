// Activation: rules and bodies of all kinds.
#include "layers/activation.h"

#include "layers/check.h"

namespace tenon
{

using nvinfer1::ActivationType;

Result<Done> Activation::verify() const
{
    if (activationType < ActivationType::kRELU || activationType > ActivationType::kGELU_TANH)
        return badArgument("unknown activation type {}", static_cast<int32_t>(activationType));
    return Done{};
}

Result<TensorType> Activation::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1);
    if (activationType == ActivationType::kRELU)
        check.types(
            0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kINT32, DType::kINT64});
    else
        check.floating(0);
    return check.sameAs(0);
}

namespace
{
Expr const kZero{0.0};
Expr const kOne{1.0};

Expr gelu(Expr const& x, bool byTanh)
{
    constexpr double kSqrtHalf{0.70710678118654752440};
    constexpr double kSqrtTwoOverPi{0.79788456080286535588};
    Expr const cubic = x + Expr{0.044715} * (x * x * x);
    Expr const inner = byTanh ? tanh(Expr{kSqrtTwoOverPi} * cubic) : erf(x * Expr{kSqrtHalf});
    return Expr{0.5} * x * (kOne + inner);
}
} // namespace

Expr Activation::body(Expr const& x) const
{
    Expr const a{static_cast<double>(alpha)};
    Expr const b{static_cast<double>(beta)};
    switch (activationType)
    {
    case ActivationType::kRELU: return max(x, kZero);
    case ActivationType::kSIGMOID: return sigmoid(x);
    case ActivationType::kTANH: return tanh(x);
    case ActivationType::kLEAKY_RELU: return select(x > kZero, x, a * x);
    case ActivationType::kELU: return select(x > kZero, x, a * (exp(x) - kOne));
    case ActivationType::kSELU: return b * select(x > kZero, x, a * (exp(x) - kOne));
    case ActivationType::kSOFTSIGN: return x / (abs(x) + kOne);
    case ActivationType::kSOFTPLUS:
    {
        Expr const scaled = b * x; // log(exp(s) + 1) = max(s, 0) + log(exp(−|s|) + 1), which cannot overflow.
        return a * (max(scaled, kZero) + log(exp(-abs(scaled)) + kOne));
    }
    case ActivationType::kCLIP: return max(min(x, b), a);
    case ActivationType::kHARD_SIGMOID: return max(min(a * x + b, kOne), kZero);
    case ActivationType::kSCALED_TANH: return a * tanh(b * x);
    case ActivationType::kTHRESHOLDED_RELU: return select(x > a, x, kZero);
    case ActivationType::kGELU_ERF: return gelu(x, false);
    default: return gelu(x, true);
    }
}

} // namespace tenon
