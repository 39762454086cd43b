// Numbers of 16 bits and pairs of them as host code sees them: cuda_fp16.h and cuda_bf16.h include this with the names
// of their own, which it forgets again.
//
// TENON_HOSTRT_NUMBER, _RAW, _PAIR, _PAIR_RAW: the types; _NAMED(before, behind): a function that has the type's name
// between the two; _TWICE: the function that makes a pair of one; _FORMAT: the arithmetic; _ONE, _INFINITY: their bits;
// _CONVERSIONS, _INTEGERS, _OPERATORS, _PAIR_OPERATORS: what there is; _MORE_CONSTRUCTORS: others.

#define TENON_HOSTRT_CONSTANT(bits) TENON_HOSTRT_NAMED(__ushort_as_, )(static_cast<unsigned short>(bits))

// Conversions between one and a number; switches of the toolkit's leave out those of integers, or all.
#define TENON_HOSTRT_CONSTRUCTOR(type)                                                                                 \
    TENON_HOSTRT_NUMBER(type value)                                                                                    \
    noexcept                                                                                                           \
        : __x{TENON_HOSTRT_FORMAT::from(value)}                                                                        \
    {                                                                                                                  \
    }
#define TENON_HOSTRT_ASSIGNMENT(type)                                                                                  \
    TENON_HOSTRT_NUMBER& operator=(type value) noexcept                                                                \
    {                                                                                                                  \
        __x = TENON_HOSTRT_FORMAT::from(value);                                                                        \
        return *this;                                                                                                  \
    }
#define TENON_HOSTRT_INTEGER(type)                                                                                     \
    operator type() const noexcept                                                                                     \
    {                                                                                                                  \
        return TENON_HOSTRT_FORMAT::toInteger<type>(__x);                                                              \
    }

struct __align__(2) TENON_HOSTRT_NUMBER
{
  protected:
    unsigned short __x;

  public:
    TENON_HOSTRT_NUMBER() = default;
    constexpr TENON_HOSTRT_NUMBER(TENON_HOSTRT_RAW const& raw) noexcept
        : __x{raw.x}
    {
    }
    TENON_HOSTRT_NUMBER& operator=(TENON_HOSTRT_RAW const& raw) noexcept
    {
        __x = raw.x;
        return *this;
    }
    TENON_HOSTRT_NUMBER volatile& operator=(TENON_HOSTRT_RAW const& raw) volatile noexcept
    {
        __x = raw.x;
        return *this;
    }
    TENON_HOSTRT_NUMBER volatile& operator=(TENON_HOSTRT_RAW const volatile& raw) volatile noexcept
    {
        __x = raw.x;
        return *this;
    }
    operator TENON_HOSTRT_RAW() const noexcept
    {
        return {__x};
    }
    operator TENON_HOSTRT_RAW() const volatile noexcept
    {
        return {__x};
    }

#if TENON_HOSTRT_CONVERSIONS
    TENON_HOSTRT_CONSTRUCTOR(float)
    TENON_HOSTRT_CONSTRUCTOR(double)
    TENON_HOSTRT_ASSIGNMENT(float)
    TENON_HOSTRT_ASSIGNMENT(double)
    TENON_HOSTRT_MORE_CONSTRUCTORS
    operator float() const noexcept
    {
        return TENON_HOSTRT_FORMAT::toFloat(__x);
    }
#if TENON_HOSTRT_INTEGERS
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
#endif // TENON_HOSTRT_INTEGERS
#endif // TENON_HOSTRT_CONVERSIONS
};
#undef TENON_HOSTRT_CONSTRUCTOR
#undef TENON_HOSTRT_ASSIGNMENT
#undef TENON_HOSTRT_INTEGER

struct __align__(4) TENON_HOSTRT_PAIR
{
    TENON_HOSTRT_NUMBER x;
    TENON_HOSTRT_NUMBER y;

    TENON_HOSTRT_PAIR() = default;
    constexpr TENON_HOSTRT_PAIR(TENON_HOSTRT_NUMBER const& low, TENON_HOSTRT_NUMBER const& high) noexcept
        : x(low),
          y(high)
    {
    }
    TENON_HOSTRT_PAIR(TENON_HOSTRT_PAIR_RAW const& raw)
    noexcept
        : x(TENON_HOSTRT_RAW{raw.x}),
          y(TENON_HOSTRT_RAW{raw.y})
    {
    }
    // Written out, since the toolkit's is: functions of code that was compiled with either header take it the same way.
    TENON_HOSTRT_PAIR(TENON_HOSTRT_PAIR const& other)
    noexcept
        : x(other.x),
          y(other.y)
    {
    }
    TENON_HOSTRT_PAIR& operator=(TENON_HOSTRT_PAIR const& other) noexcept
    {
        x = other.x;
        y = other.y;
        return *this;
    }
    TENON_HOSTRT_PAIR& operator=(TENON_HOSTRT_PAIR_RAW const& raw) noexcept
    {
        return *this = TENON_HOSTRT_PAIR(raw);
    }
    operator TENON_HOSTRT_PAIR_RAW() const noexcept
    {
        return {static_cast<TENON_HOSTRT_RAW>(x).x, static_cast<TENON_HOSTRT_RAW>(y).x};
    }
};

// The bits.

inline unsigned short TENON_HOSTRT_NAMED(__, _as_ushort)(TENON_HOSTRT_NUMBER value) noexcept
{
    return static_cast<TENON_HOSTRT_RAW>(value).x;
}
inline short TENON_HOSTRT_NAMED(__, _as_short)(TENON_HOSTRT_NUMBER value) noexcept
{
    return static_cast<short>(TENON_HOSTRT_NAMED(__, _as_ushort)(value));
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__ushort_as_, )(unsigned short bits) noexcept
{
    return TENON_HOSTRT_NUMBER(TENON_HOSTRT_RAW{bits});
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__short_as_, )(short bits) noexcept
{
    return TENON_HOSTRT_NAMED(__ushort_as_, )(static_cast<unsigned short>(bits));
}

// Numbers.

inline float TENON_HOSTRT_NAMED(__, 2float)(TENON_HOSTRT_NUMBER value) noexcept
{
    return TENON_HOSTRT_FORMAT::toFloat(TENON_HOSTRT_NAMED(__, _as_ushort)(value));
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__double2, )(double value) noexcept
{
    return TENON_HOSTRT_NAMED(__ushort_as_, )(TENON_HOSTRT_FORMAT::from(value));
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__float2, )(float value) noexcept
{
    return TENON_HOSTRT_NAMED(__ushort_as_, )(TENON_HOSTRT_FORMAT::from(value));
}

#define TENON_HOSTRT_TRUNCATED(name, type)                                                                             \
    inline type TENON_HOSTRT_NAMED(__, 2##name##_rz)(TENON_HOSTRT_NUMBER value) noexcept                               \
    {                                                                                                                  \
        return TENON_HOSTRT_FORMAT::toInteger<type>(TENON_HOSTRT_NAMED(__, _as_ushort)(value));                        \
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

inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(make_, 2)(TENON_HOSTRT_NUMBER low, TENON_HOSTRT_NUMBER high) noexcept
{
    return TENON_HOSTRT_PAIR(low, high);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__halves2, 2)(TENON_HOSTRT_NUMBER low, TENON_HOSTRT_NUMBER high) noexcept
{
    return TENON_HOSTRT_PAIR(low, high);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_TWICE(TENON_HOSTRT_NUMBER value) noexcept
{
    return TENON_HOSTRT_PAIR(value, value);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__floats2, 2_rn)(float low, float high) noexcept
{
    return TENON_HOSTRT_PAIR(TENON_HOSTRT_NAMED(__float2, )(low), TENON_HOSTRT_NAMED(__float2, )(high));
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__float2, 2_rn)(float value) noexcept
{
    return TENON_HOSTRT_NAMED(__floats2, 2_rn)(value, value);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__float22, 2_rn)(float2 value) noexcept
{
    return TENON_HOSTRT_NAMED(__floats2, 2_rn)(value.x, value.y);
}
inline float2 TENON_HOSTRT_NAMED(__, 22float2)(TENON_HOSTRT_PAIR value) noexcept
{
    return make_float2(TENON_HOSTRT_NAMED(__, 2float)(value.x), TENON_HOSTRT_NAMED(__, 2float)(value.y));
}
inline float __low2float(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_NAMED(__, 2float)(value.x);
}
inline float __high2float(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_NAMED(__, 2float)(value.y);
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__low2, )(TENON_HOSTRT_PAIR value) noexcept
{
    return value.x;
}
inline TENON_HOSTRT_NUMBER TENON_HOSTRT_NAMED(__high2, )(TENON_HOSTRT_PAIR value) noexcept
{
    return value.y;
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__low2, 2)(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(value.x, value.x);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__high2, 2)(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(value.y, value.y);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__lows2, 2)(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept
{
    return TENON_HOSTRT_PAIR(a.x, b.x);
}
inline TENON_HOSTRT_PAIR TENON_HOSTRT_NAMED(__highs2, 2)(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept
{
    return TENON_HOSTRT_PAIR(a.y, b.y);
}
inline TENON_HOSTRT_PAIR __lowhigh2highlow(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(value.y, value.x);
}

// Questions. With "u" the answer is yes where an operand is not a number, without it no.

inline bool __hisnan(TENON_HOSTRT_NUMBER value) noexcept
{
    return TENON_HOSTRT_FORMAT::isNan(TENON_HOSTRT_NAMED(__, _as_ushort)(value));
}
inline int __hisinf(TENON_HOSTRT_NUMBER value) noexcept
{
    unsigned short const bits = TENON_HOSTRT_NAMED(__, _as_ushort)(value);
    return bits == TENON_HOSTRT_INFINITY ? 1 : bits == (0x8000U | TENON_HOSTRT_INFINITY) ? -1 : 0;
}
inline TENON_HOSTRT_PAIR __hisnan2(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(TENON_HOSTRT_NAMED(__ushort_as_, )(__hisnan(value.x) ? TENON_HOSTRT_ONE : 0U),
        TENON_HOSTRT_NAMED(__ushort_as_, )(__hisnan(value.y) ? TENON_HOSTRT_ONE : 0U));
}

#define TENON_HOSTRT_COMPARISON_OF_PAIRS(name)                                                                         \
    inline TENON_HOSTRT_PAIR __h##name##2(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept                           \
    {                                                                                                                  \
        return TENON_HOSTRT_PAIR(TENON_HOSTRT_NAMED(__ushort_as_, )(__h##name(a.x, b.x) ? TENON_HOSTRT_ONE : 0U),      \
            TENON_HOSTRT_NAMED(__ushort_as_, )(__h##name(a.y, b.y) ? TENON_HOSTRT_ONE : 0U));                          \
    }                                                                                                                  \
    inline unsigned int __h##name##2_mask(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept                           \
    {                                                                                                                  \
        return (__h##name(a.x, b.x) ? 0xFFFFU : 0U) | (__h##name(a.y, b.y) ? 0xFFFF0000U : 0U);                        \
    }                                                                                                                  \
    inline bool __hb##name##2(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept                                       \
    {                                                                                                                  \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                             \
    }
#define TENON_HOSTRT_COMPARISON(name, op)                                                                              \
    inline bool __h##name(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept                                       \
    {                                                                                                                  \
        return !__hisnan(a) && !__hisnan(b) && TENON_HOSTRT_NAMED(__, 2float)(a) op TENON_HOSTRT_NAMED(__, 2float)(b); \
    }                                                                                                                  \
    inline bool __h##name##u(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept                                    \
    {                                                                                                                  \
        return __hisnan(a) || __hisnan(b) || TENON_HOSTRT_NAMED(__, 2float)(a) op TENON_HOSTRT_NAMED(__, 2float)(b);   \
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

// Arithmetic. A float has so many bits that rounding its result once more gives the one next to the true one.

#define TENON_HOSTRT_EACH(name, single)                                                                                \
    inline TENON_HOSTRT_PAIR name(TENON_HOSTRT_PAIR a, TENON_HOSTRT_PAIR b) noexcept                                   \
    {                                                                                                                  \
        return TENON_HOSTRT_PAIR(single(a.x, b.x), single(a.y, b.y));                                                  \
    }

inline TENON_HOSTRT_NUMBER __hneg(TENON_HOSTRT_NUMBER value) noexcept
{
    return TENON_HOSTRT_NAMED(__float2, )(-TENON_HOSTRT_NAMED(__, 2float)(value));
}
inline TENON_HOSTRT_NUMBER __habs(TENON_HOSTRT_NUMBER value) noexcept
{
    return __hisnan(value) ? TENON_HOSTRT_CONSTANT(0x7FFFU)
                           : TENON_HOSTRT_NAMED(__ushort_as_, )(TENON_HOSTRT_NAMED(__, _as_ushort)(value) & 0x7FFFU);
}
inline TENON_HOSTRT_PAIR __hneg2(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(__hneg(value.x), __hneg(value.y));
}
inline TENON_HOSTRT_PAIR __habs2(TENON_HOSTRT_PAIR value) noexcept
{
    return TENON_HOSTRT_PAIR(__habs(value.x), __habs(value.y));
}

//! The other operand where one is not a number; −0 is below 0.
inline TENON_HOSTRT_NUMBER __hmax(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return !__hisnan(a) ? a : !__hisnan(b) ? b : TENON_HOSTRT_CONSTANT(0x7FFFU);
    if (__heq(a, b))
        return TENON_HOSTRT_NAMED(__ushort_as_, )(
            TENON_HOSTRT_NAMED(__, _as_ushort)(a) & TENON_HOSTRT_NAMED(__, _as_ushort)(b));
    return __hgt(a, b) ? a : b;
}
inline TENON_HOSTRT_NUMBER __hmin(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return !__hisnan(a) ? a : !__hisnan(b) ? b : TENON_HOSTRT_CONSTANT(0x7FFFU);
    if (__heq(a, b))
        return TENON_HOSTRT_NAMED(__ushort_as_, )(
            TENON_HOSTRT_NAMED(__, _as_ushort)(a) | TENON_HOSTRT_NAMED(__, _as_ushort)(b));
    return __hlt(a, b) ? a : b;
}
inline TENON_HOSTRT_NUMBER __hmax_nan(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return TENON_HOSTRT_CONSTANT(0x7FFFU);
    return TENON_HOSTRT_FORMAT::kIsTopOfFloat && __heq(a, b) ? a : __hmax(a, b);
}
inline TENON_HOSTRT_NUMBER __hmin_nan(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept
{
    if (__hisnan(a) || __hisnan(b))
        return TENON_HOSTRT_CONSTANT(0x7FFFU);
    return TENON_HOSTRT_FORMAT::kIsTopOfFloat && __heq(a, b) ? a : __hmin(a, b);
}
TENON_HOSTRT_EACH(__hmax2, __hmax)
TENON_HOSTRT_EACH(__hmin2, __hmin)
TENON_HOSTRT_EACH(__hmax2_nan, __hmax_nan)
TENON_HOSTRT_EACH(__hmin2_nan, __hmin_nan)

#define TENON_HOSTRT_ARITHMETIC(name, op)                                                                              \
    inline TENON_HOSTRT_NUMBER name(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept                             \
    {                                                                                                                  \
        return TENON_HOSTRT_NAMED(__float2, )(TENON_HOSTRT_NAMED(__, 2float)(a) op TENON_HOSTRT_NAMED(__, 2float)(b)); \
    }
TENON_HOSTRT_ARITHMETIC(__hadd, +)
TENON_HOSTRT_ARITHMETIC(__hsub, -)
TENON_HOSTRT_ARITHMETIC(__hmul, *)
TENON_HOSTRT_ARITHMETIC(__hdiv, /)
TENON_HOSTRT_EACH(__h2div, __hdiv)
#undef TENON_HOSTRT_ARITHMETIC

// "rn" is never made part of a fused operation, which makes no difference here; "sat" ends at 0 and 1.
#define TENON_HOSTRT_VARIANTS(name)                                                                                    \
    inline TENON_HOSTRT_NUMBER name##_rn(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept                        \
    {                                                                                                                  \
        return name(a, b);                                                                                             \
    }                                                                                                                  \
    inline TENON_HOSTRT_NUMBER name##_sat(TENON_HOSTRT_NUMBER a, TENON_HOSTRT_NUMBER b) noexcept                       \
    {                                                                                                                  \
        return __hmin(__hmax(name(a, b), TENON_HOSTRT_CONSTANT(0U)), TENON_HOSTRT_CONSTANT(TENON_HOSTRT_ONE));         \
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

#if TENON_HOSTRT_OPERATORS
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_NUMBER, +, __hadd)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_NUMBER, -, __hsub)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_NUMBER, *, __hmul)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_NUMBER, /, __hdiv)
TENON_HOSTRT_STEP(TENON_HOSTRT_NUMBER, ++, __hadd, TENON_HOSTRT_CONSTANT(TENON_HOSTRT_ONE))
TENON_HOSTRT_STEP(TENON_HOSTRT_NUMBER, --, __hsub, TENON_HOSTRT_CONSTANT(TENON_HOSTRT_ONE))
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, ==, __heq)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, !=, __hneu)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, <, __hlt)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, >, __hgt)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, <=, __hle)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_NUMBER, >=, __hge)
inline TENON_HOSTRT_NUMBER operator+(TENON_HOSTRT_NUMBER const& value) noexcept
{
    return value;
}
inline TENON_HOSTRT_NUMBER operator-(TENON_HOSTRT_NUMBER const& value) noexcept
{
    return __hneg(value);
}
#endif

#if TENON_HOSTRT_PAIR_OPERATORS
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_PAIR, +, __hadd2)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_PAIR, -, __hsub2)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_PAIR, *, __hmul2)
TENON_HOSTRT_OPERATOR(TENON_HOSTRT_PAIR, /, __h2div)
TENON_HOSTRT_STEP(TENON_HOSTRT_PAIR, ++, __hadd2, TENON_HOSTRT_TWICE(TENON_HOSTRT_CONSTANT(TENON_HOSTRT_ONE)))
TENON_HOSTRT_STEP(TENON_HOSTRT_PAIR, --, __hsub2, TENON_HOSTRT_TWICE(TENON_HOSTRT_CONSTANT(TENON_HOSTRT_ONE)))
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, ==, __hbeq2)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, !=, __hbneu2)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, <, __hblt2)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, >, __hbgt2)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, <=, __hble2)
TENON_HOSTRT_QUESTION(TENON_HOSTRT_PAIR, >=, __hbge2)
inline TENON_HOSTRT_PAIR operator+(TENON_HOSTRT_PAIR const& value) noexcept
{
    return value;
}
inline TENON_HOSTRT_PAIR operator-(TENON_HOSTRT_PAIR const& value) noexcept
{
    return __hneg2(value);
}
#endif
#undef TENON_HOSTRT_OPERATOR
#undef TENON_HOSTRT_STEP
#undef TENON_HOSTRT_QUESTION

#undef TENON_HOSTRT_NUMBER
#undef TENON_HOSTRT_RAW
#undef TENON_HOSTRT_PAIR
#undef TENON_HOSTRT_PAIR_RAW
#undef TENON_HOSTRT_NAMED
#undef TENON_HOSTRT_TWICE
#undef TENON_HOSTRT_FORMAT
#undef TENON_HOSTRT_ONE
#undef TENON_HOSTRT_INFINITY
#undef TENON_HOSTRT_CONVERSIONS
#undef TENON_HOSTRT_INTEGERS
#undef TENON_HOSTRT_OPERATORS
#undef TENON_HOSTRT_PAIR_OPERATORS
#undef TENON_HOSTRT_MORE_CONSTRUCTORS
#undef TENON_HOSTRT_CONSTANT
