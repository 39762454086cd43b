// Gathers by constant indices: which are reshapes, and which pick one row for all.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
std::string pickedText(std::string_view data, std::string_view indices, std::string_view fields)
{
    return fmt::format(R"(
input %x : {}
const %i : {}
%y = Gather(%x, %i) {{{}}}
output %y
)",
        data, indices, fields);
}

std::string addedText(std::string_view indices, std::string_view other = "float32[N,3,4]",
    std::string_view operands = "%x, %r", std::string_view more = "")
{
    return fmt::format(R"(
input %x : {}
const %table : float32[5,4] = random(1)
const %i : {}
%r = Gather(%table, %i)
%y = ElementWise({}) {{Operation=0}}
output %y
{})",
        other, indices, operands, more);
}
} // namespace

TEST(ConstantGathers, everythingInItsOrderIsAReshape)
{
    expectRewrite(
        "gather-in-order-to-reshape", pickedText("float32[2,N,3]", "int64[3,1] = [0,1,2]", "GatherAxis=2"), R"(
input %x : float32[2,N,3]
%y = Shuffle(%x) {ReshapeDimensions=(2,0,3,1)}
output %y
)");
    // Positions of two axes, as masks of keys are written.
    expectRewrite("gather-in-order-to-reshape",
        pickedText("bool[2,3]", "int64[2,1,3,2] = [0,0,0,1,0,2,1,0,1,1,1,2]", "Mode=2"), R"(
input %x : bool[2,3]
%y = Shuffle(%x) {ReshapeDimensions=(2,1,3)}
output %y
)");
}

TEST(ConstantGathers, othersAreNoReshapes)
{
    constexpr std::string_view kRule{"gather-in-order-to-reshape"};
    expectUnchanged(kRule, pickedText("float32[4,3]", "int64[3] = [0,1,2]", "")); // Not all of them.
    expectUnchanged(kRule, pickedText("float32[3,3]", "int64[3] = [0,2,1]", ""));
    expectUnchanged(kRule, pickedText("float32[3,3]", "int64[3] = [0,1,-1]", "")); // Counted from behind.
    expectUnchanged(kRule, pickedText("float32[N,3]", "int64[3] = [0,1,2]", ""));
    expectUnchanged(kRule, pickedText("bool[2,2]", "int64[4,2] = [0,0,1,0,0,1,1,1]", "Mode=2")); // Column by column.
    expectUnchanged(kRule, pickedText("float32[2,2]", "int64[2,2] = [0,1,0,1]", "Mode=1, GatherAxis=1"));
}

TEST(ConstantGathers, aRowForAllIndicesIsGatheredOnce)
{
    expectRewrite("gather-row-once", addedText("int64[1,3] = [2,2,2]"), R"(
input %x : float32[N,3,4]
const %table : float32[5,4] = random(1)
const %i : int64[1,1] = [2]
%r = Gather(%table, %i)
%y = ElementWise(%x, %r) {Operation=0}
output %y
)");
    expectUnchanged("gather-row-once", addedText("int64[1,3] = [2,2,1]"));
    expectUnchanged("gather-row-once", addedText("int64[1,1] = [2]"));
    expectUnchanged("gather-row-once", addedText("int64[1,3] = [2,2,2]", "float32[N,1,4]")); // Its extents come of it.
}

TEST(ConstantGathers, aRowFromBehindOrOutOfBoundsIsGatheredOnce)
{
    constexpr std::string_view kRule{"gather-row-once"};
    expectRewrite(kRule, addedText("int64[1,3] = [-2,-2,-2]"), addedText("int64[1,1] = [-2]"));
    expectRewrite(kRule, addedText("int32[1,3] = [-2,-2,-2]"), addedText("int32[1,1] = [-2]"));
    expectRewrite(kRule, addedText("int64[1,3] = [5,5,5]"), addedText("int64[1,1] = [5]")); // Zeros.
    expectRewrite(kRule, addedText("int64[1,3] = [-6,-6,-6]"), addedText("int64[1,1] = [-6]"));
}

TEST(ConstantGathers, rowsThatAreGatheredAnywayStay)
{
    constexpr std::string_view kRule{"gather-row-once"};
    expectUnchanged(kRule, addedText("int64[1,3] = [2,2,2]", "float32[N,3,4]", "%x, %r", "output %r\n"));
    expectUnchanged(kRule, addedText("int64[1,3] = [2,2,2]", "float32[N,3,4]", "%r, %r"));
}

} // namespace tenon::test
