// Sums of two convolutions of single pixels: what becomes one layer, and what stays.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! The end of a residual block whose shortcut has strides. `own` and `other`: fields of its two convolutions.
std::string blockText(std::string_view own, std::string_view other, std::string_view more = {})
{
    return fmt::format(R"(
input %x : float32[N,6,5,4]
input %s : float32[N,3,9,8]
const %w : float32[8,6,1,1] = random(1)
const %b : float32[8] = random(2)
const %v : float32[8,3,1,1] = random(3)
const %c : float32[8] = random(4)
%p = Convolution(%x, %w, %b) {{NbOutputMaps=8, KernelSizeNd=(1,1){}}}
%y = Convolution(%s, %v, %c, %p) {{NbOutputMaps=8, KernelSizeNd=(1,1), StrideNd=(2,2){}, epilogue={{steps=[{{kind=0}},{{kind=2}}]}}}}
output %y
{})",
        other, own, more);
}
} // namespace

TEST(ConvolutionSumRules, bothBecomeOneLayer)
{
    expectGone("fuse-convolution-sum", blockText("", ""), "Convolution");
    expectUnchanged("fuse-convolution-sum", blockText("", ""), FusionLimits{});
    expectUnchanged("fuse-convolution-sum", blockText("", "", "output %p\n"));
    expectUnchanged("fuse-convolution-sum", blockText("", ", epilogue={steps=[{kind=2}]}"));
    FusionLimits limits = generousLimits();
    limits.summedChannels = 3;
    expectGone("fuse-convolution-sum", blockText("", ""), "Convolution", limits);
    limits.summedChannels = 4; // Neither of them may be the first.
    expectUnchanged("fuse-convolution-sum", blockText("", ""), limits);
    limits = generousLimits();
    limits.summedColumns = 3; // Not 8 maps.
    expectUnchanged("fuse-convolution-sum", blockText("", ""), limits);
}

TEST(ConvolutionSumRules, theFirstHasTheChannelsThatTheKernelTakes)
{
    FusionLimits limits = generousLimits();
    limits.summedChannels = 3;
    constexpr std::string_view kSwapped{R"(
input %x : float32[N,4,5,4]
input %s : float32[N,3,9,8]
const %w : float32[8,4,1,1] = random(1)
const %v : float32[8,3,1,1] = random(3)
%p = Convolution(%x, %w) {NbOutputMaps=8, KernelSizeNd=(1,1)}
%y = Convolution(%s, %v, _, %p) {NbOutputMaps=8, KernelSizeNd=(1,1), StrideNd=(2,2), epilogue={steps=[{kind=0}]}}
output %y
)"};
    expectGone("fuse-convolution-sum", kSwapped, "Convolution", limits);
}

TEST(ConvolutionSumRules, windowsStay)
{
    constexpr std::string_view kWindows{R"(
input %x : float32[N,4,5,5]
const %w : float32[8,4,3,3] = random(1)
const %v : float32[8,4,1,1] = random(3)
%p = Convolution(%x, %w) {NbOutputMaps=8, KernelSizeNd=(3,3), PrePadding=(1,1), PostPadding=(1,1)}
%y = Convolution(%x, %v, _, %p) {NbOutputMaps=8, KernelSizeNd=(1,1), epilogue={steps=[{kind=0}]}}
output %y
)"};
    expectUnchanged("fuse-convolution-sum", kWindows);
}

TEST(ConvolutionSumRules, undoing)
{
    constexpr std::string_view kSum{R"(
input %x : float32[N,6,5,4]
input %s : float32[N,3,9,8]
const %w : float32[8,9,1,1] = random(1)
const %b : float32[8] = random(2)
%y = ConvolutionSum(%x, %w, %b, %s) {NbOutputMaps=8, secondStride=(2,2), epilogue={steps=[{kind=2}]}}
output %y
)"};
    expectGone("undo-convolution-sum", kSum, "ConvolutionSum");
}

} // namespace tenon::test
