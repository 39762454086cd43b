// QuantizedTilesText: the kernel of products of int8 and fp8 numbers as text, and its measures.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "layers/epilogue.h"

namespace tenon::cuda
{

inline constexpr size_t kMaxQuantizedExtras{4};

//! Rows of a matrix of pieces of 16 bytes, or pixels, channels last, and the window that each result reads; offsets of
//! batches in bytes, of y in elements. `isAligned`: pieces lie on multiples of 16; `isWide`: results, and what is read
//! with them, can be accessed in fours.
TENON_DEVICE_STRUCT(QuantizedTilesParams, unsigned const* stop; void const* x; void const* w; void const* scales;
                    void const* bias; void* y; void const* extra[4]; long long xBatch; long long wBatch;
                    long long yBatch; long long yStart; int rows; int columns; int pieces; int piecesOfTap;
                    int windowWidth; int height; int width; int outHeight; int outWidth; int strideY; int strideX;
                    int padY; int padX; int dilationY; int dilationX; int hasBias; int scaleStep; int isWide;
                    int isAligned; int tilesAcross; int extras; float factor; float outFactor;);

//! How results are tiled: a block of 256 threads makes 128 rows and so many columns.
struct QuantizedTile
{
    static constexpr int kThreads{256};
    static constexpr int kRows{128};
    static constexpr int kDepth{128}; //!< Bytes of a row that one stage holds.

    int columns; //!< 64, 128 or 256.
    int stages;
    int pending; //!< Products of how many stages run on while the next is prepared.
    int blocks;  //!< That share a multiprocessor of Hopper's.

    int sharedBytes() const noexcept
    {
        constexpr int kAlignment{1024};
        return stages * (kRows + columns) * kDepth + kAlignment;
    }
};

struct QuantizedTilesForm
{
    QuantizedTile tile;
    bool hasWindow;    //!< Else each result reads one row of x.
    bool hasSmallSums; //!< No sum is beyond 2^22.
    bool areNumbers;   //!< No operand of the epilogue brings what is no number.
    DType in;          //!< kINT8 or kFP8.
    std::string out;
    std::string bias;
    std::string epilogue; //!< As quantizedEpilogueText gives it.
};

//! Steps over the sums; extra inputs are of these types, and lie as the result does.
Result<std::string> quantizedEpilogueText(Epilogue const& epilogue, std::vector<DType> const& extras);

//! Kernel "quantizedTiles".
std::string quantizedTilesText(QuantizedTilesForm const& form);

} // namespace tenon::cuda
