// The text form prints what it parses.
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/rewrite.h"
#include "support/layer_text.h"

#include <gtest/gtest.h>

namespace tenon::test
{

TEST(Text, printsWhatItParses)
{
    std::string_view const text = R"(
input %x : float32[N=1..8,3,8,8]
const %w : float32[4,3,3,3] = random(1)
const %half : float32[1,1,1,1] = 0.5
%y = Convolution(%x, %w, _) {NbOutputMaps=4, KernelSizeNd=(3,3), PrePadding=(1,1), PostPadding=(1,1), epilogue={steps=[{kind=3, alpha=0, beta=6}]}}
%z = Pointwise(%y, %half) {expr=t2=add(x0,x1); mul(t2,sigmoid(t2))}
%s = Shuffle(%z) {ReshapeDimensions=(0,-1)}
output %s
)";
    Graph const graph = parsed(text);
    EXPECT_EQ(print(graph, {.types = true}),
        "input %x : float32[s0,3,8,8]\n"
        "%y = Convolution(%x, %w, _) {NbOutputMaps=4, KernelSizeNd=(3,3), PrePadding=(1,1), PostPadding=(1,1), "
        "epilogue={steps=[{kind=3, beta=6}]}} : float32[s0,4,8,8]\n"
        "%z = Pointwise(%y, %half) {expr=t2=add(x0,x1); mul(t2,sigmoid(t2))} : float32[s0,4,8,8]\n"
        "%s = Shuffle(%z) {ReshapeDimensions=(0,-1)} : float32[s0,256]\n"
        "output %s\n");
}

TEST(Text, bodiesStandBehindTheirNodes)
{
    std::string_view const text = R"(
input %x : float32[4,3]
input %flag : bool[]
const %rounds : int64[] = 4
const %first : float32[3] = whole(1,-2,2)
%last = Loop(%rounds, %first, %x) {Form={Carried=1, Walked=[0], Lasts=[0]}}
{
input %carried
input %slice
%sum = ElementWise(%carried, %slice)
output %sum
}
%y = Conditional(%flag, %last, %last)
{
input %a
output %a
}
{
input %b
const %two : float32[1] = 2
%product = ElementWise(%b, %two) {Operation=1}
output %product
}
output %y
)";
    std::string const printed = print(parsed(text), {.types = false});
    EXPECT_NE(printed.find("{\ninput %carried : float32[3]\ninput %slice : float32[3]\n%sum = "), std::string::npos)
        << printed;
    EXPECT_NE(printed.find("{\ninput %a : float32[3]\noutput %a\n}\n{\ninput %b : float32[3]\n"), std::string::npos)
        << printed;
    Result<Graph> const open = parseGraph("input %f : bool[]\n%y = Conditional(%f)\n{\n", parseLayer);
    ASSERT_FALSE(open);
    EXPECT_NE(open.error().message.find("closing brace"), std::string::npos) << open.error().message;
}

TEST(Text, wholeNumbersAreOfARangeThatHasOne)
{
    Result<Graph> const graph = parseGraph("const %none : int32[2] = whole(1,1,0)\noutput %none\n", parseLayer);
    ASSERT_FALSE(graph);
    EXPECT_NE(graph.error().message.find("no whole number is from 1 to 0"), std::string::npos) << graph.error().message;
}

TEST(Text, namesTheLineOfAMistake)
{
    Result<Graph> const graph = parseGraph("input %x : float32[2]\n%y = Cast(%z) {ToType=3}\noutput %y\n", parseLayer);
    ASSERT_FALSE(graph);
    EXPECT_NE(graph.error().message.find("line 2"), std::string::npos);
    EXPECT_NE(graph.error().message.find("%z"), std::string::npos);
}

TEST(Verify, wantsUniqueOutputNames)
{
    Graph graph = parsed("input %x : float32[2,2]\n%y = Unary(%x) {Operation=0}\noutput %y\n");
    graph.markOutput(graph.inputs().front(), "z");
    EXPECT_TRUE(verify(graph));
    graph.markOutput(graph.inputs().front(), "y");
    Result<Done> const sound = verify(graph);
    ASSERT_FALSE(sound);
    EXPECT_NE(sound.error().message.find("'y'"), std::string::npos);
}

} // namespace tenon::test
