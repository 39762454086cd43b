// Floats of 8 bits as host code sees them: what the toolkit's header declares for a host compiler, with the same
// results.
#ifndef TENON_HOSTRT_CUDA_FP8_H
#define TENON_HOSTRT_CUDA_FP8_H

#include "tenon_alone.h"
#define __CUDA_FP8_H__ // Programs ask for it.

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "device_types.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

typedef enum __nv_saturation_t
{
    __NV_NOSAT,
    __NV_SATFINITE // Beyond the largest number is the largest.
} __nv_saturation_t;

typedef enum __nv_fp8_interpretation_t
{
    __NV_E4M3,
    __NV_E5M2
} __nv_fp8_interpretation_t;

#ifdef __cplusplus

#define __CUDA_FP8_TYPES_EXIST__

#include "tenon_formats.h"

namespace tenon_hostrt
{
inline unsigned char fp8From(double value, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    bool const isSaturated = saturate == __NV_SATFINITE;
    return kind == __NV_E4M3 ? E4M3::from(value, isSaturated) : E5M2::from(value, isSaturated);
}
} // namespace tenon_hostrt

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(
    double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    bool const isSaturated = saturate == __NV_SATFINITE;
    return kind == __NV_E4M3 ? tenon_hostrt::E4M3::fromDouble(x, isSaturated)
                             : tenon_hostrt::E5M2::fromDouble(x, isSaturated);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(
    double2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(
        __nv_cvt_double_to_fp8(x.x, saturate, kind) | __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(
    float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return tenon_hostrt::fp8From(static_cast<double>(x), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(
    float2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(
        __nv_cvt_float_to_fp8(x.x, saturate, kind) | __nv_cvt_float_to_fp8(x.y, saturate, kind) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(
    __half_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return tenon_hostrt::fp8From(static_cast<double>(__half2float(x)), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(
    __half2_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_halfraw_to_fp8(__half_raw{x.x}, saturate, kind)
        | __nv_cvt_halfraw_to_fp8(__half_raw{x.y}, saturate, kind) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(
    __nv_bfloat16_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return tenon_hostrt::fp8From(static_cast<double>(__bfloat162float(x)), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(
    __nv_bfloat162_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{x.x}, saturate, kind)
        | __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{x.y}, saturate, kind) << 8);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) noexcept
{
    return {kind == __NV_E4M3 ? tenon_hostrt::E4M3::toHalf(x) : tenon_hostrt::E5M2::toHalf(x)};
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) noexcept
{
    return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), kind).x,
        __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), kind).x};
}

// Powers of two, rounded up in size (cudaRoundPosInf) or down (cudaRoundZero).

inline __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E8M0::from(x, saturate == __NV_SATFINITE, rounding == cudaRoundPosInf);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(
    double2 x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(
        __nv_cvt_double_to_e8m0(x.x, saturate, rounding) | __nv_cvt_double_to_e8m0(x.y, saturate, rounding) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E8M0::from(static_cast<double>(x), saturate == __NV_SATFINITE, rounding == cudaRoundPosInf);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(
    float2 x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(
        __nv_cvt_float_to_e8m0(x.x, saturate, rounding) | __nv_cvt_float_to_e8m0(x.y, saturate, rounding) << 8);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(
    __nv_bfloat16_raw x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return tenon_hostrt::E8M0::from(
        static_cast<double>(__bfloat162float(x)), saturate == __NV_SATFINITE, rounding == cudaRoundPosInf);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(
    __nv_bfloat162_raw x, __nv_saturation_t saturate, cudaRoundMode rounding) noexcept
{
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw{x.x}, saturate, rounding)
        | __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw{x.y}, saturate, rounding) << 8);
}
inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) noexcept
{
    return {tenon_hostrt::E8M0::toBfloat(x)};
}
inline __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) noexcept
{
    return {tenon_hostrt::E8M0::toBfloat(x & 0xFFU), tenon_hostrt::E8M0::toBfloat(static_cast<unsigned>(x) >> 8)};
}

#define TENON_HOSTRT_STORAGE __nv_fp8_storage_t
#define TENON_HOSTRT_PAIR_STORAGE __nv_fp8x2_storage_t
#define TENON_HOSTRT_FOUR_STORAGE __nv_fp8x4_storage_t
#define TENON_HOSTRT_PAIR_BYTES 2
#define TENON_HOSTRT_FOUR_BYTES 4
#define TENON_HOSTRT_BITS 8
#define TENON_HOSTRT_MASK 0xFFU

#define TENON_HOSTRT_NUMBER __nv_fp8_e5m2
#define TENON_HOSTRT_PAIR __nv_fp8x2_e5m2
#define TENON_HOSTRT_FOUR __nv_fp8x4_e5m2
#define TENON_HOSTRT_FROM(value) tenon_hostrt::E5M2::from(value, true)
#define TENON_HOSTRT_FROM_DOUBLE(value) tenon_hostrt::E5M2::fromDouble(value, true)
#define TENON_HOSTRT_TO_FLOAT(bits) tenon_hostrt::E5M2::toFloat(bits)
#define TENON_HOSTRT_IS_TRUE(bits) ((bits)&0x7FU) != 0
#define TENON_HOSTRT_WIDE __half2
#define TENON_HOSTRT_MORE_CONVERSIONS
#define TENON_HOSTRT_OF_INTEGER float
#include "tenon_narrow.h"

#define TENON_HOSTRT_NUMBER __nv_fp8_e4m3
#define TENON_HOSTRT_PAIR __nv_fp8x2_e4m3
#define TENON_HOSTRT_FOUR __nv_fp8x4_e4m3
#define TENON_HOSTRT_FROM(value) tenon_hostrt::E4M3::from(value, true)
#define TENON_HOSTRT_FROM_DOUBLE(value) tenon_hostrt::E4M3::fromDouble(value, true)
#define TENON_HOSTRT_TO_FLOAT(bits) tenon_hostrt::E4M3::toFloat(bits)
#define TENON_HOSTRT_IS_TRUE(bits) ((bits)&0x7FU) != 0
#define TENON_HOSTRT_WIDE __half2
#define TENON_HOSTRT_MORE_CONVERSIONS
#define TENON_HOSTRT_OF_INTEGER float
#include "tenon_narrow.h"

#define TENON_HOSTRT_NUMBER __nv_fp8_e8m0
#define TENON_HOSTRT_PAIR __nv_fp8x2_e8m0
#define TENON_HOSTRT_FOUR __nv_fp8x4_e8m0
#define TENON_HOSTRT_FROM(value) tenon_hostrt::E8M0::from(value, true, true)
#define TENON_HOSTRT_FROM_DOUBLE(value) TENON_HOSTRT_FROM(value)
#define TENON_HOSTRT_TO_FLOAT(bits) tenon_hostrt::E8M0::toFloat(bits)
#define TENON_HOSTRT_IS_TRUE(bits) true
#define TENON_HOSTRT_WIDE __nv_bfloat162
#define TENON_HOSTRT_MORE_CONVERSIONS                                                                                  \
    explicit operator __half2() const noexcept                                                                         \
    {                                                                                                                  \
        return __float22half2_rn(static_cast<float2>(*this));                                                          \
    }
#define TENON_HOSTRT_OF_INTEGER long double
#include "tenon_narrow.h"

#undef TENON_HOSTRT_STORAGE
#undef TENON_HOSTRT_PAIR_STORAGE
#undef TENON_HOSTRT_FOUR_STORAGE
#undef TENON_HOSTRT_PAIR_BYTES
#undef TENON_HOSTRT_FOUR_BYTES
#undef TENON_HOSTRT_BITS
#undef TENON_HOSTRT_MASK

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_FP8_H
