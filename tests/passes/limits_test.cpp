// Rows with limits fuse what the target's kernels can do, and no more; portable rows know no target.
#include "passes/rewrite.h"
#include "passes/rule.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
FusionLimits withEpilogues(TypeSet types, size_t steps = 4)
{
    FusionLimits limits;
    limits.epilogueTypes = types;
    limits.epilogueSteps = steps;
    return limits;
}

constexpr std::string_view kHalfConvolution{R"(
input %x : float16[N,4,8,8]
const %w : float16[4,4,1,1] = random(1)
%c = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%y = Activation(%c) {ActivationType=0}
output %y
)"};

constexpr std::string_view kResidual{R"(
input %x : float32[N,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%c = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%d = ElementWise(%x, %c) {Operation=0}
%y = Activation(%d) {ActivationType=0}
output %y
)"};

constexpr std::string_view kAttentionWrittenOut{R"(
input %q : float32[N=1..8,2,S=1..16,3]
input %k : float32[N,2,S,3]
input %v : float32[N,2,S,3]
%s = MatrixMultiply(%q, %k) {operation1=1}
%p = SoftMax(%s) {Axes=8}
%o = MatrixMultiply(%p, %v)
output %o
)"};
} // namespace

TEST(Limits, epiloguesAreForTheTargetsElementTypes)
{
    expectRewrite("fuse-activation", kHalfConvolution, R"(
input %x : float16[N,4,8,8]
const %w : float16[4,4,1,1] = random(1)
%y = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1), epilogue={steps=[{kind=2}]}}
output %y
)",
        withEpilogues({DType::kHALF}));
    expectUnchanged("fuse-activation", kHalfConvolution, withEpilogues({DType::kFLOAT}));
    expectUnchanged("fuse-residual", kResidual, withEpilogues({DType::kHALF}));
}

TEST(Limits, epiloguesHaveTheTargetsNumberOfSteps)
{
    constexpr std::string_view kOneStep{R"(
input %x : float32[N,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%d = Convolution(%x, %w, _, %x) {NbOutputMaps=4, KernelSizeNd=(1,1), epilogue={steps=[{kind=0}]}}
%y = Activation(%d) {ActivationType=0}
output %y
)"};
    expectRewrite("fuse-residual", kResidual, kOneStep, withEpilogues({DType::kFLOAT}, 1));
    expectUnchanged("fuse-activation", kOneStep, withEpilogues({DType::kFLOAT}, 1));
    expectUnchanged("fuse-residual", kResidual, withEpilogues({DType::kFLOAT}, 0));
}

TEST(Limits, regionsHaveTheTargetsNumberOfInputsAndOperations)
{
    constexpr std::string_view kSums{R"(
input %x : float32[N,4]
input %y : float32[N,4]
input %z : float32[N,4]
%a = ElementWise(%x, %y) {Operation=0}
%b = ElementWise(%a, %z) {Operation=0}
output %b
)"};
    FusionLimits limits;
    limits.pointwiseInputs = 3;
    limits.pointwiseOperations = 5;
    expectRewrite("fuse-pointwise", kSums, R"(
input %x : float32[N,4]
input %y : float32[N,4]
input %z : float32[N,4]
%b = Pointwise(%x, %y, %z) {expr=add(add(x0,x1),x2)}
output %b
)",
        limits);
    limits.pointwiseInputs = 2;
    expectUnchanged("fuse-pointwise", kSums, limits);
    limits.pointwiseInputs = 3;
    limits.pointwiseOperations = 4;
    expectUnchanged("fuse-pointwise", kSums, limits);
}

TEST(Limits, attentionIsForTheTargetsElementTypes)
{
    FusionLimits limits;
    limits.attentionTypes = {DType::kHALF};
    expectUnchanged("fuse-attention", kAttentionWrittenOut, limits);
    limits.attentionTypes = {DType::kFLOAT};
    expectRewrite("fuse-attention", kAttentionWrittenOut, R"(
input %q : float32[N=1..8,2,S=1..16,3]
input %k : float32[N,2,S,3]
input %v : float32[N,2,S,3]
%a = Attention(%q, %k, %v) {q={axes=[0,1,2,3]}, k={axes=[0,1,2,3]}, v={axes=[0,1,2,3]}, outputAxes=[0,2,1,3]}
%o = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %o
)",
        limits);
}

TEST(Limits, projectionsAreJoinedInTheTargetsElementTypes)
{
    constexpr std::string_view kApart{R"(
input %x : float16[N=1..8,S=1..16,4]
const %wq : float16[1,4,6] = random(1)
const %wk : float16[1,4,6] = random(2)
const %wv : float16[1,4,6] = random(3)
const %bv : float16[6] = random(5)
%mq = MatrixMultiply(%x, %wq)
%mk = MatrixMultiply(%x, %wk)
%mv = MatrixMultiply(%x, %wv, %bv)
%q = Shuffle(%mq) {ReshapeDimensions=(0,0,2,3)}
%k = Shuffle(%mk) {ReshapeDimensions=(0,0,2,3)}
%v = Shuffle(%mv) {ReshapeDimensions=(0,0,2,3)}
%o = Attention(%q, %k, %v) {q={axes=[0,2,1,3]}, k={axes=[0,2,1,3]}, v={axes=[0,2,1,3]}, outputAxes=[0,2,1,3]}
output %o
)"};
    FusionLimits limits;
    limits.projectionTypes = {DType::kFLOAT};
    expectUnchanged("merge-projections", kApart, limits);
    limits.projectionTypes = {DType::kHALF};
    expectRewrite("merge-projections", kApart, R"(
input %x : float16[N=1..8,S=1..16,4]
const %w : float16[1,4,18] = random(1)
const %b : float16[18] = random(4)
%m = MatrixMultiply(%x, %w, %b)
%p = Shuffle(%m) {ReshapeDimensions=(0,0,6,3)}
%o = Attention(%p, %p, %p) {q={axes=[0,2,1,3], heads=2}, k={axes=[0,2,1,3], firstHead=2, heads=2}, v={axes=[0,2,1,3], firstHead=4, heads=2}, outputAxes=[0,2,1,3]}
output %o
)",
        limits);
}

TEST(Limits, aTargetThatFusesNothingGetsTheLayersOfThePortableRows)
{
    for (std::string_view const text : {kHalfConvolution, kResidual, kAttentionWrittenOut})
        expectUnchanged("", text, FusionLimits{});
}

TEST(Limits, portableRowsHoldPortableRulesOnly)
{
    for (PassRow const& row : portableRows())
        for (Rule const& rule : row.rules)
            EXPECT_TRUE(rule.isPortable()) << row.name << ": " << rule.name;
    bool hasLimits{false};
    for (PassRow const& row : targetRows())
        for (Rule const& rule : row.rules)
            hasLimits = hasLimits || !rule.isPortable();
    EXPECT_TRUE(hasLimits);
}

} // namespace tenon::test
