// Launch: sums of products as a list of instructions.
#include "plugins/launch.h"

#include "base/check.h"
#include "ir/shape_compiler.h"

#include <algorithm>
#include <map>

namespace tenon::plugins
{

namespace
{
constexpr size_t kMaxInstructions{1 << 16};

class Compiler : public ShapeCompiler<Compiler>
{
  public:
    explicit Compiler(std::span<std::pair<int32_t, int32_t> const> places)
        : mPlaces{places}
    {
    }
    std::vector<LaunchInstruction> take()
    {
        return std::move(mInstructions);
    }

  private:
    friend ShapeCompiler<Compiler>;
    int32_t constant(int64_t value)
    {
        return emit(LaunchOp::kConstant, value, 0);
    }
    int32_t integer(IntegerOp op, int32_t a, int32_t b)
    {
        return emit(launchOp(op), a, b);
    }
    int32_t other(ShapeExpr::Atom const& atom)
    {
        TENON_ENSURE(atom.op == ShapeOp::kSymbol, "no launch computes with real numbers");
        auto const& [input, axis] = mPlaces[static_cast<size_t>(atom.symbol)];
        return emit(LaunchOp::kExtent, input, axis);
    }
    int32_t emit(LaunchOp op, int64_t a, int64_t b)
    {
        auto const [at, isNew] = mKnown.try_emplace({op, a, b}, static_cast<int32_t>(mInstructions.size()));
        if (isNew)
            mInstructions.push_back({op, a, b});
        return at->second;
    }

    std::span<std::pair<int32_t, int32_t> const> mPlaces;
    std::vector<LaunchInstruction> mInstructions;
    std::map<std::tuple<LaunchOp, int64_t, int64_t>, int32_t> mKnown;
};
} // namespace

LaunchSymbols::LaunchSymbols(std::span<Shape const> inputs)
{
    std::map<ShapeExpr, int32_t> known;
    for (size_t input = 0; input < inputs.size(); ++input)
    {
        Shape own;
        for (size_t axis = 0; axis < inputs[input].size(); ++axis)
        {
            ShapeExpr const& extent = inputs[input][axis];
            if (extent.isConstant())
            {
                own.push_back(extent);
                continue;
            }
            auto const [at, isNew] = known.try_emplace(extent, static_cast<int32_t>(mPlaces.size()));
            if (isNew)
                mPlaces.emplace_back(static_cast<int32_t>(input), static_cast<int32_t>(axis));
            own.push_back(ShapeExpr::symbol(at->second));
        }
        mShapes.push_back(std::move(own));
    }
}

Result<LaunchProgram> LaunchSymbols::compile(std::span<ShapeExpr const> numbers) const
{
    Compiler compiler{mPlaces};
    LaunchProgram program;
    for (ShapeExpr const& number : numbers)
    {
        std::vector<int32_t> const used = number.symbols();
        if (!used.empty() && static_cast<size_t>(used.back()) >= mPlaces.size())
            return badConfig(
                "number {} of its launch depends on a size that only running tells", program.results.size());
        program.results.push_back(compiler.numberOf(number));
    }
    program.instructions = compiler.take();
    return program;
}

Result<Done> checkLaunch(LaunchProgram const& program, std::span<int32_t const> inputRanks)
{
    auto const count = static_cast<int64_t>(program.instructions.size());
    bool fits = program.instructions.size() <= kMaxInstructions;
    for (int64_t i = 0; fits && i < count; ++i)
    {
        LaunchInstruction const& each = program.instructions[static_cast<size_t>(i)];
        if (each.op == LaunchOp::kConstant)
            continue;
        bool const isExtent = each.op == LaunchOp::kExtent;
        int64_t const maxA = isExtent ? static_cast<int64_t>(inputRanks.size()) : i;
        fits = each.op <= LaunchOp::kLess && each.a >= 0 && each.a < maxA && each.b >= 0
            && each.b < (isExtent ? int64_t{inputRanks[static_cast<size_t>(each.a)]} : i);
    }
    for (int32_t const result : program.results)
        fits = fits && result >= 0 && result < count;
    return fits ? Result<Done>{Done{}} : badArgument("the launch of a compiled kernel is stored with wrong numbers");
}

std::vector<int64_t> evaluate(LaunchProgram const& program, std::span<std::span<int64_t const> const> inputExtents)
{
    std::vector<int64_t> numbers;
    numbers.reserve(program.instructions.size());
    for (LaunchInstruction const& each : program.instructions)
    {
        if (each.op == LaunchOp::kConstant)
            numbers.push_back(each.a);
        else if (each.op == LaunchOp::kExtent)
            numbers.push_back(inputExtents[static_cast<size_t>(each.a)][static_cast<size_t>(each.b)]);
        else
            numbers.push_back(
                apply(integerOp(each.op), numbers[static_cast<size_t>(each.a)], numbers[static_cast<size_t>(each.b)]));
    }
    std::vector<int64_t> results;
    for (int32_t const result : program.results)
        results.push_back(numbers[static_cast<size_t>(result)]);
    return results;
}

} // namespace tenon::plugins
