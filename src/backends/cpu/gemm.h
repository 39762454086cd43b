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
    int64_t aStride{0};         //!< Elements from row to row, without a window.
    float const* wide{nullptr}; //!< Instead of a: floats, whose windows stay inside; kMaxWideDepth at most.
    GemmWindow const* window{nullptr};
    T const* zeros{nullptr};  //!< With a window: as many as a segment is long, for what lies outside of the image.
    float const* b{nullptr};  //!< Panels: [columns / 16][depth][16].
    T const* stored{nullptr}; //!< When b is null: panels that become floats block by block.
    T* c{nullptr};
    int64_t cStride{0};
    Half* halves{nullptr}; //!< Of a product of floats without steps: what its sums become instead of c.
    int64_t halvesStride{0};
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

//! What lanes share.
struct GemmSize
{
    int64_t rows{0};
    int64_t columns{0};
    int64_t depth{1};
    int64_t perRow{1}; //!< Elements of a that a row has and the rows before it do not.
};

//! Deeper products that are not stored in floats become floats a part of the depth at a time.
inline constexpr int64_t kMaxWideDepth{512};

//! How much of a product that is not stored in floats stands in memory as floats at once: rows, the panels of a block
//! and sums, less than half of a second cache of a megabyte.
struct WidenedForm
{
    static constexpr int64_t kSumsAtOnce{4096}; //!< What stays in the nearest cache.
    static constexpr int64_t kGrain{24};        //!< Rows at once are a multiple of what tiles have.

    int64_t parts{1}; //!< Of the depth, one after the other.
    int64_t depth{0}; //!< Of one of them.
    int64_t rows{0};
    int64_t columns{0}; //!< With several parts: of sums that wait for the next one.
    int64_t panelFloats{0};
    bool isOneBlock{false}; //!< Its panels stay there for all rows, of which the fewer then stand there.

    constexpr int64_t sumFloats() const noexcept
    {
        return parts > 1 ? rows * columns : kSumsAtOnce;
    }
    constexpr int64_t floats() const noexcept
    {
        return panelFloats + sumFloats() + rows * depth + kPanel;
    }
};
//! `hasPanels`: those are floats already, of the whole depth.
constexpr WidenedForm widenedForm(GemmSize const& size, bool hasPanels) noexcept
{
    constexpr int64_t kRowFloats{int64_t{48} << 10};
    constexpr int64_t kLeastRows{96}; // Panels become floats for so many, which then costs little beside the products.
    constexpr int64_t kMaxRows{240};
    constexpr int64_t kMaxColumns{256};
    constexpr int64_t kBlock{kMaxTileVectors * kPanel};
    WidenedForm form;
    form.parts = hasPanels || size.depth <= kMaxWideDepth ? 1 : (size.depth + kMaxWideDepth - 1) / kMaxWideDepth;
    form.depth = (size.depth + form.parts - 1) / form.parts;
    form.isOneBlock = form.parts == 1 && size.columns <= kBlock;
    int64_t const floats = form.isOneBlock ? kRowFloats / 4 : kRowFloats;
    int64_t const fitting = form.depth > 0 ? floats / form.depth : kMaxRows;
    int64_t const least = hasPanels || form.isOneBlock ? WidenedForm::kGrain : kLeastRows;
    int64_t const most = fitting < least ? least : fitting < kMaxRows ? fitting : kMaxRows;
    form.rows = size.rows < most ? size.rows : most / WidenedForm::kGrain * WidenedForm::kGrain;
    int64_t const needed = panelsOf(size.columns) * kPanel;
    form.columns = form.parts == 1 ? 0 : needed < kMaxColumns ? needed : kMaxColumns;
    form.panelFloats = hasPanels ? 0 : kBlock * form.depth;
    return form;
}

//! Floats of which a row of the panels fills a register alone (AVX2) go by parts of a deep product, for which the sums
//! of so many rows and panels wait in memory.
inline constexpr int64_t kRowsByDepth{144};
inline constexpr int64_t kPanelsByDepth{8};
constexpr int64_t partsOfDepth(int64_t depth) noexcept
{
    constexpr int64_t kPart{256}; // A panel's part is half of a first cache of 32 KiB.
    return depth < kPart + kPart / 2 ? 1 : (depth + kPart / 2) / kPart;
}

//! Floats of memory that a lane needs for its share of such a product under the active instruction set, a whole number
//! of cache lines: where T is no float, rows, sums and, unless b is given, the panels of a block stand there as floats,
//! or rows and panels as AMX wants them.
template <typename T>
int64_t gemmScratch(GemmSize const& size, bool hasPanels = false) noexcept;

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

GemmShare shareOf(GemmSize const& size, int32_t lane, int32_t lanes, int64_t grain = kRowGrain) noexcept;

//! How a lane's share of a product of floats is cut for threads that are through with theirs. Any cut gives the same
//! bits, as sums go over the depth alone (but where padding meets infinite weights: tiles of other rows leave out
//! others).
struct GemmPieces
{
    int32_t count{1};
    int64_t rowGrain{0}; //!< Pieces have a multiple of so many rows; 0: they are cut by columns.

    //! The larger ones come first.
    GemmShare piece(GemmShare const& share, int32_t index) const noexcept;
};
//! `products`: of so many of this size one after the other.
GemmPieces piecesOf(GemmSize const& size, int64_t products, int32_t lanes, int64_t grain) noexcept;

} // namespace tenon::cpu
