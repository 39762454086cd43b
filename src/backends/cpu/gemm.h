// Gemm: rows of floats times packed panels of 16 columns, with bias, residual and epilogue; the engine of matrix
// products and, with rows taken from windows of a channels-last image, of convolutions.
#pragma once

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

//! One epilogue step with its operand, an element of which is extra[row offset + column · columnStride].
struct GemmStep
{
    EpilogueKind kind{EpilogueKind::kRelu};
    float alpha{0.0F};
    float beta{0.0F};
    float const* extra{nullptr};
    int64_t rowStride{0};
    int64_t columnStride{0};
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
    int64_t imageStride{0}; //!< Floats from image to image, row to row, pixel to pixel.
    int64_t lineStride{0};
    int64_t pixelStride{0};
    float const* zeros{nullptr}; //!< As many as a segment is long: what lies outside of the image.
};

//! Most segments of one row.
inline constexpr int64_t kMostSegments{64};

struct Gemm
{
    int64_t rows{0};
    int64_t columns{0};
    int64_t segments{1}; //!< Parts of one row of a that lie apart: one per position of the kernel.
    int64_t length{0};   //!< Elements of a segment; the depth is segments · length.
    float const* a{nullptr};
    int64_t aStride{0}; //!< Floats from row to row, without a window.
    GemmWindow const* window{nullptr};
    float const* b{nullptr}; //!< Panels: [columns / 16][depth][16].
    float* c{nullptr};
    int64_t cStride{0};
    float alpha{1.0F};
    float const* bias{nullptr};     //!< Per column.
    float const* residual{nullptr}; //!< Added behind the bias; may be c itself.
    int64_t residualStride{0};
    float low; //!< The sum is clamped to [low, high] ...
    float high;
    GemmStep const* steps{nullptr}; //!< ... before these run.
    int64_t stepCount{0};
};

//! How lanes share a product.
struct GemmShare
{
    int64_t firstRow{0};
    int64_t lastRow{0};
    int64_t firstPanel{0};
    int64_t lastPanel{0};
};
GemmShare shareOf(Gemm const& gemm, int32_t lane, int32_t lanes) noexcept;

} // namespace tenon::cpu
