// Loops through the public API (rules E17, E18, E19 and C5).
#include "fixture.h"

#include <cmath>

namespace apitest
{

class Loops : public ControlTest
{
};

TEST_F(Loops, E17_aCountRepeatsTheBody)
{
    ITensor* x = input("x", {3});
    ILoop* loop = network->addLoop();
    ASSERT_NE(loop, nullptr);
    loop->addTripLimit(*integer(5), TripLimit::kCOUNT);
    IRecurrenceLayer* sum = loop->addRecurrence(*x);
    ITensor* next = add(sum->getOutput(0), floats({3}, {1, 2, 3}));
    sum->setInput(1, *next);
    mark(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    auto const y = results({{"x", {{3}, {10, 20, 30}}}})["y"];
    EXPECT_EQ(y.values, (Values{15, 30, 45}));
}

TEST_F(Loops, E17_aCountOfZeroGivesTheFirstValue)
{
    ITensor* x = input("x", {2});
    ITensor* n = input("n", {}, DataType::kINT32);
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*n, TripLimit::kCOUNT);
    IRecurrenceLayer* sum = loop->addRecurrence(*x);
    sum->setInput(1, *add(sum->getOutput(0), sum->getOutput(0)));
    mark(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    for (double const count : {0.0, 1.0, 3.0, -4.0, 0.0, 7.0})
    {
        auto const y = results({{"x", {{2}, {1, -2}}}, {"n", {{}, {count}, DataType::kINT32}}})["y"];
        double const factor = std::exp2(std::max(count, 0.0));
        EXPECT_EQ(y.values, (Values{factor, -2 * factor})) << count;
    }
}

TEST_F(Loops, E17_theConditionIsReadBeforeEachRound)
{
    ITensor* x = input("x", {});
    ILoop* loop = network->addLoop();
    IRecurrenceLayer* value = loop->addRecurrence(*x);
    ITensor* small = add(value->getOutput(0), floats({}, {100}), ElementWiseOperation::kLESS);
    loop->addTripLimit(*small, TripLimit::kWHILE);
    value->setInput(1, *add(value->getOutput(0), value->getOutput(0)));
    mark(loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{}, {3}}}})["y"].values, (Values{192}));
    EXPECT_EQ(results({{"x", {{}, {64}}}})["y"].values, (Values{128}));
    EXPECT_EQ(results({{"x", {{}, {100}}}})["y"].values, (Values{100})); // False at once: no round.
}

TEST_F(Loops, E17_withBothLimitsTheFirstToFireEndsIt)
{
    ITensor* x = input("x", {});
    ITensor* n = input("n", {}, DataType::kINT64);
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*n, TripLimit::kCOUNT);
    IRecurrenceLayer* value = loop->addRecurrence(*x);
    loop->addTripLimit(*add(value->getOutput(0), floats({}, {10}), ElementWiseOperation::kLESS), TripLimit::kWHILE);
    value->setInput(1, *add(value->getOutput(0), floats({}, {1})));
    mark(loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    auto const after = [&](double x0, double count) {
        return results({{"x", {{}, {x0}}}, {"n", {{}, {count}, DataType::kINT64}}})["y"].values.front();
    };
    EXPECT_EQ(after(0, 4), 4);
    EXPECT_EQ(after(7, 4), 10);
    EXPECT_EQ(after(7, 3), 10);
    EXPECT_EQ(after(7, 2), 9);
}

TEST_F(Loops, E17_valuesAreJoinedInOrderAndInReverse)
{
    ITensor* x = input("x", {4, 2});
    for (auto const kind : {LoopOutput::kCONCATENATE, LoopOutput::kREVERSE})
        for (int32_t const axis : {0, 1})
        {
            ILoop* loop = network->addLoop();
            loop->addTripLimit(*integer(4), TripLimit::kCOUNT);
            ITensor* row = loop->addIterator(*x)->getOutput(0);
            IRecurrenceLayer* sum = loop->addRecurrence(*floats({2}, {0, 0}));
            ITensor* next = add(sum->getOutput(0), row);
            sum->setInput(1, *next);
            ILoopOutputLayer* out = loop->addLoopOutput(*next, kind, axis);
            out->setInput(1, *integer(4));
            std::string const name = std::string{kind == LoopOutput::kREVERSE ? "r" : "c"} + std::to_string(axis);
            mark(out->getOutput(0), name.c_str());
        }
    ASSERT_TRUE(build()) << logger.errors();
    auto const y = results({{"x", {{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}});
    EXPECT_EQ(y.at("c0").shape, (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(y.at("c0").values, (Values{1, 2, 4, 6, 9, 12, 16, 20}));
    EXPECT_EQ(y.at("c1").shape, (std::vector<int64_t>{2, 4}));
    EXPECT_EQ(y.at("c1").values, (Values{1, 4, 9, 16, 2, 6, 12, 20}));
    EXPECT_EQ(y.at("r0").values, (Values{16, 20, 9, 12, 4, 6, 1, 2}));
    EXPECT_EQ(y.at("r1").values, (Values{16, 9, 4, 1, 20, 12, 6, 2}));
}

TEST_F(Loops, E18_recurrencesChangeAllAtOnce)
{
    ITensor* x = input("x", {2});
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(10), TripLimit::kCOUNT);
    IRecurrenceLayer* a = loop->addRecurrence(*x);
    IRecurrenceLayer* b = loop->addRecurrence(*floats({2}, {1, 1}));
    IRecurrenceLayer* c = loop->addRecurrence(*x);
    a->setInput(1, *b->getOutput(0)); // Fibonacci numbers: what was b becomes a.
    b->setInput(1, *add(a->getOutput(0), b->getOutput(0)));
    c->setInput(1, *c->getOutput(0)); // Stays.
    mark(loop->addLoopOutput(*a->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "a");
    mark(loop->addLoopOutput(*b->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "b");
    mark(loop->addLoopOutput(*c->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "c");
    ASSERT_TRUE(build()) << logger.errors();
    auto const y = results({{"x", {{2}, {0, 1}}}});
    EXPECT_EQ(y.at("a").values, (Values{55, 89}));
    EXPECT_EQ(y.at("b").values, (Values{89, 144}));
    EXPECT_EQ(y.at("c").values, (Values{0, 1}));
}

TEST_F(Loops, E18_theNextValueHasTheTypeAndExtentsOfTheFirst)
{
    ITensor* x = input("x", {2});
    ILoop* loop = network->addLoop();
    loop->setName("grower");
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IRecurrenceLayer* grown = loop->addRecurrence(*x);
    std::array<ITensor*, 2> const parts{grown->getOutput(0), x};
    IConcatenationLayer* longer = network->addConcatenation(parts.data(), 2);
    longer->setAxis(0);
    grown->setInput(1, *longer->getOutput(0));
    mark(loop->addLoopOutput(*grown->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(fails("grower"));
    EXPECT_TRUE(fails("a recurrence begins as float32[2] and goes on as float32[4]"));
}

TEST_F(Loops, E18_aRecurrenceNeedsItsNextValue)
{
    ILoop* loop = network->addLoop();
    loop->setName("halfway");
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IRecurrenceLayer* value = loop->addRecurrence(*input("x", {2}));
    mark(loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(fails("[loop 'halfway']"));
    EXPECT_TRUE(fails("lacks its next value"));
}

TEST_F(Loops, E17_aLoopNeedsALimitAndTakesOneOfEachKind)
{
    ILoop* loop = network->addLoop();
    loop->setName("endless");
    IRecurrenceLayer* value = loop->addRecurrence(*input("x", {2}));
    value->setInput(1, *add(value->getOutput(0), value->getOutput(0)));
    mark(loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(fails("[loop 'endless']: nothing ends it"));
    EXPECT_NE(loop->addTripLimit(*integer(3), TripLimit::kCOUNT), nullptr);
    EXPECT_EQ(loop->addTripLimit(*integer(4), TripLimit::kCOUNT), nullptr);
    EXPECT_NE(logger.errors().find("has a trip limit kCOUNT already"), std::string::npos);
    EXPECT_TRUE(build()) << logger.errors();
}

TEST_F(Loops, E18_aRecurrenceBeginsWithAValueFromOutside)
{
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IRecurrenceLayer* value = loop->addRecurrence(*input("x", {2}));
    ITensor* next = add(value->getOutput(0), value->getOutput(0));
    value->setInput(1, *next);
    IRecurrenceLayer* second = loop->addRecurrence(*next);
    second->setInput(1, *next);
    mark(loop->addLoopOutput(*second->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(fails("which is inside a loop or conditional that it is outside of"));
}

//! What joins values needs to know how many there are before the first round.
TEST_F(Loops, E17_joinedValuesNeedALengthFromOutside)
{
    ITensor* x = input("x", {2});
    for (auto const kind : {LoopOutput::kCONCATENATE, LoopOutput::kREVERSE})
        for (int32_t const length : {0, 1, 2, 3})
        {
            network.reset(builder->createNetworkV2(0));
            x = input("x", {2});
            ILoop* loop = network->addLoop();
            loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
            IRecurrenceLayer* value = loop->addRecurrence(*x);
            value->setInput(1, *add(value->getOutput(0), value->getOutput(0)));
            IRecurrenceLayer* count = loop->addRecurrence(*integer(1));
            count->setInput(1, *count->getOutput(0));
            ILoopOutputLayer* out = loop->addLoopOutput(*value->getOutput(0), kind, 0);
            out->setName("joined");
            if (length == 1)
                out->setInput(1, *count->getOutput(0)); // From inside.
            if (length == 2)
                out->setInput(1, *floats({}, {3}));
            if (length == 3)
                out->setInput(1, *integer(3));
            mark(out->getOutput(0), "y");
            if (length == 3)
                EXPECT_TRUE(build()) << logger.errors();
            else
                EXPECT_TRUE(fails("joined")) << length;
        }
}

TEST_F(Loops, E17_theLastValueIsARecurrencesOfTheSameLoop)
{
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IRecurrenceLayer* value = loop->addRecurrence(*input("x", {2}));
    ITensor* next = add(value->getOutput(0), value->getOutput(0));
    value->setInput(1, *next);
    mark(loop->addLoopOutput(*next, LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    EXPECT_TRUE(fails("kLAST_VALUE takes the output of a recurrence of the same loop"));
}

TEST_F(Loops, E19_anIteratorInReverseBeginsAtTheLastRound)
{
    ITensor* x = input("x", {5, 1});
    ITensor* n = input("n", {}, DataType::kINT32);
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*n, TripLimit::kCOUNT);
    ITensor* forward = loop->addIterator(*x)->getOutput(0);
    ITensor* backward = loop->addIterator(*x, 0, true)->getOutput(0);
    IRecurrenceLayer* sum = loop->addRecurrence(*floats({1}, {0}));
    ITensor* ten = add(sum->getOutput(0), floats({1}, {10}), ElementWiseOperation::kPROD);
    sum->setInput(1, *add(ten, add(forward, backward, ElementWiseOperation::kPROD)));
    mark(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    auto const after = [&](double rounds) {
        return results({{"x", {{5, 1}, {1, 2, 3, 4, 5}}}, {"n", {{}, {rounds}, DataType::kINT32}}})["y"].values.front();
    };
    EXPECT_EQ(after(1), 1);   // 1·1
    EXPECT_EQ(after(3), 343); // 1·3, 2·2, 3·1: index M − 1 − i, with M the number of rounds.
    EXPECT_EQ(after(4), 4664);
    run({{"x", {{5, 1}, {1, 2, 3, 4, 5}}}, {"n", {{}, {6}, DataType::kINT32}}});
    EXPECT_FALSE(isRun);
    EXPECT_NE(logger.errors().find("which has 5"), std::string::npos) << logger.errors();
}

TEST_F(Loops, E19_anIteratorWalksAlongAnyAxis)
{
    ITensor* x = input("x", {2, 3});
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IIteratorLayer* column = loop->addIterator(*x, 1, true);
    EXPECT_EQ(column->getAxis(), 1);
    EXPECT_TRUE(column->getReverse());
    EXPECT_EQ(extents(column->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
    ILoopOutputLayer* out = loop->addLoopOutput(*column->getOutput(0), LoopOutput::kCONCATENATE, 0);
    out->setInput(1, *integer(3));
    mark(out->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    EXPECT_EQ(results({{"x", {{2, 3}, {1, 2, 3, 4, 5, 6}}}})["y"].values, (Values{3, 6, 2, 5, 1, 4}));
}

TEST_F(Loops, C5_aTensorInsideALoopIsNoOutput)
{
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*integer(3), TripLimit::kCOUNT);
    IRecurrenceLayer* value = loop->addRecurrence(*input("x", {2}));
    ITensor* next = add(value->getOutput(0), value->getOutput(0));
    value->setInput(1, *next);
    mark(loop->addLoopOutput(*value->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    mark(next, "inside");
    EXPECT_TRUE(fails("tensor 'inside' is inside a loop or conditional and cannot be an output"));
}

TEST_F(Loops, E17_extentsOfTheNetworkHoldInside)
{
    ITensor* x = input("x", {-1, 3});
    ITensor* shape = network->addShape(*x)->getOutput(0);
    ITensor* rows = network->addSlice(*shape, dims({0}), dims({1}), dims({1}))->getOutput(0);
    IShuffleLayer* scalar = network->addShuffle(*rows);
    scalar->setReshapeDimensions(dims({}));
    ILoop* loop = network->addLoop();
    loop->addTripLimit(*scalar->getOutput(0), TripLimit::kCOUNT);
    ITensor* row = loop->addIterator(*x)->getOutput(0);
    IRecurrenceLayer* sum = loop->addRecurrence(*x);
    IShuffleLayer* wide = network->addShuffle(*row);
    wide->setReshapeDimensions(dims({1, 3}));
    sum->setInput(1, *add(sum->getOutput(0), wide->getOutput(0)));
    ILoopOutputLayer* all = loop->addLoopOutput(*row, LoopOutput::kREVERSE);
    all->setInput(1, *scalar->getOutput(0));
    mark(loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    mark(all->getOutput(0), "z");
    addProfile({0, 3}, {2, 3}, {6, 3});
    ASSERT_TRUE(build()) << logger.errors();
    for (int64_t const n : {2, 5, 0, 1, 5})
    {
        Values x0;
        Values total(3, 0.0);
        for (int64_t i = 0; i < n * 3; ++i)
        {
            x0.push_back(static_cast<double>(i + 1));
            total[static_cast<size_t>(i % 3)] += static_cast<double>(i + 1);
        }
        auto const y = results({{"x", {{n, 3}, x0}}});
        ASSERT_EQ(y.at("y").values.size(), x0.size());
        for (size_t i = 0; i < x0.size(); ++i)
        {
            EXPECT_EQ(y.at("y").values[i], x0[i] + total[i % 3]);
            EXPECT_EQ(y.at("z").values[i], x0[x0.size() - 3 - i / 3 * 3 + i % 3]);
        }
    }
}

TEST_F(Loops, E17_loopsInLoops)
{
    ITensor* x = input("x", {3, 4, 2});
    ILoop* outer = network->addLoop();
    outer->addTripLimit(*integer(3), TripLimit::kCOUNT);
    ITensor* plane = outer->addIterator(*x)->getOutput(0);
    IRecurrenceLayer* total = outer->addRecurrence(*floats({2}, {0, 0}));
    ILoop* inner = network->addLoop();
    inner->addTripLimit(*integer(4), TripLimit::kCOUNT);
    ITensor* row = inner->addIterator(*plane)->getOutput(0);
    IRecurrenceLayer* sum = inner->addRecurrence(*total->getOutput(0));
    sum->setInput(1, *add(sum->getOutput(0), row));
    ILoopOutputLayer* sums = inner->addLoopOutput(*sum->getOutput(0), LoopOutput::kCONCATENATE);
    sums->setInput(1, *integer(4));
    ITensor* last = inner->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    total->setInput(1, *last);
    ILoopOutputLayer* all = outer->addLoopOutput(*sums->getOutput(0), LoopOutput::kCONCATENATE);
    all->setInput(1, *integer(3));
    mark(all->getOutput(0), "all");
    mark(outer->addLoopOutput(*total->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
    ASSERT_TRUE(build()) << logger.errors();
    Values x0;
    for (int i = 0; i < 24; ++i)
        x0.push_back(i % 7 - 2);
    Values want;
    Values running(2, 0.0);
    for (size_t i = 0; i < 24; ++i)
    {
        want.push_back(running[i % 2]);
        if (i % 2 == 1)
        {
            running[0] += x0[i - 1];
            running[1] += x0[i];
        }
    }
    auto const y = results({{"x", {{3, 4, 2}, x0}}});
    EXPECT_EQ(y.at("y").values, running);
    EXPECT_EQ(y.at("all").values, want);
}

} // namespace apitest
