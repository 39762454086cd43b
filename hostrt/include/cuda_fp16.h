// Half floats as host code sees them: what the toolkit's header declares for a host compiler, with the same results.
#ifndef TENON_HOSTRT_CUDA_FP16_H
#define TENON_HOSTRT_CUDA_FP16_H

#include "tenon_alone.h"
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

#include "tenon_formats.h"

#define TENON_HOSTRT_NUMBER __half
#define TENON_HOSTRT_RAW __half_raw
#define TENON_HOSTRT_PAIR __half2
#define TENON_HOSTRT_PAIR_RAW __half2_raw
#define TENON_HOSTRT_NAMED(before, behind) before##half##behind
#define TENON_HOSTRT_TWICE __half2half2
#define TENON_HOSTRT_FORMAT tenon_hostrt::Half
#define TENON_HOSTRT_ONE 0x3C00U
#define TENON_HOSTRT_INFINITY 0x7C00U
#define TENON_HOSTRT_MORE_CONSTRUCTORS
#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define TENON_HOSTRT_CONVERSIONS 0
#else
#define TENON_HOSTRT_CONVERSIONS 1
#endif
#ifdef __CUDA_FP16_DISABLE_IMPLICIT_INTEGER_CONVERTS_FOR_HOST_COMPILERS__
#define TENON_HOSTRT_INTEGERS 0
#else
#define TENON_HOSTRT_INTEGERS 1
#endif
#ifdef __CUDA_NO_HALF_OPERATORS__
#define TENON_HOSTRT_OPERATORS 0
#else
#define TENON_HOSTRT_OPERATORS 1
#endif
#ifdef __CUDA_NO_HALF2_OPERATORS__
#define TENON_HOSTRT_PAIR_OPERATORS 0
#else
#define TENON_HOSTRT_PAIR_OPERATORS 1
#endif
#include "tenon_numbers.h"

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

// Rounded once; there are those that host code may call.

#define TENON_HOSTRT_NEAREST(name, type)                                                                               \
    inline __half __##name##2half_rn(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::Half::from(value));                                                      \
    }
#define TENON_HOSTRT_ROUNDED(name, type)                                                                               \
    TENON_HOSTRT_NEAREST(name, type)                                                                                   \
    inline __half __##name##2half_rz(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::Half::from(value, tenon_hostrt::Rounding::kTOWARD_ZERO));                \
    }                                                                                                                  \
    inline __half __##name##2half_rd(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::Half::from(value, tenon_hostrt::Rounding::kDOWN));                       \
    }                                                                                                                  \
    inline __half __##name##2half_ru(type value) noexcept                                                              \
    {                                                                                                                  \
        return __ushort_as_half(tenon_hostrt::Half::from(value, tenon_hostrt::Rounding::kUP));                         \
    }
TENON_HOSTRT_ROUNDED(float, float)
TENON_HOSTRT_ROUNDED(short, short)
TENON_HOSTRT_ROUNDED(ushort, unsigned short)
TENON_HOSTRT_ROUNDED(int, int)
TENON_HOSTRT_ROUNDED(uint, unsigned int)
TENON_HOSTRT_ROUNDED(ll, long long)
TENON_HOSTRT_ROUNDED(ull, unsigned long long)
#undef TENON_HOSTRT_NEAREST
#undef TENON_HOSTRT_ROUNDED

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_FP16_H
