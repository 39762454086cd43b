// KernelText: the prelude, and expressions as statements. Steps of a tape become one variable each; the compiler of the
// device finds registers for them.
#include "backends/cuda/kernel_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

namespace tenon::cuda
{

namespace
{
constexpr std::string_view kPrelude{R"(
//! A kernel may begin while those before it end: it lets the next one begin at once, and waits for the former before it
//! reads or writes what they may; all its threads do, as the next one's wait is for all that came before only then.
#if !defined(TENON_EMULATED) && __CUDA_ARCH__ >= 900
static __device__ __forceinline__ void letNextBegin() { asm volatile("griddepcontrol.launch_dependents;"); }
static __device__ __forceinline__ void awaitFormer() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
static __device__ __forceinline__ void letNextBegin() {}
static __device__ __forceinline__ void awaitFormer() {}
#endif
#ifdef TENON_EMULATED
#define TENON_BOUNDED_KERNEL(bounds, name, Params) TENON_KERNEL(name, Params)
#define TENON_EARLY_KERNEL(bounds, name, Params) TENON_KERNEL(name, Params)
#else
//! The body waits for the former kernels.
#define TENON_EARLY_KERNEL(bounds, name, Params)                                       \
    static __device__ __forceinline__ void name##Body(Params const& p);                \
    extern "C" __global__ void bounds name(Params const p)                             \
    {                                                                                  \
        letNextBegin();                                                                \
        if (p.stop == nullptr || *p.stop == 0)                                         \
            name##Body(p);                                                             \
        else                                                                           \
            awaitFormer();                                                             \
    }                                                                                  \
    static __device__ __forceinline__ void name##Body(Params const& p)
#define TENON_BOUNDED_KERNEL(bounds, name, Params)                                     \
    static __device__ __forceinline__ void name##Rest(Params const& p);                \
    TENON_EARLY_KERNEL(bounds, name, Params)                                           \
    {                                                                                  \
        awaitFormer();                                                                 \
        name##Rest(p);                                                                 \
    }                                                                                  \
    static __device__ __forceinline__ void name##Rest(Params const& p)
#define TENON_KERNEL(name, Params) TENON_BOUNDED_KERNEL(, name, Params)
#endif
typedef long long i64;
typedef unsigned long long u64;

struct Half { unsigned short bits; };
struct Bfloat { unsigned short bits; };
struct Bool { unsigned char bits; };
struct Fp8 { unsigned char bits; }; // E4M3.

#ifdef TENON_EMULATED
inline float fromBits(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
inline unsigned toBits(float x) { unsigned y; std::memcpy(&y, &x, 4); return y; }
inline float widen(Half x) { _Float16 y; std::memcpy(&y, &x.bits, 2); return (float)y; }
inline void put(Half& to, float x) { _Float16 y = (_Float16)x; std::memcpy(&to.bits, &y, 2); }
#else
static __device__ __forceinline__ float fromBits(unsigned x) { return __uint_as_float(x); }
static __device__ __forceinline__ unsigned toBits(float x) { return __float_as_uint(x); }
static __device__ __forceinline__ float widen(Half x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
static __device__ __forceinline__ void put(Half& to, float x)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
}
#endif
static __device__ __forceinline__ float widen(Fp8 x)
{
#if !defined(TENON_EMULATED) && __CUDA_ARCH__ >= 890
    unsigned pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)x.bits));
    return widen(Half{(unsigned short)pair});
#else
    unsigned const size = x.bits & 0x7Fu;
    float const real = size == 0x7Fu ? fromBits(0x7FC00000u)
        : size < 8u ? (float)size * 0x1p-9f : fromBits((size << 20) + (120u << 23));
    return x.bits & 0x80u ? -real : real;
#endif
}
static __device__ __forceinline__ void put(Fp8& to, float x)
{
#if !defined(TENON_EMULATED) && __CUDA_ARCH__ >= 890
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    to.bits = (unsigned char)pair;
#else
    unsigned const sign = toBits(x) >> 24 & 0x80u;
    float const size = fabsf(x) < 448.0f ? fabsf(x) : 448.0f;
    unsigned const bits = toBits(size);
    unsigned const rounded = size < 0x1p-6f ? (unsigned)rintf(size * 512.0f)
                                            : ((bits + 0x7FFFFu + (bits >> 20 & 1u)) >> 20) - 960u;
    to.bits = (unsigned char)(sign | (x != x ? 0x7Fu : rounded));
#endif
}
static __device__ __forceinline__ float widen(float x) { return x; }
static __device__ __forceinline__ float widen(Bfloat x) { return fromBits((unsigned)x.bits << 16); }
static __device__ __forceinline__ i64 widen(signed char x) { return x; }
static __device__ __forceinline__ i64 widen(unsigned char x) { return x; }
static __device__ __forceinline__ i64 widen(int x) { return x; }
static __device__ __forceinline__ i64 widen(i64 x) { return x; }
static __device__ __forceinline__ bool widen(Bool x) { return x.bits != 0; }
static __device__ __forceinline__ void put(float& to, float x) { to = x; }
static __device__ __forceinline__ void put(Bfloat& to, float x)
{
    unsigned const bits = toBits(x);
    bool const isNan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    to.bits = (unsigned short)(isNan ? (bits >> 16) | 0x40u : (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
static __device__ __forceinline__ void put(signed char& to, i64 x) { to = (signed char)x; }
static __device__ __forceinline__ void put(unsigned char& to, i64 x) { to = (unsigned char)x; }
static __device__ __forceinline__ void put(int& to, i64 x) { to = (int)x; }
static __device__ __forceinline__ void put(i64& to, i64 x) { to = x; }
static __device__ __forceinline__ void put(Bool& to, bool x) { to.bits = x; }
template <typename T>
static __device__ __forceinline__ float roundAs(float x)
{
    T stored;
    put(stored, x);
    return widen(stored);
}

static __device__ __forceinline__ float signOf(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
#if !defined(TENON_EMULATED) && __CUDA_ARCH__ >= 800
static __device__ __forceinline__ float minOf(float a, float b)
{
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
}
static __device__ __forceinline__ float maxOf(float a, float b)
{
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
    return most;
}
#else
static __device__ __forceinline__ float minOf(float a, float b) { return isnan(a) || isnan(b) ? a + b : a < b ? a : b; }
static __device__ __forceinline__ float maxOf(float a, float b) { return isnan(a) || isnan(b) ? a + b : a > b ? a : b; }
#endif
//! Rounded half to even, within [least, most]; what is no number becomes 0. Between 2^23 and 2^24 floats are whole
//! numbers, so that additions round where the limits are constants: four times as fast as the instruction for it.
static __device__ __forceinline__ float wholeOf(float x, float least, float most)
{
    if (least >= -4194304.0f && most <= 4194304.0f)
        return x != x ? 0.0f : (fminf(fmaxf(x, least), most) + 12582912.0f) - 12582912.0f;
    return x != x ? 0.0f : fminf(fmaxf(rintf(x), least), most);
}
static __device__ __forceinline__ i64 minOf(i64 a, i64 b) { return a < b ? a : b; }
static __device__ __forceinline__ i64 maxOf(i64 a, i64 b) { return a > b ? a : b; }
static __device__ __forceinline__ i64 addOf(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
static __device__ __forceinline__ i64 subOf(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
static __device__ __forceinline__ i64 mulOf(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
static __device__ __forceinline__ i64 divOf(i64 a, i64 b) { return b == 0 ? 0 : b == -1 ? subOf(0, a) : a / b; }
static __device__ __forceinline__ i64 floorDivOf(i64 a, i64 b)
{
    i64 const q = divOf(a, b);
    return b != 0 && b != -1 && a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}
static __device__ __forceinline__ i64 shiftLeftOf(i64 a, i64 b) { return (u64)b < 64u ? (i64)((u64)a << b) : 0; }
//! a / 2^b rounded down, where 64 bits hold the power: the largest one as the least number, those beyond as 0.
static __device__ __forceinline__ i64 shiftRightOf(i64 a, i64 b)
{
    if (b == 63)
        return (i64)(a == -9223372036854775807ll - 1) - (i64)(a > 0);
    return (u64)b < 63u ? a >> b : 0;
}
//! Of a whole number of at most 2^22.
static __device__ __forceinline__ i64 smallInteger(float x) { return (int)(toBits(x + 12582912.0f) - 0x4B400000u); }
static __device__ __forceinline__ i64 truncated(float x)
{
    if (x != x)
        return 0;
    if (x >= 9223372036854775808.0f)
        return 9223372036854775807ll;
    return x <= -9223372036854775808.0f ? -9223372036854775807ll - 1 : (i64)x;
}
//! Of numbers from 1 on: a unit in the last place away, at a third of a division's instructions.
#ifdef TENON_EMULATED
static inline float inverseOf(float x) { return 1.0f / x; }
#else
static __device__ __forceinline__ float inverseOf(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif
static __device__ __forceinline__ float sigmoidOf(float x) { return inverseOf(1.0f + expf(-x)); }
//! With the instruction for powers of two alone: 2e-6 of a result away where it is not near 0, four instructions.
#ifdef TENON_EMULATED
static inline float nearSigmoidOf(float x) { return sigmoidOf(x); }
#else
static __device__ __forceinline__ float nearSigmoidOf(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * -1.4426950408889634f));
    return inverseOf(1.0f + y);
}
#endif
static __device__ __forceinline__ float erfOf(float x) { return erff(x); }
//! A polynomial in x squared, fitted to the least of the largest errors: 3e-6, with half of erff's instructions and no
//! branch; from 3.3 on 1.
static __device__ __forceinline__ float nearErfOf(float x)
{
    float const u = fmaf(x * x, 2.0f / (3.3f * 3.3f), -1.0f);
    float y = 3.635867e-3f;
    y = fmaf(y, u, -9.472881e-3f);
    y = fmaf(y, u, 1.11865e-2f);
    y = fmaf(y, u, -1.783341e-2f);
    y = fmaf(y, u, 3.6543522e-2f);
    y = fmaf(y, u, -5.926215e-2f);
    y = fmaf(y, u, 8.4123485e-2f);
    y = fmaf(y, u, -1.1445422e-1f);
    y = fmaf(y, u, 1.5207067e-1f);
    y = fmaf(y, u, -2.116429e-1f);
    y = fmaf(y, u, 4.2813563e-1f);
    return fabsf(x) >= 3.3f ? copysignf(1.0f, x) : y * x;
}

//! Several elements as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack { T v[N]; };

//! Coordinates of an index, the fastest last: divides `left` by an extent and gives the rest.
static __device__ __forceinline__ u64 takeAxis(u64& left, u64 extent, unsigned isSmall)
{
    if (isSmall)
    {
        unsigned const small = (unsigned)left;
        unsigned const q = small / (unsigned)extent;
        left = q;
        return small - q * (unsigned)extent;
    }
    u64 const rest = left % extent;
    left /= extent;
    return rest;
}

static __device__ __forceinline__ u64 firstItem() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ u64 itemStride() { return (u64)gridDim.x * blockDim.x; }

struct JoinSum { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
struct JoinProduct { template <typename T> __device__ T operator()(T a, T b) const { return a * b; } };
struct JoinMax { template <typename T> __device__ T operator()(T a, T b) const { return maxOf(a, b); } };
struct JoinMin { template <typename T> __device__ T operator()(T a, T b) const { return minOf(a, b); } };

//! The join of a warp's values, in all of its threads.
template <typename Join, typename T>
static __device__ __forceinline__ T warpJoin(T value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = Join{}(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
    return value;
}

//! The join of all threads' values, in all threads. Blocks are whole warps.
template <typename Join, typename T>
static __device__ T blockJoin(T value)
{
    __shared__ T parts[32];
    Join const join{};
    value = warpJoin<Join>(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (unsigned i = 1; i < blockDim.x / 32; ++i)
        value = join(value, parts[i]);
    return value;
}
)"};

std::string literal(double value)
{
    auto const real = static_cast<float>(value);
    if (!std::isfinite(real))
        return fmt::format("fromBits(0x{:08x}u)", std::bit_cast<uint32_t>(real));
    return fmt::format("{:a}f", real); // Exact.
}

std::string integerLiteral(double value)
{
    return fmt::format("(i64){}ll", static_cast<int64_t>(value));
}

//! A function of one number.
char const* functionForm(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kNeg: return "(-{0})";
    case ExprOp::kAbs: return "fabsf({0})";
    case ExprOp::kExp: return "expf({0})";
    case ExprOp::kLog: return "logf({0})";
    case ExprOp::kSqrt: return "sqrtf({0})";
    case ExprOp::kReciprocal: return "(1.0f / {0})";
    case ExprOp::kSin: return "sinf({0})";
    case ExprOp::kCos: return "cosf({0})";
    case ExprOp::kTan: return "tanf({0})";
    case ExprOp::kSinh: return "sinhf({0})";
    case ExprOp::kCosh: return "coshf({0})";
    case ExprOp::kAsin: return "asinf({0})";
    case ExprOp::kAcos: return "acosf({0})";
    case ExprOp::kAtan: return "atanf({0})";
    case ExprOp::kAsinh: return "asinhf({0})";
    case ExprOp::kAcosh: return "acoshf({0})";
    case ExprOp::kAtanh: return "atanhf({0})";
    case ExprOp::kTanh: return "tanhf({0})";
    case ExprOp::kErf: return "erfOf({0})";
    case ExprOp::kSigmoid: return "sigmoidOf({0})";
    case ExprOp::kCeil: return "ceilf({0})";
    case ExprOp::kFloor: return "floorf({0})";
    case ExprOp::kRound: return "rintf({0})";
    case ExprOp::kSign: return "signOf({0})";
    default: return nullptr;
    }
}

char const* integerForm(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kNeg: return "subOf(0, {0})";
    case ExprOp::kAbs: return "({0} < 0 ? subOf(0, {0}) : {0})";
    case ExprOp::kSign: return "(i64)(({0} > 0) - ({0} < 0))";
    case ExprOp::kAdd: return "addOf({0}, {1})";
    case ExprOp::kSub: return "subOf({0}, {1})";
    case ExprOp::kMul: return "mulOf({0}, {1})";
    case ExprOp::kDiv: return "divOf({0}, {1})";
    case ExprOp::kFloorDiv: return "floorDivOf({0}, {1})";
    case ExprOp::kMin: return "minOf({0}, {1})";
    case ExprOp::kMax: return "maxOf({0}, {1})";
    case ExprOp::kAnd: return "({0} & {1})";
    case ExprOp::kOr: return "({0} | {1})";
    case ExprOp::kXor: return "({0} ^ {1})";
    case ExprOp::kEqual: return "({0} == {1})";
    case ExprOp::kLess: return "({0} < {1})";
    case ExprOp::kGreater: return "({0} > {1})";
    default: return nullptr;
    }
}

//! A step as an expression of {0}, {1} and {2}, which are its operands or constants in their places.
struct Form
{
    TapeKind kind;
    char const* text;
};

Form formOf(TapeOp op)
{
    constexpr TapeKind kR{TapeKind::kReal};
    constexpr TapeKind kI{TapeKind::kInteger};
    constexpr TapeKind kT{TapeKind::kTruth};
    switch (op)
    {
    case TapeOp::kAdd: return {kR, "({0} + {1})"};
    case TapeOp::kSub: return {kR, "({0} - {1})"};
    case TapeOp::kReverseSub: return {kR, "({1} - {0})"};
    case TapeOp::kMul: return {kR, "({0} * {1})"};
    case TapeOp::kDiv: return {kR, "({0} / {1})"};
    case TapeOp::kReverseDiv: return {kR, "({1} / {0})"};
    case TapeOp::kMin: return {kR, "minOf({0}, {1})"};
    case TapeOp::kMax: return {kR, "maxOf({0}, {1})"};
    case TapeOp::kPow: return {kR, "powf({0}, {1})"};
    case TapeOp::kFloorDiv: return {kR, "floorf({0} / {1})"};
    case TapeOp::kMulAdd: return {kR, "fmaf({0}, {1}, {2})"};
    case TapeOp::kWhole: return {kR, "wholeOf({0}, {1}, {2})"};
    case TapeOp::kIsNan: return {kT, "({0} != {0})"};
    case TapeOp::kIsInf: return {kT, "(fabsf({0}) == fromBits(0x7F800000u))"};
    case TapeOp::kEqual: return {kT, "({0} == {1})"};
    case TapeOp::kLess: return {kT, "({0} < {1})"};
    case TapeOp::kGreater: return {kT, "({0} > {1})"};
    case TapeOp::kNot: return {kT, "(!{0})"};
    case TapeOp::kAnd: return {kT, "({0} && {1})"};
    case TapeOp::kOr: return {kT, "({0} || {1})"};
    case TapeOp::kXor: return {kT, "({0} != {1})"};
    case TapeOp::kSelectReal: return {kR, "({2} ? {0} : {1})"};
    case TapeOp::kSelectInteger: return {kI, "({2} ? {0} : {1})"};
    case TapeOp::kSelectTruth: return {kT, "({2} ? {0} : {1})"};
    case TapeOp::kRealToInteger: return {kI, "truncated({0})"};
    case TapeOp::kIntegerToReal: return {kR, "((float){0})"};
    case TapeOp::kRealToTruth: return {kT, "({0} != 0.0f)"};
    case TapeOp::kIntegerToTruth: return {kT, "({0} != 0)"};
    case TapeOp::kTruthToReal: return {kR, "({0} ? 1.0f : 0.0f)"};
    case TapeOp::kTruthToInteger: return {kI, "((i64){0})"};
    default: return {kR, nullptr};
    }
}

//! Prints the steps of one tape.
class Printer
{
  public:
    Printer(Tape const& tape, std::vector<TapeKind> const& inputs)
        : mTape{tape}
    {
        for (int32_t i = 0; i < tape.inputs; ++i)
            mNames[i] = fmt::format("a{}", i);
        static_cast<void>(inputs);
    }

    Result<std::string> run()
    {
        std::string text;
        for (TapeStep const& step : mTape.steps)
        {
            auto const [kind, value] = TENON_TRY(valueOf(step));
            std::string const name = fmt::format("v{}", mNext++);
            text += fmt::format("    {} const {} = {};\n", wordOf(kind), name, value);
            mNames[step.to] = name; // Rows are used again: from here on it means this step.
            if (isSmallWhole(step))
                mSmallWholes.insert(step.to);
            else
                mSmallWholes.erase(step.to);
        }
        return text + fmt::format("    return {};\n", mNames[mTape.result]);
    }

  private:
    std::string nameOfRow(int32_t row, double instead)
    {
        return row >= 0 ? mNames[row] : literal(instead);
    }

    //! A whole number within limits that are constants, of 23 bits.
    static bool isSmallWhole(TapeStep const& step)
    {
        constexpr double kMost{4194304.0};
        return step.op == TapeOp::kWhole && step.b < 0 && step.c < 0 && step.value >= -kMost && step.addend <= kMost;
    }

    Result<std::pair<TapeKind, std::string>> valueOf(TapeStep const& step)
    {
        std::string const a = nameOfRow(step.a, 0.0);
        std::string const b = nameOfRow(step.b, step.value);
        std::string const c = nameOfRow(step.c, step.addend);
        switch (step.op)
        {
        case TapeOp::kFillReal: return std::pair{TapeKind::kReal, literal(step.value)};
        case TapeOp::kFillInteger: return std::pair{TapeKind::kInteger, integerLiteral(step.value)};
        case TapeOp::kFillTruth: return std::pair{TapeKind::kTruth, std::string{step.value != 0.0 ? "true" : "false"}};
        case TapeOp::kFunction:
            if (char const* const form = functionForm(step.function))
                return std::pair{TapeKind::kReal, fmt::format(fmt::runtime(form), a)};
            return badArgument("{} of a real number has no CUDA form", nameOf(step.function));
        case TapeOp::kNarrow:
        {
            std::string_view const type = step.type == DType::kINT32 ? "int"
                : step.type == DType::kINT8                          ? "signed char"
                : step.type == DType::kUINT8                         ? "unsigned char"
                                                                     : "i64";
            return std::pair{TapeKind::kInteger, fmt::format("(i64)({}){}", type, a)};
        }
        case TapeOp::kRoundTo:
            if (step.type != DType::kHALF && step.type != DType::kBF16 && step.type != DType::kFP8)
                return std::pair{TapeKind::kReal, a};
            return std::pair{TapeKind::kReal, fmt::format("roundAs<{}>({})", TENON_TRY(storageOf(step.type)), a)};
        case TapeOp::kRealToInteger:
            if (mSmallWholes.contains(step.a))
                return std::pair{TapeKind::kInteger, fmt::format("smallInteger({})", a)};
            break;
        case TapeOp::kShiftLeft: return std::pair{TapeKind::kInteger, fmt::format("shiftLeftOf({}, {})", a, b)};
        case TapeOp::kShiftRight: return std::pair{TapeKind::kInteger, fmt::format("shiftRightOf({}, {})", a, b)};
        case TapeOp::kIntegerUnary:
        case TapeOp::kIntegerBinary:
        case TapeOp::kIntegerCompare:
            if (char const* const form = integerForm(step.function))
                return std::pair{step.op == TapeOp::kIntegerCompare ? TapeKind::kTruth : TapeKind::kInteger,
                    fmt::format(fmt::runtime(form), a, b)};
            return badArgument("{} of integers has no CUDA form", nameOf(step.function));
        default: break;
        }
        Form const form = formOf(step.op);
        if (form.text == nullptr)
            return badArgument("a step of its expression has no CUDA form");
        return std::pair{form.kind, fmt::format(fmt::runtime(form.text), a, b, c)};
    }

    Tape const& mTape;
    std::map<int32_t, std::string> mNames;
    std::set<int32_t> mSmallWholes; //!< Rows.
    int mNext{0};
};
} // namespace

std::string_view kernelPrelude() noexcept
{
    return kPrelude;
}

std::string wholeText(std::string const& own)
{
    return std::string{kPrelude} + "// ---- kernel\n" + own;
}

std::string functionsFor(std::span<DType const> types)
{
    bool const isNarrow =
        std::ranges::all_of(types, [](DType type) { return type == DType::kHALF || type == DType::kBF16; });
    return isNarrow ? std::string{"#define erfOf nearErfOf\n#define sigmoidOf nearSigmoidOf\n"} : std::string{};
}

Result<std::string> storageOf(DType type)
{
    switch (type)
    {
    case DType::kFLOAT: return std::string{"float"};
    case DType::kHALF: return std::string{"Half"};
    case DType::kBF16: return std::string{"Bfloat"};
    case DType::kFP8: return std::string{"Fp8"};
    case DType::kINT8: return std::string{"signed char"};
    case DType::kUINT8: return std::string{"unsigned char"};
    case DType::kINT32: return std::string{"int"};
    case DType::kINT64: return std::string{"i64"};
    case DType::kBOOL: return std::string{"Bool"};
    default: return badArgument("no CUDA kernel computes with {}", nameOf(type));
    }
}

char const* wordOfBytes(int64_t bytes) noexcept
{
    return bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : bytes == 4 ? "unsigned" : "u64";
}

std::string_view wordOf(TapeKind kind) noexcept
{
    return kind == TapeKind::kReal ? "float" : kind == TapeKind::kInteger ? "i64" : "bool";
}

Result<std::string> printFunction(std::string const& name, Tape const& tape, std::vector<TapeKind> const& inputs)
{
    std::string parameters;
    for (size_t i = 0; i < inputs.size(); ++i)
        parameters += fmt::format("{}{} a{}", i == 0 ? "" : ", ", wordOf(inputs[i]), i);
    std::string const body = TENON_TRY((Printer{tape, inputs}.run()));
    return fmt::format("static __device__ __forceinline__ {} {}({})\n{{\n{}}}\n",
        wordOf(TENON_TRY(tapeKindOf(tape.resultType))), name, parameters, body);
}

} // namespace tenon::cuda
