// SmallTilesText: the kernel of products too small to fill a GPU: small tiles, many bytes on their way, and sums that
// several multiprocessors share out by depth.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "base/result.h"
#include "layers/epilogue.h"

namespace tenon::cuda
{

//! Images whose windows are the rows of the left operand, channels last and in packs of eight.
TENON_DEVICE_STRUCT(SmallWindow, int channels; int height; int width; int outHeight; int outWidth; int kernelX;
                    int strideY; int strideX; int padY; int padX; int dilationY; int dilationX;);

//! Operands and results in elements; `extra`: tensors like the result. `gate`: a factor of each element of a row of the
//! left operand, the same for so many `pixels` of rows behind each other; the next ones' stand `gateOfImage` further.
TENON_DEVICE_STRUCT(SmallTilesParams, unsigned const* stop; void const* a; void const* b; void const* bias; void* c;
                    void const* extra[4]; long long aBatch; long long bBatch; long long cBatch; int rows; int columns;
                    int depth; int tilesDown; int stepsOfPart; int hasBias; int isWideA; int isWideB; int isWideC;
                    int isConstantB; float alpha; SmallWindow window; void const* gate; long long gateOfImage;
                    int pixels; int isWideGate;);

//! Rows of a block's tile, and how many blocks share one out by depth; they are a cluster, which Hopper has first.
struct SmallTile
{
    static constexpr int kColumns{64};
    static constexpr int kDepth{64};   //!< Of a stage.
    static constexpr int kGateRows{8}; //!< Images whose rows one tile may have, where they have gates.

    int rows; //!< 16, 64 or 128.
    int parts;

    constexpr int stages() const noexcept
    {
        return rows == 128 ? 4 : 6;
    }
    constexpr int threads() const noexcept
    {
        return rows == 128 ? 256 : 128;
    }
    constexpr int sharedBytes(bool isGated = false) const noexcept
    {
        constexpr int kAlignment{128};
        return stages() * (rows + kColumns + (isGated ? kGateRows : 0)) * kDepth * 2 + kAlignment;
    }
};

struct SmallTilesForm
{
    SmallTile tile;
    std::string type; //!< Of all operands: "Half" or "Bfloat".
    bool isTurnedB;
    bool isWindowed;      //!< The left operand is images.
    bool isGated;         //!< The left operand's rows have factors.
    std::string epilogue; //!< As wideEpilogueText gives it.
};

//! `applyEpilogue(extra, at, v)`: the steps over N neighbouring sums, whose place in the result is `at`; the kernel's
//! text has `Stored` in front.
Result<std::string> wideEpilogueText(Epilogue const& epilogue);

//! Kernel "smallTiles".
std::string smallTilesText(SmallTilesForm const& form);

} // namespace tenon::cuda
