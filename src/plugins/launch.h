// Launch: numbers that follow from the extents of a plugin's inputs (grid, block, arguments of a compiled kernel), in a
// form that a plan stores and a run evaluates.
#pragma once

#include "base/fields.h"
#include "base/integer_op.h"
#include "ir/type.h"

namespace tenon::plugins
{

enum class LaunchOp : uint8_t
{
    kConstant, //!< a.
    kExtent,   //!< Of input a along axis b.
    // As IntegerOp.
    kAdd,
    kMul,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kEqual,
    kLess,
};
constexpr LaunchOp launchOp(IntegerOp op) noexcept
{
    return static_cast<LaunchOp>(static_cast<uint8_t>(LaunchOp::kAdd) + static_cast<uint8_t>(op));
}
//! Of an operation from kAdd to kLess.
constexpr IntegerOp integerOp(LaunchOp op) noexcept
{
    return static_cast<IntegerOp>(static_cast<uint8_t>(op) - static_cast<uint8_t>(LaunchOp::kAdd));
}
static_assert(launchOp(IntegerOp::kFloorDiv) == LaunchOp::kFloorDiv);
static_assert(launchOp(IntegerOp::kLess) == LaunchOp::kLess);

//! Computes a number from constants, extents, or the numbers of earlier instructions a and b.
struct LaunchInstruction
{
    LaunchOp op{LaunchOp::kConstant};
    int64_t a{0};
    int64_t b{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Op", &LaunchInstruction::op), field(2, "A", &LaunchInstruction::a),
            field(3, "B", &LaunchInstruction::b)};
    }
};

struct LaunchProgram
{
    std::vector<LaunchInstruction> instructions;
    std::vector<int32_t> results; //!< Instructions whose numbers are asked for.

    static constexpr auto fields()
    {
        return std::tuple{
            field(1, "Instructions", &LaunchProgram::instructions), field(2, "Results", &LaunchProgram::results)};
    }
};

//! Extents of inputs as symbols of their own: equal extents are one symbol, constant ones stay constants.
class LaunchSymbols
{
  public:
    explicit LaunchSymbols(std::span<Shape const> inputs);

    std::vector<Shape> const& shapes() const noexcept
    {
        return mShapes;
    }
    //! A program of numbers in terms of these symbols; an error when one depends on something else.
    Result<LaunchProgram> compile(std::span<ShapeExpr const> numbers) const;

  private:
    std::vector<Shape> mShapes;
    std::vector<std::pair<int32_t, int32_t>> mPlaces; //!< Input and axis of each symbol.
};

//! Extents that are asked for exist, and instructions read earlier ones. For programs from a plan.
Result<Done> checkLaunch(LaunchProgram const& program, std::span<int32_t const> inputRanks);
std::vector<int64_t> evaluate(LaunchProgram const& program, std::span<std::span<int64_t const> const> inputExtents);

} // namespace tenon::plugins
