// What undoes fusions, before and after.
#include "passes/rewrite.h"

#include "layers/attention.h"
#include "layers/pointwise.h"
#include "passes/runner.h"

#include <gtest/gtest.h>

namespace tenon::test
{

TEST(Undo, epilogueBecomesLayersLastStepFirst)
{
    expectRewrite("undo-epilogue", R"(
input %x : float32[N,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%y = Convolution(%x, %w, _, %x) {NbOutputMaps=4, KernelSizeNd=(1,1), epilogue={steps=[{kind=0},{kind=7},{kind=13, alpha=0.5, beta=1}]}}
output %y
)",
        R"(
input %x : float32[N,4,8,8]
const %w : float32[4,4,1,1] = random(1)
const %half : float32[1,1,1,1] = 0.5
const %one : float32[1,1,1,1] = 1
%c = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%s = ElementWise(%c, %x) {Operation=0}
%g = Activation(%s) {ActivationType=1}
%p = ElementWise(%s, %g) {Operation=1}
%q = ElementWise(%p, %half) {Operation=1}
%y = ElementWise(%q, %one) {Operation=0}
output %y
)");
}

TEST(Undo, epilogueOfEachActivationIsThatActivation)
{
    struct Case
    {
        int32_t kind;
        int32_t activation;
        std::string fields;
    };
    for (Case const& each : {Case{2, 0, ""}, {3, 8, "=-1, beta=2"}, {4, 3, "=0.1"}, {5, 1, ""}, {6, 2, ""},
             {8, 9, "=0.2, beta=0.5"}, {10, 12, ""}, {11, 13, ""}, {12, 4, "=0.7"}})
    {
        std::string const stored = each.fields.empty() ? "" : ", alpha" + each.fields;
        std::string given = each.fields.empty() ? "" : ", Alpha" + each.fields;
        if (size_t const at = given.find("beta"); at != std::string::npos)
            given[at] = 'B';
        std::string const head{"input %x : float32[N,S,4]\nconst %w : float32[1,4,6] = random(1)\n"};
        expectRewrite("undo-epilogue",
            fmt::format("{}%y = MatrixMultiply(%x, %w) {{epilogue={{steps=[{{kind={}{}}}]}}}}\noutput %y\n", head,
                each.kind, stored),
            fmt::format("{}%m = MatrixMultiply(%x, %w)\n%y = Activation(%m) {{ActivationType={}{}}}\noutput %y\n", head,
                each.activation, given));
    }
}

TEST(Undo, termsOfAProductBecomeLayers)
{
    expectRewrite("undo-product-terms", R"(
input %x : float32[N,S,4]
input %b : float32[6]
const %w : float32[1,4,6] = random(1)
%y = MatrixMultiply(%x, %w, %b) {alpha=0.25}
output %y
)",
        R"(
input %x : float32[N,S,4]
input %b : float32[6]
const %w : float32[1,4,6] = random(1)
const %alpha : float32[1,1,1] = 0.25
%m = MatrixMultiply(%x, %w)
%s = ElementWise(%m, %alpha) {Operation=1}
%r = Shuffle(%b) {ReshapeDimensions=(1,1,6)}
%y = ElementWise(%s, %r) {Operation=0}
output %y
)");
}

TEST(Undo, termsOfAProductWaitForItsEpilogue)
{
    expectUnchanged("undo-product-terms", R"(
input %x : float32[N,S,4]
const %w : float32[1,4,6] = random(1)
%y = MatrixMultiply(%x, %w) {alpha=0.25, epilogue={steps=[{kind=2}]}}
output %y
)");
}

TEST(Undo, regionBecomesOneLayerPerOperation)
{
    expectRewrite("undo-pointwise", R"(
input %x : float32[N,4]
input %z : float32[N,1]
%y = Pointwise(%x, %z) {expr=sigmoid(add(mul(x0,2),exp(x1)))}
output %y
)",
        R"(
input %x : float32[N,4]
input %z : float32[N,1]
const %two : float32[1,1] = 2
%a = ElementWise(%x, %two) {Operation=1}
%b = Unary(%z) {Operation=0}
%c = ElementWise(%a, %b) {Operation=0}
%y = Activation(%c) {ActivationType=1}
output %y
)");
}

TEST(Undo, operationsThatNoLayerTakesStayRegions)
{
    // A maximum of booleans is no ElementWise.
    expectRewrite("undo-pointwise", R"(
input %x : bool[N,4]
input %z : bool[N,4]
%y = Pointwise(%x, %z) {expr=not(max(x0,x1))}
output %y
)",
        R"(
input %x : bool[N,4]
input %z : bool[N,4]
%m = Pointwise(%x, %z) {expr=max(x0,x1)}
%y = Unary(%m) {Operation=20}
output %y
)");
}

TEST(Undo, attentionBecomesProductsMaskAndSoftMax)
{
    expectRewrite("undo-attention", R"(
input %x : float32[N=1..8,S=1..16,6,3]
input %mask : float32[N,1,S,S]
%y = Attention(%x, %x, %x, %mask) {scale=0.5, q={axes=[0,2,1,3], heads=2}, k={axes=[0,2,1,3], firstHead=2, heads=2}, v={axes=[0,2,1,3], firstHead=4, heads=2}, outputAxes=[0,2,1,3]}
output %y
)",
        R"(
input %x : float32[N=1..8,S=1..16,6,3]
input %mask : float32[N,1,S,S]
%a = Slice(%x) {Start=(0), Size=(2), Axes=(2)}
%q = Shuffle(%a) {FirstTranspose=[0,2,1,3,4,5,6,7]}
%b = Slice(%x) {Start=(2), Size=(2), Axes=(2)}
%k = Shuffle(%b) {FirstTranspose=[0,2,1,3,4,5,6,7]}
%c = Slice(%x) {Start=(4), Size=(2), Axes=(2)}
%v = Shuffle(%c) {FirstTranspose=[0,2,1,3,4,5,6,7]}
%s = MatrixMultiply(%q, %k) {operation1=1, alpha=0.5}
%m = ElementWise(%s, %mask) {Operation=0}
%p = SoftMax(%m) {Axes=8}
%o = MatrixMultiply(%p, %v)
%y = Shuffle(%o) {FirstTranspose=[0,2,1,3,4,5,6,7]}
output %y
)");
}

TEST(Undo, attentionRepeatsSharedHeadsAndGuardsMaskedRows)
{
    expectRewrite("undo-attention", R"(
input %q : float32[2,4,3,5]
input %k : float32[2,2,6,5]
input %v : float32[2,2,6,7]
input %mask : bool[2,1,3,6]
%y = Attention(%q, %k, %v, %mask) {maskedRowsAreZero=true}
output %y
)",
        R"(
input %q : float32[2,4,3,5]
input %k : float32[2,2,6,5]
input %v : float32[2,2,6,7]
input %mask : bool[2,1,3,6]
const %i : int32[4] = [0,0,1,1]
const %j : int32[4] = [0,0,1,1]
const %hidden : float32[1,1,1,1] = -inf
const %zero : float32[1,1,1,1] = 0
%kk = Gather(%k, %i) {GatherAxis=1}
%vv = Gather(%v, %j) {GatherAxis=1}
%s = MatrixMultiply(%q, %kk) {operation1=1}
%m = Select(%mask, %s, %hidden)
%p = SoftMax(%m) {Axes=8}
%n = Unary(%p) {Operation=24}
%g = Select(%n, %zero, %p)
%y = MatrixMultiply(%g, %vv)
output %y
)");
}

TEST(Undo, attentionWithACausalMaskStays)
{
    expectUnchanged("undo-attention", R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
input %v : float32[2,2,5,3]
%y = Attention(%q, %k, %v) {causal=1}
output %y
)");
}

TEST(Undo, sparesWhatTheTargetTakes)
{
    Graph graph = parsed(R"(
input %q : float32[2,2,4,3]
input %k : float32[2,2,5,3]
input %v : float32[2,2,5,3]
%a = Attention(%q, %k, %v)
%y = Pointwise(%a) {expr=exp(mul(x0,2))}
output %y
)");
    Decisions decisions;
    OptimizeOptions options;
    options.decisions = &decisions;
    options.spares = [](Graph const&, Node const& node) { return as<Attention>(*node.layer) != nullptr; };
    ASSERT_TRUE(undoFusions(graph, options));
    size_t attentions{0};
    size_t regions{0};
    for (NodeId const id : graph.order())
    {
        attentions += as<Attention>(*graph.node(id).layer) != nullptr ? 1 : 0;
        regions += as<Pointwise>(*graph.node(id).layer) != nullptr ? 1 : 0;
    }
    EXPECT_EQ(attentions, 1U);
    EXPECT_EQ(regions, 0U);
    ASSERT_EQ(decisions.size(), 1U);
    EXPECT_EQ(decisions.front().kind, "undo");
}

} // namespace tenon::test
