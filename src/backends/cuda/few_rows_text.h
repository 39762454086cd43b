// FewRowsText: the kernel of products of a few rows, which read a matrix once and have nothing for tensor cores to do.
#pragma once

#include "backends/cuda/kernel_text.h"

namespace tenon::cuda
{

//! Row-major operands; `extra`: tensors like the result.
TENON_DEVICE_STRUCT(FewRowsParams, unsigned const* stop; void const* a; void const* b; void const* bias; void* c;
                    void const* extra[4]; int rows; int columns; int depth; int isConstantB; int hasBias; int isWide;
                    float alpha;);

struct FewRowsForm
{
    static constexpr int kThreads{256};
    static constexpr int kTurnedColumns{8}; //!< Of a block: a warp for each.
    static constexpr int kColumns{32};      //!< Of a block, eight for a thread at a time.

    std::string type; //!< Of all operands: "float", "Half" or "Bfloat".
    bool isTurnedB;
    int rows;             //!< Of a block.
    std::string epilogue; //!< As wideEpilogueText gives it.

    int columns() const noexcept
    {
        return isTurnedB ? kTurnedColumns : kColumns;
    }
};

//! Kernel "fewRows".
std::string fewRowsText(FewRowsForm const& form);

} // namespace tenon::cuda
