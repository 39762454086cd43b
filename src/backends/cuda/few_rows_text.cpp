// FewRowsText: a warp per column where columns lie behind each other, else a thread per eight neighbouring columns.
#include "backends/cuda/few_rows_text.h"

#include <array>

namespace tenon::cuda
{

namespace
{
constexpr char kFinishText[]{R"(
static __device__ __forceinline__ void finishSum(FewRowsParams const& p, float sum, int row, int column)
{
    i64 const at = (i64)row * p.columns + column;
    float v[1] = {fmaf(sum, p.alpha, p.hasBias ? widen(((Stored const*)p.bias)[column]) : 0.0f)};
    applyEpilogue(p.extra, at, v);
    put(((Stored*)p.c)[at], v[0]);
}
)"};

constexpr char kTurnedText[]{R"(
constexpr int kSpan = 32 * WIDTH; //!< Of a warp's access.
constexpr int kAhead = 4;
static __device__ __forceinline__ void loadAhead(
    Pack<Stored, WIDTH> (&right)[kAhead], Stored const* b, int first, int depth)
{
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
        if (first + i * kSpan < depth)
            right[i] = *(Pack<Stored, WIDTH> const*)(b + first + i * kSpan);
}

TENON_EARLY_KERNEL(, fewRows, FewRowsParams)
{
    int const lane = (int)threadIdx.x % 32;
    int const column = (int)(blockIdx.x * (THREADS / 32) + threadIdx.x / 32);
    int const row0 = (int)blockIdx.y * ROWS;
    Stored const* const a = (Stored const*)p.a + (i64)row0 * p.depth;
    Stored const* const b = (Stored const*)p.b + (i64)column * p.depth;
    int const depth = column < p.columns ? p.depth : 0;
    float sums[ROWS] = {};
    int const own = lane * WIDTH;
    Pack<Stored, WIDTH> right[kAhead];
    if (!p.isConstantB)
        awaitFormer();
    if (p.isWide)
        loadAhead(right, b, own, depth); // Weights are on their way while the former kernels end.
    awaitFormer();
    if (p.isWide)
        for (int first = own; first < depth; first += kAhead * kSpan)
        {
            if (first != own)
                loadAhead(right, b, first, depth);
#pragma unroll
            for (int n = 0; n < kAhead; ++n)
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                {
                    int const k = first + n * kSpan;
                    if (k >= depth || row0 + r >= p.rows)
                        continue;
                    Pack<Stored, WIDTH> const left = *(Pack<Stored, WIDTH> const*)(a + (i64)r * p.depth + k);
                    for (int i = 0; i < WIDTH; ++i)
                        sums[r] = fmaf(widen(left.v[i]), widen(right[n].v[i]), sums[r]);
                }
        }
    else
        for (int k = lane; k < depth; k += 32)
            for (int r = 0; r < ROWS; ++r)
                if (row0 + r < p.rows)
                    sums[r] = fmaf(widen(a[(i64)r * p.depth + k]), widen(b[k]), sums[r]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        sums[r] = warpJoin<JoinSum>(sums[r]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (lane == r && column < p.columns && row0 + r < p.rows)
            finishSum(p, sums[r], row0 + r, column);
}
)"};

//! Threads share the depth out; what they have comes together in shared memory, a row at a time.
constexpr char kPlainText[]{R"(
constexpr int kAcross = COLUMNS / WIDTH;
constexpr int kGroups = THREADS / kAcross;
TENON_KERNEL(fewRows, FewRowsParams)
{
    __shared__ float parts[kGroups][COLUMNS];
    int const own = (int)threadIdx.x % kAcross * WIDTH;
    int const group = (int)threadIdx.x / kAcross;
    int const column = (int)blockIdx.x * COLUMNS + own;
    int const row0 = (int)blockIdx.y * ROWS;
    Stored const* const a = (Stored const*)p.a + (i64)row0 * p.depth;
    Stored const* const b = (Stored const*)p.b + column;
    float sums[ROWS][WIDTH] = {};
    int const depth = column < p.columns ? p.depth : 0;
#pragma unroll 4
    for (int k = group; k < depth; k += kGroups)
    {
        Stored const* const from = b + (i64)k * p.columns;
        Pack<Stored, WIDTH> right;
        if (p.isWide)
            right = *(Pack<Stored, WIDTH> const*)from;
        else
            for (int i = 0; i < WIDTH; ++i)
                right.v[i] = column + i < p.columns ? from[i] : Stored{};
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (row0 + r < p.rows)
            {
                float const left = widen(a[(i64)r * p.depth + k]);
                for (int i = 0; i < WIDTH; ++i)
                    sums[r][i] = fmaf(left, widen(right.v[i]), sums[r][i]);
            }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
    {
        for (int i = 0; i < WIDTH; ++i)
            parts[group][own + i] = sums[r][i];
        __syncthreads();
        int const at = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
        if ((int)threadIdx.x < COLUMNS && at < p.columns && row0 + r < p.rows)
        {
            float sum = 0.0f;
#pragma unroll 8
            for (int i = 0; i < kGroups; ++i)
                sum += parts[i][threadIdx.x];
            finishSum(p, sum, row0 + r, at);
        }
        __syncthreads();
    }
}
)"};
} // namespace

std::string fewRowsText(FewRowsForm const& form)
{
    bool const isFloat = form.type == "float";
    std::string text = functionsFor(std::array{isFloat ? DType::kFLOAT : DType::kHALF}) + kFewRowsParamsText;
    text += fmt::format("typedef {} Stored;\n"
                        "constexpr int ROWS = {}, WIDTH = {}, THREADS = {}, COLUMNS = {};\n",
        form.type, form.rows, isFloat ? 4 : 8, FewRowsForm::kThreads, FewRowsForm::kColumns);
    return wholeText(text + form.epilogue + kFinishText + (form.isTurnedB ? kTurnedText : kPlainText));
}

} // namespace tenon::cuda
