// The tape machine: each step runs over a row of elements in the nearest cache before the next one starts.
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_functions.h"
#include "backends/cpu/simd_storage.h"
#include "backends/cpu/tape_run.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
using F = float* __restrict;
using I = int64_t* __restrict;
using T = int32_t* __restrict;

TENON_INLINE int64_t padded(int64_t n)
{
    return (n + kLanes - 1) / kLanes * kLanes;
}

//! Rows of our own are whole vectors long; operands and the output may end inside of one.
template <typename From, typename Apply>
TENON_INLINE void map1(From const* a, float* to, int64_t n, Apply const& apply)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, apply(load(a + i)));
    if (i < n)
        store(to + i, apply(load(a + i, firstLanes(n - i))), firstLanes(n - i));
}

template <typename Apply>
TENON_INLINE void map2(float const* a, float const* b, float* to, int64_t n, Apply const& apply)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, apply(load(a + i), load(b + i)));
    if (i < n)
    {
        Mask const m = firstLanes(n - i);
        store(to + i, apply(load(a + i, m), load(b + i, m)), m);
    }
}

template <typename Apply>
TENON_INLINE void binary(TapeStep const& step, float const* a, float const* b, float* to, int64_t n, Apply const& apply)
{
    if (step.b >= 0)
        return map2(a, b, to, n, apply);
    F16 const value = splat(static_cast<float>(step.value));
    map1(a, to, n, [&](F16 x) { return apply(x, value); });
}

template <typename Test>
TENON_INLINE void compareReal(
    TapeStep const& step, float const* a, float const* b, int32_t* to, int64_t n, Test const& test)
{
    if (step.b >= 0)
    {
        for (int64_t i = 0; i < n; ++i)
            to[i] = -static_cast<int32_t>(test(a[i], b[i]));
        return;
    }
    auto const value = static_cast<float>(step.value);
    for (int64_t i = 0; i < n; ++i)
        to[i] = -static_cast<int32_t>(test(a[i], value));
}

TENON_INLINE int64_t dividedBy(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? static_cast<int64_t>(0U - static_cast<uint64_t>(a)) : a / b;
}

TENON_INLINE int64_t flooredBy(int64_t a, int64_t b)
{
    int64_t const q = dividedBy(a, b);
    return b != 0 && b != -1 && a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

//! to[i] = apply(a[i], b[i]). Rows may be the operands' and the output's memory, which are one when a step works in
//! place.
template <typename From, typename To, typename Apply>
TENON_INLINE void mapWhole(From const* a, From const* b, To* to, int64_t n, Apply const& apply)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
        to[i] = apply(a[i], b[i]);
}

//! One function per loop: a choice inside of it would keep the compiler from vectors.
void runIntegers(ExprOp function, int64_t const* a, int64_t const* b, int64_t* to, int64_t n)
{
    auto const map = [&](auto const& apply) { mapWhole(a, b, to, n, apply); };
    auto const mapBits = [&](auto const& apply) {
        map([&](int64_t x, int64_t y) {
            return static_cast<int64_t>(apply(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
        });
    };
    switch (function)
    {
    case ExprOp::kNeg: return mapBits([](uint64_t x, uint64_t) { return 0U - x; });
    case ExprOp::kAbs: return mapBits([](uint64_t x, uint64_t) { return static_cast<int64_t>(x) < 0 ? 0U - x : x; });
    case ExprOp::kSign: return map([](int64_t x, int64_t) { return static_cast<int64_t>(x > 0) - (x < 0); });
    case ExprOp::kAdd: return mapBits([](uint64_t x, uint64_t y) { return x + y; });
    case ExprOp::kSub: return mapBits([](uint64_t x, uint64_t y) { return x - y; });
    case ExprOp::kMul: return mapBits([](uint64_t x, uint64_t y) { return x * y; });
    case ExprOp::kDiv: return map([](int64_t x, int64_t y) { return dividedBy(x, y); });
    case ExprOp::kFloorDiv: return map([](int64_t x, int64_t y) { return flooredBy(x, y); });
    case ExprOp::kMin: return map([](int64_t x, int64_t y) { return x < y ? x : y; });
    case ExprOp::kMax: return map([](int64_t x, int64_t y) { return x > y ? x : y; });
    case ExprOp::kAnd: return map([](int64_t x, int64_t y) { return x & y; });
    case ExprOp::kOr: return map([](int64_t x, int64_t y) { return x | y; });
    default: return map([](int64_t x, int64_t y) { return x ^ y; });
    }
}

void compareIntegers(ExprOp function, int64_t const* a, int64_t const* b, int32_t* to, int64_t n)
{
    switch (function)
    {
    case ExprOp::kEqual: return mapWhole(a, b, to, n, [](int64_t x, int64_t y) { return -int32_t{x == y}; });
    case ExprOp::kLess: return mapWhole(a, b, to, n, [](int64_t x, int64_t y) { return -int32_t{x < y}; });
    default: return mapWhole(a, b, to, n, [](int64_t x, int64_t y) { return -int32_t{x > y}; });
    }
}

void narrow(DType type, int64_t const* a, int64_t* to, int64_t n)
{
    auto const map = [&](auto const& apply) {
        mapWhole(a, a, to, n, [&](int64_t x, int64_t) { return static_cast<int64_t>(apply(x)); });
    };
    switch (type)
    {
    case DType::kINT32: return map([](int64_t x) { return static_cast<int32_t>(x); });
    case DType::kINT8: return map([](int64_t x) { return static_cast<int8_t>(x); });
    case DType::kUINT8: return map([](int64_t x) { return static_cast<uint8_t>(x); });
    default: return map([](int64_t x) { return x; });
    }
}

template <typename T>
void roundAs(float const* a, float* to, int64_t n)
{
    alignas(64) T stored[kLanes];
    map1(a, to, n, [&](F16 x) {
        store(stored, x);
        return load(stored);
    });
}

void roundTo(DType type, float const* a, float* to, int64_t n)
{
    switch (type)
    {
    case DType::kHALF: return roundAs<Half>(a, to, n);
    case DType::kBF16: return roundAs<Bfloat>(a, to, n);
    default: return map1(a, to, n, [](F16 x) { return x; });
    }
}

//! Towards zero; what no 64-bit integer can hold goes to the nearest that one can, NaN to 0.
int64_t truncated(float x)
{
    if (x != x)
        return 0;
    return x >= 0x1p63F ? INT64_MAX : x <= -0x1p63F ? INT64_MIN : static_cast<int64_t>(x);
}

void runFunction(ExprOp function, float const* a, float* to, int64_t n)
{
    switch (function)
    {
#define TENON_FUNCTION(number, Name, name, ...)                                                                        \
    case ExprOp::k##Name: return map1(a, to, n, [](F16 x) { return name(x); });
        TENON_FUNCTIONS(TENON_FUNCTION)
#undef TENON_FUNCTION
    default: return; // No tape has another one there.
    }
}

//! The state of one lane: where each row is.
struct Rows
{
    void* at[kMaxTapeRows];

    float* real(int32_t row) const
    {
        return static_cast<float*>(at[row]);
    }
    int64_t* integer(int32_t row) const
    {
        return static_cast<int64_t*>(at[row]);
    }
    int32_t* truth(int32_t row) const
    {
        return static_cast<int32_t*>(at[row]);
    }
};

void runRealStep(TapeStep const& step, Rows const& rows, int64_t n)
{
    float const* const a = rows.real(step.a);
    float const* const b = step.b >= 0 ? rows.real(step.b) : nullptr;
    float* const to = rows.real(step.to);
    F16 const value = splat(static_cast<float>(step.value));
    switch (step.op)
    {
    case TapeOp::kFunction: runFunction(step.function, a, to, n); break;
    case TapeOp::kAdd: binary(step, a, b, to, n, [](F16 x, F16 y) { return x + y; }); break;
    case TapeOp::kSub: binary(step, a, b, to, n, [](F16 x, F16 y) { return x - y; }); break;
    case TapeOp::kReverseSub: map1(a, to, n, [&](F16 x) { return value - x; }); break;
    case TapeOp::kMul: binary(step, a, b, to, n, [](F16 x, F16 y) { return x * y; }); break;
    case TapeOp::kDiv: binary(step, a, b, to, n, [](F16 x, F16 y) { return x / y; }); break;
    case TapeOp::kReverseDiv: map1(a, to, n, [&](F16 x) { return value / x; }); break;
    case TapeOp::kMin: binary(step, a, b, to, n, [](F16 x, F16 y) { return minOrNan(x, y); }); break;
    case TapeOp::kMax: binary(step, a, b, to, n, [](F16 x, F16 y) { return maxOrNan(x, y); }); break;
    case TapeOp::kPow: binary(step, a, b, to, n, [](F16 x, F16 y) { return pow(x, y); }); break;
    case TapeOp::kFloorDiv: binary(step, a, b, to, n, [](F16 x, F16 y) { return floor(x / y); }); break;
    default: roundTo(step.type, a, to, n); break;
    }
}

void runMulAdd(TapeStep const& step, Rows const& rows, int64_t n)
{
    float const* const a = rows.real(step.a);
    float* const to = rows.real(step.to);
    F16 const value = splat(static_cast<float>(step.value));
    F16 const addend = splat(static_cast<float>(step.addend));
    if (step.b < 0 && step.c < 0)
        return map1(a, to, n, [&](F16 x) { return fma(x, value, addend); });
    if (step.c < 0)
        return map2(a, rows.real(step.b), to, n, [&](F16 x, F16 y) { return fma(x, y, addend); });
    if (step.b < 0)
        return map2(a, rows.real(step.c), to, n, [&](F16 x, F16 z) { return fma(x, value, z); });
    float const* const b = rows.real(step.b);
    float const* const c = rows.real(step.c);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, fma(load(a + i), load(b + i), load(c + i)));
    if (i < n)
    {
        Mask const m = firstLanes(n - i);
        store(to + i, fma(load(a + i, m), load(b + i, m), load(c + i, m)), m);
    }
}

template <typename Element>
TENON_INLINE void choose(int32_t const* truth, Element const* yes, Element const* no, Element* to, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = truth[i] != 0 ? yes[i] : no[i];
}

template <typename From, typename To, typename Convert>
TENON_INLINE void convert(From const* from, To* to, int64_t n, Convert const& apply)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = apply(from[i]);
}

void runTruthStep(TapeStep const& step, Rows const& rows, int64_t n)
{
    int32_t* const to = rows.truth(step.to);
    int32_t const* const a = rows.truth(step.a);
    int32_t const* const b = step.b >= 0 ? rows.truth(step.b) : a;
    for (int64_t i = 0; i < n; ++i)
        to[i] = step.op == TapeOp::kNot ? ~a[i]
            : step.op == TapeOp::kAnd   ? a[i] & b[i]
            : step.op == TapeOp::kOr    ? a[i] | b[i]
                                        : a[i] ^ b[i];
}

void runCompare(TapeStep const& step, Rows const& rows, int64_t n)
{
    float const* const a = rows.real(step.a);
    float const* const b = step.b >= 0 ? rows.real(step.b) : nullptr;
    int32_t* const to = rows.truth(step.to);
    switch (step.op)
    {
    case TapeOp::kIsNan: compareReal(step, a, b, to, n, [](float x, float) { return x != x; }); break;
    case TapeOp::kIsInf:
        compareReal(step, a, b, to, n, [](float x, float) { return __builtin_fabsf(x) == __builtin_inff(); });
        break;
    case TapeOp::kEqual: compareReal(step, a, b, to, n, [](float x, float y) { return x == y; }); break;
    case TapeOp::kLess: compareReal(step, a, b, to, n, [](float x, float y) { return x < y; }); break;
    default: compareReal(step, a, b, to, n, [](float x, float y) { return x > y; }); break;
    }
}

void runConversion(TapeStep const& step, Rows const& rows, int64_t n)
{
    switch (step.op)
    {
    case TapeOp::kRealToInteger: convert(rows.real(step.a), rows.integer(step.to), n, truncated); break;
    case TapeOp::kIntegerToReal:
        convert(rows.integer(step.a), rows.real(step.to), n, [](int64_t x) { return static_cast<float>(x); });
        break;
    case TapeOp::kRealToTruth:
        convert(rows.real(step.a), rows.truth(step.to), n, [](float x) { return -static_cast<int32_t>(x != 0.0F); });
        break;
    case TapeOp::kIntegerToTruth:
        convert(rows.integer(step.a), rows.truth(step.to), n, [](int64_t x) { return -static_cast<int32_t>(x != 0); });
        break;
    case TapeOp::kTruthToReal:
        convert(rows.truth(step.a), rows.real(step.to), n, [](int32_t x) { return x != 0 ? 1.0F : 0.0F; });
        break;
    case TapeOp::kTruthToInteger:
        convert(rows.truth(step.a), rows.integer(step.to), n, [](int32_t x) { return static_cast<int64_t>(x != 0); });
        break;
    case TapeOp::kFillReal:
        for (int64_t i = 0; i < n; ++i)
            rows.real(step.to)[i] = static_cast<float>(step.value);
        break;
    case TapeOp::kFillInteger:
        for (int64_t i = 0; i < n; ++i)
            rows.integer(step.to)[i] = static_cast<int64_t>(step.value);
        break;
    default:
        for (int64_t i = 0; i < n; ++i)
            rows.truth(step.to)[i] = -static_cast<int32_t>(step.value != 0.0);
        break;
    }
}

void runStep(TapeStep const& step, Rows const& rows, int64_t n)
{
    switch (step.op)
    {
    case TapeOp::kMulAdd: return runMulAdd(step, rows, n);
    case TapeOp::kIsNan:
    case TapeOp::kIsInf:
    case TapeOp::kEqual:
    case TapeOp::kLess:
    case TapeOp::kGreater: return runCompare(step, rows, n);
    case TapeOp::kNot:
    case TapeOp::kAnd:
    case TapeOp::kOr:
    case TapeOp::kXor: return runTruthStep(step, rows, n);
    case TapeOp::kSelectReal:
        return choose(rows.truth(step.c), rows.real(step.a), rows.real(step.b), rows.real(step.to), n);
    case TapeOp::kSelectInteger:
        return choose(rows.truth(step.c), rows.integer(step.a), rows.integer(step.b), rows.integer(step.to), n);
    case TapeOp::kSelectTruth:
        return choose(rows.truth(step.c), rows.truth(step.a), rows.truth(step.b), rows.truth(step.to), n);
    case TapeOp::kIntegerUnary:
    case TapeOp::kIntegerBinary:
        return runIntegers(
            step.function, rows.integer(step.a), rows.integer(step.b >= 0 ? step.b : step.a), rows.integer(step.to), n);
    case TapeOp::kIntegerCompare:
        return compareIntegers(step.function, rows.integer(step.a), rows.integer(step.b), rows.truth(step.to), n);
    case TapeOp::kNarrow: return narrow(step.type, rows.integer(step.a), rows.integer(step.to), n);
    case TapeOp::kRealToInteger:
    case TapeOp::kIntegerToReal:
    case TapeOp::kRealToTruth:
    case TapeOp::kIntegerToTruth:
    case TapeOp::kTruthToReal:
    case TapeOp::kTruthToInteger:
    case TapeOp::kFillReal:
    case TapeOp::kFillInteger:
    case TapeOp::kFillTruth: return runConversion(step, rows, n);
    default: return runRealStep(step, rows, n);
    }
}

//! Elements [offset + i · stride] of memory as elements of a row.
void readPiece(void const* data, DType type, int64_t offset, int64_t stride, void* row, int64_t at, int64_t n)
{
    auto const read = [&](auto const* from, auto* to, auto const& apply) {
        if (stride == 0)
        {
            auto const value = apply(from[offset]);
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = value;
        }
        else if (stride == 1)
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = apply(from[offset + i]);
        else
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = apply(from[offset + i * stride]);
    };
    auto* const real = static_cast<float*>(row);
    auto* const integer = static_cast<int64_t*>(row);
    auto const widen = [](auto x) { return static_cast<int64_t>(x); };
    auto const readReal = [&](auto const* from) {
        if (stride == 1)
            map1(from + offset, real + at, n, [](F16 x) { return x; });
        else
            read(from, real, [](auto x) { return toFloat(x); });
    };
    switch (type)
    {
    case DType::kFLOAT: readReal(static_cast<float const*>(data)); break;
    case DType::kHALF: readReal(static_cast<Half const*>(data)); break;
    case DType::kBF16: readReal(static_cast<Bfloat const*>(data)); break;
    case DType::kINT8: read(static_cast<int8_t const*>(data), integer, widen); break;
    case DType::kUINT8: read(static_cast<uint8_t const*>(data), integer, widen); break;
    case DType::kINT32: read(static_cast<int32_t const*>(data), integer, widen); break;
    case DType::kINT64: read(static_cast<int64_t const*>(data), integer, widen); break;
    default:
        read(static_cast<uint8_t const*>(data), static_cast<int32_t*>(row),
            [](uint8_t x) { return -static_cast<int32_t>(x != 0); });
        break;
    }
}

void writeRow(void const* row, DType type, void* out, int64_t at, int64_t n)
{
    auto const* const real = static_cast<float const*>(row);
    auto const* const integer = static_cast<int64_t const*>(row);
    switch (type)
    {
    case DType::kFLOAT: narrowRow(real, static_cast<float*>(out) + at, n); break;
    case DType::kHALF: narrowRow(real, static_cast<Half*>(out) + at, n); break;
    case DType::kBF16: narrowRow(real, static_cast<Bfloat*>(out) + at, n); break;
    case DType::kINT8:
        convert(integer, static_cast<int8_t*>(out) + at, n, [](int64_t x) { return static_cast<int8_t>(x); });
        break;
    case DType::kUINT8:
        convert(integer, static_cast<uint8_t*>(out) + at, n, [](int64_t x) { return static_cast<uint8_t>(x); });
        break;
    case DType::kINT32:
        convert(integer, static_cast<int32_t*>(out) + at, n, [](int64_t x) { return static_cast<int32_t>(x); });
        break;
    case DType::kINT64: convert(integer, static_cast<int64_t*>(out) + at, n, [](int64_t x) { return x; }); break;
    default:
        convert(static_cast<int32_t const*>(row), static_cast<uint8_t*>(out) + at, n,
            [](int32_t x) { return static_cast<uint8_t>(x != 0); });
        break;
    }
}

//! Fills a row with elements [position, position + n) of the output's order.
void readStrided(TapeRun const& run, TapeOperand const& operand, void* row, int64_t position, int64_t n)
{
    int32_t const inner = run.axes - 1;
    int64_t index[kMaxTapeAxes];
    int64_t rest = position;
    int64_t base{0};
    for (int32_t axis = inner; axis >= 0; --axis)
    {
        index[axis] = rest % run.extents[axis];
        rest /= run.extents[axis];
        if (axis < inner)
            base += index[axis] * operand.strides[axis];
    }
    int64_t const stride = operand.strides[inner];
    int64_t column = index[inner];
    for (int64_t at = 0; at < n;)
    {
        int64_t const left = run.extents[inner] - column;
        int64_t const count = left < n - at ? left : n - at;
        readPiece(operand.data, operand.type, base + column * stride, stride, row, at, count);
        at += count;
        column = 0;
        for (int32_t axis = inner - 1; axis >= 0; --axis)
        {
            base += operand.strides[axis];
            if (++index[axis] < run.extents[axis])
                break;
            base -= operand.strides[axis] * run.extents[axis];
            index[axis] = 0;
        }
    }
}

constexpr int64_t kRowBytes{kTapeLength * 8};
constexpr int64_t kPeriodBytes{(kLongestPeriod + kTapeLength) * 8};
constexpr int32_t kMaxPeriodic{4};

//! Bytes of an element of a row.
int64_t rowElement(DType type)
{
    return type == DType::kINT8 || type == DType::kUINT8 || type == DType::kINT32 || type == DType::kINT64 ? 8 : 4;
}

//! Memory of this type is a row as it is: operands are read, and the result written, where they lie.
bool isRowItself(DType type)
{
    return type == DType::kFLOAT || type == DType::kINT64;
}
} // namespace

void runTape(TapeRun const& run, int64_t first, int64_t last)
{
    alignas(64) unsigned char memory[kMaxTapeRows * kRowBytes];
    alignas(64) unsigned char periods[kMaxPeriodic * kPeriodBytes];
    Rows rows;
    for (int32_t i = 0; i < run.rows; ++i)
        rows.at[i] = memory + i * kRowBytes;
    int64_t const inner = run.axes > 0 ? run.extents[run.axes - 1] : 1;
    unsigned char* periodOf[kMaxTapeOperands]{};
    int32_t periodic{0};
    for (int32_t i = 0; i < run.inputs; ++i)
    {
        TapeOperand const& operand = run.operands[i];
        if (operand.data == nullptr)
            continue;
        if (operand.access == TapeAccess::kOne)
            readPiece(operand.data, operand.type, 0, 0, rows.at[i], 0, kTapeLength);
        if (operand.access != TapeAccess::kPeriodic || periodic == kMaxPeriodic || inner > kLongestPeriod)
            continue;
        periodOf[i] = periods + periodic++ * kPeriodBytes;
        for (int64_t at = 0; at < inner + kTapeLength; at += inner)
        {
            int64_t const count = inner + kTapeLength - at < inner ? inner + kTapeLength - at : inner;
            readPiece(operand.data, operand.type, 0, operand.strides[run.axes - 1], periodOf[i], at, count);
        }
    }
    bool const isDirect = isRowItself(run.outType) && run.result >= run.inputs;
    for (int64_t at = first; at < last; at += kTapeLength)
    {
        int64_t const n = last - at < kTapeLength ? last - at : kTapeLength;
        for (int32_t i = 0; i < run.inputs; ++i)
        {
            TapeOperand const& operand = run.operands[i];
            if (operand.data == nullptr || operand.access == TapeAccess::kOne)
                continue;
            if (operand.access == TapeAccess::kSame && isRowItself(operand.type))
                rows.at[i] = static_cast<char*>(const_cast<void*>(operand.data)) + at * rowElement(operand.type);
            else if (operand.access == TapeAccess::kSame)
                readPiece(operand.data, operand.type, at, 1, rows.at[i], 0, n);
            else if (periodOf[i] != nullptr)
                rows.at[i] = periodOf[i] + at % inner * rowElement(operand.type);
            else
                readStrided(run, operand, rows.at[i], at, n);
        }
        if (isDirect)
            rows.at[run.result] = static_cast<char*>(run.out) + at * rowElement(run.outType);
        for (int64_t i = 0; i < run.stepCount; ++i)
            runStep(run.steps[i], rows, n);
        if (!isDirect)
            writeRow(rows.at[run.result], run.outType, run.out, at, n);
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
