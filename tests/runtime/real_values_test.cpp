// Floating values in shape programs: random expressions are computed at points and over intervals, as expressions and
// as programs; intervals hold the value of every point that lies in those of the symbols.
#include "ir/real_expr.h"
#include "plan/check.h"
#include "plan/register_values.h"
#include "planner/shape_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tenon
{
namespace
{

constexpr double kInfinity{std::numeric_limits<double>::infinity()};

//! Two extents and two elements of a floating input, and expressions of them.
class RandomExpressions
{
  public:
    explicit RandomExpressions(uint32_t seed)
        : mRandom{seed}
    {
        for (int32_t i = 0; i < 4; ++i)
        {
            bool const real = i >= 2;
            int64_t const low = real ? below(7) - 3 : below(3);
            Range const range{low, low + below(real ? 5 : 30)};
            int32_t const id =
                symbols.find(real ? SymbolKind::kInputValue : SymbolKind::kInputExtent, real ? 1 : 0, i, {}, range);
            symbols.at(id).isReal = real;
            (real ? reals : integers).push_back(real ? realSymbol(id) : ShapeExpr::symbol(id));
        }
        for (double const each : {0.5, -1.25, 0.1, 3.0})
            reals.push_back(realConstant(each));
        for (int32_t i = 0; i < 30; ++i)
            grow();
    }

    int64_t below(int64_t most)
    {
        return static_cast<int64_t>(mRandom() % static_cast<uint64_t>(most));
    }
    //! Values of the symbols somewhere in their ranges, at the ends more often.
    std::vector<int64_t> point()
    {
        std::vector<int64_t> values;
        for (int32_t id = 0; id < symbols.size(); ++id)
        {
            auto const [min, max] = symbols.at(id).range;
            int64_t const whole = below(3) == 0 ? min : below(3) == 0 ? max : min + below(max - min + 1);
            double const fraction = whole < max ? static_cast<double>(below(8)) / 8.0 : 0.0;
            values.push_back(symbols.at(id).isReal ? realBits(static_cast<double>(whole) + fraction) : whole);
        }
        return values;
    }

    SymbolTable symbols;
    std::vector<ShapeExpr> integers;
    std::vector<ShapeExpr> reals;

  private:
    ShapeExpr real()
    {
        return reals[static_cast<size_t>(below(static_cast<int64_t>(reals.size())))];
    }
    ShapeExpr integer()
    {
        return integers[static_cast<size_t>(below(static_cast<int64_t>(integers.size())))];
    }
    ShapeExpr either()
    {
        return below(4) == 0 ? integer() : real();
    }
    void grow()
    {
        switch (below(9))
        {
        case 0: return integers.push_back(max(min(truncate(real()), 1000), -1000)); // Saturated sums have no order.
        case 1: return integers.push_back(below(2) == 0 ? realLess(either(), real()) : realEqual(either(), real()));
        case 2: return integers.push_back(below(2) == 0 ? realIsNan(real()) : realIsInfinite(real()));
        case 3: return integers.push_back(min(integer(), 50) + max(integer(), 2));
        case 4: return reals.push_back(realSelect(realLess(real(), either()), either(), real()));
        case 5: return reals.push_back(roundedTo(below(2) == 0 ? DType::kFLOAT : DType::kHALF, either()));
        default: return reals.push_back(realOp(static_cast<RealOp>(below(kRealOps)), either(), either()));
        }
    }

    std::mt19937 mRandom;
};

struct Compiled
{
    Compiled(RandomExpressions& all, int32_t count)
    {
        std::vector<int32_t> registersOfSymbols;
        for (int32_t id = 0; id < count; ++id)
        {
            registersOfSymbols.push_back(id);
            program.symbols.push_back(
                {all.symbols.at(id).isReal ? PlanSymbolKind::kInputValue : PlanSymbolKind::kInputExtent});
        }
        planner::ShapeProgram shapes{registersOfSymbols};
        integers = shapes.registersOf(all.integers);
        reals = shapes.realRegistersOf(all.reals);
        program.shapes = shapes.take();
        order = evaluationOrder(program);
    }

    std::vector<Span> run(std::vector<Span> const& of) const
    {
        std::vector<Span> registers(program.symbols.size() + program.shapes.size());
        std::copy(of.begin(), of.end(), registers.begin());
        std::vector<uint8_t> const known(program.symbols.size());
        evaluate(program, order, DataSymbols::kAnywhere, known, registers);
        return registers;
    }

    Program program;
    std::vector<int32_t> integers;
    std::vector<int32_t> reals;
    std::vector<int32_t> order;
};

RealSpan realAt(std::vector<Span> const& registers, int32_t at)
{
    Span const span = registers[static_cast<size_t>(at)];
    return {fromRealBits(span.lo), fromRealBits(span.hi)};
}

TEST(RealValues, D2_intervalsHoldTheValuesOfAllPoints)
{
    int64_t narrow{0}; // Intervals that say something.
    int64_t checked{0};
    for (uint32_t seed = 1; seed <= 400; ++seed)
    {
        RandomExpressions all{seed};
        Compiled const compiled{all, all.symbols.size()};
        std::vector<Span> bounds;
        for (int32_t id = 0; id < all.symbols.size(); ++id)
        {
            auto const [min, max] = all.symbols.at(id).range;
            bounds.push_back(all.symbols.at(id).isReal
                    ? Span{realBits(static_cast<double>(min)), realBits(static_cast<double>(max))}
                    : Span{min, max});
        }
        std::vector<Span> const intervals = compiled.run(bounds);
        for (int32_t round = 0; round < 20; ++round)
        {
            std::vector<int64_t> const values = all.point();
            std::vector<Span> exact;
            for (int64_t const value : values)
                exact.push_back({value, value});
            std::vector<Span> const at = compiled.run(exact);
            for (size_t i = 0; i < all.reals.size(); ++i)
            {
                RealSpan const here = realAt(at, compiled.reals[i]);
                RealSpan const within = realAt(intervals, compiled.reals[i]);
                ASSERT_TRUE(here.isKnown()) << seed << ": " << all.reals[i].show();
                ASSERT_TRUE(within.contains(here.lo)) << seed << ": " << here.lo << " outside [" << within.lo << ", "
                                                      << within.hi << "] of " << all.reals[i].show();
                int64_t const wanted = all.reals[i].evaluate(values);
                bool const real = isReal(all.reals[i]);
                ASSERT_EQ(realBits(here.lo), real ? wanted : realBits(static_cast<double>(wanted)))
                    << seed << ": " << all.reals[i].show();
                narrow += !within.mayBeNan() && within.hi < kInfinity ? 1 : 0;
                ++checked;
            }
            for (size_t i = 0; i < all.integers.size(); ++i)
            {
                Span const here = at[static_cast<size_t>(compiled.integers[i])];
                Span const within = intervals[static_cast<size_t>(compiled.integers[i])];
                Range const range = all.integers[i].range(all.symbols);
                ASSERT_TRUE(here.isKnown()) << seed << ": " << all.integers[i].show();
                ASSERT_EQ(here.lo, all.integers[i].evaluate(values)) << seed << ": " << all.integers[i].show();
                ASSERT_TRUE(here.lo >= within.lo && here.lo <= within.hi) << seed << ": " << all.integers[i].show();
                ASSERT_TRUE(here.lo >= range.min && here.lo <= range.max) << seed << ": " << all.integers[i].show();
            }
        }
    }
    EXPECT_GT(narrow * 3, checked) << "most intervals say nothing";
}

TEST(RealValues, D2_truncationGoesTowardsZeroAndMakesNoExtentOfWhatIsNoNumber)
{
    EXPECT_EQ(truncated(2.9), 2);
    EXPECT_EQ(truncated(-2.9), -2);
    EXPECT_EQ(truncated(0x1p63), INT64_MAX);
    EXPECT_EQ(truncated(kInfinity), INT64_MAX);
    EXPECT_EQ(truncated(-kInfinity), INT64_MIN);
    EXPECT_EQ(truncated(std::nan("")), INT64_MIN);
    WholeSpan const any = truncated(apply(RealOp::kDiv, {1.0, 2.0}, {0.0, 4.0}));
    EXPECT_EQ(any.lo, INT64_MIN);
    EXPECT_EQ(any.hi, INT64_MAX);
}

TEST(RealValues, D2_eachOperationRoundsAsItsTensorDoes)
{
    auto const evaluated = [](ShapeExpr const& value) {
        return fromRealBits(value.evaluate(std::vector{realBits(static_cast<double>(0.3F))}));
    };
    ShapeExpr const x = realSymbol(0);
    ShapeExpr const third = realConstant(static_cast<double>(0.1F));
    EXPECT_EQ(evaluated(roundedTo(DType::kFLOAT, realOp(RealOp::kMul, x, third))), static_cast<double>(0.3F * 0.1F));
    EXPECT_EQ(evaluated(roundedTo(DType::kFLOAT, realOp(RealOp::kDiv, x, third))), static_cast<double>(0.3F / 0.1F));
    EXPECT_EQ(evaluated(roundedTo(DType::kFLOAT, realOp(RealOp::kAdd, x, third))), static_cast<double>(0.3F + 0.1F));
    EXPECT_EQ(evaluated(roundedTo(DType::kFLOAT, realOp(RealOp::kSqrt, x))), static_cast<double>(std::sqrt(0.3F)));
}

} // namespace
} // namespace tenon
