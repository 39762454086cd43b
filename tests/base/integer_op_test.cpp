// IntegerOp: values at the ends of what integers hold, and intervals that hold every value.
#include "base/integer_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenon
{
namespace
{

constexpr int64_t kLeast{INT64_MIN};
constexpr int64_t kGreatest{INT64_MAX};

TEST(IntegerOp, whatOverflowsStaysAtTheEnd)
{
    EXPECT_EQ(apply(IntegerOp::kAdd, kGreatest, 1), kGreatest);
    EXPECT_EQ(apply(IntegerOp::kAdd, kLeast, -1), kLeast);
    EXPECT_EQ(apply(IntegerOp::kMul, kGreatest, -2), kLeast);
    EXPECT_EQ(apply(IntegerOp::kMul, kLeast, -1), kGreatest);
    EXPECT_EQ(apply(IntegerOp::kFloorDiv, kLeast, -1), kGreatest);
    EXPECT_EQ(apply(IntegerOp::kMod, kLeast, -1), 0);
}

TEST(IntegerOp, divisionRoundsDownAndRestsHaveTheDivisorsSign)
{
    EXPECT_EQ(apply(IntegerOp::kFloorDiv, -7, 2), -4);
    EXPECT_EQ(apply(IntegerOp::kFloorDiv, 7, -2), -4);
    EXPECT_EQ(apply(IntegerOp::kFloorDiv, -7, -2), 3);
    EXPECT_EQ(apply(IntegerOp::kMod, -7, 2), 1);
    EXPECT_EQ(apply(IntegerOp::kMod, 7, -2), -1);
    EXPECT_EQ(apply(IntegerOp::kFloorDiv, 5, 0), 0);
    EXPECT_EQ(apply(IntegerOp::kMod, 5, 0), 0);
}

//! Numbers around zero, around the ends, and any.
int64_t anyNumber(std::mt19937_64& random)
{
    auto const near = static_cast<int64_t>(random() % 7) - 3;
    switch (random() % 4)
    {
    case 0: return near;
    case 1: return near < 0 ? kLeast - (near + 1) : kGreatest - near;
    case 2: return static_cast<int64_t>(random() % 2001) - 1000;
    default: return static_cast<int64_t>(random());
    }
}

WholeSpan anySpan(std::mt19937_64& random)
{
    int64_t const a = anyNumber(random);
    int64_t const b = random() % 4 == 0 ? a : anyNumber(random);
    return {std::min(a, b), std::max(a, b)};
}

int64_t anyOf(std::mt19937_64& random, WholeSpan span)
{
    int64_t const picked = anyNumber(random);
    return picked < span.lo ? span.lo : picked > span.hi ? span.hi : picked;
}

TEST(IntegerOp, intervalsHoldEveryValue)
{
    std::mt19937_64 random{17};
    for (int32_t op = 0; op <= static_cast<int32_t>(IntegerOp::kLess); ++op)
        for (int32_t round = 0; round < 20000; ++round)
        {
            auto const each = static_cast<IntegerOp>(op);
            WholeSpan const a = anySpan(random);
            WholeSpan const b = anySpan(random);
            WholeSpan const all = apply(each, a, b);
            int64_t const x = anyOf(random, a);
            int64_t const y = anyOf(random, b);
            int64_t const value = apply(each, x, y);
            ASSERT_TRUE(all.lo <= value && value <= all.hi)
                << "operation " << op << " of " << x << " in [" << a.lo << ", " << a.hi << "] and " << y << " in ["
                << b.lo << ", " << b.hi << "] is " << value << ", not in [" << all.lo << ", " << all.hi << "]";
            ASSERT_TRUE(!a.isKnown() || !b.isKnown() || all.isKnown())
                << "operation " << op << " of " << x << " and " << y;
        }
}

} // namespace
} // namespace tenon
