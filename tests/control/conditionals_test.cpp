// Conditionals through the public API (rules E20 and C5).
#include "fixture.h"

namespace apitest
{

class Conditionals : public ControlTest
{
  protected:
    //! whether the sum of x is positive.
    ITensor* isPositive(ITensor* x)
    {
        ITensor* sum = network->addReduce(*x, ReduceOperation::kSUM, 1U, false)->getOutput(0);
        return add(sum, floats({}, {0}), ElementWiseOperation::kGREATER);
    }
};

TEST_F(Conditionals, E20_oneBranchGivesTheOutput)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    ASSERT_NE(choice, nullptr);
    choice->setCondition(*isPositive(x));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* twice = add(inside, inside);
    ITensor* less = add(inside, floats({3}, {1, 1, 1}), ElementWiseOperation::kSUB);
    mark(choice->addOutput(*twice, *less)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{3}, {1, 2, 3}}}})["y"].values, (Values{2, 4, 6}));
    EXPECT_EQ(results({{"x", {{3}, {1, 2, -3}}}})["y"].values, (Values{0, 1, -4}));
    EXPECT_EQ(results({{"x", {{3}, {5, 0, 0}}}})["y"].values, (Values{10, 0, 0}));
}

TEST_F(Conditionals, E20_theBranchNotTakenIsNotEvaluated)
{
    ITensor* x = input("x", {1});
    IIfConditional* choice = network->addIfConditional();
    choice->setCondition(*isPositive(x));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ILoop* loop = network->addLoop(); // Never ends: would be noticed.
    loop->setName("for ever");
    IRecurrenceLayer* value = loop->addRecurrence(*inside);
    ITensor* scalar = network->addReduce(*value->getOutput(0), ReduceOperation::kSUM, 1U, false)->getOutput(0);
    loop->addTripLimit(*add(scalar, floats({}, {1e30F}), ElementWiseOperation::kLESS), TripLimit::kWHILE);
    value->setInput(1, *value->getOutput(0));
    ITensor* never = loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    mark(choice->addOutput(*add(inside, inside), *never)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{1}, {4}}}})["y"].values, (Values{8}));
}

TEST_F(Conditionals, C5_aTensorInsideAConditionalIsNoOutput)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    choice->setCondition(*isPositive(x));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* twice = add(inside, inside);
    mark(choice->addOutput(*twice, *inside)->getOutput(0), "y");
    mark(twice, "inside");
    EXPECT_TRUE(fails("tensor 'inside' is inside a loop or conditional and cannot be an output"));
}

TEST_F(Conditionals, E20_branchesMayDifferInExtents)
{
    ITensor* x = input("x", {4});
    IIfConditional* choice = network->addIfConditional();
    choice->setCondition(*isPositive(x));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* half = network->addSlice(*inside, dims({1}), dims({2}), dims({1}))->getOutput(0);
    ITensor* found = network->addNonZero(*inside, DataType::kINT32)->getOutput(0);
    ITensor* some = network->addGather(*inside, *found, 0)->getOutput(0); // [1, n]
    IShuffleLayer* flat = network->addShuffle(*some);
    flat->setReshapeDimensions(dims({-1}));
    ITensor* y = choice->addOutput(*half, *flat->getOutput(0))->getOutput(0);
    mark(y, "y");
    mark(add(y, y), "z");
    ASSERT_TRUE(build()) << logger.errors();
    auto const check = [&](Values const& x0, Values const& want) {
        auto const made = results({{"x", {{4}, x0}}});
        EXPECT_EQ(made.at("y").values, want);
        EXPECT_EQ(made.at("y").shape, (std::vector<int64_t>{static_cast<int64_t>(want.size())}));
        ASSERT_EQ(made.at("z").values.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i)
            EXPECT_EQ(made.at("z").values[i], 2 * want[i]);
    };
    check({1, 2, 3, 4}, {2, 3});
    check({-9, 0, 0, 4}, {-9, 4});
    check({-9, 2, 3, 1}, {-9, 2, 3, 1});
    check({0, 0, 0, 0}, {});
    check({1, 2, 3, 4}, {2, 3});
    check({0, -3, 0, 0}, {-3});
}

TEST_F(Conditionals, E20_bothBranchesGiveOneTypeAndRank)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    choice->setName("choosy");
    choice->setCondition(*isPositive(x));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* scalar = network->addReduce(*inside, ReduceOperation::kSUM, 1U, false)->getOutput(0);
    IIfConditionalOutputLayer* output = choice->addOutput(*inside, *scalar);
    output->setName("both");
    mark(output->getOutput(0), "y");
    EXPECT_TRUE(fails("layer 'both'"));
    EXPECT_TRUE(fails("both must have one type and one rank"));
}

TEST_F(Conditionals, E20_ranksMayDifferWhenTheConditionIsKnown)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    static uint8_t const kFalse{0};
    choice->setCondition(*network->addConstant(dims({}), {DataType::kBOOL, &kFalse, 1})->getOutput(0));
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    ITensor* scalar = network->addReduce(*inside, ReduceOperation::kSUM, 1U, false)->getOutput(0);
    ITensor* y = choice->addOutput(*inside, *scalar)->getOutput(0);
    EXPECT_EQ(extents(y->getDimensions()), (std::vector<int64_t>{}));
    mark(y, "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{3}, {1, 2, 4}}}})["y"].values, (Values{7}));
}

TEST_F(Conditionals, E20_aConditionalNeedsItsCondition)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    choice->setName("undecided");
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    mark(choice->addOutput(*inside, *add(inside, inside))->getOutput(0), "y");
    EXPECT_TRUE(fails("[conditional 'undecided']"));
    ASSERT_NE(choice->setCondition(*isPositive(x)), nullptr);
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{3}, {1, 2, 4}}}})["y"].values, (Values{1, 2, 4}));
    EXPECT_EQ(results({{"x", {{3}, {1, 2, -4}}}})["y"].values, (Values{2, 4, -8}));
}

TEST_F(Conditionals, E20_theConditionIsA0DBool)
{
    ITensor* x = input("x", {3});
    IIfConditional* choice = network->addIfConditional();
    choice->setCondition(*x);
    ITensor* inside = choice->addInput(*x)->getOutput(0);
    mark(choice->addOutput(*inside, *add(inside, inside))->getOutput(0), "y");
    EXPECT_TRUE(fails("a condition is a 0-D bool"));
}

TEST_F(Conditionals, E20_conditionalsInLoopsInConditionals)
{
    ITensor* x = input("x", {6, 2});
    ITensor* any = network->addReduce(*x, ReduceOperation::kMAX, 3U, false)->getOutput(0);
    IIfConditional* outer = network->addIfConditional();
    outer->setCondition(*add(any, floats({}, {0}), ElementWiseOperation::kGREATER));
    ITensor* inside = outer->addInput(*x)->getOutput(0);
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(6), TripLimit::kCOUNT);
    ITensor* row = loop->addIterator(*inside)->getOutput(0);
    IRecurrenceLayer* sum = loop->addRecurrence(*floats({2}, {0, 0}));
    IIfConditional* inner = network->addIfConditional();
    inner->setCondition(*isPositive(row));
    ITensor* before = inner->addInput(*sum->getOutput(0))->getOutput(0);
    ITensor* now = inner->addInput(*row)->getOutput(0);
    ITensor* after = inner->addOutput(*add(before, now), *before)->getOutput(0);
    sum->setInput(1, *after);
    ITensor* last = loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    ITensor* all = network->addReduce(*inside, ReduceOperation::kSUM, 1U, false)->getOutput(0);
    mark(outer->addOutput(*last, *all)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{6, 2}, {1, 2, -3, 1, 0, 5, -1, -1, 2, 2, 4, -9}}}})["y"].values, (Values{3, 9}));
    EXPECT_EQ(
        results({{"x", {{6, 2}, {-1, -2, -3, -1, 0, -5, -1, -1, -2, -2, -4, -9}}}})["y"].values, (Values{-11, -20}));
}

} // namespace apitest
