// Squeeze and excite: what becomes layers of its own, and what stays.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
constexpr std::string_view kSqueezed{R"(
input %x : float32[N,8,6,5]
const %u : float32[4,8,1,1] = random(1)
const %b : float32[4] = random(2)
const %v : float32[8,4,1,1] = random(3)
%m = Reduce(%x) {Operation=4, ReduceAxes=12, KeepDimensions=true}
%h = Convolution(%m, %u, %b) {NbOutputMaps=4, KernelSizeNd=(1,1), epilogue={steps=[{kind=2}]}}
%g = Convolution(%h, %v) {NbOutputMaps=8, KernelSizeNd=(1,1), epilogue={steps=[{kind=5}]}}
output %g
)"};

constexpr std::string_view kGate{R"(
input %x : float32[N,8,6,5]
const %u : float32[4,8,1,1] = random(1)
const %v : float32[8,4,1,1] = random(3)
const %b : float32[4] = random(2)
%g = ChannelGate(%x, %u, %v, %b, _) {first={steps=[{kind=2}]}, second={steps=[{kind=5}]}}
output %g
)"};

//! A product in front of a convolution.
std::string gatedText(std::string_view gate, std::string_view window)
{
    return fmt::format(R"(
input %x : float32[N,8,6,5]
input %g : float32{}
input %r : float32[N,3,6,5]
const %w : float32[3,8,1,1] = random(1)
%p = ElementWise(%g, %x) {{Operation=1}}
%y = Convolution(%p, %w, _, %r) {{NbOutputMaps=3, KernelSizeNd=(1,1){}, epilogue={{steps=[{{kind=0}}]}}}}
output %y
)",
        gate, window);
}

constexpr std::string_view kGated{R"(
input %x : float32[N,8,6,5]
input %g : float32[N,8,1,1]
input %r : float32[N,3,6,5]
const %w : float32[3,8,1,1] = random(1)
%y = GatedConvolution(%x, %w, _, %r, %g) {product={NbOutputMaps=3, KernelSizeNd=(1,1), epilogue={steps=[{kind=0}]}}}
output %y
)"};
} // namespace

TEST(ChannelGateRules, meansAndTwoProductsBecomeOneLayer)
{
    expectRewrite("fuse-channel-gate", kSqueezed, kGate);
    expectUnchanged("fuse-channel-gate", kSqueezed, FusionLimits{});
    FusionLimits few = generousLimits();
    few.gateChannels = 7;
    expectUnchanged("fuse-channel-gate", kSqueezed, few);
    std::string sum{kSqueezed};
    sum.replace(sum.find("Operation=4"), 11, "Operation=0");
    expectUnchanged("fuse-channel-gate", sum);
    std::string const read = std::string{kSqueezed} + "output %h\n";
    expectUnchanged("fuse-channel-gate", read);
}

TEST(ChannelGateRules, convolutionMultipliesItsInputByTheGate)
{
    expectRewrite("fuse-gated-input", gatedText("[N,8,1,1]", ""), kGated);
    std::string ofAll{kGated};
    ofAll.replace(ofAll.find("%g : float32[N"), 14, "%g : float32[1");
    expectRewrite("fuse-gated-input", gatedText("[1,8,1,1]", ""), ofAll);
    expectUnchanged("fuse-gated-input", gatedText("[N,1,6,5]", ""));
    expectUnchanged("fuse-gated-input", gatedText("[N,8,6,5]", ""));
    expectUnchanged("fuse-gated-input", gatedText("[N,8,1,1]", ""), FusionLimits{});
}

TEST(ChannelGateRules, areUndone)
{
    expectRewrite("undo-channel-gate", kGate, kSqueezed);
    expectRewrite("undo-gated-input", kGated, R"(
input %x : float32[N,8,6,5]
input %g : float32[N,8,1,1]
input %r : float32[N,3,6,5]
const %w : float32[3,8,1,1] = random(1)
%p = ElementWise(%x, %g) {Operation=1}
%y = Convolution(%p, %w, _, %r) {NbOutputMaps=3, KernelSizeNd=(1,1), epilogue={steps=[{kind=0}]}}
output %y
)");
}

} // namespace tenon::test
