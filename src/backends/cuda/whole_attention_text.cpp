// WholeAttentionText: keys, then values on their way at once; each warp has the softmax of its own keys, and what warps
// have of the same rows comes together in shared memory.
#include "backends/cuda/whole_attention_text.h"

#include "backends/cuda/matrix_text.h"

namespace tenon::cuda
{

namespace
{
constexpr char kWholeText[]{R"(
constexpr int kThreads = ROW_WARPS * KEY_WARPS * 32, kRows = ROW_WARPS * 16, kKeys = KEY_WARPS * OWN;
constexpr int kKeyPitch = DEPTH + 8, kValuePitch = WIDTH + 8; // The eight keep neighbouring rows off one bank.
#ifdef TENON_EMULATED
static Pack<u64, 2> sharedMemory[227 * 1024 / 16];
#else
extern __shared__ Pack<u64, 2> sharedMemory[];
#endif
static __device__ __forceinline__ float hidden() { return fromBits(0xFF800000u); }

//! Rows of an operand; those behind its end, and columns behind its own, are zeros.
template <int Columns>
static __device__ __forceinline__ void copyRows(Stored* to, Stored const* from, i64 stride, int rows, int columns)
{
#pragma unroll 4
    for (int item = (int)threadIdx.x; item < kKeys * (Columns / 8); item += kThreads)
    {
        int const row = item / (Columns / 8), column = item % (Columns / 8) * 8;
        bool const isThere = row < rows && column < columns;
        copyAsync(to + row * (Columns + 8) + column, isThere ? from + row * stride + column : from, isThere);
    }
    commitCopies();
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

//! What of a head a thread has: rows first and first + 8, and of every eight keys from `key` on the pair there.
struct Own
{
    i64 batch, head;
    int row, key;
};
#ifdef MASK
typedef Pack<MASK, 2> Pair;
static __device__ __forceinline__ Pair maskOf(AttentionParams const& p, Own const& own, int n, int half)
{
    int const row = own.row + half * 8, key = own.key + n * 8;
    Pair pair{};
    if (row >= p.rows)
        return pair;
    MASK const* const at = (MASK const*)p.mask + own.batch * p.maskStrides[0] + own.head * p.maskStrides[1]
        + row * p.maskStrides[2] + key * p.maskStrides[3];
    if (p.isMaskEven && key < p.keys)
        return *(Pair const*)at;
    for (int i = 0; i < 2; ++i)
        if (key + i < p.keys)
            pair.v[i] = at[i * p.maskStrides[3]];
    return pair;
}
constexpr bool IS_EARLY = OWN <= 64; // Registers hold the mask while keys are on their way.
#endif

//! The last key that a row sees.
static __device__ __forceinline__ int lastKeyOf(AttentionParams const& p, int row)
{
    i64 const last = row + p.reach;
    return (int)(last < p.keys ? last : p.keys - 1);
}

static __device__ __forceinline__ void addMasks(AttentionParams const& p, Own const& own, float (&s)[OWN / 8][4]
#ifdef MASK
    , Pair const (&masks)[OWN / 8][2]
#endif
)
{
    int const lasts[2] = {lastKeyOf(p, own.row), lastKeyOf(p, own.row + 8)};
#pragma unroll
    for (int n = 0; n < OWN / 8; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            int const last = lasts[half];
#ifdef MASK
            Pair const mask = IS_EARLY ? masks[n][half] : maskOf(p, own, n, half);
#endif
#pragma unroll
            for (int i = 0; i < 2; ++i)
            {
                float score = s[n][half * 2 + i] * p.scale;
#ifdef MASK
                if (own.row + half * 8 < p.rows)
                    score = addMask(score, mask.v[i]);
#endif
                s[n][half * 2 + i] = own.key + n * 8 + i > last ? hidden() : score;
            }
        }
}

//! Sums of eight columns of a row over the warps that have its keys.
static __device__ __forceinline__ void joinParts(
    AttentionParams const& p, i64 out, int row0, float const* parts, float const* peaks, float const* sums)
{
    for (int item = (int)threadIdx.x; item < kRows * (WIDTH / 8); item += kThreads)
    {
        int const row = item / (WIDTH / 8), column = item % (WIDTH / 8) * 8;
        if (row0 + row >= p.rows || column >= p.width)
            continue;
        float peak = hidden();
#pragma unroll
        for (int w = 0; w < KEY_WARPS; ++w)
            peak = fmaxf(peak, peaks[w * kRows + row]);
        float sum = 0.0f, v[8] = {};
#pragma unroll
        for (int w = 0; w < KEY_WARPS; ++w)
        {
            float const factor = powerOfTwo(peaks[w * kRows + row] - (peak == hidden() ? 0.0f : peak));
            sum = fmaf(sums[w * kRows + row], factor, sum);
#pragma unroll
            for (int i = 0; i < 8; i += 4)
            {
                float const* const at = parts + (w * kRows + row) * kValuePitch + column + i;
                Pack<float, 4> const four = *(Pack<float, 4> const*)at;
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    v[i + k] = fmaf(four.v[k], factor, v[i + k]);
            }
        }
        float const inverse = 1.0f / sum;
        float const nothing = p.maskedRowsAreZero ? 0.0f : fromBits(0x7FC00000u);
        Pack<unsigned, 4> y;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            y.v[k] = peak == hidden() ? pairOf(nothing, nothing, Stored{})
                                      : pairOf(v[k * 2] * inverse, v[k * 2 + 1] * inverse, Stored{});
        *(Pack<unsigned, 4>*)((Stored*)p.out + out + (row0 + row) * p.outStrides[2] + column) = y;
    }
}

TENON_BOUNDED_KERNEL(__launch_bounds__(kThreads), wholeHead, AttentionParams)
{
    int const lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int const rowWarp = warp % ROW_WARPS, keyWarp = warp / ROW_WARPS;
    unsigned const matrix = blockIdx.x / (unsigned)p.tiles, head = matrix % (unsigned)p.heads;
    if (matrix >= p.batches * p.heads)
        return; // It keeps its place from blocks of the next kernel.
    int const row0 = (int)(blockIdx.x % (unsigned)p.tiles) * kRows;
    Own const own{matrix / (unsigned)p.heads, head, row0 + rowWarp * 16 + lane / 4, keyWarp * OWN + lane % 4 * 2};
    unsigned const shared = head / (unsigned)p.share;
    Stored* const keys = (Stored*)sharedMemory;
    Stored* const values = keys + kKeys * kKeyPitch;
    copyRows<DEPTH>(keys, (Stored const*)p.k + own.batch * p.kStrides[0] + shared * p.kStrides[1], p.kStrides[2],
        (int)p.keys, p.depth);
    copyRows<WIDTH>(values, (Stored const*)p.v + own.batch * p.vStrides[0] + shared * p.vStrides[1], p.vStrides[2],
        (int)p.keys, p.width);
    Stored const* const q = (Stored const*)p.q + own.batch * p.qStrides[0] + own.head * p.qStrides[1];
    unsigned left[DEPTH / 16][4];
#pragma unroll
    for (int kk = 0; kk < DEPTH / 16; ++kk)
#pragma unroll
        for (int i = 0; i < 4; ++i)
        {
            int const row = own.row + i % 2 * 8, column = kk * 16 + lane % 4 * 2 + i / 2 * 8;
            bool const isThere = row < p.rows && column < p.depth;
            left[kk][i] = isThere ? *(unsigned const*)(q + row * p.qStrides[2] + column) : 0u;
        }
#ifdef MASK
    Pair masks[OWN / 8][2];
    if (IS_EARLY)
#pragma unroll
        for (int n = 0; n < OWN / 8; ++n)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                masks[n][half] = maskOf(p, own, n, half);
#endif
    waitForCopies<1>();
    __syncthreads();
    float s[OWN / 8][4] = {};
    Stored const* const ownKeys = keys + keyWarp * OWN * kKeyPitch;
#pragma unroll
    for (int kk = 0; kk < DEPTH / 16; ++kk)
#pragma unroll
        for (int n = 0; n < OWN / 8; n += 2)
        {
            unsigned b[4];
            loadMatrices(b, ownKeys + (n * 8 + lane / 16 * 8 + lane % 8) * kKeyPitch + kk * 16 + lane / 8 % 2 * 8);
            multiplyAdd(s[n], left[kk], b[0], b[1], Stored{});
            multiplyAdd(s[n + 1], left[kk], b[2], b[3], Stored{});
        }
#ifdef MASK
    addMasks(p, own, s, masks);
#else
    addMasks(p, own, s);
#endif
    float peak[2], sum[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        float most = hidden();
#pragma unroll
        for (int n = 0; n < OWN / 8; ++n)
            most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        peak[half] = ofRow(most, true);
        float const from = peak[half] == hidden() ? 0.0f : peak[half];
        sum[half] = 0.0f;
#pragma unroll
        for (int n = 0; n < OWN / 8; ++n)
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i)
            {
                s[n][i] = powerOfTwo(s[n][i] - from);
                sum[half] += s[n][i];
            }
        sum[half] = ofRow(sum[half], false);
    }
    waitForCopies<0>();
    __syncthreads();
    float o[WIDTH / 8][4] = {};
    Stored const* const ownValues = values + keyWarp * OWN * kValuePitch;
#pragma unroll
    for (int kk = 0; kk < OWN / 16; ++kk)
    {
        unsigned a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            a[i] = pairOf(s[2 * kk + i / 2][i % 2 * 2], s[2 * kk + i / 2][i % 2 * 2 + 1], Stored{});
#pragma unroll
        for (int n = 0; n < WIDTH / 8; n += 2)
        {
            unsigned b[4];
            loadTurned(b, ownValues + (kk * 16 + lane % 16) * kValuePitch + n * 8 + lane / 16 * 8);
            multiplyAdd(o[n], a, b[0], b[1], Stored{});
            multiplyAdd(o[n + 1], a, b[2], b[3], Stored{});
        }
    }
    __syncthreads(); // Parts take the place of operands.
    float* const parts = (float*)sharedMemory; // [KEY_WARPS][kRows][kValuePitch]
    float* const peaks = parts + KEY_WARPS * kRows * kValuePitch;
    float* const sums = peaks + KEY_WARPS * kRows;
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        int const row = keyWarp * kRows + rowWarp * 16 + lane / 4 + half * 8;
        peaks[row] = peak[half];
        sums[row] = sum[half];
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n)
            *(Pack<float, 2>*)(parts + row * kValuePitch + n * 8 + lane % 4 * 2) =
                Pack<float, 2>{{o[n][2 * half], o[n][2 * half + 1]}};
    }
    __syncthreads();
    joinParts(p, own.batch * p.outStrides[0] + own.head * p.outStrides[1], row0, parts, peaks, sums);
}
)"};
} // namespace

std::string wholeAttentionText(
    std::string const& stored, std::string const& mask, int depth, int width, WholeShape const& shape)
{
    std::string text = std::string{kAttentionParamsText}
        + fmt::format("typedef {} Stored;\nconstexpr int DEPTH = {}, WIDTH = {}, ROW_WARPS = {}, KEY_WARPS = {}, "
                      "OWN = {};\n#define UNIT 1.44269504f\n",
            stored, depth, width, shape.rowWarps, shape.keyWarps, shape.keys);
    if (!mask.empty())
        text += fmt::format("#define MASK {}\n", mask);
    return wholeText(text + std::string{matrixText()} + std::string{attentionMaskText()} + kWholeText);
}

} // namespace tenon::cuda
