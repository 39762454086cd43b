// Which tensors a step hands over to the next, so that nobody else ever reads them.
#include "plan/handovers.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! Three steps in a row, from I/O tensor 0 over activations 1 and 2 to I/O tensor 3.
Program threeSteps()
{
    Program program;
    program.tensors.resize(4);
    program.tensors[0].kind = program.tensors[3].kind = PlanTensorKind::kIO;
    program.tensors[1].kind = program.tensors[2].kind = PlanTensorKind::kActivation;
    for (int32_t i = 0; i < 3; ++i)
    {
        PlanStep& step = program.steps.emplace_back();
        step.inputs = {i};
        step.outputs = {i + 1};
    }
    return program;
}

using Handovers = std::vector<bool>;
} // namespace

TEST(Handovers, goToTheOnlyReader)
{
    EXPECT_EQ(handoversOf(threeSteps()), (Handovers{true, true, false}));
}

TEST(Handovers, otherReadersAndWritersPreventThem)
{
    Program program = threeSteps();
    program.steps[2].inputs.push_back(1);
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false})) << "a later step reads it, too";
    program = threeSteps();
    program.steps[1].inputs.push_back(1);
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false})) << "the next one reads it twice";
    program = threeSteps();
    program.steps[1].inputs = {0, 1};
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false})) << "as another operand than the first";
    program = threeSteps();
    program.steps[2].outputs = {1};
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false})) << "another branch writes it";
    program = threeSteps();
    program.tensors.push_back({});
    program.tensors[4].kind = PlanTensorKind::kView;
    program.tensors[4].index = 1;
    program.steps[2].inputs.push_back(4);
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false})) << "a later step reads a view of it";
}

TEST(Handovers, outputsStreamsAndFencesPreventThem)
{
    Program program = threeSteps();
    program.tensors[1].kind = PlanTensorKind::kIO;
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false}));
    program = threeSteps();
    program.steps[1].isFence = true;
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false}));
    program = threeSteps();
    program.steps[2].stream = 1;
    EXPECT_EQ(handoversOf(program), (Handovers{true, false, false}));
    program = threeSteps();
    program.steps[1].place = Place::kHost;
    EXPECT_EQ(handoversOf(program), (Handovers{false, false, false}));
    program = threeSteps();
    program.steps[0].produces = {0};
    EXPECT_EQ(handoversOf(program), (Handovers{false, true, false}));
}

} // namespace tenon::test
