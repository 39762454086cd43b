// Half floats as host code sees them: what the toolkit's header declares for a host compiler, with the same results.
#ifndef TENON_HOSTRT_CUDA_FP16_H
#define TENON_HOSTRT_CUDA_FP16_H
#define __CUDA_FP16_H__ // Programs ask for it.

#include "driver_types.h" // Sources that include no other header have their cudaStream_t from here.
#include "vector_functions.h"
#include "vector_types.h"

typedef struct __align__(2)
{
    unsigned short x;
}
__half_raw;

typedef struct __align__(4)
{
    unsigned short x;
    unsigned short y;
}
__half2_raw;

#ifdef __cplusplus

#define __CUDA_FP16_TYPES_EXIST__

#include <cstdint>
#include <cstring>
#include <limits>

namespace tenon_hostrt
{

enum class Rounding
{
    kNEAREST, // Ties to even.
    kTOWARD_ZERO,
    kDOWN,
    kUP
};

//! The bits of the half next to a number. Floats and all integers come here as well: a double holds floats and integers
//! exactly, but for integers so large that each of them is above every half.
inline unsigned short halfFromDouble(double value, Rounding rounding = Rounding::kNEAREST) noexcept
{
    std::uint64_t bits{0};
    std::memcpy(&bits, &value, sizeof bits);
    unsigned const sign = static_cast<unsigned>(bits >> 48) & 0x8000U;
    std::uint64_t const magnitude = bits & 0x7FFFFFFFFFFFFFFFU;
    unsigned const exponent = static_cast<unsigned>(magnitude >> 52);
    if (magnitude > 0x7FF0000000000000U)
        return 0x7FFF; // Not a number.
    if (magnitude == 0 || magnitude == 0x7FF0000000000000U)
        return static_cast<unsigned short>(sign | (magnitude == 0 ? 0U : 0x7C00U));

    std::uint64_t rest{0};
    unsigned dropped{42}; // A double has 52 bits of fraction, a half 10.
    if (exponent >= 1023 + 16)
        rest = (std::uint64_t{0x7C00} << dropped) - 1; // Above every half, which has nothing above it but infinity.
    else if (exponent >= 1023 - 14)
        rest = magnitude - (std::uint64_t{1023 - 15} << 52);
    else
    {
        rest = (magnitude & 0xFFFFFFFFFFFFFU) | std::uint64_t{1} << 52;
        dropped = exponent < 997 ? 54 : 1051 - exponent; // In units of 2⁻²⁴; at 54 nothing but a rest is left.
    }
    unsigned kept = static_cast<unsigned>(rest >> dropped);
    std::uint64_t const lost = rest & ((std::uint64_t{1} << dropped) - 1);
    std::uint64_t const tie = std::uint64_t{1} << (dropped - 1);
    switch (rounding)
    {
    case Rounding::kNEAREST: kept += lost > tie || (lost == tie && (kept & 1U) != 0) ? 1U : 0U; break;
    case Rounding::kTOWARD_ZERO: break;
    case Rounding::kDOWN: kept += lost != 0 && sign != 0 ? 1U : 0U; break;
    case Rounding::kUP: kept += lost != 0 && sign == 0 ? 1U : 0U; break;
    }
    return static_cast<unsigned short>(sign | kept);
}

template <typename T>
inline unsigned short halfFrom(T value, Rounding rounding = Rounding::kNEAREST) noexcept
{
    return halfFromDouble(static_cast<double>(value), rounding);
}

inline bool isNan(unsigned short half) noexcept
{
    return (half & 0x7FFFU) > 0x7C00U;
}

inline float floatFromHalf(unsigned short half) noexcept
{
    std::uint32_t const sign = (half & 0x8000U) << 16;
    std::uint32_t const exponent = half >> 10 & 0x1FU;
    std::uint32_t const fraction = half & 0x3FFU;
    if (exponent == 0)
    {
        float const size = static_cast<float>(fraction) / 16777216.0F; // In units of 2⁻²⁴.
        return sign != 0 ? -size : size;
    }
    std::uint32_t bits = sign | (exponent == 31 ? 0x7F800000U : (exponent + 112) << 23) | fraction << 13;
    if (isNan(half))
        bits = 0x7FFFFFFFU; // All of them become this one.
    float value{0.0F};
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

//! Towards zero, and the nearest that there is where the type is too small. What is not a number is 0, or the highest
//! bit alone in a type of 64 bits.
template <typename T>
inline T integerFromHalf(unsigned short half) noexcept
{
    typedef std::numeric_limits<T> Limits;
    if (isNan(half))
        return sizeof(T) < 8 ? T{0} : static_cast<T>(std::uint64_t{1} << 63);
    float const value = floatFromHalf(half);
    if (value > static_cast<float>(Limits::max()))
        return Limits::max();
    if (value < static_cast<float>(Limits::min()))
        return Limits::min();
    return static_cast<T>(value);
}

} // namespace tenon_hostrt

// Conversions between a half and a number; switches of the toolkit's leave out those of integers, or all.
#define TENON_HOSTRT_CONSTRUCTOR(type)                                                                                 \
    __half(type value) noexcept                                                                                        \
        : __x{tenon_hostrt::halfFrom(value)}                                                                           \
    {                                                                                                                  \
    }
#define TENON_HOSTRT_ASSIGNMENT(type)                                                                                  \
    __half& operator=(type value) noexcept                                                                             \
    {                                                                                                                  \
        __x = tenon_hostrt::halfFrom(value);                                                                           \
        return *this;                                                                                                  \
    }
#define TENON_HOSTRT_INTEGER(type)                                                                                     \
    operator type() const noexcept                                                                                     \
    {                                                                                                                  \
        return tenon_hostrt::integerFromHalf<type>(__x);                                                               \
    }

struct __align__(2) __half
{
  protected:
    unsigned short __x;

  public:
    __half() = default;
    constexpr __half(__half_raw const& raw) noexcept
        : __x{raw.x}
    {
    }
    __half& operator=(__half_raw const& raw) noexcept
    {
        __x = raw.x;
        return *this;
    }
    __half volatile& operator=(__half_raw const& raw) volatile noexcept
    {
        __x = raw.x;
        return *this;
    }
    __half volatile& operator=(__half_raw const volatile& raw) volatile noexcept
    {
        __x = raw.x;
        return *this;
    }
    operator __half_raw() const noexcept
    {
        return {__x};
    }
    operator __half_raw() const volatile noexcept
    {
        return {__x};
    }

#ifndef __CUDA_NO_HALF_CONVERSIONS__
    TENON_HOSTRT_CONSTRUCTOR(float)
    TENON_HOSTRT_CONSTRUCTOR(double)
    TENON_HOSTRT_ASSIGNMENT(float)
    TENON_HOSTRT_ASSIGNMENT(double)
    operator float() const noexcept
    {
        return tenon_hostrt::floatFromHalf(__x);
    }
#ifndef __CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__
    TENON_HOSTRT_CONSTRUCTOR(short)
    TENON_HOSTRT_CONSTRUCTOR(unsigned short)
    TENON_HOSTRT_CONSTRUCTOR(int)
    TENON_HOSTRT_CONSTRUCTOR(unsigned int)
    TENON_HOSTRT_CONSTRUCTOR(long)
    TENON_HOSTRT_CONSTRUCTOR(unsigned long)
    TENON_HOSTRT_CONSTRUCTOR(long long)
    TENON_HOSTRT_CONSTRUCTOR(unsigned long long)
    TENON_HOSTRT_ASSIGNMENT(short)
    TENON_HOSTRT_ASSIGNMENT(unsigned short)
    TENON_HOSTRT_ASSIGNMENT(int)
    TENON_HOSTRT_ASSIGNMENT(unsigned int)
    TENON_HOSTRT_ASSIGNMENT(long long) // None from long: the toolkit's has none.
    TENON_HOSTRT_ASSIGNMENT(unsigned long long)
    TENON_HOSTRT_INTEGER(char)
    TENON_HOSTRT_INTEGER(signed char)
    TENON_HOSTRT_INTEGER(unsigned char)
    TENON_HOSTRT_INTEGER(short)
    TENON_HOSTRT_INTEGER(unsigned short)
    TENON_HOSTRT_INTEGER(int)
    TENON_HOSTRT_INTEGER(unsigned int)
    TENON_HOSTRT_INTEGER(long)
    TENON_HOSTRT_INTEGER(unsigned long)
    TENON_HOSTRT_INTEGER(long long)
    TENON_HOSTRT_INTEGER(unsigned long long)
    constexpr operator bool() const noexcept
    {
        return (__x & 0x7FFFU) != 0;
    }
#endif // __CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__
#endif // __CUDA_NO_HALF_CONVERSIONS__
};
#undef TENON_HOSTRT_CONSTRUCTOR
#undef TENON_HOSTRT_ASSIGNMENT
#undef TENON_HOSTRT_INTEGER

struct __align__(4) __half2
{
    __half x;
    __half y;

    __half2() = default;
    constexpr __half2(__half const& low, __half const& high) noexcept
        : x(low),
          y(high)
    {
    }
    __half2(__half2_raw const& raw) noexcept
        : x(__half_raw{raw.x}),
          y(__half_raw{raw.y})
    {
    }
    // Written out, since the toolkit's is: functions of code that was compiled with either header take it the same way.
    __half2(__half2 const& other) noexcept
        : x(other.x),
          y(other.y)
    {
    }
    __half2& operator=(__half2 const& other) noexcept
    {
        x = other.x;
        y = other.y;
        return *this;
    }
    __half2& operator=(__half2_raw const& raw) noexcept
    {
        return *this = __half2(raw);
    }
    operator __half2_raw() const noexcept
    {
        return {static_cast<__half_raw>(x).x, static_cast<__half_raw>(y).x};
    }
};

#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
#endif

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7C00U))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7FFFU))
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(static_cast<unsigned short>(0x0001U))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7BFFU))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000U))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000U))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3C00U))

// The bits.

inline unsigned short __half_as_ushort(__half value) noexcept
{
    return static_cast<__half_raw>(value).x;
}
inline short __half_as_short(__half value) noexcept
{
    return static_cast<short>(__half_as_ushort(value));
}
inline __half __ushort_as_half(unsigned short bits) noexcept
{
    return __half(__half_raw{bits});
}
inline __half __short_as_half(short bits) noexcept
{
    return __ushort_as_half(static_cast<unsigned short>(bits));
}

// Numbers.

inline float __half2float(__half value) noexcept
{
    return tenon_hostrt::floatFromHalf(__half_as_ushort(value));
}
inline __half __double2half(double value) noexcept
{
    return __ushort_as_half(tenon_hostrt::halfFromDouble(value));
}
inline __half __float2half(float value) noexcept
{
    return __ushort_as_half(tenon_hostrt::halfFrom(value));
}

#define TENON_HOSTRT_ROUNDED(name, type)                                                                               \
    inline __half __##name##2half_rn(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::halfFrom(value));                                                        \
    }                                                                                                                  \
    inline __half __##name##2half_rz(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::halfFrom(value, tenon_hostrt::Rounding::kTOWARD_ZERO));                  \
    }                                                                                                                  \
    inline __half __##name##2half_rd(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::halfFrom(value, tenon_hostrt::Rounding::kDOWN));                         \
    }                                                                                                                  \
    inline __half __##name##2half_ru(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::halfFrom(value, tenon_hostrt::Rounding::kUP));                           \
    }
TENON_HOSTRT_ROUNDED(float, float)
TENON_HOSTRT_ROUNDED(short, short)
TENON_HOSTRT_ROUNDED(ushort, unsigned short)
TENON_HOSTRT_ROUNDED(int, int)
TENON_HOSTRT_ROUNDED(uint, unsigned int)
TENON_HOSTRT_ROUNDED(ll, long long)
TENON_HOSTRT_ROUNDED(ull, unsigned long long)
#undef TENON_HOSTRT_ROUNDED

#define TENON_HOSTRT_TRUNCATED(name, type)                                                                             \
    inline type __half2##name##_rz(__half value) noexcept                                                              \
    {                                                                                                                  \
        return tenon_hostrt::integerFromHalf<type>(__half_as_ushort(value));                                           \
    }
TENON_HOSTRT_TRUNCATED(char, signed char)
TENON_HOSTRT_TRUNCATED(uchar, unsigned char)
TENON_HOSTRT_TRUNCATED(short, short)
TENON_HOSTRT_TRUNCATED(ushort, unsigned short)
TENON_HOSTRT_TRUNCATED(int, int)
TENON_HOSTRT_TRUNCATED(uint, unsigned int)
TENON_HOSTRT_TRUNCATED(ll, long long)
TENON_HOSTRT_TRUNCATED(ull, unsigned long long)
#undef TENON_HOSTRT_TRUNCATED

// Pairs.

inline __half2 make_half2(__half low, __half high) noexcept
{
    return __half2(low, high);
}
inline __half2 __halves2half2(__half low, __half high) noexcept
{
    return __half2(low, high);
}
inline __half2 __half2half2(__half value) noexcept
{
    return __half2(value, value);
}
inline __half2 __floats2half2_rn(float low, float high) noexcept
{
    return __half2(__float2half(low), __float2half(high));
}
inline __half2 __float2half2_rn(float value) noexcept
{
    return __floats2half2_rn(value, value);
}
inline __half2 __float22half2_rn(float2 value) noexcept
{
    return __floats2half2_rn(value.x, value.y);
}
inline float2 __half22float2(__half2 value) noexcept
{
    return make_float2(__half2float(value.x), __half2float(value.y));
}
inline float __low2float(__half2 value) noexcept
{
    return __half2float(value.x);
}
inline float __high2float(__half2 value) noexcept
{
    return __half2float(value.y);
}
inline __half __low2half(__half2 value) noexcept
{
    return value.x;
}
inline __half __high2half(__half2 value) noexcept
{
    return value.y;
}
inline __half2 __low2half2(__half2 value) noexcept
{
    return __half2(value.x, value.x);
}
inline __half2 __high2half2(__half2 value) noexcept
{
    return __half2(value.y, value.y);
}
inline __half2 __lows2half2(__half2 a, __half2 b) noexcept
{
    return __half2(a.x, b.x);
}
inline __half2 __highs2half2(__half2 a, __half2 b) noexcept
{
    return __half2(a.y, b.y);
}
inline __half2 __lowhigh2highlow(__half2 value) noexcept
{
    return __half2(value.y, value.x);
}

// Questions. With "u" the answer is yes where an operand is not a number, without it no.

inline bool __hisnan(__half value) noexcept
{
    return tenon_hostrt::isNan(__half_as_ushort(value));
}
inline int __hisinf(__half value) noexcept
{
    unsigned short const bits = __half_as_ushort(value);
    return bits == 0x7C00U ? 1 : bits == 0xFC00U ? -1 : 0;
}
inline __half2 __hisnan2(__half2 value) noexcept
{
    return __half2(
        __ushort_as_half(__hisnan(value.x) ? 0x3C00U : 0U), __ushort_as_half(__hisnan(value.y) ? 0x3C00U : 0U));
}

#define TENON_HOSTRT_COMPARISON_OF_PAIRS(name)                                                                         \
    inline __half2 __h##name##2(__half2 a, __half2 b) noexcept                                                         \
    {                                                                                                                  \
        return __half2(__ushort_as_half(__h##name(a.x, b.x) ? 0x3C00U : 0U),                                           \
            __ushort_as_half(__h##name(a.y, b.y) ? 0x3C00U : 0U));                                                     \
    }                                                                                                                  \
    inline unsigned int __h##name##2_mask(__half2 a, __half2 b) noexcept                                               \
    {                                                                                                                  \
        return (__h##name(a.x, b.x) ? 0xFFFFU : 0U) | (__h##name(a.y, b.y) ? 0xFFFF0000U : 0U);                        \
    }                                                                                                                  \
    inline bool __hb##name##2(__half2 a, __half2 b) noexcept                                                           \
    {                                                                                                                  \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                             \
    }
#define TENON_HOSTRT_COMPARISON(name, op)                                                                              \
    inline bool __h##name(__half a, __half b) noexcept                                                                 \
    {                                                                                                                  \
        return !__hisnan(a) && !__hisnan(b) && __half2float(a) op __half2float(b);                                     \
    }                                                                                                                  \
    inline bool __h##name##u(__half a, __half b) noexcept                                                              \
    {                                                                                                                  \
        return __hisnan(a) || __hisnan(b) || __half2float(a) op __half2float(b);                                       \
    }                                                                                                                  \
    TENON_HOSTRT_COMPARISON_OF_PAIRS(name)                                                                             \
    TENON_HOSTRT_COMPARISON_OF_PAIRS(name##u)
TENON_HOSTRT_COMPARISON(eq, ==)
TENON_HOSTRT_COMPARISON(ne, !=)
TENON_HOSTRT_COMPARISON(le, <=)
TENON_HOSTRT_COMPARISON(ge, >=)
TENON_HOSTRT_COMPARISON(lt, <)
TENON_HOSTRT_COMPARISON(gt, >)
#undef TENON_HOSTRT_COMPARISON
#undef TENON_HOSTRT_COMPARISON_OF_PAIRS

// Arithmetic. A float has so many bits that rounding its result once more gives the half next to the true one.

#define TENON_HOSTRT_EACH(name, single)                                                                                \
    inline __half2 name(__half2 a, __half2 b) noexcept                                                                 \
    {                                                                                                                  \
        return __half2(single(a.x, b.x), single(a.y, b.y));                                                            \
    }

inline __half __hneg(__half value) noexcept
{
    return __float2half(-__half2float(value));
}
inline __half __habs(__half value) noexcept
{
    return __hisnan(value) ? CUDART_NAN_FP16 : __ushort_as_half(__half_as_ushort(value) & 0x7FFFU);
}
inline __half2 __hneg2(__half2 value) noexcept
{
    return __half2(__hneg(value.x), __hneg(value.y));
}
inline __half2 __habs2(__half2 value) noexcept
{
    return __half2(__habs(value.x), __habs(value.y));
}

//! The other operand where one is not a number; −0 is below 0.
inline __half __hmax(__half a, __half b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return !__hisnan(a) ? a : !__hisnan(b) ? b : CUDART_NAN_FP16;
    if (__heq(a, b))
        return __ushort_as_half(__half_as_ushort(a) & __half_as_ushort(b));
    return __hgt(a, b) ? a : b;
}
inline __half __hmin(__half a, __half b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return !__hisnan(a) ? a : !__hisnan(b) ? b : CUDART_NAN_FP16;
    if (__heq(a, b))
        return __ushort_as_half(__half_as_ushort(a) | __half_as_ushort(b));
    return __hlt(a, b) ? a : b;
}
inline __half __hmax_nan(__half a, __half b) noexcept
{
    return __hisnan(a) || __hisnan(b) ? CUDART_NAN_FP16 : __hmax(a, b);
}
inline __half __hmin_nan(__half a, __half b) noexcept
{
    return __hisnan(a) || __hisnan(b) ? CUDART_NAN_FP16 : __hmin(a, b);
}
TENON_HOSTRT_EACH(__hmax2, __hmax)
TENON_HOSTRT_EACH(__hmin2, __hmin)
TENON_HOSTRT_EACH(__hmax2_nan, __hmax_nan)
TENON_HOSTRT_EACH(__hmin2_nan, __hmin_nan)

#define TENON_HOSTRT_ARITHMETIC(name, op)                                                                              \
    inline __half name(__half a, __half b) noexcept                                                                    \
    {                                                                                                                  \
        return __float2half(__half2float(a) op __half2float(b));                                                       \
    }
TENON_HOSTRT_ARITHMETIC(__hadd, +)
TENON_HOSTRT_ARITHMETIC(__hsub, -)
TENON_HOSTRT_ARITHMETIC(__hmul, *)
TENON_HOSTRT_ARITHMETIC(__hdiv, /)
TENON_HOSTRT_EACH(__h2div, __hdiv)
#undef TENON_HOSTRT_ARITHMETIC

// "rn" is never made part of a fused operation, which makes no difference here; "sat" ends at 0 and 1.
#define TENON_HOSTRT_VARIANTS(name)                                                                                    \
    inline __half name##_rn(__half a, __half b) noexcept                                                               \
    {                                                                                                                  \
        return name(a, b);                                                                                             \
    }                                                                                                                  \
    inline __half name##_sat(__half a, __half b) noexcept                                                              \
    {                                                                                                                  \
        return __hmin(__hmax(name(a, b), CUDART_ZERO_FP16), CUDART_ONE_FP16);                                          \
    }                                                                                                                  \
    TENON_HOSTRT_EACH(name##2, name)                                                                                   \
    TENON_HOSTRT_EACH(name##2_rn, name##_rn)                                                                           \
    TENON_HOSTRT_EACH(name##2_sat, name##_sat)
TENON_HOSTRT_VARIANTS(__hadd)
TENON_HOSTRT_VARIANTS(__hsub)
TENON_HOSTRT_VARIANTS(__hmul)
#undef TENON_HOSTRT_VARIANTS
#undef TENON_HOSTRT_EACH

// Operators.

#define TENON_HOSTRT_OPERATOR(type, op, function)                                                                      \
    inline type operator op(type const& a, type const& b) noexcept                                                     \
    {                                                                                                                  \
        return function(a, b);                                                                                         \
    }                                                                                                                  \
    inline type& operator op##=(type& a, type const& b) noexcept                                                       \
    {                                                                                                                  \
        return a = function(a, b);                                                                                     \
    }
#define TENON_HOSTRT_STEP(type, op, function, one)                                                                     \
    inline type& operator op(type& value) noexcept                                                                     \
    {                                                                                                                  \
        return value = function(value, one);                                                                           \
    }                                                                                                                  \
    inline type operator op(type& value, int) noexcept                                                                 \
    {                                                                                                                  \
        type const before = value;                                                                                     \
        value = function(value, one);                                                                                  \
        return before;                                                                                                 \
    }
#define TENON_HOSTRT_QUESTION(type, op, function)                                                                      \
    inline bool operator op(type const& a, type const& b) noexcept                                                     \
    {                                                                                                                  \
        return function(a, b);                                                                                         \
    }

#ifndef __CUDA_NO_HALF_OPERATORS__
TENON_HOSTRT_OPERATOR(__half, +, __hadd)
TENON_HOSTRT_OPERATOR(__half, -, __hsub)
TENON_HOSTRT_OPERATOR(__half, *, __hmul)
TENON_HOSTRT_OPERATOR(__half, /, __hdiv)
TENON_HOSTRT_STEP(__half, ++, __hadd, CUDART_ONE_FP16)
TENON_HOSTRT_STEP(__half, --, __hsub, CUDART_ONE_FP16)
TENON_HOSTRT_QUESTION(__half, ==, __heq)
TENON_HOSTRT_QUESTION(__half, !=, __hneu)
TENON_HOSTRT_QUESTION(__half, <, __hlt)
TENON_HOSTRT_QUESTION(__half, >, __hgt)
TENON_HOSTRT_QUESTION(__half, <=, __hle)
TENON_HOSTRT_QUESTION(__half, >=, __hge)
inline __half operator+(__half const& value) noexcept
{
    return value;
}
inline __half operator-(__half const& value) noexcept
{
    return __hneg(value);
}
#endif

#ifndef __CUDA_NO_HALF2_OPERATORS__
TENON_HOSTRT_OPERATOR(__half2, +, __hadd2)
TENON_HOSTRT_OPERATOR(__half2, -, __hsub2)
TENON_HOSTRT_OPERATOR(__half2, *, __hmul2)
TENON_HOSTRT_OPERATOR(__half2, /, __h2div)
TENON_HOSTRT_STEP(__half2, ++, __hadd2, __half2half2(CUDART_ONE_FP16))
TENON_HOSTRT_STEP(__half2, --, __hsub2, __half2half2(CUDART_ONE_FP16))
TENON_HOSTRT_QUESTION(__half2, ==, __hbeq2)
TENON_HOSTRT_QUESTION(__half2, !=, __hbneu2)
TENON_HOSTRT_QUESTION(__half2, <, __hblt2)
TENON_HOSTRT_QUESTION(__half2, >, __hbgt2)
TENON_HOSTRT_QUESTION(__half2, <=, __hble2)
TENON_HOSTRT_QUESTION(__half2, >=, __hbge2)
inline __half2 operator+(__half2 const& value) noexcept
{
    return value;
}
inline __half2 operator-(__half2 const& value) noexcept
{
    return __hneg2(value);
}
#endif
#undef TENON_HOSTRT_OPERATOR
#undef TENON_HOSTRT_STEP
#undef TENON_HOSTRT_QUESTION

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_FP16_H
