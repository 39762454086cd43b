// Floats of 4 bits as host code sees them: what the toolkit's header declares for a host compiler, with the same
// results.
#ifndef TENON_HOSTRT_CUDA_FP4_H
#define TENON_HOSTRT_CUDA_FP4_H

#include "tenon_alone.h"
#define __CUDA_FP4_H__ // Programs ask for it.

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp4_storage_t; // The lower four bits.
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;

typedef enum __nv_fp4_interpretation_t
{
    __NV_E2M1
} __nv_fp4_interpretation_t;

#ifdef __cplusplus

#define __CUDA_FP4_TYPES_EXIST__

#include <cassert>

namespace tenon_hostrt
{
//! There are two modes.
inline Rounding roundingOf(cudaRoundMode mode) noexcept
{
    assert(mode == cudaRoundNearest || mode == cudaRoundZero);
    return mode == cudaRoundZero ? Rounding::kTOWARD_ZERO : Rounding::kNEAREST;
}
} // namespace tenon_hostrt

inline __nv_fp4_storage_t __nv_cvt_double_to_fp4(double x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E2M1::from(x, true, tenon_hostrt::roundingOf(rounding));
}
inline __nv_fp4x2_storage_t __nv_cvt_double2_to_fp4x2(
    double2 x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp4x2_storage_t>(
        __nv_cvt_double_to_fp4(x.x, __NV_E2M1, rounding) | __nv_cvt_double_to_fp4(x.y, __NV_E2M1, rounding) << 4);
}
inline __nv_fp4_storage_t __nv_cvt_float_to_fp4(float x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E2M1::from(static_cast<double>(x), true, tenon_hostrt::roundingOf(rounding));
}
inline __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(
    float2 x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp4x2_storage_t>(
        __nv_cvt_float_to_fp4(x.x, __NV_E2M1, rounding) | __nv_cvt_float_to_fp4(x.y, __NV_E2M1, rounding) << 4);
}
inline __nv_fp4_storage_t __nv_cvt_halfraw_to_fp4(
    __half_raw x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E2M1::from(static_cast<double>(__half2float(x)), true, tenon_hostrt::roundingOf(rounding));
}
inline __nv_fp4x2_storage_t __nv_cvt_halfraw2_to_fp4x2(
    __half2_raw x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_halfraw_to_fp4(__half_raw{x.x}, __NV_E2M1, rounding)
        | __nv_cvt_halfraw_to_fp4(__half_raw{x.y}, __NV_E2M1, rounding) << 4);
}
inline __nv_fp4_storage_t __nv_cvt_bfloat16raw_to_fp4(
    __nv_bfloat16_raw x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E2M1::from(static_cast<double>(__bfloat162float(x)), true, tenon_hostrt::roundingOf(rounding));
}
inline __nv_fp4x2_storage_t __nv_cvt_bfloat16raw2_to_fp4x2(
    __nv_bfloat162_raw x, __nv_fp4_interpretation_t, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp4x2_storage_t>(__nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16_raw{x.x}, __NV_E2M1, rounding)
        | __nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16_raw{x.y}, __NV_E2M1, rounding) << 4);
}
inline __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) noexcept
{
    return {tenon_hostrt::E2M1::toHalf(x)};
}
inline __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t x, __nv_fp4_interpretation_t kind) noexcept
{
    return {__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(x & 0xFU), kind).x,
        __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(x >> 4), kind).x};
}

#define TENON_HOSTRT_STORAGE __nv_fp4_storage_t
#define TENON_HOSTRT_PAIR_STORAGE __nv_fp4x2_storage_t
#define TENON_HOSTRT_FOUR_STORAGE __nv_fp4x4_storage_t
#define TENON_HOSTRT_PAIR_BYTES 1
#define TENON_HOSTRT_FOUR_BYTES 2
#define TENON_HOSTRT_BITS 4
#define TENON_HOSTRT_MASK 0xFU

#define TENON_HOSTRT_NUMBER __nv_fp4_e2m1
#define TENON_HOSTRT_PAIR __nv_fp4x2_e2m1
#define TENON_HOSTRT_FOUR __nv_fp4x4_e2m1
#define TENON_HOSTRT_FROM(value) tenon_hostrt::E2M1::from(value, true)
#define TENON_HOSTRT_FROM_DOUBLE(value) TENON_HOSTRT_FROM(value)
#define TENON_HOSTRT_TO_FLOAT(bits) tenon_hostrt::E2M1::toFloat(bits)
#define TENON_HOSTRT_IS_TRUE(bits) ((bits)&7U) != 0
#define TENON_HOSTRT_WIDE __half2
#define TENON_HOSTRT_MORE_CONVERSIONS
#define TENON_HOSTRT_OF_INTEGER float
#include "tenon_narrow.h"

#undef TENON_HOSTRT_STORAGE
#undef TENON_HOSTRT_PAIR_STORAGE
#undef TENON_HOSTRT_FOUR_STORAGE
#undef TENON_HOSTRT_PAIR_BYTES
#undef TENON_HOSTRT_FOUR_BYTES
#undef TENON_HOSTRT_BITS
#undef TENON_HOSTRT_MASK

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_FP4_H
