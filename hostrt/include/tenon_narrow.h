// Numbers of at most 8 bits, pairs and fours of them, as host code sees them: cuda_fp8.h and cuda_fp4.h include this
// with the names of their own, which it forgets again.
//
// TENON_HOSTRT_NUMBER, _PAIR, _FOUR: the types; _STORAGE, _PAIR_STORAGE, _FOUR_STORAGE: what they hold; _BITS: of one,
// and _MASK; _FROM(value), _FROM_DOUBLE(value), _TO_FLOAT(bits): conversions; _IS_TRUE: whether a number is not 0;
// _WIDE: the pair that holds all pairs; _MORE_CONVERSIONS: others of a pair; _OF_INTEGER: by which type integers come.

struct __align__(1) TENON_HOSTRT_NUMBER
{
    TENON_HOSTRT_STORAGE __x;

    TENON_HOSTRT_NUMBER() = default;
#define TENON_HOSTRT_CONSTRUCTOR(type, wide)                                                                           \
    explicit TENON_HOSTRT_NUMBER(type value) noexcept                                                                  \
        : __x{TENON_HOSTRT_FROM(static_cast<double>(static_cast<wide>(value)))}                                        \
    {                                                                                                                  \
    }
    TENON_HOSTRT_CONSTRUCTOR(__half, float)
    TENON_HOSTRT_CONSTRUCTOR(__nv_bfloat16, float)
    TENON_HOSTRT_CONSTRUCTOR(float, float)
    TENON_HOSTRT_CONSTRUCTOR(unsigned short, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(unsigned int, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(unsigned long, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(unsigned long long, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(short, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(int, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(long, TENON_HOSTRT_OF_INTEGER)
    TENON_HOSTRT_CONSTRUCTOR(long long, TENON_HOSTRT_OF_INTEGER)
#undef TENON_HOSTRT_CONSTRUCTOR
    explicit TENON_HOSTRT_NUMBER(double value) noexcept
        : __x{TENON_HOSTRT_FROM_DOUBLE(value)}
    {
    }

    explicit operator float() const noexcept
    {
        return TENON_HOSTRT_TO_FLOAT(__x);
    }
    explicit operator double() const noexcept
    {
        return static_cast<double>(static_cast<float>(*this));
    }
    explicit operator __half() const noexcept
    {
        return __float2half(static_cast<float>(*this));
    }
    explicit operator __nv_bfloat16() const noexcept
    {
        return __float2bfloat16(static_cast<float>(*this));
    }
    explicit operator bool() const noexcept
    {
        return TENON_HOSTRT_IS_TRUE(__x);
    }
#define TENON_HOSTRT_INTEGER(type)                                                                                     \
    explicit operator type() const noexcept                                                                            \
    {                                                                                                                  \
        return tenon_hostrt::integerFrom<type>(static_cast<float>(*this));                                             \
    }
    TENON_HOSTRT_INTEGER(unsigned char)
    TENON_HOSTRT_INTEGER(unsigned short)
    TENON_HOSTRT_INTEGER(unsigned int)
    TENON_HOSTRT_INTEGER(unsigned long)
    TENON_HOSTRT_INTEGER(unsigned long long)
    TENON_HOSTRT_INTEGER(signed char)
    TENON_HOSTRT_INTEGER(char)
    TENON_HOSTRT_INTEGER(short)
    TENON_HOSTRT_INTEGER(int)
    TENON_HOSTRT_INTEGER(long)
    TENON_HOSTRT_INTEGER(long long)
#undef TENON_HOSTRT_INTEGER
};

struct __align__(TENON_HOSTRT_PAIR_BYTES) TENON_HOSTRT_PAIR
{
    TENON_HOSTRT_PAIR_STORAGE __x;

    TENON_HOSTRT_PAIR() = default;
    explicit TENON_HOSTRT_PAIR(double2 value) noexcept
        : __x{static_cast<TENON_HOSTRT_PAIR_STORAGE>(
            TENON_HOSTRT_FROM_DOUBLE(value.x) | TENON_HOSTRT_FROM_DOUBLE(value.y) << TENON_HOSTRT_BITS)}
    {
    }
    explicit TENON_HOSTRT_PAIR(float2 value) noexcept
        : __x{static_cast<TENON_HOSTRT_PAIR_STORAGE>(TENON_HOSTRT_FROM(static_cast<double>(value.x))
            | TENON_HOSTRT_FROM(static_cast<double>(value.y)) << TENON_HOSTRT_BITS)}
    {
    }
    explicit TENON_HOSTRT_PAIR(__half2 value) noexcept
        : TENON_HOSTRT_PAIR(__half22float2(value))
    {
    }
    explicit TENON_HOSTRT_PAIR(__nv_bfloat162 value) noexcept
        : TENON_HOSTRT_PAIR(__bfloat1622float2(value))
    {
    }
    explicit operator float2() const noexcept
    {
        return make_float2(
            TENON_HOSTRT_TO_FLOAT(__x & TENON_HOSTRT_MASK), TENON_HOSTRT_TO_FLOAT(__x >> TENON_HOSTRT_BITS));
    }
    explicit operator TENON_HOSTRT_WIDE() const noexcept
    {
        float2 const values = static_cast<float2>(*this);
        return TENON_HOSTRT_WIDE(values.x, values.y);
    }
    TENON_HOSTRT_MORE_CONVERSIONS
};

struct __align__(TENON_HOSTRT_FOUR_BYTES) TENON_HOSTRT_FOUR
{
    TENON_HOSTRT_FOUR_STORAGE __x;

    TENON_HOSTRT_FOUR() = default;
#define TENON_HOSTRT_CONSTRUCTOR(type, pair)                                                                           \
    explicit TENON_HOSTRT_FOUR(type const& value) noexcept                                                             \
        : __x{together(TENON_HOSTRT_PAIR(pair(value.x, value.y)), TENON_HOSTRT_PAIR(pair(value.z, value.w)))}          \
    {                                                                                                                  \
    }
    TENON_HOSTRT_CONSTRUCTOR(float4, make_float2)
    TENON_HOSTRT_CONSTRUCTOR(double4, make_double2)
    TENON_HOSTRT_CONSTRUCTOR(double4_16a, make_double2)
    TENON_HOSTRT_CONSTRUCTOR(double4_32a, make_double2)
#undef TENON_HOSTRT_CONSTRUCTOR
    explicit TENON_HOSTRT_FOUR(__half2 low, __half2 high) noexcept
        : __x{together(TENON_HOSTRT_PAIR(low), TENON_HOSTRT_PAIR(high))}
    {
    }
    explicit TENON_HOSTRT_FOUR(__nv_bfloat162 low, __nv_bfloat162 high) noexcept
        : __x{together(TENON_HOSTRT_PAIR(low), TENON_HOSTRT_PAIR(high))}
    {
    }
    explicit operator float4() const noexcept
    {
        TENON_HOSTRT_PAIR low;
        TENON_HOSTRT_PAIR high;
        low.__x = static_cast<TENON_HOSTRT_PAIR_STORAGE>(__x);
        high.__x = static_cast<TENON_HOSTRT_PAIR_STORAGE>(__x >> (2 * TENON_HOSTRT_BITS));
        float2 const lows = static_cast<float2>(low);
        float2 const highs = static_cast<float2>(high);
        return make_float4(lows.x, lows.y, highs.x, highs.y);
    }

  private:
    static TENON_HOSTRT_FOUR_STORAGE together(TENON_HOSTRT_PAIR low, TENON_HOSTRT_PAIR high) noexcept
    {
        unsigned const upper = high.__x;
        return static_cast<TENON_HOSTRT_FOUR_STORAGE>(low.__x | upper << (2 * TENON_HOSTRT_BITS));
    }
};

#undef TENON_HOSTRT_NUMBER
#undef TENON_HOSTRT_PAIR
#undef TENON_HOSTRT_FOUR
#undef TENON_HOSTRT_FROM
#undef TENON_HOSTRT_FROM_DOUBLE
#undef TENON_HOSTRT_TO_FLOAT
#undef TENON_HOSTRT_IS_TRUE
#undef TENON_HOSTRT_WIDE
#undef TENON_HOSTRT_MORE_CONVERSIONS
#undef TENON_HOSTRT_OF_INTEGER
