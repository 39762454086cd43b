// Epilogue: the meaning of its steps, and their application to a whole tensor.
#include "layers/epilogue.h"

#include "layers/activation.h"

namespace tenon
{

int32_t Epilogue::extraInputs() const noexcept
{
    int32_t count{0};
    for (EpilogueStep const& step : steps)
        count += step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply ? 1 : 0;
    return count;
}

namespace
{
Expr activation(nvinfer1::ActivationType type, EpilogueStep const& step, Expr const& x)
{
    return Activation{type, step.alpha, step.beta}.body(x);
}
} // namespace

Expr Epilogue::body(EpilogueStep const& step, Expr const& x, Expr const& extra)
{
    using nvinfer1::ActivationType;
    switch (step.kind)
    {
    case EpilogueKind::kAdd: return x + extra;
    case EpilogueKind::kMultiply: return x * extra;
    case EpilogueKind::kRelu: return activation(ActivationType::kRELU, step, x);
    case EpilogueKind::kClip: return activation(ActivationType::kCLIP, step, x);
    case EpilogueKind::kLeakyRelu: return activation(ActivationType::kLEAKY_RELU, step, x);
    case EpilogueKind::kSigmoid: return sigmoid(x);
    case EpilogueKind::kTanh: return tanh(x);
    case EpilogueKind::kSilu: return x * sigmoid(x);
    case EpilogueKind::kHardSigmoid: return activation(ActivationType::kHARD_SIGMOID, step, x);
    case EpilogueKind::kHardSwish: return x * activation(ActivationType::kHARD_SIGMOID, step, x);
    case EpilogueKind::kGeluErf: return activation(ActivationType::kGELU_ERF, step, x);
    case EpilogueKind::kGeluTanh: return activation(ActivationType::kGELU_TANH, step, x);
    case EpilogueKind::kElu: return activation(ActivationType::kELU, step, x);
    default: return Expr{static_cast<double>(step.alpha)} * x + Expr{static_cast<double>(step.beta)};
    }
}

} // namespace tenon
