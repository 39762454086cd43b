// The functions that are compiled once per instruction set, and the table that picks one at run time.
#pragma once

#include "backends/cpu/depthwise.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/spatial.h"
#include "backends/cpu/tape_run.h"
#include "backends/cpu/winograd.h"

#include <cstdint>

// One row per function: result, name, arguments. The formatter would take the rows for one expression.
// clang-format off
#define TENON_ISA_FUNCTIONS(Row)                                                                                       \
    Row(void, runGemm, (Gemm const& gemm, GemmShare const& share))                                                     \
    /* Panels [firstPanel, lastPanel) of b, row-major [depth][columns], or [columns][depth] when transposed. */        \
    Row(void, packColumns, (float const* b, int64_t stride, bool isTransposed, int64_t depth, int64_t columns,         \
        int64_t firstPanel, int64_t lastPanel, float* packed))                                                         \
    /* From the packed kernel to sixteen packed matrices of depth `channels`. */                                       \
    Row(void, winogradKernel, (float const* packed, int64_t channels, int64_t panels, float* transformed))             \
    /* Tiles [first, last) to rows of sixteen matrices, `partStride` floats apart; and back, some of the maps. */      \
    Row(void, winogradInput, (WinogradTiles const& tiles, int64_t first, int64_t last, float* to, int64_t partStride)) \
    Row(void, winogradOutput, (WinogradTiles const& tiles, int64_t first, int64_t last, float const* from,             \
        int64_t partStride, int64_t firstMap, int64_t lastMap))                                                        \
    /* Output lines [first, last) of all images. */                                                                    \
    Row(void, runDepthwise, (Depthwise const& depthwise, int64_t first, int64_t last))                                 \
    /* Output lines [first, last) of all images or planes; `scratch` has inWidth floats. */                            \
    Row(void, runPool, (Pool const& pool, int64_t first, int64_t last))                                                \
    Row(void, runResampling, (Resampling const& resampling, int64_t first, int64_t last, float* scratch))              \
    Row(void, runReduction, (Reduction const& reduction, int64_t firstOuter, int64_t lastOuter, int64_t firstInner,    \
        int64_t lastInner))                                                                                            \
    /* Rows [first, last); with an inner extent, blocks of sixteen of it. */                                           \
    Row(void, runSoftMax, (SoftMaxRows const& rows, int64_t first, int64_t last))                                      \
    Row(void, runNormRows, (NormRows const& rows, int64_t first, int64_t last))                                        \
    /* Whole groups of channels of one image. */                                                                       \
    Row(void, runNormGroups, (NormGroups const& groups, int64_t image, int64_t firstChannel, int64_t lastChannel))     \
    Row(void, runAttentionRows, (AttentionRows const& rows, int64_t count))                                            \
    /* Elements [first, last) of the output, in its order. */                                                          \
    Row(void, runTape, (TapeRun const& run, int64_t first, int64_t last))                                              \
    /* to[c][r] = from[r][c] */                                                                                        \
    Row(void, transposeFloats, (float const* from, int64_t fromStride, int64_t rows, int64_t columns, float* to,       \
        int64_t toStride))
// clang-format on

namespace tenon::cpu
{

#define TENON_ROW(Return, name, arguments) Return(*name) arguments;
struct IsaFunctions
{
    TENON_ISA_FUNCTIONS(TENON_ROW)
};
#undef TENON_ROW

//! Those of the active instruction set.
IsaFunctions const& isaFunctions() noexcept;

#define TENON_ROW(Return, name, arguments) Return name arguments;
namespace avx2
{
TENON_ISA_FUNCTIONS(TENON_ROW)
} // namespace avx2
namespace avx512
{
TENON_ISA_FUNCTIONS(TENON_ROW)
} // namespace avx512
#undef TENON_ROW

} // namespace tenon::cpu
