// The tape machine: each step runs over a row of elements in the nearest cache before the next one starts.
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_functions.h"
#include "backends/cpu/tape_integers.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
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

template <typename Rows>
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
    case TapeOp::kWhole:
        map1(a, to, n, [&, most = splat(static_cast<float>(step.addend))](F16 x) {
            return numberOr(min(most, max(value, roundEven(x))), zero());
        });
        break;
    case TapeOp::kFloorDiv: binary(step, a, b, to, n, [](F16 x, F16 y) { return floor(x / y); }); break;
    default: roundTo(step.type, a, to, n); break;
    }
}

template <typename Rows>
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

template <typename B, typename Test>
TENON_INLINE void compareReal(TapeStep const& step, float const* a, float const* b, B* to, int64_t n, Test const& test)
{
    auto const truth = [&](float x, float y) { return static_cast<B>(-static_cast<B>(test(x, y))); };
    if (step.b >= 0)
    {
        for (int64_t i = 0; i < n; ++i)
            to[i] = truth(a[i], b[i]);
        return;
    }
    auto const value = static_cast<float>(step.value);
    for (int64_t i = 0; i < n; ++i)
        to[i] = truth(a[i], value);
}

template <typename Rows>
void runCompare(TapeStep const& step, Rows const& rows, int64_t n)
{
    float const* const a = rows.real(step.a);
    float const* const b = step.b >= 0 ? rows.real(step.b) : nullptr;
    auto* const to = rows.truth(step.to);
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

template <typename Rows>
void runStep(TapeStep const& step, Rows const& rows, int64_t n)
{
    int32_t const second = step.b >= 0 ? step.b : step.a;
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
    case TapeOp::kXor: return runTruths(step.op, rows.truth(step.a), rows.truth(second), rows.truth(step.to), n);
    case TapeOp::kSelectReal:
        return choose(rows.truth(step.c), rows.real(step.a), rows.real(step.b), rows.real(step.to), n);
    case TapeOp::kSelectInteger:
        return choose(rows.truth(step.c), rows.integer(step.a), rows.integer(step.b), rows.integer(step.to), n);
    case TapeOp::kSelectTruth:
        return choose(rows.truth(step.c), rows.truth(step.a), rows.truth(step.b), rows.truth(step.to), n);
    case TapeOp::kIntegerUnary:
    case TapeOp::kIntegerBinary:
        return runIntegers(step.function, rows.integer(step.a), rows.integer(second), rows.integer(step.to), n);
    case TapeOp::kShiftLeft: return shiftLeft(rows.integer(step.a), rows.integer(step.b), rows.integer(step.to), n);
    case TapeOp::kShiftRight: return shiftRight(rows.integer(step.a), rows.integer(step.b), rows.integer(step.to), n);
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

constexpr int64_t kRowBytes{kTapeLength * 8};
constexpr int64_t kPeriodBytes{kLongestPeriod * 8 + kRowBytes};
constexpr int32_t kMaxPeriodic{4};

//! Bytes of an element of a row.
template <typename Rows>
int64_t rowElement(DType type)
{
    switch (type)
    {
    case DType::kINT8:
    case DType::kUINT8:
    case DType::kINT32:
    case DType::kINT64: return sizeof(typename Rows::Integer);
    case DType::kBOOL: return sizeof(typename Rows::Truth);
    default: return sizeof(float);
    }
}

template <typename W>
void runRows(TapeRun const& run, int64_t first, int64_t last)
{
    using Rows = TapeRows<W>;
    alignas(64) unsigned char memory[kMaxTapeRows * kRowBytes];
    alignas(64) unsigned char periods[kMaxPeriodic * kPeriodBytes];
    Rows rows;
    for (int32_t i = 0; i < run.rows; ++i)
        rows.at[i] = memory + i * kRowBytes;
    // Memory of these types is a row as it is: operands are read, and the result written, where they lie.
    auto const isRowItself = [&](DType type) { return type == DType::kFLOAT || type == run.integers; };
    int64_t const length = run.length;
    int64_t const inner = run.axes > 0 ? run.extents[run.axes - 1] : 1;
    unsigned char* periodOf[kMaxTapeOperands]{};
    int32_t periodic{0};
    for (int32_t i = 0; i < run.inputs; ++i)
    {
        TapeOperand const& operand = run.operands[i];
        if (operand.data == nullptr)
            continue;
        if (operand.access == TapeAccess::kOne)
            readPiece<Rows>(operand.data, operand.type, 0, 0, rows.at[i], 0, length);
        if (operand.access != TapeAccess::kPeriodic || periodic == kMaxPeriodic || inner > kLongestPeriod)
            continue;
        periodOf[i] = periods + periodic++ * kPeriodBytes;
        for (int64_t at = 0; at < inner + length; at += inner)
        {
            int64_t const count = inner + length - at < inner ? inner + length - at : inner;
            readPiece<Rows>(operand.data, operand.type, 0, operand.strides[run.axes - 1], periodOf[i], at, count);
        }
    }
    for (int64_t i = 0; i < run.numbers; ++i)
        runStep(run.steps[i], rows, length);
    bool const isDirect = isRowItself(run.outType) && run.result >= run.inputs;
    for (int64_t at = first; at < last; at += length)
    {
        int64_t const n = last - at < length ? last - at : length;
        for (int32_t i = 0; i < run.inputs; ++i)
        {
            TapeOperand const& operand = run.operands[i];
            if (operand.data == nullptr || operand.access == TapeAccess::kOne)
                continue;
            if (operand.access == TapeAccess::kSame && isRowItself(operand.type))
                rows.at[i] = static_cast<char*>(const_cast<void*>(operand.data)) + at * rowElement<Rows>(operand.type);
            else if (operand.access == TapeAccess::kSame)
                readPiece<Rows>(operand.data, operand.type, at, 1, rows.at[i], 0, n);
            else if (periodOf[i] != nullptr)
                rows.at[i] = periodOf[i] + at % inner * rowElement<Rows>(operand.type);
            else
                readStrided<Rows>(run, operand, rows.at[i], at, n);
        }
        if (isDirect)
            rows.at[run.result] = static_cast<char*>(run.out) + at * rowElement<Rows>(run.outType);
        for (int64_t i = run.numbers; i < run.stepCount; ++i)
            runStep(run.steps[i], rows, n);
        if (!isDirect)
            writeRow<Rows>(rows.at[run.result], run.outType, run.out, at, n);
    }
}
} // namespace

void runTape(TapeRun const& run, int64_t first, int64_t last)
{
    switch (run.integers)
    {
    case DType::kINT8: return runRows<int8_t>(run, first, last);
    case DType::kUINT8: return runRows<uint8_t>(run, first, last);
    case DType::kINT32: return runRows<int32_t>(run, first, last);
    default: return runRows<int64_t>(run, first, last);
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
