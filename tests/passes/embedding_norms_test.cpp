// The entry of encoders of text: which norms become one layer with the embeddings in front, which stay, and what it
// becomes again.
#include "passes/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
constexpr std::string_view kFuseEmbeddings{"fuse-embedding-norm"};

//! Words, positions and types, as BERT adds them, in float32, where it does not show that one layer rounds no sums;
//! `more`: behind the output.
std::string preambleText(std::string_view norm = "Axes=4", std::string_view more = "")
{
    return fmt::format(R"(
input %ids : int64[N,3]
input %segments : int32[N,3]
const %words : float32[7,8] = random(1)
const %types : float32[2,8] = random(2)
const %positions : float32[1,3,8] = random(3)
const %scale : float32[1,1,8] = random(4)
const %shift : float32[1,1,8] = random(5)
%w = Gather(%words, %ids)
%t = Gather(%types, %segments)
%s = ElementWise(%w, %t) {{Operation=0}}
%x = ElementWise(%s, %positions) {{Operation=0}}
%y = Normalization(%x, %scale, %shift) {{{}}}
output %y
{})",
        norm, more);
}

constexpr std::string_view kPreamble{R"(
input %ids : int64[N,3]
input %segments : int32[N,3]
const %words : float32[7,8] = random(1)
const %types : float32[2,8] = random(2)
const %positions : float32[1,3,8] = random(3)
const %scale : float32[1,1,8] = random(4)
const %shift : float32[1,1,8] = random(5)
%y = EmbeddingNorm(%scale, %shift, %words, %ids, %types, %segments, %positions) {}
output %y
)"};

//! A table and what is added to rows of it.
std::string pickedAndAdded(std::string_view table, std::string_view term, std::string_view scale = "float32[1,1,8]")
{
    return fmt::format(R"(
input %ids : int32[N,3]
input %other : {}
const %words : {} = random(1)
const %scale : {} = random(4)
%w = Gather(%words, %ids)
%x = ElementWise(%other, %w) {{Operation=0}}
%y = Normalization(%x, %scale) {{Axes=4}}
output %y
)",
        term, table, scale);
}
} // namespace

TEST(EmbeddingNormRules, wordsTypesAndPositionsBecomeOneLayer)
{
    expectRewrite(kFuseEmbeddings, preambleText(), kPreamble);
    expectRewrite(kFuseEmbeddings, pickedAndAdded("float32[7,8]", "float32[N,1,8]"), R"(
input %ids : int32[N,3]
input %other : float32[N,1,8]
const %words : float32[7,8] = random(1)
const %scale : float32[1,1,8] = random(4)
%y = EmbeddingNorm(%scale, _, %other, _, %words, %ids) {}
output %y
)");
}

TEST(EmbeddingNormRules, otherTypesOfTablesGoAlong)
{
    expectRewrite(kFuseEmbeddings, R"(
input %ids : int32[N,3]
const %words : float16[7,8] = random(1)
const %more : float32[1,1,8] = random(2)
const %scale : float32[1,1,8] = random(4)
%w = Gather(%words, %ids)
%h = Cast(%w) {ToType=0}
%x = ElementWise(%h, %more) {Operation=0}
%y = Normalization(%x, %scale) {Axes=4, Epsilon=0.5}
output %y
)",
        R"(
input %ids : int32[N,3]
const %words : float16[7,8] = random(1)
const %more : float32[1,1,8] = random(2)
const %scale : float32[1,1,8] = random(4)
%y = EmbeddingNorm(%scale, _, %words, %ids, %more) {epsilon=0.5}
output %y
)");
}

TEST(EmbeddingNormRules, rowsThatOthersReadAreATerm)
{
    expectRewrite(kFuseEmbeddings, preambleText("Axes=4", "output %t\n"), R"(
input %ids : int64[N,3]
input %segments : int32[N,3]
const %words : float32[7,8] = random(1)
const %types : float32[2,8] = random(2)
const %positions : float32[1,3,8] = random(3)
const %scale : float32[1,1,8] = random(4)
const %shift : float32[1,1,8] = random(5)
%t = Gather(%types, %segments)
%y = EmbeddingNorm(%scale, %shift, %words, %ids, %t, _, %positions) {}
output %y
output %t
)");
}

TEST(EmbeddingNormRules, othersStay)
{
    expectUnchanged(kFuseEmbeddings, preambleText(), FusionLimits{});
    expectUnchanged(kFuseEmbeddings, preambleText("Axes=2"));                           // Not over rows.
    expectUnchanged(kFuseEmbeddings, preambleText("Axes=4, rms=true"));                 // No mean.
    expectUnchanged(kFuseEmbeddings, preambleText("Axes=4", "output %x\n"));            // A residual of it.
    expectUnchanged(kFuseEmbeddings, preambleText("Axes=4", "output %w\noutput %t\n")); // All are read by others.
    expectUnchanged(kFuseEmbeddings, pickedAndAdded("float32[7,8]", "float32[N,1,1]")); // A number for a row.
    expectUnchanged(kFuseEmbeddings, pickedAndAdded("float32[7,1]", "float32[N,1,8]"));
    expectUnchanged(
        kFuseEmbeddings, pickedAndAdded("float32[7,8]", "float32[N,1,8]", "float32[1,3,8]")); // A scale for each row.
    FusionLimits limits = generousLimits();
    limits.embeddingWidth = 7;
    expectUnchanged(kFuseEmbeddings, preambleText(), limits);
    limits = generousLimits();
    limits.embeddingTerms = 2;
    expectUnchanged(kFuseEmbeddings, preambleText(), limits);
    limits = generousLimits();
    limits.embeddingTypes = {DType::kBF16};
    expectUnchanged(kFuseEmbeddings, preambleText(), limits);
}

TEST(EmbeddingNormRules, normsThatRoundTheirResultStay)
{
    expectUnchanged(kFuseEmbeddings, R"(
input %ids : int32[N,3]
const %words : float32[7,8] = random(1)
const %scale : float32[1,1,8] = random(4)
const %step : float32[] = 0.5
%w = Gather(%words, %ids)
%n = Normalization(%w, %scale) {Axes=4}
%y = Quantize(%n, %step) {Axis=-2}
output %y
)");
}

TEST(EmbeddingNormRules, areUndone)
{
    expectRewrite("undo-embedding-norm", kPreamble, preambleText());
    expectRewrite("undo-embedding-norm", R"(
input %ids : int32[N,3]
input %rows : float16[N,1,8]
const %words : float16[7,8] = random(1)
const %scale : float32[1,1,8] = random(4)
%y = EmbeddingNorm(%scale, _, %rows, _, %words, %ids) {epsilon=0.5}
output %y
)",
        R"(
input %ids : int32[N,3]
input %rows : float16[N,1,8]
const %words : float16[7,8] = random(1)
const %scale : float32[1,1,8] = random(4)
%a = Cast(%rows) {ToType=0}
%w = Gather(%words, %ids)
%b = Cast(%w) {ToType=0}
%x = ElementWise(%a, %b) {Operation=0}
%y = Normalization(%x, %scale) {Axes=4, Epsilon=0.5}
output %y
)");
}

} // namespace tenon::test
