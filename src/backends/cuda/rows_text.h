// RowsText: the kernels of layers with reductions as text: an expression cut where it reduces, and four ways of going
// over rows.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

namespace tenon::cuda
{

TENON_DEVICE_STRUCT(RowOperand, void const* data; long long kept[8]; long long reduced[8];);
TENON_DEVICE_STRUCT(RowParams, unsigned const* stop; unsigned long long rows; unsigned long long length;
                    unsigned long long written; unsigned long long keptExtents[8]; unsigned long long reducedExtents[8];
                    int keptAxes; int reducedAxes; unsigned isSmall; RowOperand in[8]; void* out; RowOperand to;);
inline constexpr size_t kMaxRowOperands{8};

//! An expression cut where it reduces: what each reduction goes over, and what comes of all of them. Results of
//! reductions are inputs behind the layer's own.
struct RowExpr
{
    std::vector<ExprNode> reductions; //!< Operation and axes.
    std::vector<Expr> stages;         //!< Operand of each.
    Expr result;
    uint32_t axes{0};
};

Result<RowExpr> cut(Expr const& whole, int32_t inputs);

struct RowText
{
    std::string functions;
    std::vector<std::string> types; //!< Stored, one per operand; empty: absent.
    std::vector<TapeKind> kinds;    //!< Of operands, then of reductions.
    std::vector<DType> reduced;     //!< Types of the reductions.
};

Result<RowText> functionsOf(RowExpr const& rows, std::span<TensorArg const> inputs);

//! How an operand goes with rows that lie in one piece.
enum class RowUse : uint8_t
{
    kAbsent,
    kElements,       //!< Each row has elements of its own.
    kNumber,         //!< Each row has a number.
    kSharedElements, //!< All rows have the same elements.
    kWeights,        //!< The same, and no kernel writes them.
};

//! How a row that lies in one piece is held in registers: each thread has so many packs of so many elements.
struct RowPacks
{
    int64_t width{0};
    int64_t perThread{0};
    unsigned threads{0};      //!< Of a row; a warp's rows need no barrier.
    unsigned together{1};     //!< Rows of a block.
    bool isFull{false};       //!< Whether all threads have all their packs.
    int axes{1};              //!< That rows are counted over.
    std::vector<RowUse> uses; //!< One per operand.

    bool isWarp() const noexcept
    {
        return threads == 32;
    }
    //! That a multiprocessor has at once: they go from row to row, fetching the next one ahead.
    unsigned blocks() const noexcept
    {
        return 512 / (threads * together);
    }
};

//! How rows that lie side by side, like the channels of an image, are shared out: a block has so many packs of so many
//! rows, and the rest of its threads share their lengths.
struct RowColumns
{
    static constexpr unsigned kThreads{256};
    static constexpr unsigned kManyThreads{1024}; //!< Where few blocks have long rows.
    unsigned width{0};
    unsigned packs{0};
    unsigned threads{kThreads};

    unsigned rows() const noexcept
    {
        return width * packs; //!< Of a block.
    }
};

//! Kernel "rows": a block per row, which is read once for each reduction and once for the result.
std::string rowKernel(RowExpr const& rows, RowText const& text, std::string const& outType);
//! Kernel "columns": a thread per row, where neighbouring rows are neighbours in memory.
std::string columnKernel(RowExpr const& rows, RowText const& text, std::string const& outType);
//! Kernel "sharedColumns": one reduction of real numbers, over rows that are neighbours in memory.
std::string sharedColumnKernel(
    RowExpr const& rows, RowText const& text, std::string const& outType, RowColumns const& columns);
//! Kernel "packedRows": reads each row once, 16 bytes at a time.
std::string packedRowKernel(
    RowExpr const& rows, RowText const& text, std::string const& outType, RowPacks const& packs);

} // namespace tenon::cuda
