// Functions of int8 kernels, compiled once per instruction set: sums of products have forms for AVX-512 VNNI and AMX,
// too.
#pragma once

#include "backends/cpu/byte_numbers.h"
#include "backends/cpu/int8_gemm.h"
#include "backends/cpu/int8_winograd.h"

namespace tenon::cpu
{

// One row per function: result, name, arguments. The formatter would take the rows for one expression.
// clang-format off
#define TENON_INT8_FUNCTIONS(Row)                                                                                      \
    /* `scratch` has int8Scratch bytes. */                                                                             \
    Row(void, runInt8Gemm, (Int8Gemm const& gemm, GemmShare const& share, void* scratch))                              \
    /* Tiles and panels of the share; `scratch` has int8TileScratch bytes. */                                          \
    Row(void, runInt8Tiles, (Int8Tiles3x3 const& tiles, GemmShare const& share, void* scratch))                        \
    /* Output lines [first, last) of all images. */                                                                    \
    Row(void, runInt8Depthwise, (Int8Depthwise const& work, int64_t first, int64_t last))                              \
    Row(void, runInt8MaxPool, (Int8MaxPool const& pool, int64_t first, int64_t last))                                  \
    Row(void, quantizeNumbers, (float const* from, ByteNumbers const& form, void* to, int64_t count))                  \
    /* (number - zero point) times scale. */                                                                           \
    Row(void, dequantizeNumbers, (void const* from, ByteNumbers const& form, float* to, int64_t count))
// clang-format on

#define TENON_ROW(Return, name, arguments) Return(*name) arguments;
struct Int8Functions
{
    TENON_INT8_FUNCTIONS(TENON_ROW)
};
#undef TENON_ROW

//! Rows that shares of products are to be multiples of.
int64_t int8RowGrain() noexcept;
//! Those of the active instruction set.
Int8Functions const& int8Functions() noexcept;

#define TENON_ROW(Return, name, arguments) Return name arguments;
namespace avx2
{
TENON_INT8_FUNCTIONS(TENON_ROW)
} // namespace avx2
namespace avx512
{
TENON_INT8_FUNCTIONS(TENON_ROW)
void runInt8GemmVnni(Int8Gemm const& gemm, GemmShare const& share, void* scratch);
void runInt8GemmAmx(Int8Gemm const& gemm, GemmShare const& share, void* scratch);
} // namespace avx512
#undef TENON_ROW

} // namespace tenon::cpu
