// The three functions of NvUtils.h against the plain loops that define them.
#define TENON_NO_DEPRECATION_MARKS
#include "NvUtils.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

using namespace nvinfer1;

namespace
{
std::vector<float> randomValues(std::mt19937& random, size_t count)
{
    std::vector<float> values(count);
    std::generate(values.begin(), values.end(), [&] { return std::normal_distribution<float>{}(random); });
    return values;
}

TEST(Utils, reorderSubBuffersTakesPartOfOrder)
{
    std::mt19937 random{1};
    for (int round = 0; round < 300; ++round)
    {
        size_t const parts = 1 + random() % 9;
        size_t const size = 1 + random() % 5;
        std::vector<int32_t> order(parts);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<float> const before = randomValues(random, parts * size);
        std::vector<float> after = before;
        ASSERT_TRUE(utils::reorderSubBuffers(
            after.data(), order.data(), static_cast<int32_t>(parts), static_cast<int32_t>(size * sizeof(float))));
        for (size_t i = 0; i < parts * size; ++i)
        {
            ASSERT_EQ(after[i], before[static_cast<size_t>(order[i / size]) * size + i % size]);
        }
    }
}

TEST(Utils, reorderSubBuffersRefusesWhatIsNoOrder)
{
    float values[3]{1, 2, 3};
    int32_t const twice[3]{0, 0, 2};
    EXPECT_FALSE(utils::reorderSubBuffers(values, twice, 3, sizeof(float)));
    EXPECT_FALSE(utils::reorderSubBuffers(nullptr, twice, 3, sizeof(float)));
    EXPECT_EQ(values[1], 2);
}

TEST(Utils, transposeSubBuffersTransposesEachMatrix)
{
    std::mt19937 random{2};
    for (int round = 0; round < 300; ++round)
    {
        int32_t const count = 1 + static_cast<int32_t>(random() % 3);
        int32_t const height = 1 + static_cast<int32_t>(random() % 7);
        int32_t const width = 1 + static_cast<int32_t>(random() % 7);
        std::vector<float> const before = randomValues(random, static_cast<size_t>(count * height * width));
        std::vector<float> after = before;
        ASSERT_TRUE(utils::transposeSubBuffers(after.data(), DataType::kFLOAT, count, height, width));
        for (int32_t i = 0; i < count * height * width; ++i)
        {
            int32_t const matrix = i / (height * width) * height * width;
            int32_t const row = i % (height * width) / width;
            int32_t const column = i % width;
            ASSERT_EQ(after[static_cast<size_t>(matrix + column * height + row)], before[static_cast<size_t>(i)]);
        }
    }
}

TEST(Utils, reshapeWeightsPermutesAxes)
{
    std::mt19937 random{3};
    std::vector<float> const before = randomValues(random, 24);
    std::vector<float> after(24);
    int32_t const shape[3]{2, 3, 4};
    int32_t const order[3]{2, 0, 1};
    ASSERT_TRUE(utils::reshapeWeights({DataType::kFLOAT, before.data(), 24}, shape, order, after.data(), 3));
    for (size_t a = 0; a < 4; ++a)
    {
        for (size_t b = 0; b < 2; ++b)
        {
            for (size_t c = 0; c < 3; ++c)
            {
                EXPECT_EQ(after[a * 6 + b * 3 + c], before[b * 12 + c * 4 + a]);
            }
        }
    }
    int32_t const repeated[3]{0, 0, 1};
    EXPECT_FALSE(utils::reshapeWeights({DataType::kFLOAT, before.data(), 24}, shape, repeated, after.data(), 3));
    EXPECT_FALSE(utils::reshapeWeights({DataType::kFLOAT, before.data(), 23}, shape, order, after.data(), 3));
}
} // namespace
