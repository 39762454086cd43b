// First convolutions: what becomes part of them, and what stays.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
std::string castText(std::string_view image, std::string_view window)
{
    return fmt::format(R"(
input %x : {}
const %w : float16[8,3,3,3] = random(1)
%h = Cast(%x) {{ToType=1}}
%y = Convolution(%h, %w) {{NbOutputMaps=8, KernelSizeNd=(3,3), {}}}
output %y
)",
        image, window);
}

constexpr std::string_view kImage{"float32[N,3,20,22]"};
constexpr std::string_view kStride{"StrideNd=(2,2)"};

constexpr std::string_view kRounded{R"(
input %x : float32[N,3,20,22]
const %w : float16[8,3,3,3] = random(1)
%y = ImageConvolution(%x, %w) {product={NbOutputMaps=8, KernelSizeNd=(3,3), StrideNd=(2,2)}}
output %y
)"};

std::string pooledText(std::string_view pooling)
{
    return fmt::format(R"(
input %x : float32[N,3,20,22]
const %w : float16[8,3,3,3] = random(1)
%p = ImageConvolution(%x, %w) {{product={{NbOutputMaps=8, KernelSizeNd=(3,3), StrideNd=(2,2)}}}}
%y = Pooling(%p) {{{}}}
output %y
)",
        pooling);
}

constexpr std::string_view kPooled{R"(
input %x : float32[N,3,20,22]
const %w : float16[8,3,3,3] = random(1)
%y = ImageConvolution(%x, %w) {product={NbOutputMaps=8, KernelSizeNd=(3,3), StrideNd=(2,2)}, pooling={WindowSizeNd=(3,3), StrideNd=(2,2)}}
output %y
)"};
} // namespace

TEST(ImageConvolutionRules, patchesAreRoundedByWhatCopiesThem)
{
    constexpr std::string_view kText{R"(
input %x : float32[N,3,32,48]
const %w : float16[8,3,4,16] = random(1)
%h = Cast(%x) {{ToType=1}}
%y = Convolution(%h, %w) {{NbOutputMaps=8, KernelSizeNd=(4,16), StrideNd=(4,16){}}}
output %y
)"};
    std::string const plain = fmt::format(kText, "");
    expectRewrite("fuse-image-cast", plain, R"(
input %x : float32[N,3,32,48]
const %w : float16[8,3,4,16] = random(1)
%y = ImageConvolution(%x, %w) {product={NbOutputMaps=8, KernelSizeNd=(4,16), StrideNd=(4,16)}}
output %y
)");
    expectUnchanged("fuse-image-cast", plain, FusionLimits{});
    expectUnchanged("fuse-image-cast", fmt::format(kText, ", PrePadding=(4,0)"));
    expectUnchanged("fuse-image-cast", fmt::format(kText, ", DilationNd=(2,1)"));
}

TEST(ImageConvolutionRules, convolutionRoundsItsImage)
{
    expectRewrite("fuse-image-cast", castText(kImage, kStride), kRounded);
    expectUnchanged("fuse-image-cast", castText(kImage, kStride), FusionLimits{});
    expectUnchanged("fuse-image-cast", castText(kImage, "StrideNd=(2,1)"));
    expectUnchanged("fuse-image-cast", castText(kImage, "StrideNd=(8,8)"));
    expectUnchanged("fuse-image-cast", castText(kImage, "StrideNd=(2,2), DilationNd=(2,1)"));
    expectUnchanged("fuse-image-cast", castText("int32[N,3,20,22]", kStride));
    expectUnchanged("fuse-image-cast", castText(kImage, kStride) + "output %h\n");
    FusionLimits few = generousLimits();
    few.imageChannels = 2;
    expectUnchanged("fuse-image-cast", castText(kImage, kStride), few);
}

TEST(ImageConvolutionRules, convolutionPoolsWhatItGives)
{
    expectRewrite("fuse-image-pooling", pooledText("WindowSizeNd=(3,3), StrideNd=(2,2)"), kPooled);
    expectUnchanged("fuse-image-pooling", pooledText("PoolingType=1, WindowSizeNd=(3,3), StrideNd=(2,2)"));
    expectUnchanged("fuse-image-pooling", pooledText("WindowSizeNd=(5,5), StrideNd=(2,2)"));
    expectUnchanged("fuse-image-pooling", pooledText("WindowSizeNd=(3,3)") + "output %p\n");
    expectUnchanged("fuse-image-pooling", pooledText("WindowSizeNd=(3,3)"), FusionLimits{});
}

TEST(ImageConvolutionRules, areUndone)
{
    expectRewrite("undo-image-convolution", kRounded, castText(kImage, kStride));
    expectRewrite("undo-image-convolution", kPooled, R"(
input %x : float32[N,3,20,22]
const %w : float16[8,3,3,3] = random(1)
%h = Cast(%x) {ToType=1}
%p = Convolution(%h, %w) {NbOutputMaps=8, KernelSizeNd=(3,3), StrideNd=(2,2)}
%y = Pooling(%p) {WindowSizeNd=(3,3), StrideNd=(2,2)}
output %y
)");
}

} // namespace tenon::test
