// Sums of two convolutions of single pixels: what becomes one layer, and what stays.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon::test
{

namespace
{
//! A constant's numbers, all of them one.
std::string all(size_t count, std::string_view number)
{
    return fmt::format("[{}]", fmt::join(std::vector(count, number), ","));
}

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

//! Which images are the first: those without strides, where the kernel takes them so.
TEST(ConvolutionSumRules, pixelsWithoutStridesComeFirst)
{
    std::string const expected = fmt::format(R"(
input %x : float32[N,6,5,4]
input %s : float32[N,3,9,8]
const %b : float32[8] = {}
const %f : float32[8,9,1,1] = {}
%y = ConvolutionSum(%x, %f, %b, %s) {{NbOutputMaps=8, secondStride=(2,2)}}
output %y
)",
        all(8, "2"), all(72, "0.25"));
    for (bool const isTurned : {false, true}) // The shortcut adds the other one's result, or that adds the shortcut's.
    {
        std::string_view const own = "%p = Convolution(%x, %w, %b) {NbOutputMaps=8, KernelSizeNd=(1,1)}";
        std::string_view const shortcut =
            "%p = Convolution(%s, %v) {NbOutputMaps=8, KernelSizeNd=(1,1), StrideNd=(2,2)}";
        std::string_view const addsOwn = "%y = Convolution(%s, %v, _, %p) {NbOutputMaps=8, KernelSizeNd=(1,1), "
                                         "StrideNd=(2,2), epilogue={steps=[{kind=0}]}}";
        std::string_view const addsShortcut =
            "%y = Convolution(%x, %w, %b, %p) {NbOutputMaps=8, KernelSizeNd=(1,1), epilogue={steps=[{kind=0}]}}";
        expectRewrite("fuse-convolution-sum",
            fmt::format(R"(
input %x : float32[N,6,5,4]
input %s : float32[N,3,9,8]
const %w : float32[8,6,1,1] = {}
const %b : float32[8] = {}
const %v : float32[8,3,1,1] = {}
{}
{}
output %y
)",
                all(48, "0.25"), all(8, "2"), all(24, "0.25"), isTurned ? shortcut : own,
                isTurned ? addsShortcut : addsOwn),
            expected);
    }
}

TEST(ConvolutionSumRules, whatTheKernelDoesNotTakeStays)
{
    FusionLimits limits = generousLimits();
    limits.summedStride = 1;
    expectUnchanged("fuse-convolution-sum", blockText("", ""), limits);
    limits = generousLimits();
    limits.summedElements = 100; // Of as many images as there may be.
    expectUnchanged("fuse-convolution-sum", blockText("", ""), limits);
    expectUnchanged("fuse-convolution-sum", blockText(", isByImage=true", ""));
    expectUnchanged("fuse-convolution-sum", blockText("", ", isByImage=true"));
    auto const biased = [](std::string_view number) {
        return fmt::format(R"(
input %x : float16[2,6,5,4]
const %w : float16[8,6,1,1] = random(1)
const %b : float16[8] = {}
%p = Convolution(%x, %w, %b) {{NbOutputMaps=8, KernelSizeNd=(1,1)}}
%y = Convolution(%x, %w, %b, %p) {{NbOutputMaps=8, KernelSizeNd=(1,1), epilogue={{steps=[{{kind=0}}]}}}}
output %y
)",
            all(8, number));
    };
    expectSkipped("fuse-convolution-sum", biased("40000")); // float16 has no 80,000.
    expectGone("fuse-convolution-sum", biased("4"), "Convolution");
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
    constexpr std::string_view kFirstStrided{R"(
input %x : float32[N,6,7,8]
input %s : float32[N,3,4,4]
const %w : float32[8,9,1,1] = random(1)
%y = ConvolutionSum(%x, %w, _, %s) {NbOutputMaps=8, firstStride=(2,2)}
output %y
)"};
    expectGone("undo-convolution-sum", kFirstStrided, "ConvolutionSum");
}

} // namespace tenon::test
