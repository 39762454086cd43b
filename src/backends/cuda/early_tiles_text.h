// EarlyTilesText: the kernel of products of few rows with weights on Hopper as text, and its measures: each block
// fetches its weights while the kernels before it end, and its rows when they are over.
#pragma once

#include "backends/cuda/engine_windows.h"
#include "backends/cuda/kernel_text.h"
#include "layers/measured_product.h"

#include <algorithm>

namespace tenon::cuda
{

//! `extra`: a tensor like the result, or one of `extraRows` rows that repeats. `terms`: sums of b's columns, where rows
//! are normalized, or the tensor's scale, where that is, and `shift`. `moments`: of what is normalized, `measured`: of
//! the result.
//! Matrices a and b as the copy engine knows them; a may be windows. Steps of the depth behind firstSteps have windows
//! of the second images. `gate`: factors of the depth for each image of `gatePixels` rows, of which a block holds
//! `gateImages`, each `gatePitch` elements.
TENON_DEVICE_STRUCT(EarlyTilesParams, unsigned const* stop; void const* bias; void const* extra; void* c;
                    void const* terms; void const* shift; void const* moments; void* measured; int rows; int columns;
                    int extraRows; int depth; int steps; int stepsOfPart; int tilesDown; int stages;
                    int areConstantTerms; int firstSteps; int gatePixels; int gateImages; int gateOfImage;
                    int gatePitch; int gateBytes; void const* gate; float alpha; float epsilon; WindowWalk walk;
                    WindowWalk secondWalk; alignas(64) unsigned long long a[16]; alignas(64) unsigned long long b[16];
                    alignas(64) unsigned long long second[16];);

//! A block's results, and how many blocks, a cluster, share them out by depth.
struct EarlyTile
{
    static constexpr int kDepth{64}; //!< Of a stage: 128 bytes.
    static constexpr int kMinStages{2};
    static constexpr int kMaxStages{16};

    int rows;    //!< 64 or 128.
    int columns; //!< A multiple of 8, up to 128.
    int parts;   //!< A power of 2, up to 8.

    //! `findMoments`: some find mean and deviation of the rows.
    constexpr int threads(bool findMoments) const noexcept
    {
        constexpr int kCopying{32};
        constexpr int kMeasuring{256};
        return rows * 2 + kCopying + (findMoments ? kMeasuring : 0);
    }
    constexpr int stageBytes() const noexcept
    {
        return (rows + columns) * kDepth * 2;
    }
    //! They take the place of stages.
    constexpr int sumBytes() const noexcept
    {
        constexpr int kPad{8};
        return rows * (columns + kPad) * 4;
    }
    //! As many as leave, beside other bytes, half a multiprocessor's shared memory to the next kernel, whose weights
    //! are fetched meanwhile.
    constexpr int stages(int64_t steps, int beside) const noexcept
    {
        int const share = (110 << 10) - beside;
        return static_cast<int>(std::min<int64_t>(steps, std::clamp(share / stageBytes(), kMinStages, kMaxStages)));
    }
    constexpr int sharedBytes(int64_t steps, bool normalizes, int beside) const noexcept
    {
        constexpr int kAlignment{1024};
        constexpr int kStart{1024}; // Barriers, and the bias of all columns.
        constexpr int kTerms{2048}; // What else belongs to columns and rows.
        return kAlignment + kStart + (normalizes ? kTerms : 0) + beside
            + std::max(stages(steps, beside) * stageBytes(), sumBytes());
    }
    //! Whether a block has whole groups of columns, whose moments it can leave behind.
    constexpr bool hasGroups() const noexcept
    {
        return columns % static_cast<int>(MeasuredProduct::kGroup) == 0;
    }
};

struct EarlyTilesForm
{
    EarlyTile tile;
    std::string type; //!< Of all operands: "Half" or "Bfloat".
    bool hasBias;
    bool hasExtra;         //!< The epilogue reads a tensor like the result.
    bool isWindowed;       //!< Rows are windows.
    std::string epilogue;  //!< As largeEpilogueText gives it.
    bool hasSecond{false}; //!< Behind the depth of the rows comes that of other images' windows.
    NormalizedOperand normalized{NormalizedOperand::kNone};
    int64_t groups{0}; //!< Of a row of what is normalized, whose moments are there; 0: blocks find those of their rows,
                       //!< parts are one, and stages whole.
    bool measures{false}; //!< Leaves moments of the result behind.
    bool isGated{false};  //!< Rows are multiplied by factors of their image first, each product rounded.
    bool repeatsExtra{false};

    bool findsMoments() const noexcept
    {
        return normalized != NormalizedOperand::kNone && groups == 0;
    }
};

//! Kernel "earlyTiles". Columns of the right operand lie behind each other.
std::string earlyTilesText(EarlyTilesForm const& form);

} // namespace tenon::cuda
