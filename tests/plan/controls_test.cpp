// Programs with loops and conditionals that nobody has planned: memory that some way through them leaves unwritten is
// refused.
#include "plan/check.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! From input 0 to output 1 over activations 2 to 5, all of four elements. Registers: 0 is 1, 1 is 4.
class Controlled
{
  public:
    Controlled()
    {
        for (bool const isInput : {true, false})
        {
            PlanIO io;
            io.name = isInput ? "x" : "y";
            io.isInput = isInput;
            io.dims = {1, {4}};
            plan.io.push_back(io);
        }
        program.shapes = {{PlanShapeOp::kConstant, -1, -1, 1}, {PlanShapeOp::kConstant, -1, -1, 4}};
        for (int32_t i = 0; i < 6; ++i)
        {
            PlanTensor& tensor = program.tensors.emplace_back();
            tensor.kind = i < 2 ? PlanTensorKind::kIO : PlanTensorKind::kActivation;
            tensor.index = i < 2 ? i : -1;
            tensor.extents = {1};
            tensor.name = "t" + std::to_string(i);
        }
    }
    Controlled& step(int32_t input, int32_t output)
    {
        PlanStep& made = program.steps.emplace_back();
        made.kernel = "k";
        made.inputs = {input};
        made.outputs = {output};
        return *this;
    }
    Controlled& conditional(int32_t first, int32_t middle, int32_t last)
    {
        return control({PlanControlKind::kConditional, first, middle, last, 0, -1, {}, {}, "if"});
    }
    //! \param count 0: as many rounds as register 0 says; −1: no limit.
    Controlled& loop(int32_t first, int32_t middle, int32_t last, int32_t count)
    {
        return control({PlanControlKind::kLoop, first, middle, last, 0, count, {}, {}, "loop"});
    }
    //! Tensor 6 is a slice of another one, of one element, in each round of the latest loop.
    Controlled& slices(int32_t of)
    {
        PlanTensor& slice = program.tensors.emplace_back(program.tensors[2]);
        slice.kind = PlanTensorKind::kPart;
        slice.index = of;
        slice.extents = {0};
        program.controls.back().parts = {{6, 1, -1}};
        return *this;
    }
    //! Empty: it is fine.
    std::string refusal() const
    {
        Result<Done> const checked = checkProgram(plan, program);
        return checked ? std::string{} : checked.error().message;
    }

    Plan plan;
    Program program;

  private:
    Controlled& control(PlanControl control)
    {
        program.controls.push_back(std::move(control));
        return *this;
    }
};

void expectUnwritten(Controlled const& given, std::string const& tensor)
{
    std::string const refusal = given.refusal();
    EXPECT_NE(refusal.find("'" + tensor + "'"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("on each way"), std::string::npos) << refusal;
}
} // namespace

TEST(Controlled, bothBranchesWriteWhatIsReadBehindThem)
{
    EXPECT_EQ(Controlled{}.step(0, 2).step(0, 2).step(2, 1).conditional(0, 1, 2).refusal(), "");
    expectUnwritten(Controlled{}.step(0, 2).step(0, 3).step(2, 1).conditional(0, 1, 2), "t2");
    expectUnwritten(Controlled{}.step(0, 3).step(0, 2).step(2, 1).conditional(0, 1, 2), "t2");
    expectUnwritten(Controlled{}.step(0, 2).step(2, 1).conditional(0, 1, 1), "t2"); // No second branch.
    expectUnwritten(Controlled{}.step(0, 2).step(2, 1).conditional(0, 0, 1), "t2"); // No first one.
    EXPECT_EQ(Controlled{}.step(0, 2).step(0, 2).step(2, 1).conditional(1, 2, 2).refusal(), "") << "written before";
}

TEST(Controlled, aBranchReadsNothingOfTheOther)
{
    expectUnwritten(Controlled{}.step(0, 2).step(2, 3).step(3, 1).conditional(0, 1, 2), "t2");
    EXPECT_EQ(Controlled{}.step(0, 2).step(2, 3).step(0, 3).step(3, 1).conditional(0, 2, 3).refusal(), "");
}

TEST(Controlled, bothBranchesWriteAnOutputOfTheNetwork)
{
    EXPECT_EQ(Controlled{}.step(0, 1).step(0, 1).conditional(0, 1, 2).refusal(), "");
    expectUnwritten(Controlled{}.step(0, 1).step(0, 2).conditional(0, 1, 2), "y");
    expectUnwritten(Controlled{}.step(0, 2).step(0, 1).conditional(0, 1, 2), "y");
}

TEST(Controlled, nestedBranchesCountAsTheirCommonPart)
{
    // if a: (if b: 2 else 2) else 2
    EXPECT_EQ(
        Controlled{}.step(0, 2).step(0, 2).step(0, 2).step(2, 1).conditional(0, 2, 3).conditional(0, 1, 2).refusal(),
        "");
    expectUnwritten(
        Controlled{}.step(0, 2).step(0, 3).step(0, 2).step(2, 1).conditional(0, 2, 3).conditional(0, 1, 2), "t2");
    // The inner one fills the second branch: if a: 2 else (if b: 3 else 2)
    expectUnwritten(
        Controlled{}.step(0, 2).step(0, 3).step(0, 2).step(2, 1).conditional(0, 1, 3).conditional(1, 2, 3), "t2");
}

TEST(Controlled, aLoopMayHaveNoRounds)
{
    expectUnwritten(Controlled{}.step(0, 2).step(2, 1).loop(0, 0, 1, 0), "t2");
    EXPECT_EQ(Controlled{}.step(0, 2).step(2, 3).step(3, 2).step(2, 1).loop(1, 1, 3, 0).refusal(), "")
        << "what rounds carry is written before";
    expectUnwritten(Controlled{}.step(0, 2).step(2, 1).loop(0, 1, 1, 0), "t2"); // Its condition's part has none, too.
    EXPECT_EQ(Controlled{}.step(0, 2).step(0, 3).step(2, 1).loop(0, 1, 2, -1).refusal(), "")
        << "a condition that alone ends the loop is made once at least";
    expectUnwritten(Controlled{}.step(0, 3).step(0, 2).step(2, 1).loop(0, 1, 2, -1), "t2");
}

TEST(Controlled, theFirstRoundReadsNothingOfALaterOne)
{
    std::string const refusal = Controlled{}.step(2, 3).step(3, 2).step(0, 1).loop(0, 0, 2, 0).refusal();
    EXPECT_NE(refusal.find("reads tensor 't2' before a step has written it"), std::string::npos) << refusal;
}

TEST(Controlled, slicesOfRoundsAreTheWholeTensor)
{
    EXPECT_EQ(Controlled{}.step(0, 6).step(2, 1).loop(0, 0, 1, 1).slices(2).refusal(), "");
    expectUnwritten(
        Controlled{}.step(0, 6).step(0, 3).step(2, 1).conditional(0, 1, 2).loop(0, 0, 1, 1).slices(2), "t2");
}

} // namespace tenon::test
