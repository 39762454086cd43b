// Activation match: by the operations that occur, then by values.
#include "passes/activation_match.h"

#include "ir/host_tensor.h"
#include "ir/layer.h"
#include "layers/activation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tenon::passes
{

namespace
{
constexpr double kInfinity{std::numeric_limits<double>::infinity()};
constexpr double kFar{1e4}; // Where smooth functions have reached their limits.

using Values = std::vector<double>;

//! The expression in float32, as the layers compute it; empty when it cannot be evaluated.
Values evaluateAt(Expr const& expr, Values const& points)
{
    HostTensor x{DType::kFLOAT, {static_cast<int64_t>(points.size())}};
    for (size_t i = 0; i < points.size(); ++i)
        x.set(static_cast<int64_t>(i), points[i]);
    Result<HostTensor> result = evaluate(expr, {&x});
    if (!result || !result->isReal() || result->reals.size() != points.size())
        return {};
    return result->reals;
}

Values const& nearPoints()
{
    static Values const points = [] {
        Values all{0.0, -kFar, kFar, -300.0, 300.0};
        for (int32_t i = -120; i <= 120; ++i)
            all.push_back(static_cast<double>(i) * 0.0917); // No multiple of a parameter that occurs.
        return all;
    }();
    return points;
}

//! Eight points per octave over nearly all floats: a bound, however far or small, shows at some of them.
Values const& allMagnitudes()
{
    static Values const points = [] {
        Values all{0.0};
        for (int32_t i = -8 * 100; i <= 8 * 120; ++i)
            for (double const sign : {-1.0, 1.0})
                all.push_back(static_cast<double>(static_cast<float>(sign * std::exp2(i / 8.0))));
        return all;
    }();
    return points;
}

//! What an expression consists of says which steps it may be.
enum class Family
{
    kSmooth, //!< Analytic: values on an interval determine the function everywhere.
    kPieces, //!< Polynomial between its corners, which may lie anywhere.
    kMixed,
    kOther,
};

bool isSmooth(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kExp:
    case ExprOp::kReciprocal:
    case ExprOp::kTanh:
    case ExprOp::kErf:
    case ExprOp::kSigmoid:
    case ExprOp::kPow: return true;
    default: return false;
    }
}

bool isCorner(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kAbs:
    case ExprOp::kMin:
    case ExprOp::kMax:
    case ExprOp::kSelect:
    case ExprOp::kLess:
    case ExprOp::kGreater:
    case ExprOp::kEqual:
    case ExprOp::kNot: return true;
    default: return false;
    }
}

bool isPolynomial(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kInput:
    case ExprOp::kConstant:
    case ExprOp::kNeg:
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
    case ExprOp::kDiv: return true;
    default: return false;
    }
}

Family familyOf(Expr const& expr)
{
    bool hasSmooth{false};
    bool hasCorner{false};
    for (ExprNode const& node : expr.nodes)
    {
        hasSmooth = hasSmooth || isSmooth(node.op);
        hasCorner = hasCorner || isCorner(node.op);
        if (!isSmooth(node.op) && !isCorner(node.op) && !isPolynomial(node.op))
            return Family::kOther;
    }
    if (hasSmooth)
        return hasCorner ? Family::kMixed : Family::kSmooth;
    return Family::kPieces;
}

//! How far the expression may be from the step at x, whose value there is `value`: rounding, no more. Constants of half
//! precision move a smooth function by less than a tenth of what its results are rounded by.
double boundAt(EpilogueStep const& step, double x, double value, DType type)
{
    constexpr double kRounding{2e-6};
    constexpr double kHalfRounding{6e-5};
    auto const alpha = static_cast<double>(step.alpha);
    auto const beta = static_cast<double>(step.beta);
    double const inner = alpha * x + beta;
    bool const isBetween = inner > -1e-3 && inner < 1.001; // There its terms cancel; outside it is a bound.
    switch (step.kind)
    {
    case EpilogueKind::kRelu:
    case EpilogueKind::kClip: return 0.0;
    case EpilogueKind::kLeakyRelu: return kRounding * std::abs(value);
    case EpilogueKind::kLinear: return kRounding * (std::abs(alpha * x) + std::abs(beta));
    case EpilogueKind::kHardSigmoid: return kRounding * (isBetween ? 1.0 : std::abs(value));
    case EpilogueKind::kHardSwish: return kRounding * (isBetween ? std::abs(x) : std::abs(value));
    default: return (type == DType::kFLOAT ? kRounding : kHalfRounding) * std::max(1.0, std::abs(value));
    }
}

bool agree(Expr const& expr, EpilogueStep const& step, Values const& points, DType type)
{
    Values const a = evaluateAt(expr, points);
    Values const b = evaluateAt(Epilogue::body(step, Expr::input(0), Expr{}), points);
    if (a.empty() || a.size() != b.size())
        return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= boundAt(step, points[i], b[i], type)))
            return false;
    return true;
}

//! Alpha and beta.
using Parameters = std::array<double, 2>;

//! Values of an expression from which the parameters of an activation follow, if it is that one.
struct Samples
{
    double atZero;
    double below; //!< At −∞, and so on.
    double above;
    double half;
    double minusHalf;
    double minusOne;
    double farBelow;
};

std::optional<Samples> samplesOf(Expr const& expr)
{
    Values const at = evaluateAt(expr, {0.0, -kInfinity, kInfinity, 0.5, -0.5, -1.0, -kFar});
    if (at.empty())
        return std::nullopt;
    return Samples{at[0], at[1], at[2], at[3], at[4], at[5], at[6]};
}

Parameters parametersOf(EpilogueFunction const& function, Samples const& at)
{
    using nvinfer1::ActivationType;
    double const slopeUp = at.half / 0.5;
    double const slopeDown = at.minusHalf / -0.5;
    switch (function.layer)
    {
    case ActivationType::kCLIP: return {at.below, at.above};
    case ActivationType::kLEAKY_RELU: return {-at.minusOne, 0.0};
    case ActivationType::kELU: return {-at.farBelow, 0.0};
    case ActivationType::kHARD_SIGMOID:
        return function.isGate ? Parameters{slopeUp - slopeDown, (slopeUp + slopeDown) / 2.0}
                               : Parameters{at.half - at.minusHalf, at.atZero};
    default: return {0.0, 0.0};
    }
}

EpilogueStep step(EpilogueKind kind, Parameters const& parameters)
{
    return {kind, static_cast<float>(parameters[0]), static_cast<float>(parameters[1])};
}

//! Steps that the expression may be, parameters from a few values of it.
std::vector<EpilogueStep> suspects(Family family, Expr const& expr)
{
    std::optional<Samples> const at = family == Family::kSmooth ? Samples{} : samplesOf(expr);
    if (!at)
        return {};
    std::vector<EpilogueStep> list;
    for (EpilogueFunction const& function : epilogueFunctions())
    {
        EpilogueStep const suspect = step(function.kind, parametersOf(function, *at));
        bool const isEmpty = suspect.kind == EpilogueKind::kClip && !(suspect.alpha < suspect.beta);
        if (!isEmpty && familyOf(Epilogue::body(suspect, Expr::input(0), Expr{})) == family)
            list.push_back(suspect);
    }
    if (family == Family::kPieces)
        list.push_back(step(EpilogueKind::kLinear, {at->half - at->minusHalf, at->atZero}));
    return list;
}
} // namespace

std::optional<EpilogueStep> matchActivation(Expr const& expr, DType type)
{
    Family const family = familyOf(expr);
    if (family == Family::kOther)
        return std::nullopt;
    for (EpilogueStep const& suspect : suspects(family, expr))
        if (std::isfinite(suspect.alpha) && std::isfinite(suspect.beta) && agree(expr, suspect, nearPoints(), type)
            && (family == Family::kSmooth || agree(expr, suspect, allMagnitudes(), type)))
            return suspect;
    return std::nullopt;
}

} // namespace tenon::passes
