// ThinTilesText: the kernel of products of many rows and little depth, whose time is that of the rows' memory: operands
// go from memory to registers, weights stay in shared memory.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "base/result.h"

namespace tenon::cuda
{

//! Rows of `depth` elements times columns of as many, which lie behind each other; `extra`: tensors like the result.
//! `gate`: factors of a row's elements, one row of them for each image of so many pixels, `ofImage` elements apart.
TENON_DEVICE_STRUCT(ThinTilesParams, unsigned const* stop; void const* a; void const* b; void const* bias; void* c;
                    void const* extra[4]; void const* gate; long long rows; int columns; int depth; int columnsOfBlock;
                    int hasBias; int isConstantB; int pixels; int ofImage;);

struct ThinTilesForm
{
    static constexpr int kThreads{256};
    static constexpr int kRows{16};       //!< Of a warp at a time.
    static constexpr int kGroupDepth{32}; //!< Of a load of 16 bytes by each of four threads.
    static constexpr int kGroupColumns{32};
    static constexpr int kMaxGroups{4};
    static constexpr int kMaxGatedGroups{8}; //!< Where a product has no other kernel that reads its rows once.

    std::string type; //!< Of all operands: "Half" or "Bfloat".
    int groups;       //!< Of depth.
    bool isGated{false};
    std::string epilogue; //!< As wideEpilogueText gives it.

    //! Elements between columns in shared memory: an odd number of halves of what its banks give at once.
    static constexpr int pitch(int groups) noexcept
    {
        return (groups % 2 == 1 ? groups : groups + 1) * kGroupDepth;
    }
    //! With the bias behind the columns.
    static constexpr int sharedBytes(int groups, int columns) noexcept
    {
        return columns * (pitch(groups) + 1) * 2;
    }
};

//! Kernel "thinTiles".
std::string thinTilesText(ThinTilesForm const& form);

} // namespace tenon::cuda
