// What planWinograd chooses by shape and number of lanes.
#include "backends/cpu/convolution_winograd.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
cpu::WinogradPlan planOf(
    int64_t channels, int64_t maps, int64_t height, int64_t width, int32_t lanes, double directRate = 1.0)
{
    Convolution layer;
    layer.nbOutputMaps = maps;
    layer.kernelSize = {2, {3, 3}};
    layer.stride = layer.dilation = {2, {1, 1}};
    layer.prePadding = layer.postPadding = {2, {1, 1}};
    std::vector<int64_t> const in{1, channels, height, width};
    return cpu::planWinograd(layer, cpu::geometryOf(layer, in, {1, maps, height, width}), lanes, directRate);
}
} // namespace

TEST(CpuWinogradPlan, oneLaneTakesTheFewestMultiplications)
{
    EXPECT_EQ(planOf(64, 64, 56, 56, 1).side, 4);
    EXPECT_EQ(planOf(128, 128, 28, 28, 1).side, 4);
    EXPECT_EQ(planOf(256, 256, 14, 14, 1).side, 2);
    EXPECT_EQ(planOf(512, 512, 7, 7, 1).side, 0);
    for (int64_t const channels : {16, 64, 200})
        for (int64_t const pixels : {8, 15, 40})
            EXPECT_TRUE(planOf(channels, channels, pixels, pixels, 1).isApart);
}

TEST(CpuWinogradPlan, manyLanesDoNotReadWhatOthersHaveJustWritten)
{
    cpu::WinogradPlan const large = planOf(64, 64, 56, 56, 16);
    EXPECT_EQ(large.side, 4);
    EXPECT_TRUE(large.isApart);
    cpu::WinogradPlan const middle = planOf(128, 128, 28, 28, 16);
    EXPECT_EQ(middle.side, 2);
    EXPECT_TRUE(middle.isApart);
    EXPECT_EQ(planOf(256, 256, 14, 14, 16).side, 0);
}

//! Tiles of two save about as much as pairs of bfloat16 do, tiles of four more.
TEST(CpuWinogradPlan, fasterProductsNeedItLess)
{
    EXPECT_EQ(planOf(64, 64, 56, 56, 2, 1.9).side, 4);
    EXPECT_EQ(planOf(256, 256, 14, 14, 1, 1.9).side, 0);
    EXPECT_EQ(planOf(256, 256, 14, 14, 2, 1.9).side, 0);
}

TEST(CpuWinogradPlan, fewTilesOfManyMapsAreShared)
{
    cpu::WinogradPlan const plan = planOf(80, 272, 8, 8, 2);
    EXPECT_EQ(plan.side, 2);
    EXPECT_FALSE(plan.isApart);
}

} // namespace tenon::test
