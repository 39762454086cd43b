// Norms in front of products: what becomes a layer of its own, and what stays.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! Rows, the matrix with its operation, and what else there is.
std::string normText(std::string_view rows, std::string_view more)
{
    return fmt::format(R"(
input %x : float32[{},8]
const %s : float32[1,8] = random(1)
const %t : float32[1,8] = random(2)
const %w : float32[8,16] = random(3)
const %b : float32[16] = random(4)
%n = Normalization(%x, %s, %t) {{Axes=2}}
%y = MatrixMultiply(%n, %w, %b) {{epilogue={{steps=[{{kind=2}}]}}}}
output %y
{})",
        rows, more);
}
} // namespace

TEST(NormalizedProductRules, normAndProductBecomeOneLayer)
{
    expectGone("fuse-norm-into-product", normText("40", ""), "Normalization");
    expectUnchanged("fuse-norm-into-product", normText("40", "output %n\n"));
    expectUnchanged("fuse-norm-into-product", normText("40", ""), FusionLimits{});
    expectUnchanged("fuse-norm-into-product", normText("257", ""));
    expectUnchanged("fuse-norm-into-product", normText("N", ""));
    FusionLimits limits = generousLimits();
    limits.leastNormalizedRows = 41;
    expectUnchanged("fuse-norm-into-product", normText("40", ""), limits);
    limits = generousLimits();
    limits.normalizedDepth = 16;
    expectUnchanged("fuse-norm-into-product", normText("40", ""), limits);
}

//! Weights times the norm's scale in float16: beyond the largest number, and among those that lose their last bits.
TEST(NormalizedProductRules, weightsStayThatTheTypeHasNoNumbersFor)
{
    auto const text = [](std::string_view scale) {
        return fmt::format(R"(
input %x : float16[40,2]
const %s : float16[1,2] = [{0},{0}]
const %w : float16[2,2] = [300,0.001,200,0.0013]
%n = Normalization(%x, %s) {{Axes=2}}
%y = MatrixMultiply(%n, %w)
output %y
)",
            scale);
    };
    expectGone("fuse-norm-into-product", text("1.5"), "Normalization");
    expectUnchanged("fuse-norm-into-product", text("300"));
    expectUnchanged("fuse-norm-into-product", text("0.003"));
}

TEST(NormalizedProductRules, reshapesThatLeaveRowsMoveInFront)
{
    constexpr std::string_view kReshaped{R"(
input %x : float32[1,40,8]
const %s : float32[1,1,8] = random(1)
const %w : float32[1,8,16] = random(3)
%n = Normalization(%x, %s) {Axes=4}
%r = Shuffle(%n) {ReshapeDimensions=(40,1,8)}
%y = MatrixMultiply(%r, %w)
output %y
)"};
    expectGone("fuse-norm-into-product", kReshaped, "Normalization");
    std::string others{kReshaped};
    others.replace(others.find("(40,1,8)"), 8, "(1,80,4)");
    others.replace(others.find("1,8,16"), 6, "1,4,16");
    expectUnchanged("fuse-norm-into-product", others);
}

//! What a fused layer says: the sums of its columns are what they are.
TEST(NormalizedProductRules, areUndone)
{
    expectRewrite("undo-normalized-product", R"(
input %x : float32[N,4]
const %w : float32[4,2] = [0.25,0.5,1,2,0.5,0.25,4,1]
const %b : float32[2] = [0.5,1]
const %c : float32[2] = [5.75,3.75]
%y = NormalizedProduct(%x, %w, %b, %c) {product={epilogue={steps=[{kind=2}]}}, epsilon=0.01}
output %y
)",
        R"(
input %x : float32[N,4]
const %w : float32[4,2] = [0.25,0.5,1,2,0.5,0.25,4,1]
const %b : float32[2] = [0.5,1]
const %one : float32[1,1] = [1]
%m = Normalization(%x, %one) {Epsilon=0.01, Axes=2}
%y = MatrixMultiply(%m, %w, %b) {epilogue={steps=[{kind=2}]}}
output %y
)");
}

} // namespace tenon::test
