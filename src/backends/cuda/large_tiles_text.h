// LargeTilesText: the kernel of large products on Hopper as text, and its measures: the copy engine fills a ring of
// stages that two warpgroups multiply (wgmma), in blocks that stay and go from tile to tile.
#pragma once

#include "backends/cuda/engine_windows.h"
#include "backends/cuda/kernel_text.h"
#include "base/result.h"
#include "layers/epilogue.h"

namespace tenon::cuda
{

//! Matrices as the copy engine knows them: a, which may be windows, b, the result, and a tensor like it.
TENON_DEVICE_STRUCT(LargeTilesParams, unsigned const* stop; void const* bias; int columns; int steps; int tilesAcross;
                    int tiles; float alpha; WindowWalk walk; alignas(64) unsigned long long a[16];
                    alignas(64) unsigned long long b[16]; alignas(64) unsigned long long c[16];
                    alignas(64) unsigned long long extra[16];);

//! How results are tiled: 128 rows and so many columns at a time.
struct LargeTile
{
    static constexpr int kThreads{384}; //!< Two warpgroups that multiply, and the one whose thread copies.
    static constexpr int kRows{128};
    static constexpr int kDepth{64};       //!< Of a stage: 128 bytes.
    static constexpr int kSlotRows{16};    //!< Results are stored in pieces of so many rows,
    static constexpr int kSlotColumns{64}; //!< and columns.

    int columns; //!< 64, 128 or 192.
    int stages;
    int slots; //!< Pieces of a warp's results on their way at once: at least 2, and a divisor of its pieces of a tile.
    bool takesTurns; //!< The warpgroups have a tile each, and one multiplies while the other finishes its results.

    constexpr int sharedBytes() const noexcept
    {
        constexpr int kWarps{8};
        constexpr int kAlignment{1024};
        constexpr int kBarriers{512};
        int const ofWarp = slots * kSlotRows * kSlotColumns * 2 + columns * 4; // The latter for the bias.
        return stages * (kRows + columns) * kDepth * 2 + kWarps * ofWarp + kBarriers + kAlignment;
    }
};

struct LargeTilesForm
{
    LargeTile tile;
    std::string type; //!< Of all operands: "Half" or "Bfloat".
    bool isTurnedB;   //!< Columns lie behind each other, else rows.
    bool hasBias;
    bool hasExtra;        //!< The epilogue reads a tensor like the result.
    bool isWindowed;      //!< Rows are windows.
    std::string epilogue; //!< As largeEpilogueText gives it.
};

//! `applyEpilogue(v, extra)`: the steps over eight sums, of which at most one reads the tensor like the result.
Result<std::string> largeEpilogueText(Epilogue const& epilogue);

//! Kernel "largeTiles".
std::string largeTilesText(LargeTilesForm const& form);

} // namespace tenon::cuda
