// Rule recognize-rotary-embedding, and outer-product-to-pointwise, which makes its angles: before and after.
#include "passes/rewrite.h"

#include "ir/replaceable.h"
#include "passes/rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! `angles` defines %f, a half of what %c and %s are made of.
std::string written(std::string const& angles, std::string const& cosines = "%a", std::string const& sines = "%b")
{
    return angles
        + fmt::format(R"(
%lo = Slice(%x) {{Start=(0), Size=(3), Axes=(3)}}
%hi = Slice(%x) {{Start=(3), Size=(3), Axes=(3)}}
%neg = Unary(%hi) {{Operation=5}}
%t = Concatenation(%neg, %lo) {{Axis=3}}
%p = ElementWise(%x, {}) {{Operation=1}}
%q = ElementWise(%t, {}) {{Operation=1}}
%y = ElementWise(%p, %q) {{Operation=0}}
output %y
)",
            cosines, sines);
}
} // namespace

TEST(Rotary, halvesTurnedByTheCosinesOfOneHalfTwice)
{
    std::string const inputs = R"(
input %x : float32[N=1..4,2,S=1..9,6]
input %f : float32[1,1,S,3]
%e = Concatenation(%f, %f) {Axis=3}
%a = Unary(%e) {Operation=7}
%b = Unary(%e) {Operation=6}
)";
    expectRewrite("recognize-rotary-embedding", written(inputs), inputs + R"(
%c = Slice(%a) {Start=(0), Size=(3), Axes=(3)}
%d = Shuffle(%c) {ReshapeDimensions=(1,-1,3)}
%s = Slice(%b) {Start=(0), Size=(3), Axes=(3)}
%g = Shuffle(%s) {ReshapeDimensions=(1,-1,3)}
%y = RotaryEmbedding(%x, %d, %g)
output %y
)");
}

TEST(Rotary, tablesMayBeConstants)
{
    expectGone("recognize-rotary-embedding", written(R"(
input %x : float32[2,2,1,6]
const %a : float32[1,1,1,6] = [0.5,-1,2,0.5,-1,2]
const %b : float32[1,1,1,6] = [0.25,1,3,0.25,1,3]
)"),
        "Concatenation");
}

//! A refit may bring tables whose halves differ: what reads them directly must not be decided by today's.
TEST(Rotary, tablesThatARefitMayReplaceProveNothing)
{
    Graph const graph = parsed(written(R"(
input %x : float32[2,2,1,6]
const %a : float32[1,1,1,6] = [0.5,-1,2,0.5,-1,2]
const %b : float32[1,1,1,6] = [0.25,1,3,0.25,1,3]
)"));
    auto const found = [&] {
        return std::ranges::any_of(graph.order(), [&](NodeId id) {
            return std::holds_alternative<Patch>(passes::recognizeRotaryEmbedding(graph, graph.node(id)));
        });
    };
    EXPECT_TRUE(found());
    Replaceable replaceable;
    for (NodeId const id : graph.order())
        for (ValueId const input : graph.node(id).inputs)
            if (graph.constantOf(input) != nullptr)
                replaceable.mark(graph.value(input).constant, {0});
    EXPECT_FALSE(found());
}

TEST(Rotary, halvesOfAnglesThatMayDifferStay)
{
    expectUnchanged("recognize-rotary-embedding", written(R"(
input %x : float32[2,2,1,6]
input %a : float32[1,1,1,6]
const %b : float32[1,1,1,6] = [0.25,1,3,0.25,1,3]
)"));
    expectUnchanged("recognize-rotary-embedding", written(R"(
input %x : float32[2,2,1,6]
const %a : float32[1,1,1,6] = [0.5,-1,2,0.5,-1,2.5]
const %b : float32[1,1,1,6] = [0.25,1,3,0.25,1,3]
)"));
}

TEST(Rotary, anglesOfEachHeadStay)
{
    expectUnchanged("recognize-rotary-embedding", written(R"(
input %x : float32[2,2,1,6]
input %f : float32[1,2,1,3]
%a = Concatenation(%f, %f) {Axis=3}
%b = Unary(%a) {Operation=6}
)"));
}

TEST(Rotary, aTurnTheOtherWayStays)
{
    expectUnchanged("recognize-rotary-embedding", R"(
input %x : float32[2,2,1,6]
input %f : float32[1,1,1,3]
%a = Concatenation(%f, %f) {Axis=3}
%b = Unary(%a) {Operation=6}
%lo = Slice(%x) {Start=(0), Size=(3), Axes=(3)}
%hi = Slice(%x) {Start=(3), Size=(3), Axes=(3)}
%neg = Unary(%lo) {Operation=5}
%t = Concatenation(%hi, %neg) {Axis=3}
%p = ElementWise(%x, %a) {Operation=1}
%q = ElementWise(%t, %b) {Operation=1}
%y = ElementWise(%p, %q) {Operation=0}
output %y
)");
}

TEST(OuterProduct, isOneOfElements)
{
    expectRewrite("outer-product-to-pointwise", R"(
input %x : float32[N=1..4,5,1]
input %y : float32[1,1,S=1..9]
%z = MatrixMultiply(%x, %y)
output %z
)",
        R"(
input %x : float32[N=1..4,5,1]
input %y : float32[1,1,S=1..9]
%z = ElementWise(%x, %y) {Operation=1}
output %z
)");
    expectUnchanged("outer-product-to-pointwise", R"(
input %x : float32[4,5,2]
input %y : float32[1,2,3]
%z = MatrixMultiply(%x, %y)
output %z
)");
}

} // namespace tenon::test
