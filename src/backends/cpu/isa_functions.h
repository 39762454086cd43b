// The functions that are compiled once per instruction set, and the table that picks one at run time.
#pragma once

#include "backends/cpu/box_overlap.h"
#include "backends/cpu/depthwise.h"
#include "backends/cpu/few_queries.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/grid_points.h"
#include "backends/cpu/integer_reduction.h"
#include "backends/cpu/local_response.h"
#include "backends/cpu/recurrent_step.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/spatial.h"
#include "backends/cpu/tape_run.h"
#include "backends/cpu/weight_only.h"
#include "backends/cpu/winograd.h"

#include <cstdint>

// One row per function: result, name, arguments. Those of the second table are templates of T, what tensors are stored
// as. The formatter would take the rows for one expression.
// clang-format off
#define TENON_ISA_FUNCTIONS(Row)                                                                                       \
    /* Elements [first, last) of the output, in its order. */                                                          \
    Row(void, runTape, (TapeRun const& run, int64_t first, int64_t last))                                              \
    Row(void, runIntegerReduction, (IntegerReduction const& reduction, ReductionShare const& share))                   \
    /* Of a matrix whose rows are determinantStride() apart, which is overwritten. */                                  \
    Row(double, determinantOf, (double* matrix, int64_t size))                                                         \
    /* Of kDeterminantGrain small matrices, whose elements of one place lie side by side. */                           \
    Row(void, determinantsOf, (double const* elements, int64_t size, double* to))                                      \
    /* Whether a box hides behind one of those kept in [first, last). */                                               \
    Row(bool, overlapsAny, (NMS::Box const& box, KeptBoxes const& kept, int64_t first, int64_t last,                   \
        double threshold))                                                                                             \
    /* Of AVX512-BF16, which the machine must have. */                                                                 \
    Row(bool, bfloatDotsAreFaster, ())                                                                                 \
    /* Units of blocks [firstBlock, lastBlock) of 16 each. `part` 1: the second of kGruInParts. */                     \
    Row(void, runRecurrentStep, (RecurrentStep const& step, int32_t part, int64_t firstBlock, int64_t lastBlock))      \
    /* All rows, at most kMaxWeightOnlyRows, by columns of the panels; and panels as floats, dequantized. */           \
    Row(void, runWeightOnly, (WeightOnly const& product, int64_t firstPanel, int64_t lastPanel))                       \
    Row(void, widenWeights, (WeightOnly const& product, int64_t firstPanel, int64_t lastPanel, float* to))

#define TENON_STORAGE_FUNCTIONS(Row)                                                                                   \
    /* `scratch` has gemmScratch floats. */                                                                            \
    Row(void, runGemm, (Gemm<T> const& gemm, GemmShare const& share, float* scratch))                                  \
    /* Panels [firstPanel, lastPanel) of b, row-major [depth][columns], or [columns][depth] when transposed. */        \
    Row(void, packColumns, (T const* b, int64_t stride, bool isTransposed, int64_t depth, int64_t columns,             \
        int64_t firstPanel, int64_t lastPanel, float* packed))                                                         \
    /* From the packed kernel to packed matrices of depth `channels`, one per part of a tile of this side. */          \
    Row(void, winogradKernel, (T const* packed, int64_t channels, int64_t panels, int64_t side, float* transformed))   \
    /* Tiles [first, last) to rows of a matrix per part, `partStride` floats apart; and back, some of the maps. */     \
    Row(void, winogradInput, (WinogradTiles<T> const& tiles, int64_t first, int64_t last, float* to,                   \
        int64_t partStride))                                                                                           \
    Row(void, winogradOutput, (WinogradTiles<T> const& tiles, int64_t first, int64_t last, float const* from,          \
        int64_t partStride, int64_t firstMap, int64_t lastMap))                                                        \
    /* Output lines [first, last) of all images. */                                                                    \
    Row(void, runDepthwise, (Depthwise<T> const& depthwise, int64_t first, int64_t last))                              \
    /* Output lines [first, last) of all images or planes; `scratch` has a vector more than inWidth floats. */         \
    Row(void, runPool, (Pool<T> const& pool, int64_t first, int64_t last))                                             \
    Row(void, runResampling, (Resampling<T> const& resampling, int64_t first, int64_t last, float* scratch))           \
    Row(void, runReduction, (Reduction<T> const& reduction, int64_t firstOuter, int64_t lastOuter, int64_t firstInner, \
        int64_t lastInner))                                                                                            \
    Row(void, runGridPoints, (GridPoints<T> const& points))                                                            \
    Row(void, findGridTaps, (GridTaps<T> const& taps))                                                                 \
    /* Blocks of sixteen pixels of all images, or where channels are neighbours, rows of them. */                      \
    Row(void, runLocalResponse, (LocalResponse<T> const& response, int64_t first, int64_t last, float* scratch))       \
    /* Rows [first, last); with an inner extent, blocks of sixteen of it. `scratch`, where T is no float: a row. */    \
    Row(void, runSoftMax, (SoftMaxRows<T> const& rows, int64_t first, int64_t last, float* scratch))                   \
    Row(void, runNormRows, (NormRows<T> const& rows, int64_t first, int64_t last))                                     \
    /* Whole groups of channels of one image. */                                                                       \
    Row(void, runNormGroups, (NormGroups<T> const& groups, int64_t image, int64_t firstChannel, int64_t lastChannel))  \
    Row(void, runAttentionRows, (AttentionRows<T> const& rows, int64_t count))                                         \
    /* From queries and keys to scores; from what became of them, and values, to the result. */                        \
    Row(void, scoreFewQueries, (FewQueries<T> const& queries))                                                         \
    Row(void, sumFewQueries, (FewQueries<T> const& queries))                                                           \
    /* Rows as dense floats, behind which a vector of memory is overwritten; and back. */                              \
    Row(void, widenRows, (T const* from, int64_t stride, int64_t rows, int64_t columns, float* to))                    \
    Row(void, narrowRows, (float const* from, int64_t rows, int64_t columns, T* to, int64_t stride))                   \
    /* to[c][r] = from[r][c] */                                                                                        \
    Row(void, transposeElements, (T const* from, int64_t fromStride, int64_t rows, int64_t columns, T* to,             \
        int64_t toStride))
// clang-format on

namespace tenon::cpu
{

#define TENON_ROW(Return, name, arguments) Return(*name) arguments;
struct IsaFunctions
{
    TENON_ISA_FUNCTIONS(TENON_ROW)
};
template <typename T>
struct StorageFunctions
{
    TENON_STORAGE_FUNCTIONS(TENON_ROW)
};
#undef TENON_ROW

//! Those of the active instruction set.
IsaFunctions const& isaFunctions() noexcept;
template <typename T>
StorageFunctions<T> const& storageFunctions() noexcept;

#define TENON_ROW(Return, name, arguments) Return name arguments;
#define TENON_STORAGE_ROW(Return, name, arguments)                                                                     \
    template <typename T>                                                                                              \
    Return name arguments;
namespace avx2
{
TENON_ISA_FUNCTIONS(TENON_ROW)
TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)
} // namespace avx2
namespace avx512
{
TENON_ISA_FUNCTIONS(TENON_ROW)
TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)
} // namespace avx512
#undef TENON_ROW
#undef TENON_STORAGE_ROW

} // namespace tenon::cpu
