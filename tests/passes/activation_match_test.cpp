// What activations in algebraic form are taken for, and what must not be taken for one.
#include "passes/activation_match.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon::passes
{

namespace
{
Expr const kX = Expr::input(0);

Expr lowest(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kMin, {a, b});
}
Expr largest(Expr const& a, Expr const& b)
{
    return apply(ExprOp::kMax, {a, b});
}
Expr clip(Expr const& x, double low, double high)
{
    return lowest(largest(x, low), high);
}

void expectStep(Expr const& expr, EpilogueKind kind, float alpha = 0.0F, float beta = 0.0F)
{
    std::optional<EpilogueStep> const step = matchActivation(expr);
    ASSERT_TRUE(step) << expr.show();
    EXPECT_EQ(step->kind, kind) << expr.show();
    EXPECT_FLOAT_EQ(step->alpha, alpha) << expr.show();
    EXPECT_FLOAT_EQ(step->beta, beta) << expr.show();
}
} // namespace

TEST(ActivationMatch, formsThatExportersWrite)
{
    Expr const sigmoid = apply(ExprOp::kSigmoid, {kX});
    expectStep(largest(kX, 0.0), EpilogueKind::kRelu);
    expectStep(clip(kX, 0.0, 6.0), EpilogueKind::kClip, 0.0F, 6.0F);
    expectStep(kX * sigmoid, EpilogueKind::kSilu);
    expectStep(kX * clip(kX + 3.0, 0.0, 6.0) / 6.0, EpilogueKind::kHardSwish, 1.0F / 6.0F, 0.5F);
    expectStep(clip(kX + 3.0, 0.0, 6.0) / 6.0, EpilogueKind::kHardSigmoid, 1.0F / 6.0F, 0.5F);
    expectStep(kX * 0.5 * (apply(ExprOp::kErf, {kX / std::sqrt(2.0)}) + 1.0), EpilogueKind::kGeluErf);
    expectStep(kX * 2.5 + 1.25, EpilogueKind::kLinear, 2.5F, 1.25F);
}

//! Whatever an epilogue can apply is found again from what it computes.
TEST(ActivationMatch, everyFunctionOfAnEpilogueIsRecognized)
{
    for (EpilogueFunction const& function : epilogueFunctions())
    {
        EpilogueStep const step{function.kind, 0.25F, 0.5F};
        Expr const body = Epilogue::body(step, kX, {});
        std::optional<EpilogueStep> const found = matchActivation(body);
        ASSERT_TRUE(found) << body.show();
        EXPECT_EQ(found->kind, step.kind) << body.show();
        EXPECT_EQ(Epilogue::body(*found, kX, {}).show(), body.show());
    }
}

//! In half precision 1 / sqrt(2) is another number; GELU by tanh stays apart.
TEST(ActivationMatch, constantsRoundedToHalfPrecision)
{
    auto const gelu = [](double root) { return kX * 0.5 * (apply(ExprOp::kErf, {kX / root}) + 1.0); };
    EXPECT_FALSE(matchActivation(gelu(1.4140625)));
    std::optional<EpilogueStep> const found = matchActivation(gelu(1.4140625), DType::kHALF);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, EpilogueKind::kGeluErf);
    EXPECT_FALSE(matchActivation(gelu(1.416), DType::kHALF));
}

//! A bound that matters at some magnitude only is still a bound.
TEST(ActivationMatch, boundsOfEveryMagnitudeCount)
{
    expectStep(clip(kX, -65504.0, 65504.0), EpilogueKind::kClip, -65504.0F, 65504.0F);
    expectStep(clip(kX, 0.0, 20000.0), EpilogueKind::kClip, 0.0F, 20000.0F);
    expectStep(clip(kX, -1e-6, 1e-6), EpilogueKind::kClip, -1e-6F, 1e-6F);
    expectStep(largest(kX, kX * 1e-12), EpilogueKind::kLeakyRelu, 1e-12F);
    EXPECT_FALSE(matchActivation(largest(kX, 1e-7)));
    EXPECT_FALSE(matchActivation(lowest(kX, 30000.0)));
    EXPECT_FALSE(matchActivation(largest(kX, -1e20)));
    EXPECT_FALSE(matchActivation(largest(apply(ExprOp::kSigmoid, {kX}), 1e-12)));
    EXPECT_FALSE(matchActivation(clip(apply(ExprOp::kTanh, {kX}), -1.0, 0.9999999)));
    EXPECT_FALSE(matchActivation(apply(ExprOp::kRound, {kX * 1e6}) * 1e-6));
}

} // namespace tenon::passes
