// Streams: which steps are given to which, and that whatever order these leave is right.
#include "planner/streams.h"

#include "plan/blocks.h"
#include "plan/check.h"
#include "plan/regions.h"
#include "planner/in_place.h"
#include "support/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tenon::test
{

namespace
{
//! x → `branches` chains of `length` steps, each of the given cost → their sum, in a network that goes on behind it.
std::shared_ptr<Plan> parting(int32_t branches, int32_t length, float cost)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1, 3});
    std::vector<Reg> const extents = builder.extentsOf(x);
    auto const scaled = [&](int32_t from) {
        int32_t const to = builder.activation(extents);
        PlanStep& step = builder.step("scale", {from}, {to});
        step.cost = cost;
        step.inPlace = {{0, 0}};
        return to;
    };
    int32_t const trunk = scaled(x);
    std::vector<int32_t> ends;
    for (int32_t i = 0; i < branches; ++i)
    {
        int32_t last = trunk;
        for (int32_t j = 0; j < length; ++j)
            last = scaled(last);
        ends.push_back(last);
    }
    while (ends.size() > 1)
    {
        int32_t const sum = builder.activation(extents);
        builder.step("add", {ends[0], ends[1]}, {sum});
        ends.erase(ends.begin());
        ends[0] = sum;
    }
    builder.step("scale", {scaled(ends[0])}, {builder.output("y", extents)});
    return builder.finish();
}

std::vector<int32_t> streamsOf(Program const& program)
{
    std::vector<int32_t> streams;
    for (PlanStep const& step : program.steps)
        streams.push_back(step.stream);
    return streams;
}

std::vector<size_t> fencesOf(Program const& program)
{
    std::vector<size_t> fences;
    for (size_t i = 0; i < program.steps.size(); ++i)
        if (program.steps[i].isFence)
            fences.push_back(i);
    return fences;
}

Program withStreams(Plan const& plan, int32_t limit)
{
    Program program = plan.programs.front();
    planner::assignStreams(program, limit);
    return program;
}
} // namespace

TEST(Streams, branchesThatAreLongEnoughGetStreamsOfTheirOwn)
{
    Program const program = withStreams(*parting(2, 3, 30.0F), 3);
    EXPECT_EQ(streamsOf(program), (std::vector<int32_t>{0, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(fencesOf(program), (std::vector<size_t>{1, 7}));
    std::vector<Region> const regions = regionsOf(program);
    ASSERT_EQ(regions.size(), 3U);
    EXPECT_TRUE(regions[1].isSplit && !regions[0].isSplit && !regions[2].isSplit);
}

//! A step that waits for branches does not wait for what could as well come behind it.
TEST(Streams, aRegionEndsWhereItsBranchesMeet)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1, 3});
    std::vector<Reg> const extents = builder.extentsOf(x);
    auto const scaled = [&](int32_t from, float cost) {
        int32_t const to = builder.activation(extents);
        builder.step("scale", {from}, {to}).cost = cost;
        return to;
    };
    auto const sum = [&](int32_t a, int32_t b, int32_t to) { return builder.step("add", {a, b}, {to}), to; };
    int32_t const trunk = scaled(x, 40.0F);
    int32_t const aside = scaled(trunk, 30.0F);
    int32_t const main = scaled(scaled(trunk, 40.0F), 40.0F);
    int32_t const met = sum(main, aside, builder.activation(extents));
    int32_t const behind = scaled(scaled(main, 40.0F), 40.0F);
    sum(met, behind, builder.output("y", extents));
    Program const program = withStreams(*builder.finish(), 3);
    EXPECT_EQ(streamsOf(program), (std::vector<int32_t>{0, 1, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(fencesOf(program).at(1), 4U);
    EXPECT_EQ(program.steps[4].kernel, "add");
}

TEST(Streams, shortBranchesAndChainsStayInTheRunsOwn)
{
    for (auto const& plan : {parting(3, 1, 5.0F), parting(1, 9, 100.0F)})
    {
        Program const program = withStreams(*plan, 3);
        EXPECT_EQ(streamsOf(program), std::vector<int32_t>(program.steps.size(), 0));
        EXPECT_TRUE(fencesOf(program).empty());
    }
}

TEST(Streams, G3_theLimitHoldsAndNoneIsZero)
{
    auto const plan = parting(6, 2, 40.0F);
    for (int32_t limit = 0; limit < 10; ++limit)
    {
        std::vector<int32_t> const streams = streamsOf(withStreams(*plan, limit));
        EXPECT_EQ(std::ranges::max(streams), std::min(limit, 5)) << limit; // Six branches, one of them the run's own.
    }
}

TEST(Streams, blocksOfStepsThatMayRunSideBySideNeverOverlap)
{
    auto const plan = parting(3, 4, 40.0F);
    plan->programs.front() = withStreams(*plan, 3);
    planner::settleInPlace(plan->programs.front());
    ASSERT_TRUE(checkProgram(*plan, plan->programs.front()));
    Program const& program = plan->programs.front();
    for (bool const share : {true, false})
    {
        BlockPlan const blocks = planBlocks(*plan, program, share);
        auto const bound = boundArena(*plan, program, blocks, 0, 64);
        ASSERT_TRUE(bound);
        std::vector<std::set<int32_t>> touched(4); // By stream, of the split region.
        Region const region = regionsOf(program)[1];
        ASSERT_TRUE(region.isSplit);
        for (int32_t i = region.first; i < region.last; ++i)
            for (int32_t const output : program.steps[static_cast<size_t>(i)].outputs)
                touched[static_cast<size_t>(program.steps[static_cast<size_t>(i)].stream)].insert(
                    blocks.blockOf[static_cast<size_t>(output)]);
        for (size_t a = 0; a < 3; ++a)
            for (size_t b = 0; b < a; ++b)
                for (int32_t const mine : touched[a])
                    for (int32_t const other : touched[b])
                    {
                        auto const beginOf = [&](int32_t x) { return bound->layout.offsets[static_cast<size_t>(x)]; };
                        auto const endOf = [&](int32_t x) {
                            return beginOf(x) + bound->blocks[static_cast<size_t>(x)].bytes;
                        };
                        EXPECT_TRUE(endOf(mine) <= beginOf(other) || endOf(other) <= beginOf(mine)) << a << b;
                    }
    }
}

TEST(Streams, stepsOfABranchShareMemory)
{
    auto const plan = parting(2, 40, 40.0F);
    plan->programs.front() = withStreams(*plan, 3);
    BlockPlan const blocks = planBlocks(*plan, plan->programs.front(), false);
    auto const bound = boundArena(*plan, plan->programs.front(), blocks, 0, 64);
    ASSERT_TRUE(bound);
    int64_t const block = std::ranges::max(bound->blocks, {}, &ArenaBlock::bytes).bytes;
    EXPECT_LE(bound->layout.bytes, 8 * ((block + 63) / 64 * 64)); // Not one for each of the 80.
}

//! What is read behind the region takes its memory when it is written, not when the region begins.
TEST(Streams, whatABranchLeavesSharesTheMemoryOfItsEarlierSteps)
{
    auto const plan = parting(2, 4, 40.0F);
    plan->programs.front() = withStreams(*plan, 3);
    BlockPlan const blocks = planBlocks(*plan, plan->programs.front(), false);
    auto const bound = boundArena(*plan, plan->programs.front(), blocks, 0, 64);
    ASSERT_TRUE(bound);
    int64_t const block = std::ranges::max(bound->blocks, {}, &ArenaBlock::bytes).bytes;
    EXPECT_EQ(bound->layout.bytes, 5 * ((block + 63) / 64 * 64)) << "the trunk's result, and two for each branch";
}

namespace
{
//! Whether step a is over before step b begins, whatever order the streams leave.
bool isBefore(Program const& program, std::vector<int32_t> const& regionOf, int32_t a, int32_t b)
{
    auto const at = [](int32_t index) { return static_cast<size_t>(index); };
    return a < b && (regionOf[at(a)] != regionOf[at(b)] || program.steps[at(a)].stream == program.steps[at(b)].stream);
}

//! By block: the steps that touch it.
std::vector<std::vector<int32_t>> touchesOf(Program const& program, BlockPlan const& blocks)
{
    std::vector<std::vector<int32_t>> touches(blocks.blocks.size());
    for (size_t i = 0; i < program.steps.size(); ++i)
        for (auto const* operands : {&program.steps[i].inputs, &program.steps[i].outputs})
            for (int32_t const tensor : *operands)
                if (int32_t const block =
                        tensor < 0 ? -1 : blocks.blockOf[static_cast<size_t>(rootOf(program, tensor))];
                    block >= 0)
                    touches[static_cast<size_t>(block)].push_back(static_cast<int32_t>(i));
    return touches;
}

//! How many pairs of blocks share memory though neither is surely done with before the other is begun.
int32_t racesOf(Program const& program, BlockPlan const& blocks, ArenaBound const& bound)
{
    std::vector<int32_t> const regionOf = regionOfSteps(regionsOf(program));
    std::vector<std::vector<int32_t>> const touches = touchesOf(program, blocks);
    auto const areAllBefore = [&](size_t a, size_t b) {
        return std::ranges::all_of(touches[a], [&](int32_t one) {
            return std::ranges::all_of(
                touches[b], [&](int32_t other) { return isBefore(program, regionOf, one, other); });
        });
    };
    auto const endOf = [&](size_t i) { return bound.layout.offsets[i] + bound.blocks[i].bytes; };
    int32_t races{0};
    for (size_t a = 0; a < touches.size(); ++a)
        for (size_t b = 0; b < a; ++b)
        {
            bool const share = bound.layout.offsets[a] < endOf(b) && bound.layout.offsets[b] < endOf(a);
            races +=
                share && bound.blocks[a].place == bound.blocks[b].place && !areAllBefore(a, b) && !areAllBefore(b, a);
        }
    return races;
}
} // namespace

TEST(Streams, memoryIsSharedOnlyByStepsInASureOrder)
{
    int32_t split{0};
    for (uint32_t seed = 0; seed < 600; ++seed)
    {
        auto const plan = seed % 3 == 0 ? parting(2 + seed % 4, 1 + seed % 5, 30.0F) : randomPlan(seed);
        Program& program = plan->programs.front();
        std::mt19937 random{seed};
        for (PlanStep& step : program.steps)
        {
            step.cost = static_cast<float>(random() % 100);
            if (step.kernel != "nonzero" && random() % 2 == 0)
                step.inPlace = {{0, 0}};
        }
        planner::assignStreams(program, 1 + static_cast<int32_t>(seed % 4));
        planner::settleInPlace(program);
        ASSERT_TRUE(checkProgram(*plan, program)) << seed;
        for (bool const share : {true, false})
        {
            BlockPlan const blocks = planBlocks(*plan, program, share);
            auto const bound = boundArena(*plan, program, blocks, 0, 64);
            ASSERT_TRUE(bound) << seed;
            ASSERT_EQ(racesOf(program, blocks, *bound), 0) << seed;
        }
        split += std::ranges::any_of(regionsOf(program), &Region::isSplit) ? 1 : 0;
    }
    EXPECT_GT(split, 100);
}

TEST(Streams, plansWhoseStreamsWouldRaceAreRefused)
{
    auto const refused = [](auto const& change) {
        auto const plan = parting(2, 3, 30.0F);
        Program& program = plan->programs.front();
        planner::assignStreams(program, 3);
        planner::settleInPlace(program);
        EXPECT_TRUE(checkProgram(*plan, program));
        change(program.steps);
        return !checkProgram(*plan, program);
    };
    using Steps = std::vector<PlanStep>;
    EXPECT_TRUE(refused([](Steps& steps) { steps[7].isFence = false; }));    // The sum reads what stream 1 writes.
    EXPECT_TRUE(refused([](Steps& steps) { steps[1].isFence = false; }));    // The branch reads the trunk's result.
    EXPECT_TRUE(refused([](Steps& steps) { steps[2].stream = 2; }));         // Within the branch.
    EXPECT_TRUE(refused([](Steps& steps) { steps[4].inPlace = {{0, 0}}; })); // Over what stream 1 reads.
    EXPECT_TRUE(refused([](Steps& steps) { steps[1].stream = -1; }));
    EXPECT_TRUE(refused([](Steps& steps) { steps[1].stream = kMaxAuxStreams + 1; }));
    EXPECT_TRUE(refused([](Steps& steps) { steps[1].cost = -1.0F; }));
}

TEST(Streams, randomProgramsStayWhole)
{
    int32_t split{0};
    for (uint32_t seed = 0; seed < 400; ++seed)
    {
        auto const plan = randomPlan(seed);
        Program& program = plan->programs.front();
        std::mt19937 random{seed};
        for (PlanStep& step : program.steps)
            step.cost = static_cast<float>(random() % 100);
        for (PlanStep& step : program.steps)
            if (step.kernel != "nonzero")
                step.inPlace = {{0, 0}};
        planner::assignStreams(program, static_cast<int32_t>(seed % 4));
        planner::settleInPlace(program);
        auto const checked = checkProgram(*plan, program);
        ASSERT_TRUE(checked) << seed << ": " << checked.error().message;
        split += std::ranges::any_of(regionsOf(program), &Region::isSplit) ? 1 : 0;
    }
    EXPECT_GT(split, 50);
}

} // namespace tenon::test
