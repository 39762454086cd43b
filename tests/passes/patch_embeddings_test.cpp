// The entry of vision transformers: what becomes one layer, what stays, and what it becomes again.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! A convolution of windows side by side, whose pixels become rows behind two others; the table is
//! added. In float32, whose rounding does not show where the bias is added before.
std::string entryText(std::string_view conv, std::string_view shuffle, std::string_view more = "")
{
    return fmt::format(R"(
input %x : float32[3,3,10,17]
const %w : float32[6,3,4,8] = random(1)
const %b : float32[6] = random(2)
const %class : float32[1,2,6] = random(3)
const %table : float32[1,6,6] = random(4)
%p = ImageConvolution(%x, %w, %b) {{product={{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8){}}}}}
%r = Shuffle(%p) {{{}}}
%front = Slice(%class) {{Start=(0,0,0), Size=(3,2,6), Stride=(0,1,1)}}
%c = Concatenation(%front, %r) {{Axis=1}}
%y = ElementWise(%c, %table) {{Operation=0}}
output %y
{})",
        conv, shuffle, more);
}

constexpr std::string_view kTurnedBehind{"ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]"};

//! Images in float16, no rows in front.
std::string rowsText(std::string_view shuffle, std::string_view table = "float16[1,4,6]", std::string_view more = "")
{
    return fmt::format(R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : {} = random(4)
%p = Convolution(%x, %w) {{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}}
%r = Shuffle(%p) {{{}}}
%y = ElementWise(%table, %r) {{Operation=0}}
output %y
{})",
        table, shuffle, more);
}

constexpr std::string_view kRows{R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,4,6] = random(4)
%y = PatchEmbedding(%x, %w, %table) {patch=(4,8)}
output %y
)"};
} // namespace

TEST(PatchEmbeddingRules, rowsOfPixelsGetTheirTable)
{
    expectRewrite("fuse-patch-embedding", rowsText(kTurnedBehind), kRows);
    expectRewrite(
        "fuse-patch-embedding", rowsText("FirstTranspose=[0,2,3,1,4,5,6,7], ReshapeDimensions=(0,4,6)"), kRows);
}

TEST(PatchEmbeddingRules, rowsInFrontAndBiasGoIntoTheTable)
{
    expectGone("fuse-patch-embedding", entryText("", kTurnedBehind), "ImageConvolution");
    expectGone("fuse-patch-embedding", entryText("", kTurnedBehind), "Concatenation");
}

TEST(PatchEmbeddingRules, othersStay)
{
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind), FusionLimits{});
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind, "float16[1,1,6]")); // One row for all.
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind, "float16[1,4,6]", "output %r\n"));
    expectUnchanged("fuse-patch-embedding", rowsText("ReshapeDimensions=(0,4,6)")); // Rows of other numbers.
    expectUnchanged("fuse-patch-embedding", entryText(", epilogue={steps=[{kind=2}]}", kTurnedBehind));
    expectUnchanged("fuse-patch-embedding", entryText(", PostPadding=(1,0)", kTurnedBehind));
    expectUnchanged("fuse-patch-embedding", entryText("", kTurnedBehind, "output %c\n"));
}

TEST(PatchEmbeddingRules, areUndone)
{
    expectRewrite("undo-patch-embedding", kRows, R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,4,6] = random(4)
%p = Convolution(%x, %w) {NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}
%r = Shuffle(%p) {ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}
%y = ElementWise(%r, %table) {Operation=0}
output %y
)");
    expectRewrite("undo-patch-embedding", R"(
input %x : float32[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,7,6] = random(4)
%y = PatchEmbedding(%x, %w, %table) {patch=(4,8)}
output %y
)",
        R"(
input %x : float32[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,7,6] = random(4)
%h = Cast(%x) {ToType=1}
%p = Convolution(%h, %w) {NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}
%r = Shuffle(%p) {ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}
%f = Slice(%r) {Start=(-3), Size=(7), Stride=(1), Mode=3, Axes=(1)}
%y = ElementWise(%f, %table) {Operation=0}
output %y
)");
}

} // namespace tenon::test
