// ThinTilesText: a warp takes sixteen rows at a time, all columns of its block one after the other. Depth is shared out
// among the four threads of a row by eights, which sums do not mind as long as columns are read in the same order;
// columns are, so that a thread has eight neighbouring results.
#include "backends/cuda/thin_tiles_text.h"

#include "backends/cuda/matrix_text.h"

#include <array>

namespace tenon::cuda
{

namespace
{
constexpr char kThinTilesText[]{R"(
#ifdef TENON_EMULATED
static Pack<u64, 2> sharedMemory[227 * 1024 / 16];
#else
extern __shared__ Pack<u64, 2> sharedMemory[];
#endif
//! Four words of two elements each: a thread's eight of a row or column.
typedef Pack<unsigned, 4> Eight;

//! The block's columns, zeros behind their depth, and the bias behind them.
static __device__ __forceinline__ void copyColumns(ThinTilesParams const& p, Stored* to, int column0, int columns)
{
    int const pieces = GROUPS * 4;
    for (int i = (int)threadIdx.x; i < columns * pieces; i += THREADS)
    {
        int const column = i / pieces;
        int const at = i % pieces * 8;
        bool const isThere = at < p.depth;
        copyAsync(to + column * PITCH + at,
            (Stored const*)p.b + (isThere ? (i64)(column0 + column) * p.depth + at : 0), isThere);
    }
    Stored* const bias = to + p.columnsOfBlock * PITCH;
    for (int i = (int)threadIdx.x; i < columns; i += THREADS)
        bias[i] = p.hasBias ? ((Stored const*)p.bias)[column0 + i] : Stored{};
    commitCopies();
}
//! What a thread has of rows `row` and eight below; zeros behind the last row.
static __device__ __forceinline__ void loadRows(ThinTilesParams const& p, Eight (&to)[GROUPS][2], i64 row)
{
    int const at = (int)threadIdx.x % 4 * 8;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g)
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            bool const isThere = row + half * 8 < p.rows && g * 32 + at < p.depth;
            to[g][half] = isThere
                ? *(Eight const*)((Stored const*)p.a + (row + half * 8) * p.depth + g * 32 + at) : Eight{};
        }
}
//! Multiplies what has been loaded by the gates of its images, each product rounded.
static __device__ __forceinline__ void gateRows(ThinTilesParams const& p, Eight (&a)[GROUPS][2], i64 row)
{
    int const at = (int)threadIdx.x % 4 * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        if (row + half * 8 >= p.rows)
            continue;
        int const image = (int)((unsigned)(row + half * 8) / (unsigned)p.pixels);
        Stored const* const gates = (Stored const*)p.gate + (i64)image * p.ofImage + at;
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
        {
            if (g * 32 + at >= p.depth)
                continue;
            Eight const gate = *(Eight const*)(gates + g * 32);
#pragma unroll
            for (int k = 0; k < 4; ++k)
                a[g][half].v[k] = timesPair(a[g][half].v[k], gate.v[k], Stored{});
        }
    }
}
static __device__ __forceinline__ void finishEight(
    ThinTilesParams const& p, float (&v)[8], Pack<Stored, 8> const& bias, i64 row, int column)
{
#pragma unroll
    for (int k = 0; k < 8; ++k)
        v[k] += widen(bias.v[k]);
    i64 const at = row * p.columns + column;
    applyEpilogue(p.extra, at, v);
    unsigned words[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        words[k] = pairOf(v[2 * k], v[2 * k + 1], Stored{});
    storeWords((Stored*)p.c + at, words);
}

TENON_EARLY_KERNEL(__launch_bounds__(THREADS), thinTiles, ThinTilesParams)
{
    Stored* const columns = (Stored*)sharedMemory;
    int const column0 = (int)blockIdx.y * p.columnsOfBlock;
    int const own = p.columns - column0 < p.columnsOfBlock ? p.columns - column0 : p.columnsOfBlock;
    int const lane = (int)threadIdx.x % 32;
    if (!p.isConstantB)
        awaitFormer();
    copyColumns(p, columns, column0, own);
    awaitFormer();
    i64 const stride = (i64)gridDim.x * (THREADS / 32) * 16;
    i64 row = ((i64)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * 16 + lane / 4;
    i64 const end = (p.rows + 15) / 16 * 16; // The threads of a warp go on together.
    Eight next[GROUPS][2];
    loadRows(p, next, row);
    waitForCopies<0>();
    __syncthreads();
    i64 const turns = (end + stride - 1) / stride; // The same for all threads.
    for (i64 turn = 0; turn < turns; ++turn, row += stride)
    {
        Eight a[GROUPS][2];
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                a[g][half] = next[g][half];
        if (turn + 1 < turns)
            loadRows(p, next, row + stride);
        if (IS_GATED)
            gateRows(p, a, row);
        for (int group = 0; group < own; group += 32)
        {
            float d[4][4] = {};
#pragma unroll
            for (int j = 0; j < 4; ++j)
            {
                // Column 2 t + e of tile j is the group's 8 t + 2 j + e.
                int const column = group + lane / 8 * 8 + j * 2 + lane / 4 % 2;
                Stored const* const from = columns + (column < own ? column : 0) * PITCH + lane % 4 * 8;
#pragma unroll
                for (int g = 0; g < GROUPS; ++g)
                {
                    Eight const b = *(Eight const*)(from + g * 32);
#pragma unroll
                    for (int step = 0; step < 2; ++step)
                    {
                        unsigned const left[4] = {a[g][0].v[step * 2], a[g][1].v[step * 2], a[g][0].v[step * 2 + 1],
                            a[g][1].v[step * 2 + 1]};
                        multiplyAdd(d[j], left, b.v[step * 2], b.v[step * 2 + 1], Stored{});
                    }
                }
            }
            int const column = group + lane % 4 * 8;
            if (column >= own)
                continue;
            Pack<Stored, 8> const bias = *(Pack<Stored, 8> const*)(columns + p.columnsOfBlock * PITCH + column);
#pragma unroll
            for (int half = 0; half < 2; ++half)
            {
                float v[8];
#pragma unroll
                for (int k = 0; k < 8; ++k)
                    v[k] = d[k / 2][half * 2 + k % 2];
                if (row + half * 8 < p.rows)
                    finishEight(p, v, bias, row + half * 8, column0 + column);
            }
        }
    }
}
)"};
} // namespace

std::string thinTilesText(ThinTilesForm const& form)
{
    std::string text = functionsFor(std::array{DType::kHALF}) + kThinTilesParamsText;
    text += fmt::format("typedef {} Stored;\nconstexpr int GROUPS = {}, PITCH = {}, THREADS = {};\n"
                        "constexpr bool IS_GATED = {};\n",
        form.type, form.groups, ThinTilesForm::pitch(form.groups), ThinTilesForm::kThreads, form.isGated);
    text += matrixText();
    return wholeText(text + form.epilogue + kThinTilesText);
}

} // namespace tenon::cuda
