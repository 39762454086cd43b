// Floats of 8 bits of exponent and 7 of fraction as host code sees them: what the toolkit's header declares for a host
// compiler, with the same results.
#ifndef TENON_HOSTRT_CUDA_BF16_H
#define TENON_HOSTRT_CUDA_BF16_H

#include "tenon_alone.h"
#define __CUDA_BF16_H__ // Programs ask for it.

#include "cuda_fp16.h"

typedef struct __align__(2)
{
    unsigned short x;
}
__nv_bfloat16_raw;

typedef struct __align__(4)
{
    unsigned short x;
    unsigned short y;
}
__nv_bfloat162_raw;

#ifdef __cplusplus

#define __CUDA_BF16_TYPES_EXIST__

#include "tenon_formats.h"

#define TENON_HOSTRT_NUMBER __nv_bfloat16
#define TENON_HOSTRT_RAW __nv_bfloat16_raw
#define TENON_HOSTRT_PAIR __nv_bfloat162
#define TENON_HOSTRT_PAIR_RAW __nv_bfloat162_raw
#define TENON_HOSTRT_NAMED(before, behind) before##bfloat16##behind
#define TENON_HOSTRT_TWICE __bfloat162bfloat162
#define TENON_HOSTRT_FORMAT tenon_hostrt::Bfloat
#define TENON_HOSTRT_ONE 0x3F80U
#define TENON_HOSTRT_INFINITY 0x7F80U
#define TENON_HOSTRT_MORE_CONSTRUCTORS                                                                                 \
    explicit __nv_bfloat16(__half value) noexcept                                                                      \
        : __x{tenon_hostrt::Bfloat::from(__half2float(value))}                                                         \
    {                                                                                                                  \
    }
#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define TENON_HOSTRT_CONVERSIONS 0
#else
#define TENON_HOSTRT_CONVERSIONS 1
#endif
#ifdef __CUDA_BF16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__
#define TENON_HOSTRT_INTEGERS 0
#else
#define TENON_HOSTRT_INTEGERS 1
#endif
#ifdef __CUDA_NO_BFLOAT16_OPERATORS__
#define TENON_HOSTRT_OPERATORS 0
#else
#define TENON_HOSTRT_OPERATORS 1
#endif
#ifdef __CUDA_NO_BFLOAT162_OPERATORS__
#define TENON_HOSTRT_PAIR_OPERATORS 0
#else
#define TENON_HOSTRT_PAIR_OPERATORS 1
#endif
#include "tenon_numbers.h"

#ifndef CUDA_NO_BFLOAT16
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F80U))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7FFFU))
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0001U))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F7FU))
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x8000U))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000U))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3F80U))

// Rounded once; there are those that host code may call.

#define TENON_HOSTRT_NEAREST(name, type)                                                                               \
    inline __nv_bfloat16 __##name##2bfloat16_rn(type value) noexcept                                                   \
    {                                                                                                                  \
        return __ushort_as_bfloat16(tenon_hostrt::Bfloat::from(value));                                                \
    }
#define TENON_HOSTRT_ROUNDED(name, type)                                                                               \
    TENON_HOSTRT_NEAREST(name, type)                                                                                   \
    inline __nv_bfloat16 __##name##2bfloat16_rz(type value) noexcept                                                   \
    {                                                                                                                  \
        return __ushort_as_bfloat16(tenon_hostrt::Bfloat::from(value, tenon_hostrt::Rounding::kTOWARD_ZERO));          \
    }                                                                                                                  \
    inline __nv_bfloat16 __##name##2bfloat16_rd(type value) noexcept                                                   \
    {                                                                                                                  \
        return __ushort_as_bfloat16(tenon_hostrt::Bfloat::from(value, tenon_hostrt::Rounding::kDOWN));                 \
    }                                                                                                                  \
    inline __nv_bfloat16 __##name##2bfloat16_ru(type value) noexcept                                                   \
    {                                                                                                                  \
        return __ushort_as_bfloat16(tenon_hostrt::Bfloat::from(value, tenon_hostrt::Rounding::kUP));                   \
    }
TENON_HOSTRT_ROUNDED(float, float)
TENON_HOSTRT_NEAREST(short, short)
TENON_HOSTRT_NEAREST(ushort, unsigned short)
TENON_HOSTRT_NEAREST(int, int)
TENON_HOSTRT_NEAREST(uint, unsigned int)
TENON_HOSTRT_NEAREST(ll, long long)
TENON_HOSTRT_NEAREST(ull, unsigned long long)
#undef TENON_HOSTRT_NEAREST
#undef TENON_HOSTRT_ROUNDED

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_BF16_H
