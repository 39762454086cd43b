// Products with dequantized weights read the weights as they are stored, where a kernel can.
#include "passes/rewrite.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
constexpr std::string_view kBlocked{R"(
input %x : float32[N,16]
input %r : float32[N,2]
const %w : int4[2,16] = [1,-8,7,0,2,3,-4,5,6,-7,1,2,3,-5,0,1,-1,2,-3,4,-5,6,-7,0,1,1,2,2,3,3,4,4]
const %s : float32[2,2] = [0.5,0.25,1,2]
const %b : float32[2] = random(3)
%d = Dequantize(%w, %s) {Axis=1}
%y = MatrixMultiply(%x, %d, %b, %r) {operation1=1, alpha=0.5, epilogue={steps=[{kind=0}]}}
output %y
)"};
constexpr std::string_view kFused{R"(
input %x : float32[N,16]
input %r : float32[N,2]
const %w : int4[2,16] = [1,-8,7,0,2,3,-4,5,6,-7,1,2,3,-5,0,1,-1,2,-3,4,-5,6,-7,0,1,1,2,2,3,3,4,4]
const %b : float32[2] = random(3)
const %s : float32[2,2] = [0.5,0.25,1,2]
%y = WeightOnlyProduct(%x, %w, %s, %b, %r) {IsTransposed=true, alpha=0.5, epilogue={steps=[{kind=0}]}}
output %y
)"};
} // namespace

TEST(WeightOnly, aProductTakesWeightsAndScalesAsTheyAre)
{
    expectRewrite("fuse-weight-dequantization", kBlocked, kFused);
    expectGone("undo-weight-only-product", kFused, "WeightOnlyProduct");
}

TEST(WeightOnly, scalesOfChannelsAndOfAllBecomeAMatrix)
{
    std::string const head{
        "input %x : float32[2,N,8]\nconst %w : int8[8,2] = [1,2,3,4,5,6,7,8,-1,-2,-3,-4,-5,-6,-7,-8]\n"};
    std::string const rest{"%r = Shuffle(%d) {ReshapeDimensions=(1,8,2)}\n%y = MatrixMultiply(%x, %r)\noutput %y\n"};
    std::string const product{"%y = WeightOnlyProduct(%x, %w, %t)\noutput %y\n"};
    expectRewrite("fuse-weight-dequantization",
        head + "const %s : float32[2] = [0.5,2]\n%d = Dequantize(%w, %s) {Axis=1}\n" + rest,
        head + "const %t : float32[1,2] = [0.5,2]\n" + product);
    expectRewrite("fuse-weight-dequantization",
        head + "const %s : float32[] = 0.5\n%d = Dequantize(%w, %s) {Axis=-2}\n" + rest,
        head + "const %t : float32[1,2] = [0.5,0.5]\n" + product);
}

//! A transpose between them turns weights and scales alike.
TEST(WeightOnly, transposedBehindTheDequantization)
{
    std::string const head{
        "input %x : float32[N,8]\nconst %w : int8[2,8] = [1,2,3,4,5,6,7,8,-1,-2,-3,-4,-5,-6,-7,-8]\n"};
    expectRewrite("fuse-weight-dequantization",
        head
            + "const %s : float32[2] = [0.5,2]\n%d = Dequantize(%w, %s) {Axis=0}\n"
              "%t = Shuffle(%d) {FirstTranspose=[1,0,2,3,4,5,6,7]}\n%y = MatrixMultiply(%x, %t)\noutput %y\n",
        head
            + "const %t : float32[2,1] = [0.5,2]\n%y = WeightOnlyProduct(%x, %w, %t) {IsTransposed=true}\noutput %y\n");
}

TEST(WeightOnly, whatStays)
{
    // Scales along the columns in blocks, and blocks of four.
    expectUnchanged("fuse-weight-dequantization", R"(
input %x : float32[N,8]
const %w : int8[8,4] = 3
const %s : float32[1,2] = 0.5
%d = Dequantize(%w, %s)
%y = MatrixMultiply(%x, %d)
output %y
)");
    expectUnchanged("fuse-weight-dequantization", R"(
input %x : float32[N,8]
const %w : int8[8,4] = 3
const %s : float32[2,4] = 0.5
%d = Dequantize(%w, %s)
%y = MatrixMultiply(%x, %d)
output %y
)");
    // Both operands are quantized: that is a product of integers.
    expectUnchanged("fuse-weight-dequantization", R"(
input %x : int8[N,8]
const %w : int8[8,4] = 3
const %s : float32[4] = 0.5
const %t : float32[] = 0.5
%a = Dequantize(%x, %t) {Axis=-2}
%d = Dequantize(%w, %s) {Axis=1}
%y = MatrixMultiply(%a, %d)
output %y
)");
    FusionLimits none = generousLimits();
    none.weightOnlyTypes = {};
    expectUnchanged("fuse-weight-dequantization", kBlocked, none);
}

} // namespace tenon::test
