// Activation match: by values.
#include "passes/activation_match.h"

#include "ir/host_tensor.h"
#include "ir/layer.h"

#include <cmath>

namespace tenon::passes
{

namespace
{
constexpr double kFar{1e4}; // Where bounded functions have reached their bounds.

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

Values const& samplePoints()
{
    static Values const points = [] {
        Values all{0.0, -kFar, kFar, -300.0, 300.0};
        for (int32_t i = -120; i <= 120; ++i)
            all.push_back(static_cast<double>(i) * 0.0917); // No multiple of a parameter that occurs.
        return all;
    }();
    return points;
}

bool agree(Values const& a, Values const& b)
{
    for (size_t i = 0; i < a.size(); ++i)
    {
        double const bound = 2e-6 * std::max(1.0, std::abs(b[i]));
        if (!(std::abs(a[i] - b[i]) <= bound))
            return false;
    }
    return !a.empty() && a.size() == b.size();
}

EpilogueStep step(EpilogueKind kind, double alpha = 0.0, double beta = 0.0)
{
    return {kind, static_cast<float>(alpha), static_cast<float>(beta)};
}

//! Steps that the expression may be, simple ones first, parameters from a few values of it.
std::vector<EpilogueStep> suspects(Values const& at)
{
    double const zero = at[0];
    double const low = at[1];
    double const high = at[2];
    double const half = at[3];
    double const minusHalf = at[4];
    double const minusOne = at[5];
    std::vector<EpilogueStep> list{step(EpilogueKind::kRelu), step(EpilogueKind::kSigmoid), step(EpilogueKind::kTanh),
        step(EpilogueKind::kSilu), step(EpilogueKind::kGeluErf), step(EpilogueKind::kGeluTanh)};
    if (low < high && high < kFar && low > -kFar)
        list.push_back(step(EpilogueKind::kClip, low, high));
    list.push_back(step(EpilogueKind::kLinear, half - minusHalf, zero));
    list.push_back(step(EpilogueKind::kHardSigmoid, half - minusHalf, zero));
    double const gateUp = half / 0.5;
    double const gateDown = minusHalf / -0.5;
    list.push_back(step(EpilogueKind::kHardSwish, gateUp - gateDown, (gateUp + gateDown) / 2.0));
    list.push_back(step(EpilogueKind::kLeakyRelu, -minusOne));
    list.push_back(step(EpilogueKind::kElu, -low));
    return list;
}
} // namespace

std::optional<EpilogueStep> matchActivation(Expr const& expr)
{
    Values const values = evaluateAt(expr, samplePoints());
    Values const probes = evaluateAt(expr, {0.0, -kFar, kFar, 0.5, -0.5, -1.0});
    if (values.empty() || probes.empty())
        return std::nullopt;
    for (EpilogueStep const& suspect : suspects(probes))
        if (std::isfinite(suspect.alpha) && std::isfinite(suspect.beta)
            && agree(values, evaluateAt(Epilogue::body(suspect, Expr::input(0), Expr{}), samplePoints())))
            return suspect;
    return std::nullopt;
}

} // namespace tenon::passes
