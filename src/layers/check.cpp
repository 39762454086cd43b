// Check: the rules and their messages.
#include "layers/check.h"

#include <algorithm>
#include <bit>

namespace tenon
{

namespace
{
constexpr std::string_view kUnknown{"?"}; // The name where inference has none: who called knows it.

std::string whoIs(Inputs const& in, std::string_view kind)
{
    return in.layerName() == kUnknown ? std::string{kind} : fmt::format("layer '{}' ({})", in.layerName(), kind);
}
} // namespace

Error layerError(Inputs const& in, std::string_view kind, std::string const& why)
{
    return badConfig("{}: {}", whoIs(in, kind), why);
}

Error inputError(Inputs const& in, std::string_view kind, int32_t i, std::string const& why)
{
    if (i < 0 || i >= in.size() || in[i].name == kUnknown)
        return badConfig("{}, input {}: {}", whoIs(in, kind), i, why);
    return badConfig("{}, input {} '{}': {}", whoIs(in, kind), i, in[i].name, why);
}

Result<Shape> broadcastInputs(Inputs const& in, std::string_view kind, Shape const& a, int32_t other)
{
    Result<Shape> shape = broadcastShapes(a, in.type(other).shape, in.symbols());
    if (!shape)
        return inputError(in, kind, other, shape.error().message);
    return shape;
}

void Check::fail(int32_t input, std::string const& why)
{
    mError = input < 0 ? layerError(mIn, mKind, why) : inputError(mIn, mKind, input, why);
}

Check& Check::count(int32_t least, int32_t most)
{
    if (mIn.size() > most)
        return that(false, "has {} inputs, takes at most {}", mIn.size(), most);
    for (int32_t i = 0; i < least; ++i)
        input(i, mIn.has(i), "is missing");
    return *this;
}

Check& Check::types(int32_t i, std::initializer_list<DType> allowed)
{
    if (skips(i) || std::find(allowed.begin(), allowed.end(), mIn.type(i).dtype) != allowed.end())
        return *this;
    std::string list;
    for (DType const type : allowed)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", nameOf(type));
    return input(
        i, false, "has type {}, must have {}{}", nameOf(mIn.type(i).dtype), allowed.size() > 1 ? "one of " : "", list);
}

Check& Check::sameType(int32_t i, int32_t as)
{
    if (skips(i) || skips(as))
        return *this;
    return input(i, mIn.type(i).dtype == mIn.type(as).dtype, "has type {}, input {} '{}' has {}; they must be equal",
        nameOf(mIn.type(i).dtype), as, mIn[as].name, nameOf(mIn.type(as).dtype));
}

Check& Check::rank(int32_t i, int32_t least, int32_t most)
{
    if (skips(i))
        return *this;
    int32_t const rank = mIn.type(i).rank();
    if (least == most)
        return input(i, rank == least, "has rank {}, must have {}", rank, least);
    return input(i, rank >= least && rank <= most, "has rank {}, must have {} to {}", rank, least, most);
}

Check& Check::sameRank(int32_t i, int32_t as)
{
    if (skips(i) || skips(as))
        return *this;
    return input(i, mIn.type(i).rank() == mIn.type(as).rank(), "has rank {}, input {} '{}' has {}; they must be equal",
        mIn.type(i).rank(), as, mIn[as].name, mIn.type(as).rank());
}

Check& Check::broadcastsTo(int32_t i, Shape const& shape)
{
    if (skips(i))
        return *this;
    Shape const& mine = mIn.type(i).shape;
    input(i, mine.size() == shape.size(), "has shape {}, which does not broadcast to {}", show(mine), show(shape));
    for (size_t axis = 0; !mError && axis < mine.size(); ++axis)
    {
        bool const differs = mine[axis].isConstant() && shape[axis].isConstant() && !(mine[axis] == shape[axis]);
        input(i, !differs || mine[axis] == ShapeExpr{1}, "has shape {}, which does not broadcast to {}", show(mine),
            show(shape));
    }
    return *this;
}

Check& Check::extent(int32_t i, int32_t axis, ShapeExpr const& expected)
{
    if (skips(i))
        return *this;
    ShapeExpr const& mine = mIn.type(i).shape.at(static_cast<size_t>(axis));
    bool const differs = mine.isConstant() && expected.isConstant() && !(mine == expected);
    return input(i, !differs, "has extent {} on axis {}, must have {}", mine.show(), axis, expected.show());
}

Check& Check::within(int32_t i, int32_t of, int32_t axis)
{
    if (skips(i) || skips(of))
        return *this;
    ShapeExpr const& mine = mIn.type(i).shape[static_cast<size_t>(axis)];
    ShapeExpr const beyond = mine - mIn.type(of).shape[static_cast<size_t>(axis)];
    return input(i, !beyond.isConstant() || *beyond.constant() <= 0, "has extent {} on axis {}, more than input {}",
        mine.show(), axis, of);
}

Check& Check::axis(int32_t i, int32_t axis)
{
    if (skips(i))
        return *this;
    return input(i, axis >= 0 && axis < mIn.type(i).rank(), "has rank {}, so that there is no axis {}",
        mIn.type(i).rank(), axis);
}

Check& Check::axes(int32_t i, uint32_t mask, bool exactlyOne)
{
    if (skips(i))
        return *this;
    that(mask != 0, "no axis is given");
    that(!exactlyOne || std::popcount(mask) == 1, "axes {:#x} must have exactly one bit", mask);
    int32_t const rank = mIn.type(i).rank();
    int32_t const needed = static_cast<int32_t>(std::bit_width(mask));
    return input(i, needed <= rank, "has rank {}, so that axes {:#x} name one too many", rank, mask);
}

Check& Check::fields(Result<Done> verified)
{
    if (!mError && !verified)
        fail(-1, verified.error().message);
    return *this;
}

Result<Done> Check::done() const
{
    if (mError)
        return *mError;
    return Done{};
}

Result<TensorType> Check::sameAs(int32_t i) const
{
    if (mError)
        return *mError;
    return mIn.type(i);
}

} // namespace tenon
