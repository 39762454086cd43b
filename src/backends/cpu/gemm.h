// Gemm: rows of floats times packed panels of 16 columns, with bias, residual and epilogue; the engine of matrix
// products and, with rows taken from windows of a channels-last image, of convolutions.
#pragma once

#include "backends/cpu/storage.h"
#include "layers/epilogue.h"

#include <cstdint>

namespace tenon::cpu
{

inline constexpr int64_t kPanel{16};

inline constexpr int64_t panelsOf(int64_t columns) noexcept
{
    return (columns + kPanel - 1) / kPanel;
}
//! Floats that a packed matrix takes.
inline constexpr int64_t packedSize(int64_t depth, int64_t columns) noexcept
{
    return panelsOf(columns) * kPanel * depth;
}

//! One epilogue step, the same in every run.
struct StepForm
{
    EpilogueKind kind{EpilogueKind::kRelu};
    float alpha{0.0F};
    float beta{0.0F};
    int64_t rowStride{0};
    int64_t columnStride{0};
};

//! A step with its operand, an element of which is extra[row offset + column · columnStride].
template <typename T>
struct GemmStep : StepForm
{
    T const* extra{nullptr};
    int32_t const* rowOffsets{nullptr}; //!< Per row instead of row · rowStride, when set.
};

//! Windows of a channels-last image whose elements are the rows.
struct GemmWindow
{
    int64_t inHeight{1};
    int64_t inWidth{1};
    int64_t outHeight{1};
    int64_t outWidth{1};
    int64_t kernelHeight{1};
    int64_t kernelWidth{1};
    int64_t strideY{1};
    int64_t strideX{1};
    int64_t dilationY{1};
    int64_t dilationX{1};
    int64_t padTop{0};
    int64_t padLeft{0};
    int64_t imageStride{0}; //!< Elements from image to image, row to row, pixel to pixel.
    int64_t lineStride{0};
    int64_t pixelStride{0};
};

//! Most segments of one row.
inline constexpr int64_t kMaxSegments{64};

//! Operands and result are stored as T; products and sums are floats.
template <typename T>
struct Gemm
{
    int64_t rows{0};
    int64_t columns{0};
    int64_t segments{1}; //!< Parts of one row of a that lie apart: one per position of the kernel.
    int64_t length{0};   //!< Elements of a segment; the depth is segments · length.
    T const* a{nullptr};
    int64_t aStride{0}; //!< Elements from row to row, without a window.
    GemmWindow const* window{nullptr};
    T const* zeros{nullptr};  //!< With a window: as many as a segment is long, for what lies outside of the image.
    float const* b{nullptr};  //!< Panels: [columns / 16][depth][16].
    T const* stored{nullptr}; //!< When b is null: panels that become floats block by block.
    T* c{nullptr};
    int64_t cStride{0};
    float alpha{1.0F};
    T const* bias{nullptr};     //!< Per column.
    T const* residual{nullptr}; //!< Added behind the bias; may be c itself.
    int64_t residualStride{0};
    float low; //!< The sum is clamped to [low, high] ...
    float high;
    GemmStep<T> const* steps{nullptr}; //!< ... before these run.
    int64_t stepCount{0};

    void setPanels(T const* panels) noexcept
    {
        if constexpr (kIsFloat<T>)
            b = panels;
        else
            stored = panels;
    }
};

//! Most rows and vectors of columns that a tile has on any instruction set.
inline constexpr int64_t kMaxTileRows{12};
inline constexpr int64_t kMaxTileVectors{4};

//! Floats of memory that a lane needs for a product of this depth under the active instruction set, a whole number of
//! cache lines: where T is no float, the rows of a tile and, unless b is given, the panels of a block stand there as
//! floats, or both as AMX wants them.
template <typename T>
int64_t gemmScratch(int64_t depth, bool hasPanels = false) noexcept;

//! Whether products of bfloat16 go by pairs of elements (AVX512-BF16): where the instruction set may be used, and has
//! been measured to be faster than products of floats, once per process. Some machines do it at half the rate.
bool usesBfloatDots() noexcept;

//! How lanes share a product.
struct GemmShare
{
    int64_t firstRow{0};
    int64_t lastRow{0};
    int64_t firstPanel{0};
    int64_t lastPanel{0};
};
//! `grain`: rows that tiles have, and shares a multiple of.
inline constexpr int64_t kRowGrain{12};
template <typename T>
int64_t rowGrain() noexcept;

//! What lanes share.
struct GemmSize
{
    int64_t rows{0};
    int64_t columns{0};
    int64_t depth{1};
    int64_t perRow{1}; //!< Elements of a that a row has and the rows before it do not.
};
GemmShare shareOf(GemmSize const& size, int32_t lane, int32_t lanes, int64_t grain = kRowGrain) noexcept;

} // namespace tenon::cpu
