// AttentionText: softmax on the way (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), so
// that scores stay in registers; tiles of keys and values pass through shared memory, the next one under way.
#include "backends/cuda/attention_text.h"

#include "backends/cuda/matrix_text.h"

namespace tenon::cuda
{

namespace
{
//! What the mask adds to a score; −∞ where a row may not see a key.
constexpr char kMaskText[]{R"(
static __device__ __forceinline__ float hidden() { return fromBits(0xFF800000u); }
static __device__ __forceinline__ float masked(
    AttentionParams const& p, float score, i64 batch, i64 head, i64 row, i64 key)
{
    if (key >= p.keys || key > row + p.reach)
        return hidden();
#ifdef MASK
    i64 const at = batch * p.maskStrides[0] + head * p.maskStrides[1] + row * p.maskStrides[2]
        + key * p.maskStrides[3];
    if (row < p.rows)
        return addMask(score, ((MASK const*)p.mask)[at]);
#endif
    return score;
}
)"};

constexpr char kMaskFunctions[]{R"(
static __device__ __forceinline__ float addMask(float score, Bool x) { return x.bits ? score : fromBits(0xFF800000u); }
static __device__ __forceinline__ float addMask(float score, Half x) { return score + widen(x) * UNIT; }
// The lowest numbers of float32 and bfloat16 hide a key as well as any: times UNIT they must not become infinity, which
// is what keys that do not exist have.
static __device__ __forceinline__ float addMask(float score, float x)
{
    return score + (x < -2.0e38f && x >= -3.4028235e38f ? -2.0e38f : x) * UNIT;
}
static __device__ __forceinline__ float addMask(float score, Bfloat x) { return addMask(score, widen(x)); }
)"};

//! Scores are in powers of two: the scale and the mask have the factor log2(e).
constexpr char kMatrixAttention[]{R"(
constexpr int kKeyPitch = DEPTH + 8; // The eight keep neighbouring rows off one bank.
constexpr int kValuePitch = WIDTH + 8;
constexpr int kStage = KEYS * (kKeyPitch + kValuePitch);

struct Place
{
    i64 batch, head, row;
};
//! Columns of one row of an operand: those behind its end are zeros.
static __device__ __forceinline__ void loadPiece(
    Stored* to, Stored const* row, i64 stride, int column, int columns, bool isThere, bool isWide)
{
    if (isWide)
        return copyAsync(to, row + column, isThere && column < columns);
    for (int i = 0; i < 8; ++i)
        to[i] = isThere && column + i < columns ? row[(column + i) * stride] : Stored{0};
}
static __device__ __forceinline__ void loadTile(
    Stored* stage, AttentionParams const& p, Stored const* k, Stored const* v, i64 first)
{
    constexpr int kPieces = DEPTH / 8 + WIDTH / 8;
    for (int item = (int)threadIdx.x; item < KEYS * kPieces; item += 128)
    {
        int const key = item / kPieces;
        int const piece = item % kPieces;
        bool const isThere = first + key < p.keys;
        if (piece < DEPTH / 8)
            loadPiece(stage + key * kKeyPitch + piece * 8, k + (first + key) * p.kStrides[2], p.kStrides[3], piece * 8,
                p.depth, isThere, p.isWide);
        else
            loadPiece(stage + KEYS * kKeyPitch + key * kValuePitch + (piece - DEPTH / 8) * 8,
                v + (first + key) * p.vStrides[2], p.vStrides[3], (piece - DEPTH / 8) * 8, p.width, isThere, p.isWide);
    }
    commitCopies();
}
//! Two neighbours of a row of q.
static __device__ __forceinline__ unsigned pairAt(AttentionParams const& p, Stored const* q, i64 row, int column)
{
    if (row >= p.rows || column >= p.depth)
        return 0u;
    Stored const* const at = q + row * p.qStrides[2] + column * p.qStrides[3];
    if (p.isWide)
        return *(unsigned const*)at;
    return at[0].bits | (column + 1 < p.depth ? (unsigned)at[p.qStrides[3]].bits << 16 : 0u);
}
static __device__ __forceinline__ float ofRow(float x, bool isMax)
{
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2)
    {
        float const other = __shfl_xor_sync(0xFFFFFFFFu, x, distance);
        x = isMax ? fmaxf(x, other) : x + other;
    }
    return x;
}
//! What a row came to, by its sum and peak.
static __device__ __forceinline__ float finished(AttentionParams const& p, float value, float sum, float peak)
{
    if (peak == hidden())
        return p.maskedRowsAreZero || p.keys == 0 ? 0.0f : fromBits(0x7FC00000u);
    return value / sum;
}
static __device__ __forceinline__ void storeAt(AttentionParams const& p, Place const& at, i64 row, int column, float x)
{
    if (row < p.rows && column < p.width)
        put(((Stored*)p.out)[at.batch * p.outStrides[0] + at.head * p.outStrides[1] + row * p.outStrides[2]
                + column * p.outStrides[3]],
            x);
}

static __device__ __forceinline__ void storePair(
    AttentionParams const& p, Place const& at, i64 row, int column, float low, float high)
{
    if (p.isWide && row < p.rows && column < p.width)
        *(unsigned*)((Stored*)p.out + at.batch * p.outStrides[0] + at.head * p.outStrides[1]
            + row * p.outStrides[2] + column) = pairOf(low, high, Stored{});
    else
    {
        storeAt(p, at, row, column, low);
        storeAt(p, at, row, column + 1, high);
    }
}

//! One warp's rows: their scores against the keys of a tile, and what they add to the result.
template <int Own>
struct Rows
{
    unsigned q[DEPTH / 16][4];
    float o[WIDTH / 8][4];
    float peak[2];
    float sum[2];

    __device__ void add(AttentionParams const& p, Stored const* keys, Stored const* values, Place const& at, i64 firstKey)
    {
        int const lane = (int)threadIdx.x % 32;
        float s[Own / 8][4] = {};
#ifdef MASK
        bool const isWhole = false;
#else
        i64 const lastKey = firstKey + Own - 1;
        bool const isWhole = lastKey < p.keys && lastKey <= at.row + p.reach; // All rows see all of these keys.
#endif
#pragma unroll
        for (int kk = 0; kk < DEPTH / 16; ++kk)
#pragma unroll
            for (int n = 0; n < Own / 8; n += 2)
            {
                unsigned b[4];
                loadMatrices(b, keys + (n * 8 + lane / 16 * 8 + lane % 8) * kKeyPitch + kk * 16 + lane / 8 % 2 * 8);
                multiplyAdd(s[n], q[kk], b[0], b[1], Stored{});
                multiplyAdd(s[n + 1], q[kk], b[2], b[3], Stored{});
            }
#pragma unroll
        for (int n = 0; n < Own / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                s[n][i] = isWhole ? s[n][i] * p.scale
                                  : masked(p, s[n][i] * p.scale, at.batch, at.head, at.row + lane / 4 + i / 2 * 8,
                                        firstKey + n * 8 + lane % 4 * 2 + i % 2);
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            float most = hidden();
#pragma unroll
            for (int n = 0; n < Own / 8; ++n)
                most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
            most = fmaxf(peak[half], ofRow(most, true));
            float const from = most == hidden() ? 0.0f : most;
            float const factor = powerOfTwo(peak[half] - from);
            peak[half] = most;
            sum[half] *= factor;
#pragma unroll
            for (int n = 0; n < Own / 8; ++n)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; ++i)
                {
                    s[n][i] = powerOfTwo(s[n][i] - from);
                    sum[half] += s[n][i];
                }
#pragma unroll
            for (int n = 0; n < WIDTH / 8; ++n)
            {
                o[n][2 * half] *= factor;
                o[n][2 * half + 1] *= factor;
            }
        }
#pragma unroll
        for (int kk = 0; kk < Own / 16; ++kk)
        {
            unsigned a[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[i] = pairOf(s[2 * kk + i / 2][i % 2 * 2], s[2 * kk + i / 2][i % 2 * 2 + 1], Stored{});
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n += 2)
            {
                unsigned b[4];
                loadTurned(b, values + (kk * 16 + lane % 16) * kValuePitch + n * 8 + lane / 16 * 8);
                multiplyAdd(o[n], a, b[0], b[1], Stored{});
                multiplyAdd(o[n + 1], a, b[2], b[3], Stored{});
            }
        }
    }
};

//! Warps share the rows and the keys of each tile out.
template <int RowWarps, int KeyWarps>
static __device__ __forceinline__ void attend(AttentionParams const& p)
{
    constexpr int kOwn = KEYS / KeyWarps;
    constexpr int kRows = RowWarps * 16;
    constexpr int kStageBytes = 2 * kStage * (int)sizeof(Stored);
    constexpr int kPartBytes = KeyWarps == 1 ? 0 : KeyWarps * kRows * WIDTH * 4;
    __shared__ Pack<u64, 2> memory[(kStageBytes > kPartBytes ? kStageBytes : kPartBytes) / 16];
    __shared__ float peaks[KeyWarps][kRows];
    __shared__ float sums[KeyWarps][kRows];
    int const lane = (int)threadIdx.x % 32;
    int const warp = (int)threadIdx.x / 32;
    int const rowWarp = warp % RowWarps;
    int const keyWarp = warp / RowWarps;
    unsigned const matrix = blockIdx.x / (unsigned)p.tiles;
    i64 const tile = p.tiles - 1 - blockIdx.x % (unsigned)p.tiles; // Of causal ones the longest first.
    unsigned const head = matrix % (unsigned)p.heads;
    unsigned const shared = head / (unsigned)p.share;
    Place const at{matrix / (unsigned)p.heads, head, tile * kRows + rowWarp * 16};
    Stored const* const q = (Stored const*)p.q + at.batch * p.qStrides[0] + at.head * p.qStrides[1];
    Stored const* const k = (Stored const*)p.k + at.batch * p.kStrides[0] + shared * p.kStrides[1];
    Stored const* const v = (Stored const*)p.v + at.batch * p.vStrides[0] + shared * p.vStrides[1];
    i64 const lastRow = (tile + 1) * kRows < p.rows ? (tile + 1) * kRows - 1 : p.rows - 1;
    i64 const end = lastRow + p.reach + 1 < p.keys ? lastRow + p.reach + 1 : p.keys;
    Rows<kOwn> own;
#pragma unroll
    for (int n = 0; n < WIDTH / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            own.o[n][i] = 0.0f;
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        own.peak[half] = hidden();
        own.sum[half] = 0.0f;
    }
    if (end > 0)
        loadTile((Stored*)memory, p, k, v, 0);
#pragma unroll
    for (int kk = 0; kk < DEPTH / 16; ++kk)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            own.q[kk][i] = pairAt(p, q, at.row + lane / 4 + i % 2 * 8, kk * 16 + lane % 4 * 2 + i / 2 * 8);
    int turn = 0;
    for (i64 first = 0; first < end; first += KEYS, turn ^= 1)
    {
        if (first + KEYS < end)
            loadTile((Stored*)memory + (turn ^ 1) * kStage, p, k, v, first + KEYS);
        else
            commitCopies();
        waitForCopies<1>();
        __syncthreads();
        Stored const* const keys = (Stored const*)memory + turn * kStage + keyWarp * kOwn * kKeyPitch;
        Stored const* const values =
            (Stored const*)memory + turn * kStage + KEYS * kKeyPitch + keyWarp * kOwn * kValuePitch;
        own.add(p, keys, values, at, first + keyWarp * kOwn);
        __syncthreads(); // The next copies overwrite what was read here.
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
        own.sum[half] = ofRow(own.sum[half], false);
    if (KeyWarps == 1)
    {
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                storePair(p, at, at.row + lane / 4 + half * 8, n * 8 + lane % 4 * 2,
                    finished(p, own.o[n][2 * half], own.sum[half], own.peak[half]),
                    finished(p, own.o[n][2 * half + 1], own.sum[half], own.peak[half]));
        return;
    }
    float* const parts = (float*)memory; // [KeyWarps][kRows][WIDTH]
#pragma unroll
    for (int i = 0; i < 4; ++i)
    {
        int const row = rowWarp * 16 + lane / 4 + i / 2 * 8;
        peaks[keyWarp][row] = own.peak[i / 2];
        sums[keyWarp][row] = own.sum[i / 2];
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n)
            parts[(keyWarp * kRows + row) * WIDTH + n * 8 + lane % 4 * 2 + i % 2] = own.o[n][i];
    }
    __syncthreads();
    for (int item = (int)threadIdx.x; item < kRows * WIDTH; item += 128)
    {
        int const row = item / WIDTH;
        float peak = hidden();
        for (int w = 0; w < KeyWarps; ++w)
            peak = fmaxf(peak, peaks[w][row]);
        float const from = peak == hidden() ? 0.0f : peak;
        float sum = 0.0f;
        float value = 0.0f;
        for (int w = 0; w < KeyWarps; ++w)
        {
            float const factor = powerOfTwo(peaks[w][row] - from);
            sum += sums[w][row] * factor;
            value += parts[(w * kRows + row) * WIDTH + item % WIDTH] * factor;
        }
        storeAt(p, at, tile * kRows + row, item % WIDTH, finished(p, value, sum, peak));
    }
}
TENON_KERNEL(rows64, AttentionParams) { attend<4, 1>(p); }
#if KEYS == 64
TENON_KERNEL(rows16, AttentionParams) { attend<1, 4>(p); }
#else
TENON_KERNEL(rows32, AttentionParams) { attend<2, 2>(p); }
#endif
)"};

constexpr char kPlainAttention[]{R"(
TENON_KERNEL(plain, AttentionParams)
{
    int const lane = (int)threadIdx.x % 32;
    i64 const all = p.batches * p.heads * p.rows;
    i64 const item = (i64)blockIdx.x * 4 + threadIdx.x / 32; // Warps behind the last row go along with the others.
    i64 const own = item < all ? item : all - 1;
    i64 const row = own % p.rows;
    i64 const head = own / p.rows % p.heads;
    i64 const batch = own / p.rows / p.heads;
    Stored const* const q =
        (Stored const*)p.q + batch * p.qStrides[0] + head * p.qStrides[1] + row * p.qStrides[2];
    Stored const* const k = (Stored const*)p.k + batch * p.kStrides[0] + head / p.share * p.kStrides[1];
    Stored const* const v = (Stored const*)p.v + batch * p.vStrides[0] + head / p.share * p.vStrides[1];
    float o[COLUMNS] = {};
    float peak = hidden();
    float sum = 0.0f;
    for (i64 first = 0; first < p.keys; first += 32)
    {
        i64 const key = first + lane;
        float score = 0.0f;
        if (key < p.keys)
            for (int c = 0; c < p.depth; ++c)
                score = fmaf(widen(q[c * p.qStrides[3]]), widen(k[key * p.kStrides[2] + c * p.kStrides[3]]), score);
        score = masked(p, score * p.scale, batch, head, row, key);
        float most = score;
        for (int distance = 16; distance > 0; distance /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFu, most, distance));
        most = fmaxf(most, peak);
        float const from = most == hidden() ? 0.0f : most;
        float const factor = expf(peak - from);
        float const part = expf(score - from);
        peak = most;
        sum = sum * factor + part;
        for (int c = 0; c < COLUMNS; ++c)
            o[c] *= factor;
        for (int j = 0; j < 32 && first + j < p.keys; ++j)
        {
            float const weight = __shfl_sync(0xFFFFFFFFu, part, j);
            for (int c = 0; c < COLUMNS; ++c)
                if (lane + 32 * c < p.width)
                    o[c] = fmaf(weight, widen(v[(first + j) * p.vStrides[2] + (lane + 32 * c) * p.vStrides[3]]), o[c]);
        }
    }
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
    float const nothing = p.maskedRowsAreZero || p.keys == 0 ? 0.0f : fromBits(0x7FC00000u);
    for (int c = 0; c < COLUMNS && item < all; ++c)
        if (lane + 32 * c < p.width)
            put(((Stored*)p.out)[batch * p.outStrides[0] + head * p.outStrides[1] + row * p.outStrides[2]
                    + (lane + 32 * c) * p.outStrides[3]],
                peak == hidden() ? nothing : o[c] / sum);
}
)"};

//! Keys of a tile: two tiles of keys and values must be in 48 KiB of shared memory.
int keysOf(int depth, int width) noexcept
{
    return depth + width <= 2 * 64 ? 64 : 32;
}
} // namespace

std::string_view attentionMaskText() noexcept
{
    return kMaskFunctions;
}

AttentionKernels matrixAttentionKernels(int depth, int width) noexcept
{
    return keysOf(depth, width) == 64 ? AttentionKernels{"rows64", "rows16", 16}
                                      : AttentionKernels{"rows64", "rows32", 32};
}

std::string matrixAttentionText(std::string const& stored, std::string const& mask, int depth, int width)
{
    std::string text = std::string{kAttentionParamsText}
        + fmt::format("typedef {} Stored;\nconstexpr int DEPTH = {}, WIDTH = {};\n#define KEYS {}\n"
                      "#define UNIT 1.44269504f\n",
            stored, depth, width, keysOf(depth, width));
    if (!mask.empty())
        text += fmt::format("#define MASK {}\n", mask);
    return wholeText(text + std::string{matrixText()} + kMaskFunctions + kMaskText + kMatrixAttention);
}

std::string plainAttentionText(std::string const& stored, std::string const& mask)
{
    std::string text = std::string{kAttentionParamsText}
        + fmt::format("typedef {} Stored;\n#define COLUMNS {}\n#define UNIT 1.0f\n", stored, kPlainColumns);
    if (!mask.empty())
        text += fmt::format("#define MASK {}\n", mask);
    return wholeText(text + kMaskFunctions + kMaskText + kPlainAttention);
}

} // namespace tenon::cuda
