// Norms between products: which products leave moments behind, which take them, and what they become again.
#include "passes/rewrite.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! A block that normalizes behind its sums, as BERT has them: the norm's result is multiplied and added again.
std::string normedBlock(std::string_view rows, std::string_view more)
{
    return fmt::format(R"(
input %x : float32[{0},64]
input %z : float32[{0},64]
const %s : float32[1,64] = random(1)
const %t : float32[1,64] = random(2)
const %v : float32[64,64] = random(3)
const %w : float32[64,128] = random(4)
const %u : float32[128,64] = random(5)
const %b : float32[64] = random(6)
%a = MatrixMultiply(%x, %v, %b, %z) {{epilogue={{steps=[{{kind=0}}]}}}}
%n = Normalization(%a, %s, %t) {{Axes=2}}
%h = MatrixMultiply(%n, %w) {{epilogue={{steps=[{{kind=10}}]}}}}
%y = MatrixMultiply(%h, %u, %b, %n) {{epilogue={{steps=[{{kind=0}}]}}}}
output %y
{1})",
        rows, more);
}

//! Of a device that normalizes by moments alone.
FusionLimits momentsAlone()
{
    FusionLimits limits = generousLimits();
    limits.normalizedRows = 0;
    return limits;
}
} // namespace

TEST(MeasuredProductRules, normBetweenProductsGoes)
{
    expectGone("", normedBlock("40", ""), "Normalization", momentsAlone()); // By the three rules together.
    std::string plain = normedBlock("40", "");
    plain.replace(plain.find(", %t) {"), 7, ") {"); // Without a shift.
    expectGone("", plain, "Normalization", momentsAlone());
    expectUnchanged("measure-product", normedBlock("40", "output %n\n")); // Others read it.
    expectUnchanged("measure-product", normedBlock("40", ""), FusionLimits{});
    expectUnchanged("measure-product", normedBlock("257", ""));
    expectUnchanged("measure-product", normedBlock("N", ""));
    FusionLimits narrow = generousLimits();
    narrow.measuredColumns = 127;
    expectUnchanged("measure-product", normedBlock("40", ""), narrow);   // The reader has 128.
    expectUnchanged("normalize-rows-by-moments", normedBlock("40", "")); // Nothing has been measured.
    expectUnchanged("normalize-residual-by-moments", normedBlock("40", ""));
}

//! A block that normalizes in front of its products, as vision transformers have it: the sum goes on as it is.
TEST(MeasuredProductRules, sumsThatOthersReadAreMeasured)
{
    expectGone("", R"(
input %x : float32[1,40,64]
input %z : float32[1,40,64]
const %s : float32[1,1,64] = random(1)
const %v : float32[1,64,64] = random(3)
const %w : float32[1,64,128] = random(4)
const %u : float32[1,128,64] = random(5)
%a = MatrixMultiply(%x, %v, _, %z) {epilogue={steps=[{kind=0}]}}
%n = Normalization(%a, %s) {Axes=4}
%r = Shuffle(%n) {ReshapeDimensions=(40,1,64)}
%h = MatrixMultiply(%r, %w) {epilogue={steps=[{kind=2}]}}
%b = Shuffle(%h) {ReshapeDimensions=(1,40,128)}
%y = MatrixMultiply(%b, %u, _, %a) {epilogue={steps=[{kind=0}]}}
output %y
)",
        "Normalization", momentsAlone());
}

//! A reader may have no output that a norm would have.
TEST(MeasuredProductRules, readersWithoutOutputsAreNoNorms)
{
    expectUnchanged("measure-product", R"(
input %x : float32[40,64]
const %v : float32[64,64] = random(1)
%a = MatrixMultiply(%x, %v)
Requirement(%a)
output %a
)");
}

//! Rows are measured that are multiples of 64.
TEST(MeasuredProductRules, otherRowsStay)
{
    std::string others = normedBlock("40", "");
    for (size_t at = others.find("64"); at != std::string::npos; at = others.find("64"))
        others.replace(at, 2, "96");
    expectUnchanged("measure-product", others);
}

//! Weights times the norm's scale that float32 has no numbers for: the norm stays, and so does its result.
TEST(MeasuredProductRules, rowsStayWhoseWeightsTheTypeHasNoNumbersFor)
{
    std::string weights;
    for (int32_t i = 0; i < 64 * 64; ++i)
        weights += fmt::format("{}{}", i == 0 ? "" : ",", i / 64 % 2 == 0 ? "1e10" : "2e10");
    auto const text = [&](std::string const& scale) {
        return fmt::format(R"(
input %x : float32[40,64]
const %s : float32[1,64] = [{}]
const %v : float32[64,64] = random(1)
const %w : float32[64,64] = [{}]
%a, %m = MeasuredProduct(%x, %v) {{measures=true}}
%n = Normalization(%a, %s) {{Axes=2}}
%y = MatrixMultiply(%n, %w)
output %y
)",
            fmt::join(std::vector(64, scale), ","), weights);
    };
    expectGone("normalize-rows-by-moments", text("1.5"), "Normalization");
    expectSkipped("normalize-rows-by-moments", text("1e30"));
}

//! One reader takes the norm over, and it stays for the other, whose weights are not constant.
TEST(MeasuredProductRules, normStaysForReadersThatCannotTakeIt)
{
    constexpr std::string_view kHead{R"(
input %x : float32[40,64]
input %q : float32[64,64]
const %s : float32[1,64] = random(1)
const %v : float32[64,64] = random(2)
%a, %m = MeasuredProduct(%x, %v) {measures=true}
%n = Normalization(%a, %s) {Axes=2}
%y = MatrixMultiply(%n, %q)
)"};
    constexpr std::string_view kTail{"output %y\noutput %z\n"};
    constexpr std::string_view kBefore{"%z = MatrixMultiply(%x, %v, _, %n) {epilogue={steps=[{kind=0}]}}\n"};
    constexpr std::string_view kAfter{
        "%z = MeasuredProduct(%x, %v, _, %a, %m, %s, _) {product={epilogue={steps=[{kind=0}]}}, normalized=2}\n"};
    expectRewrite("normalize-residual-by-moments", fmt::format("{}{}{}", kHead, kBefore, kTail),
        fmt::format("{}{}{}", kHead, kAfter, kTail));
}

//! A node that reads a norm twice would take it once: it is not measured for that.
TEST(MeasuredProductRules, momentsThatNobodyReadsGo)
{
    std::string both = normedBlock("40", "");
    both.replace(both.find("%y = MatrixMultiply(%h, %u"), 26, "%y = MatrixMultiply(%n, %v");
    both.erase(both.find("%h = "), both.find("%y = ") - both.find("%h = "));
    expectUnchanged("measure-product", both);
    expectRewrite("drop-unread-moments", R"(
input %x : float32[40,64]
const %v : float32[64,64] = random(2)
%a, %m = MeasuredProduct(%x, %v) {measures=true}
output %a
)",
        R"(
input %x : float32[40,64]
const %v : float32[64,64] = random(2)
%a = MatrixMultiply(%x, %v)
output %a
)");
}

TEST(MeasuredProductRules, areUndone)
{
    expectRewrite("undo-measured-product", R"(
input %x : float32[N,64]
const %s : float32[1,64] = random(1)
const %t : float32[1,64] = random(2)
const %v : float32[64,64] = random(3)
const %w : float32[64,64] = random(4)
const %b : float32[64] = random(5)
const %c : float32[64] = random(6)
%a, %m = MeasuredProduct(%x, %v, %b) {measures=true}
%h = MeasuredProduct(%a, %w, %b, _, %m, %c) {product={epilogue={steps=[{kind=2}]}}, normalized=1, epsilon=0.01}
%y = MeasuredProduct(%h, %v, _, %a, %m, %s, %t) {product={epilogue={steps=[{kind=0}]}}, normalized=2, epsilon=0.02}
output %y
)",
        R"(
input %x : float32[N,64]
const %s : float32[1,64] = random(1)
const %t : float32[1,64] = random(2)
const %v : float32[64,64] = random(3)
const %w : float32[64,64] = random(4)
const %b : float32[64] = random(5)
const %one : float32[1,1] = [1]
%a = MatrixMultiply(%x, %v, %b)
%n = Normalization(%a, %one) {Epsilon=0.01, Axes=2}
%h = MatrixMultiply(%n, %w, %b) {epilogue={steps=[{kind=2}]}}
%e = Normalization(%a, %s, %t) {Epsilon=0.02, Axes=2}
%y = MatrixMultiply(%h, %v, _, %e) {epilogue={steps=[{kind=0}]}}
output %y
)");
}

} // namespace tenon::test
