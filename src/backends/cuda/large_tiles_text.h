// LargeTilesText: the kernel of large products on Hopper as text, and its measures: the copy engine fills a ring of
// stages that two warpgroups multiply (wgmma), in blocks that stay and go from tile to tile.
#pragma once

#include "backends/cuda/engine_windows.h"
#include "backends/cuda/kernel_text.h"
#include "base/result.h"
#include "layers/epilogue.h"

#include <string>
#include <string_view>

namespace tenon::cuda
{

//! Matrices as the copy engine knows them: a, which may be windows, b, the result, and a tensor that lies as it does,
//! or has extraRows rows that repeat, the first ones of which stand behind the last again, fewer than a piece has.
//! Steps of the depth behind firstSteps have windows of the second images.
//! alpha: of all sums, in front of what scale a column has; factors of the bias, of that tensor's bytes and, unless
//! they are in all these, of results in front of their rounding.
TENON_DEVICE_STRUCT(LargeTilesParams, unsigned const* stop; void const* bias; void const* scales; int columns;
                    int steps; int firstSteps; int tilesAcross; int tiles; int extraRows; int scaleStep; float alpha;
                    float biasFactor; float extraFactor; float outFactor; WindowWalk walk; WindowWalk secondWalk;
                    alignas(64) unsigned long long a[16]; alignas(64) unsigned long long second[16];
                    alignas(64) unsigned long long b[16]; alignas(64) unsigned long long c[16];
                    alignas(64) unsigned long long extra[16];);

//! How results are tiled: so many rows and columns at a time.
struct LargeTile
{
    static constexpr int kThreads{384};    //!< Two warpgroups that multiply, and the one whose thread copies.
    static constexpr int kSlotRows{16};    //!< Results are stored in pieces of so many rows,
    static constexpr int kSlotColumns{64}; //!< and columns.

    int rows{128}; //!< Or 256.
    int columns;   //!< 64, 128, 192 or 256.
    int slots; //!< Pieces of a warp's results on their way at once: at least 2, and a divisor of its pieces of a tile.
    bool takesTurns; //!< The warpgroups have a tile each, and one multiplies while the other finishes its results.
};

//! How results of one byte are rounded.
struct LargeRounding
{
    bool isFolded{false};   //!< The last factor is in those of all that is added up: steps between them let it pass.
    bool isFromZero{false}; //!< The last step is a ReLU, which the range of results takes the place of.
    bool areNumbers{false}; //!< Nothing brings what is no number.
};

struct LargeTilesForm
{
    LargeTile tile;
    std::string in;            //!< Of both operands: "Half", "Bfloat", "Fp8" or "signed char", which have scales.
    std::string type;          //!< Of the result: also "Half" or "Bfloat" where operands are bytes.
    std::string extra{"Half"}; //!< Of the tensor that the epilogue reads.
    std::string bias;
    bool isTurnedB; //!< Columns lie behind each other, else rows.
    bool hasBias;
    bool hasExtra;         //!< The epilogue reads a tensor that lies as the result does.
    bool isWindowed;       //!< Rows are windows.
    bool hasSecond{false}; //!< Behind the depth of the rows comes that of other images' windows.
    int rowBytes{128};     //!< Of the depth, that a stage has.
    std::string epilogue;  //!< As largeEpilogueText gives it.
    LargeRounding rounding{};
    bool repeatsExtra{false};

    static bool isByte(std::string_view type) noexcept
    {
        return type == "Fp8" || type == "signed char";
    }
    bool isScaled() const noexcept
    {
        return isByte(in);
    }
    int stageBytes() const noexcept
    {
        return (tile.rows + tile.columns) * rowBytes;
    }
    //! As many as shared memory has room for, beside so many bytes for what is not in stages.
    int stages() const noexcept;
    int fixedBytes() const noexcept;
    int sharedBytes() const noexcept
    {
        return stages() * stageBytes() + fixedBytes();
    }
};

//! `applyEpilogue(v, extra)`: the steps over eight sums, of which at most one reads the tensor like the result: as
//! eight floats, or as four pairs of `Stored`.
Result<std::string> largeEpilogueText(Epilogue const& epilogue);

//! Kernel "largeTiles".
std::string largeTilesText(LargeTilesForm const& form);

} // namespace tenon::cuda
