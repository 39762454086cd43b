// evaluate: the value of an expression, node by node over whole tensors, in double and 64-bit integers.
#include "ir/evaluate.h"

#include "base/cancellation.h"
#include "ir/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tenon
{

namespace
{
//! Value of one node. Numbers are doubles when `real`, else integers; they belong to an input or to the slot.
struct Slot
{
    bool real{true};
    std::vector<int64_t> extents;
    double const* reals{nullptr};
    int64_t const* integers{nullptr};
    std::vector<double> ownReals;
    std::vector<int64_t> ownIntegers;

    int64_t count() const noexcept
    {
        return volumeOf(extents);
    }
    template <typename T>
    T const* data() const noexcept
    {
        if constexpr (std::is_same_v<T, double>)
            return reals;
        else
            return integers;
    }
    template <typename T>
    T* make(std::vector<int64_t> const& extentsOfSlot)
    {
        extents = extentsOfSlot;
        real = std::is_same_v<T, double>;
        auto const size = static_cast<size_t>(count());
        if constexpr (std::is_same_v<T, double>)
        {
            ownReals.resize(size);
            reals = ownReals.data();
            return ownReals.data();
        }
        else
        {
            ownIntegers.resize(size);
            integers = ownIntegers.data();
            return ownIntegers.data();
        }
    }
};

int64_t toInteger(double value)
{
    return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -0x1p63, 0x1.fffffffffffffp62));
}

//! The slot itself, or a copy of it in the other kind of number: constants take the type of what they meet.
Slot const& asKind(Slot const& slot, bool real, Slot& copy)
{
    if (slot.real == real)
        return slot;
    if (real)
        std::transform(slot.integers, slot.integers + slot.count(), copy.make<double>(slot.extents),
            [](int64_t x) { return static_cast<double>(x); });
    else
        std::transform(slot.reals, slot.reals + slot.count(), copy.make<int64_t>(slot.extents), toInteger);
    return copy;
}

//! Elements to step per axis of `extents`; 0 along extents of 1 and for rank 0.
std::vector<int64_t> broadcastStrides(Slot const& slot, std::vector<int64_t> const& extents)
{
    std::vector<int64_t> strides = stridesOf(slot.extents);
    for (size_t axis = 0; axis < strides.size(); ++axis)
        if (slot.extents[axis] == 1)
            strides[axis] = 0;
    strides.resize(extents.size(), 0);
    return strides;
}

//! Calls row(start, offsets, steps) for each innermost row of the output: where each operand starts and how it steps.
template <size_t N, typename Row>
void forEachRow(std::vector<int64_t> const& extents, std::array<Slot const*, N> const& operands, Row&& row)
{
    std::array<int64_t, N> offsets{};
    std::array<int64_t, N> steps{};
    if (volumeOf(extents) == 0)
        return;
    bool const flat = std::all_of(operands.begin(), operands.end(),
        [&](Slot const* slot) { return slot->count() == 1 || slot->extents == extents; });
    if (flat || extents.empty())
    {
        for (size_t i = 0; i < N; ++i)
            steps[i] = operands[i]->count() == 1 ? 0 : 1;
        row(0, volumeOf(extents), offsets, steps);
        return;
    }
    std::array<std::vector<int64_t>, N> strides;
    for (size_t i = 0; i < N; ++i)
    {
        strides[i] = broadcastStrides(*operands[i], extents);
        steps[i] = strides[i].back();
    }
    int64_t const width = extents.back();
    std::vector<int64_t> at(extents.size(), 0);
    for (int64_t start = 0; start < volumeOf(extents); start += width)
    {
        row(start, width, offsets, steps);
        for (size_t axis = extents.size() - 1; axis-- > 0;)
        {
            ++at[axis];
            for (size_t i = 0; i < N; ++i)
                offsets[i] += strides[i][axis];
            if (at[axis] < extents[axis])
                break;
            for (size_t i = 0; i < N; ++i)
                offsets[i] -= strides[i][axis] * extents[axis];
            at[axis] = 0;
        }
    }
}

template <typename Out, typename In, typename F>
void mapUnary(Slot& out, Slot const& a, F f)
{
    In const* from = a.data<In>();
    Out* to = out.make<Out>(a.extents);
    std::transform(from, from + a.count(), to, f);
}

template <typename Out, typename In, typename F>
void mapBinary(Slot& out, std::vector<int64_t> const& extents, Slot const& a, Slot const& b, F f)
{
    In const* left = a.data<In>();
    In const* right = b.data<In>();
    Out* to = out.make<Out>(extents);
    forEachRow<2>(extents, {&a, &b}, [&](int64_t start, int64_t width, auto const& offset, auto const& step) {
        for (int64_t j = 0; j < width; ++j)
            to[start + j] = f(left[offset[0] + j * step[0]], right[offset[1] + j * step[1]]);
    });
}

template <typename T>
void mapSelect(Slot& out, std::vector<int64_t> const& extents, Slot const& c, Slot const& a, Slot const& b)
{
    T* to = out.make<T>(extents);
    forEachRow<3>(extents, {&c, &a, &b}, [&](int64_t start, int64_t width, auto const& offset, auto const& step) {
        for (int64_t j = 0; j < width; ++j)
            to[start + j] = c.integers[offset[0] + j * step[0]] != 0 ? a.data<T>()[offset[1] + j * step[1]]
                                                                     : b.data<T>()[offset[2] + j * step[2]];
    });
}

void unaryReal(ExprOp op, Slot& out, Slot const& a)
{
    switch (op)
    {
#define TENON_FUNCTION(number, Name, name, work, ...)                                                                  \
    case ExprOp::k##Name: return mapUnary<double, double>(out, a, [](double x) { return __VA_ARGS__; });
        TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
    case ExprOp::kIsNan: return mapUnary<int64_t, double>(out, a, [](double x) { return std::isnan(x) ? 1 : 0; });
    case ExprOp::kIsInf: return mapUnary<int64_t, double>(out, a, [](double x) { return std::isinf(x) ? 1 : 0; });
    default: return mapUnary<double, double>(out, a, [](double x) { return x == 0.0 ? 1.0 : 0.0; });
    }
}

//! Wraps for the least integer.
int64_t negative(int64_t x)
{
    return static_cast<int64_t>(-static_cast<uint64_t>(x));
}

void unaryInteger(ExprOp op, Slot& out, Slot const& a)
{
    switch (op)
    {
    case ExprOp::kNeg: return mapUnary<int64_t, int64_t>(out, a, negative);
    case ExprOp::kAbs: return mapUnary<int64_t, int64_t>(out, a, [](int64_t x) { return x < 0 ? negative(x) : x; });
    case ExprOp::kSign:
        return mapUnary<int64_t, int64_t>(out, a, [](int64_t x) { return static_cast<int64_t>((x > 0) - (x < 0)); });
    case ExprOp::kNot: return mapUnary<int64_t, int64_t>(out, a, [](int64_t x) { return x == 0 ? 1 : 0; });
    case ExprOp::kIsNan:
    case ExprOp::kIsInf: return mapUnary<int64_t, int64_t>(out, a, [](int64_t) { return 0; });
    case ExprOp::kCeil:
    case ExprOp::kFloor:
    case ExprOp::kRound: return mapUnary<int64_t, int64_t>(out, a, [](int64_t x) { return x; });
    default: break;
    }
    Slot copy;
    Slot result;
    unaryReal(op, result, asKind(a, true, copy));
    mapUnary<int64_t, double>(out, result, toInteger);
}

//! NaN in either operand wins.
double minimum(double a, double b)
{
    return b < a || std::isnan(b) ? b : a;
}

double maximum(double a, double b)
{
    return b > a || std::isnan(b) ? b : a;
}

using Extents = std::vector<int64_t>;

void binaryReal(ExprOp op, Slot& out, Extents const& e, Slot const& a, Slot const& b)
{
    using D = double;
    switch (op)
    {
    case ExprOp::kAdd: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x + y; });
    case ExprOp::kSub: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x - y; });
    case ExprOp::kMul: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x * y; });
    case ExprOp::kDiv: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x / y; });
    case ExprOp::kFloorDiv: // Of the quotient that floats have: one that rounds up to a whole number is that number.
        return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return std::floor(static_cast<float>(x / y)); });
    case ExprOp::kPow: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return std::pow(x, y); });
    case ExprOp::kMin: return mapBinary<D, D>(out, e, a, b, minimum);
    case ExprOp::kMax: return mapBinary<D, D>(out, e, a, b, maximum);
    case ExprOp::kEqual: return mapBinary<int64_t, D>(out, e, a, b, [](D x, D y) { return x == y ? 1 : 0; });
    case ExprOp::kLess: return mapBinary<int64_t, D>(out, e, a, b, [](D x, D y) { return x < y ? 1 : 0; });
    case ExprOp::kGreater: return mapBinary<int64_t, D>(out, e, a, b, [](D x, D y) { return x > y ? 1 : 0; });
    case ExprOp::kAnd: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x != 0 && y != 0 ? 1.0 : 0.0; });
    case ExprOp::kOr: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return x != 0 || y != 0 ? 1.0 : 0.0; });
    default: return mapBinary<D, D>(out, e, a, b, [](D x, D y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; });
    }
}

int64_t divide(int64_t a, int64_t b)
{
    if (b == 0)
        return 0; // Undefined; the reference must not crash.
    return b == -1 ? negative(a) : a / b;
}

int64_t floorDivide(int64_t a, int64_t b)
{
    int64_t const quotient = divide(a, b);
    bool const exact = b == 0 || b == -1 || a % b == 0;
    return exact || (a < 0) == (b < 0) ? quotient : quotient - 1;
}

int64_t power(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    uint64_t result{1};
    for (auto factor = static_cast<uint64_t>(base); exponent != 0; exponent >>= 1, factor *= factor)
        if ((exponent & 1) != 0)
            result *= factor;
    return static_cast<int64_t>(result);
}

//! Wraps on overflow.
template <typename F>
auto wrapping(F f)
{
    return [f](int64_t x, int64_t y) {
        return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    };
}

void binaryInteger(ExprOp op, Slot& out, Extents const& e, Slot const& a, Slot const& b)
{
    using I = int64_t;
    auto const run = [&](auto f) { mapBinary<I, I>(out, e, a, b, f); };
    switch (op)
    {
    case ExprOp::kAdd: return run(wrapping([](uint64_t x, uint64_t y) { return x + y; }));
    case ExprOp::kSub: return run(wrapping([](uint64_t x, uint64_t y) { return x - y; }));
    case ExprOp::kMul: return run(wrapping([](uint64_t x, uint64_t y) { return x * y; }));
    case ExprOp::kDiv: return run(divide);
    case ExprOp::kFloorDiv: return run(floorDivide);
    case ExprOp::kPow: return run(power);
    case ExprOp::kMin: return run([](I x, I y) { return std::min(x, y); });
    case ExprOp::kMax: return run([](I x, I y) { return std::max(x, y); });
    case ExprOp::kEqual: return run([](I x, I y) -> I { return x == y; });
    case ExprOp::kLess: return run([](I x, I y) -> I { return x < y; });
    case ExprOp::kGreater: return run([](I x, I y) -> I { return x > y; });
    case ExprOp::kAnd: return run([](I x, I y) -> I { return x & y; });
    case ExprOp::kOr: return run([](I x, I y) -> I { return x | y; });
    default: return run([](I x, I y) -> I { return x ^ y; });
    }
}

template <typename T>
T startOf(ExprOp op)
{
    using Limits = std::numeric_limits<T>;
    switch (op)
    {
    case ExprOp::kProdOver: return T{1};
    case ExprOp::kMaxOver: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ExprOp::kMinOver: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return T{0};
    }
}

template <typename T>
T combine(ExprOp op, T a, T b)
{
    switch (op)
    {
    case ExprOp::kProdOver: return a * b;
    case ExprOp::kMaxOver:
        if constexpr (std::is_same_v<T, double>)
            return maximum(a, b);
        else
            return std::max(a, b);
    case ExprOp::kMinOver:
        if constexpr (std::is_same_v<T, double>)
            return minimum(a, b);
        else
            return std::min(a, b);
    default: return a + b;
    }
}

template <typename T>
void reduceSlot(ExprNode const& node, Slot& out, Slot const& a)
{
    Extents extents = a.extents;
    for (size_t axis = 0; axis < extents.size(); ++axis)
        if ((node.axes >> axis & 1U) != 0)
            extents[axis] = 1;
    T* to = out.make<T>(extents);
    std::fill(to, to + out.count(), startOf<T>(node.op));
    // The result is broadcast to the operand's shape: each element joins the one that it would be read with.
    forEachRow<1>(a.extents, {&out}, [&](int64_t start, int64_t width, auto const& offset, auto const& step) {
        for (int64_t j = 0; j < width; ++j)
            to[offset[0] + j * step[0]] = combine(node.op, to[offset[0] + j * step[0]], a.data<T>()[start + j]);
    });
    if (node.op != ExprOp::kMeanOver || out.count() == 0)
        return;
    auto const size = a.count() / out.count();
    for (int64_t i = 0; i < out.count(); ++i)
        if constexpr (std::is_same_v<T, double>)
            to[i] /= static_cast<double>(size);
        else
            to[i] = divide(to[i], size);
}

class Evaluation
{
  public:
    Evaluation(Expr const& expr, HostTensors const& in, std::vector<TensorType> const& types)
        : mExpr{expr},
          mIn{in},
          mTypes{types},
          mSlots(expr.nodes.size())
    {
    }

    HostTensor run()
    {
        for (size_t i = 0; i < mExpr.nodes.size(); ++i)
        {
            cancellationPoint();
            compute(i);
            mWeak.push_back(isWeak(mExpr.nodes[i], mTypes[i].dtype));
        }
        Slot copy;
        TensorType const& type = mTypes.back();
        Slot const& last = asKind(mSlots.back(), isFloating(type.dtype), copy);
        HostTensor result{type.dtype, last.extents};
        for (int64_t i = 0; i < result.count(); ++i)
            if (last.real)
                result.set(i, last.reals[i]);
            else
                result.setInteger(i, last.integers[i]);
        return result;
    }

  private:
    Slot const& operand(int32_t node, bool real, Slot& copy) const
    {
        return asKind(mSlots[static_cast<size_t>(node)], real, copy);
    }

    void compute(size_t i)
    {
        ExprNode const& node = mExpr.nodes[i];
        Slot& out = mSlots[i];
        switch (operandCount(node.op))
        {
        case 0: computeLeaf(node, out); break;
        case 1: computeUnary(node, out); break;
        case 2: computeBinary(node, i, out); break;
        default: computeSelect(node, i, out); break;
        }
    }

    void computeLeaf(ExprNode const& node, Slot& out)
    {
        if (node.op == ExprOp::kConstant)
        {
            *out.make<double>({}) = node.value;
            return;
        }
        HostTensor const& tensor = *mIn[static_cast<size_t>(node.index)];
        out.real = tensor.isReal();
        out.extents = tensor.extents;
        out.reals = tensor.reals.data();
        out.integers = tensor.integers.data();
    }

    void computeUnary(ExprNode const& node, Slot& out)
    {
        Slot copy;
        auto const& a = mSlots[static_cast<size_t>(node.a)];
        if (node.op == ExprOp::kCast)
            return castSlot(node, a, out);
        if (isReduction(node.op))
            return a.real ? reduceSlot<double>(node, out, a) : reduceSlot<int64_t>(node, out, a);
        if (node.op == ExprOp::kNot || !isFloating(mTypes[static_cast<size_t>(node.a)].dtype))
            return unaryInteger(node.op, out, operand(node.a, false, copy));
        unaryReal(node.op, out, operand(node.a, true, copy));
    }

    //! Numbers take the width of the type here, since what follows sees them; all others are rounded at the result.
    void castSlot(ExprNode const& node, Slot const& a, Slot& out)
    {
        if (isFloating(node.dtype))
        {
            Slot copy;
            HostTensor narrow{node.dtype, {1}};
            mapUnary<double, double>(out, asKind(a, true, copy), [&](double x) {
                narrow.set(0, x);
                return narrow.reals[0];
            });
            return;
        }
        if (node.dtype == DType::kBOOL && a.real)
            return mapUnary<int64_t, double>(out, a, [](double x) { return x != 0.0 ? 1 : 0; });
        Slot copy;
        mapUnary<int64_t, int64_t>(out, asKind(a, false, copy), [](int64_t x) { return x; });
        HostTensor narrow{node.dtype, {1}};
        for (int64_t& value : out.ownIntegers)
        {
            narrow.setInteger(0, value);
            value = narrow.integers[0];
        }
    }

    //! Constants bend to the other operand: the first one that is not made of constants alone tells the kind.
    bool operandsAreReal(ExprNode const& node) const
    {
        auto const a = static_cast<size_t>(node.a);
        auto const b = static_cast<size_t>(node.b);
        return isFloating(mWeak[a] && !mWeak[b] ? mTypes[b].dtype : mTypes[a].dtype);
    }

    bool isWeak(ExprNode const& node, DType type) const
    {
        if (node.op == ExprOp::kInput || node.op == ExprOp::kConstant)
            return node.op == ExprOp::kConstant;
        bool weak = node.op != ExprOp::kCast && type != DType::kBOOL;
        for (int32_t const operand : {node.a, node.b, node.c})
            weak = weak && (operand < 0 || mWeak[static_cast<size_t>(operand)]);
        return weak;
    }

    void computeBinary(ExprNode const& node, size_t i, Slot& out)
    {
        Slot copyA;
        Slot copyB;
        bool const real = operandsAreReal(node);
        Extents const extents = *staticExtents(mTypes[i].shape);
        Slot const& a = operand(node.a, real, copyA);
        Slot const& b = operand(node.b, real, copyB);
        real ? binaryReal(node.op, out, extents, a, b) : binaryInteger(node.op, out, extents, a, b);
    }

    void computeSelect(ExprNode const& node, size_t i, Slot& out)
    {
        Slot copyA;
        Slot copyB;
        bool const real = isFloating(mTypes[i].dtype);
        Extents const extents = *staticExtents(mTypes[i].shape);
        Slot const& c = mSlots[static_cast<size_t>(node.a)];
        Slot const& a = operand(node.b, real, copyA);
        Slot const& b = operand(node.c, real, copyB);
        real ? mapSelect<double>(out, extents, c, a, b) : mapSelect<int64_t>(out, extents, c, a, b);
    }

    Expr const& mExpr;
    HostTensors const& mIn;
    std::vector<TensorType> const& mTypes;
    std::vector<Slot> mSlots;
    std::vector<bool> mWeak; //!< Made of constants alone.
};
} // namespace

Result<HostTensor> evaluate(Expr const& expr, HostTensors const& in)
{
    std::vector<TensorType> inputs;
    inputs.reserve(in.size());
    ExprTypes views;
    for (HostTensor const* tensor : in)
    {
        inputs.push_back(tensor != nullptr ? TensorType{tensor->dtype, shapeOf(tensor->extents)} : TensorType{});
        views.push_back(tensor != nullptr ? &inputs.back() : nullptr);
    }
    std::vector<TensorType> const types = TENON_TRY(typesOf(expr, views));
    return Evaluation{expr, in, types}.run();
}

} // namespace tenon
