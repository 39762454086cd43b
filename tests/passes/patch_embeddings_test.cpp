// The entry of vision transformers: what becomes one layer, what stays, and what it becomes again.
#include "passes/rewrite.h"

#include "ir/replaceable.h"
#include "passes/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace tenon::test
{

namespace
{
//! A convolution of windows side by side, whose pixels become rows behind two others; the table is
//! added. In float32, whose rounding does not show where the bias is added before.
std::string entryText(std::string_view conv, std::string_view shuffle, std::string_view more = "")
{
    return fmt::format(R"(
input %x : float32[3,3,10,17]
const %w : float32[6,3,4,8] = random(1)
const %b : float32[6] = random(2)
const %class : float32[1,2,6] = random(3)
const %table : float32[1,6,6] = random(4)
%p = ImageConvolution(%x, %w, %b) {{product={{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8){}}}}}
%r = Shuffle(%p) {{{}}}
%front = Slice(%class) {{Start=(0,0,0), Size=(3,2,6), Stride=(0,1,1)}}
%c = Concatenation(%front, %r) {{Axis=1}}
%y = ElementWise(%c, %table) {{Operation=0}}
output %y
{})",
        conv, shuffle, more);
}

constexpr std::string_view kTurnedBehind{"ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]"};

//! Images in float16, no rows in front.
std::string rowsText(std::string_view shuffle, std::string_view table = "float16[1,4,6]", std::string_view more = "")
{
    return fmt::format(R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : {} = random(4)
%p = Convolution(%x, %w) {{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}}
%r = Shuffle(%p) {{{}}}
%y = ElementWise(%table, %r) {{Operation=0}}
output %y
{})",
        table, shuffle, more);
}

constexpr std::string_view kRows{R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,4,6] = random(4)
%y = PatchEmbedding(%x, %w, %table) {patch=(4,8)}
output %y
)"};
//! Rows in front that are repeated for as many images as there are, as an exporter's Expand is read.
std::string repeatedText(std::string_view slice = "Stride=(0,1,1)", std::string_view more = "",
    std::string_view kernel = "float32[6,3,4,8] = random(1)", int32_t tokens = 2)
{
    return fmt::format(R"(
input %x : float32[N,3,8,16]
const %w : {}
const %b : float32[6] = random(2)
const %class : float32[1,{},6] = random(3)
const %table : float32[1,{},6] = random(4)
const %first : int32[1] = 0
const %rest : int64[2] = [{},6]
%p = Convolution(%x, %w, %b) {{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}}
%r = Shuffle(%p) {{ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}}
%s = Shape(%x)
%n = Gather(%s, %first)
%size = Concatenation(%n, %rest)
%front = Slice(%class, _, %size) {{Start=(0,0,0), {}}}
%c = Concatenation(%front, %r) {{Axis=1}}
%y = ElementWise(%c, %table) {{Operation=0}}
output %y
{})",
        kernel, tokens, 4 + tokens, tokens, slice, more);
}

//! The same behind rows of a constant.
std::string constantRowsText(std::string_view rows)
{
    return fmt::format(R"(
input %x : float32[2,3,8,16]
const %w : float32[6,3,4,8] = random(1)
const %class : float32[2,1,6] = {}
const %table : float32[1,5,6] = random(4)
%p = Convolution(%x, %w) {{NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}}
%r = Shuffle(%p) {{ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}}
%c = Concatenation(%class, %r) {{Axis=1}}
%y = ElementWise(%c, %table) {{Operation=0}}
output %y
)",
        rows);
}

//! Numbers of what the table comes from, where the named constants have a number each and a refit may replace them;
//! nothing where the rule does not apply.
std::optional<WeightIds> idsOfTable(std::string_view text, std::map<std::string, int32_t> const& numbers)
{
    Graph graph = parsed(text);
    Replaceable replaceable;
    for (NodeId const id : graph.order())
        for (ValueId const input : graph.node(id).inputs)
            if (auto const found = numbers.find(input == kNone ? "" : graph.value(input).name); found != numbers.end())
                replaceable.mark(graph.value(input).constant, {found->second});
    for (NodeId const id : graph.order())
    {
        Rewrite const rewrite = passes::fusePatchEmbedding(graph, graph.node(id), generousLimits());
        auto const* const patch = std::get_if<Patch>(&rewrite);
        if (patch == nullptr)
            continue;
        auto const touched = applyPatch(graph, *patch);
        EXPECT_TRUE(touched);
        return weightIdsOf(*graph.constantOf(graph.node(touched->front()).input(2)));
    }
    return std::nullopt;
}
} // namespace

TEST(PatchEmbeddingRules, rowsOfPixelsGetTheirTable)
{
    expectRewrite("fuse-patch-embedding", rowsText(kTurnedBehind), kRows);
    expectRewrite(
        "fuse-patch-embedding", rowsText("FirstTranspose=[0,2,3,1,4,5,6,7], ReshapeDimensions=(0,4,6)"), kRows);
}

TEST(PatchEmbeddingRules, rowsInFrontAndBiasGoIntoTheTable)
{
    expectGone("fuse-patch-embedding", entryText("", kTurnedBehind), "ImageConvolution");
    expectGone("fuse-patch-embedding", entryText("", kTurnedBehind), "Concatenation");
}

TEST(PatchEmbeddingRules, rowsInFrontMayBeRepeatedForAnyNumberOfImages)
{
    expectGone("fuse-patch-embedding", repeatedText(), "Concatenation");
    expectGone("fuse-patch-embedding", repeatedText("Stride=(1,1,1), Mode=1"), "Concatenation"); // Wraps.
    // One token, as vision transformers have: an Expand of run-time extents steps by 0 over it, too.
    expectGone(
        "fuse-patch-embedding", repeatedText("Stride=(0,0,1)", "", "float32[6,3,4,8] = random(1)", 1), "Concatenation");
    expectUnchanged("fuse-patch-embedding", repeatedText("Stride=(0,0,1)")); // The first of two, twice.
    expectUnchanged("fuse-patch-embedding", repeatedText("Stride=(0,1,1)", "output %front\n"));
}

TEST(PatchEmbeddingRules, rowsInFrontAreThoseOfAllImages)
{
    expectGone("fuse-patch-embedding", constantRowsText("[1,2,3,4,5,6,1,2,3,4,5,6]"), "Concatenation");
    expectUnchanged("fuse-patch-embedding", constantRowsText("[1,2,3,4,5,6,1,2,3,4,5,7]"));
}

TEST(PatchEmbeddingRules, theTableComesOfAllThatARefitMayReplaceInIt)
{
    std::map<std::string, int32_t> const numbers{{"w", 0}, {"b", 1}, {"class", 2}, {"table", 3}};
    EXPECT_EQ(idsOfTable(repeatedText(), numbers), (WeightIds{0, 1, 2, 3}));
    EXPECT_EQ(idsOfTable(repeatedText(), {{"class", 2}}), WeightIds{2});
    EXPECT_EQ(idsOfTable(entryText("", kTurnedBehind), {{"class", 2}}), WeightIds{2});
    // Others may differ from image to image.
    EXPECT_EQ(idsOfTable(constantRowsText("[1,2,3,4,5,6,1,2,3,4,5,6]"), {{"class", 2}}), std::nullopt);
}

//! What the numbers are today decides nothing, then: 3e38 in front of 3e38 is no number.
TEST(PatchEmbeddingRules, aTableThatOverflowsStaysUnlessOthersMayCome)
{
    std::string text = repeatedText();
    for (std::string_view const each : {"random(3)", "random(4)"})
        text.replace(text.find(each), each.size(), "3e38");
    expectSkipped("fuse-patch-embedding", text);
    EXPECT_EQ(idsOfTable(text, {{"class", 2}}), WeightIds{2});
}

//! Zeros stand for the rows in front: times infinity they are no numbers.
TEST(PatchEmbeddingRules, weightsThatAreNotFiniteStayApartFromRowsInFront)
{
    constexpr std::string_view kInfinite{"float32[6,3,4,8] = 1e39"};
    std::string const text = repeatedText("Stride=(0,1,1)", "", kInfinite);
    expectUnchanged("fuse-patch-embedding", text);
    EXPECT_NE(idsOfTable(text, {{"w", 0}}), std::nullopt);
    std::string rows = rowsText(kTurnedBehind);
    rows.replace(rows.find("random(1)"), 9, "1e6");
    expectGone("fuse-patch-embedding", rows, "Convolution"); // There are none.
}

TEST(PatchEmbeddingRules, othersStay)
{
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind), FusionLimits{});
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind, "float16[1,1,6]")); // One row for all.
    expectUnchanged("fuse-patch-embedding", rowsText(kTurnedBehind, "float16[1,4,6]", "output %r\n"));
    expectUnchanged("fuse-patch-embedding", rowsText("ReshapeDimensions=(0,4,6)")); // Rows of other numbers.
    expectUnchanged("fuse-patch-embedding", entryText(", epilogue={steps=[{kind=2}]}", kTurnedBehind));
    expectUnchanged("fuse-patch-embedding", entryText(", PostPadding=(1,0)", kTurnedBehind));
    expectUnchanged("fuse-patch-embedding", entryText(", PostPadding=(-1,0)", kTurnedBehind));
    expectUnchanged("fuse-patch-embedding", entryText("", kTurnedBehind, "output %c\n"));
}

TEST(PatchEmbeddingRules, areUndone)
{
    expectRewrite("undo-patch-embedding", kRows, R"(
input %x : float16[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,4,6] = random(4)
%p = Convolution(%x, %w) {NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}
%r = Shuffle(%p) {ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}
%y = ElementWise(%r, %table) {Operation=0}
output %y
)");
    expectRewrite("undo-patch-embedding", R"(
input %x : float32[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,7,6] = random(4)
%y = PatchEmbedding(%x, %w, %table) {patch=(4,8)}
output %y
)",
        R"(
input %x : float32[N,3,8,16]
const %w : float16[6,3,4,8] = random(1)
const %table : float16[1,7,6] = random(4)
%h = Cast(%x) {ToType=1}
%p = Convolution(%h, %w) {NbOutputMaps=6, KernelSizeNd=(4,8), StrideNd=(4,8)}
%r = Shuffle(%p) {ReshapeDimensions=(0,6,4), SecondTranspose=[0,2,1,3,4,5,6,7]}
%f = Slice(%r) {Start=(-3), Size=(7), Stride=(1), Mode=3, Axes=(1)}
%y = ElementWise(%f, %table) {Operation=0}
output %y
)");
}

} // namespace tenon::test
