// Epilogue: the meaning of its steps, and their application to a whole tensor.
#include "layers/epilogue.h"

#include "layers/activation.h"
#include "layers/quantization.h"

#include <algorithm>
#include <cmath>

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
constexpr EpilogueFunction kFunctions[]{
#define TENON_EPILOGUE_FUNCTION(number, Name, name, Layer, isGate, ...)                                                \
    {EpilogueKind::k##Name, nvinfer1::ActivationType::Layer, isGate},
    TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
};
} // namespace

std::span<EpilogueFunction const> epilogueFunctions() noexcept
{
    return kFunctions;
}

EpilogueFunction const* epilogueFunction(EpilogueKind kind) noexcept
{
    auto const* const at = std::ranges::find(kFunctions, kind, &EpilogueFunction::kind);
    return at == std::end(kFunctions) ? nullptr : at;
}

float Epilogue::steepness(EpilogueStep const& step) noexcept
{
    float const alpha = std::abs(step.alpha);
    switch (step.kind)
    {
#define TENON_EPILOGUE_FUNCTION(number, Name, name, Layer, isGate, ...)                                                \
    case EpilogueKind::k##Name: return __VA_ARGS__;
        TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
    case EpilogueKind::kLinear: return alpha;
    default: return 1.0F;
    }
}

Expr Epilogue::body(EpilogueStep const& step, Expr const& x, Expr const& extra)
{
    if (step.kind == EpilogueKind::kAdd)
        return x + extra;
    if (step.kind == EpilogueKind::kMultiply)
        return x * extra;
    if (step.kind == EpilogueKind::kRound)
    {
        Expr const scale{static_cast<double>(step.alpha)};
        return dequantizedExpr(quantizedExpr(x, scale, DType::kINT8), scale, DType::kFLOAT);
    }
    EpilogueFunction const* const function = epilogueFunction(step.kind);
    if (function == nullptr) // kLinear.
        return Expr{static_cast<double>(step.alpha)} * x + Expr{static_cast<double>(step.beta)};
    Expr const y = Activation{function->layer, step.alpha, step.beta}.body(x);
    return function->isGate ? x * y : y;
}

} // namespace tenon
