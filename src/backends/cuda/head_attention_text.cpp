// HeadAttentionText: keys and values of a head are in shared memory, in the order that wgmma reads. Warpgroups go over
// them with 64 rows each at their own pace: one's softmax is what the tensor cores of another's products hide.
#include "backends/cuda/head_attention_text.h"

#include "backends/cuda/matrix_text.h"
#include "backends/cuda/warpgroup_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Rows of q on their way to registers: each warp has a place for its sixteen, and a barrier that says they are there.
constexpr char kHeadCopiesText[]{R"(
constexpr int ROW_PITCH = COLUMNS + 8; // The eight keep neighbouring rows off one bank.
#ifdef TENON_EMULATED
static inline void initArrival(u64*) {}
static inline void expectRows(u64*, int) {}
static inline void copyRow(Stored* to, Stored const* from, u64*) { std::memcpy(to, from, COLUMNS * sizeof(Stored)); }
static inline void awaitRows(u64*, unsigned) { __syncthreads(); }
static inline void meetWarp() { __syncthreads(); }
static inline bool isAny(bool x)
{
    int any = x;
    for (int distance = 1; distance < 32; distance *= 2)
        any |= __shfl_xor_sync(0xFFFFFFFFu, any, distance);
    return any != 0;
}
#else
static __device__ __forceinline__ void initArrival(u64* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(sharedAddress(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // For the copy engine, too.
}
static __device__ __forceinline__ void expectRows(u64* barrier, int rows)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(sharedAddress(barrier)), "r"(rows * COLUMNS * 2) : "memory");
}
static __device__ __forceinline__ void copyRow(Stored* to, Stored const* from, u64* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(sharedAddress(to)), "l"(from), "n"(COLUMNS * 2), "r"(sharedAddress(barrier)) : "memory");
}
static __device__ __forceinline__ void awaitRows(u64* barrier, unsigned parity)
{
    unsigned isOver;
    do
        asm volatile("{.reg .pred isOver; mbarrier.try_wait.parity.shared::cta.b64 isOver, [%1], %2;\n"
            "selp.u32 %0, 1, 0, isOver;}" : "=r"(isOver) : "r"(sharedAddress(barrier)), "r"(parity) : "memory");
    while (isOver == 0);
}
static __device__ __forceinline__ void meetWarp() { __syncwarp(); }
static __device__ __forceinline__ bool isAny(bool x) { return __any_sync(0xFFFFFFFFu, x); }
#endif
)"};

//! With a mask the keys of 32 are so turned around that a thread's eight scores in them are of neighbours, whose mask
//! is one access. s[n][j] is the score of the warp's row lane / 4 + j / 2 * 8.
constexpr char kHeadScoresText[]{R"(
constexpr int HALVES = COLUMNS / 64;
struct Place
{
    int batch, head, row;
};
static __device__ __forceinline__ float hidden() { return fromBits(0xFF800000u); }
static __device__ __forceinline__ float ofQuad(float x, bool isMax)
{
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2)
    {
        float const other = __shfl_xor_sync(0xFFFFFFFFu, x, distance);
        x = isMax ? fmaxf(x, other) : x + other;
    }
    return x;
}
#ifdef MASK
//! Where a tile's key lies, and which key a thread's score is of.
static __device__ __forceinline__ int placeOf(int key)
{
    return key / 32 * 32 + key % 8 / 2 * 8 + key % 32 / 8 * 2 + key % 2;
}
static __device__ __forceinline__ int keyOf(int lane, int n, int j)
{
    return n / 4 * 32 + lane % 4 * 8 + n % 4 * 2 + j;
}
#else
static __device__ __forceinline__ int placeOf(int key) { return key; }
static __device__ __forceinline__ int keyOf(int lane, int n, int j) { return n * 8 + lane % 4 * 2 + j; }
#endif

#ifdef MASK
//! What is left to be multiplied into a score when its mask is in: numbers of float32's range must not meet the scale
//! again, as rounding would weigh keys that are hidden alike differently.
static __device__ __forceinline__ float scaleBehind(AttentionParams const& p, Half) { return p.scale; }
static __device__ __forceinline__ float scaleBehind(AttentionParams const& p, Bool) { return p.scale; }
static __device__ __forceinline__ float scaleBehind(AttentionParams const&, float) { return 1.0f; }
static __device__ __forceinline__ float scaleBehind(AttentionParams const&, Bfloat) { return 1.0f; }
static __device__ __forceinline__ float withMask(AttentionParams const& p, float score, Half x)
{
    return fmaf(widen(x), p.unit, score);
}
static __device__ __forceinline__ float withMask(AttentionParams const&, float score, Bool x)
{
    return addMask(score, x);
}
static __device__ __forceinline__ float withMask(AttentionParams const& p, float score, float x)
{
    return addMask(score * p.scale, x);
}
static __device__ __forceinline__ float withMask(AttentionParams const& p, float score, Bfloat x)
{
    return addMask(score * p.scale, x);
}
#endif

#ifdef MASK
//! Eight elements of a mask as words, so that they take no more registers than bytes.
template <int N>
static __device__ __forceinline__ float maskOf(Pack<unsigned, N> const& words, int k, float)
{
    return fromBits(words.v[k]);
}
template <int N, typename T>
static __device__ __forceinline__ T maskOf(Pack<unsigned, N> const& words, int k, T)
{
    constexpr int kEach = 4 / sizeof(T);
    return {(decltype(T::bits))(words.v[k / kEach] >> k % kEach * 8 * sizeof(T))};
}
template <int N>
static __device__ __forceinline__ void addBits(Pack<unsigned, N>& words, int k, float x) { words.v[k] = toBits(x); }
template <int N, typename T>
static __device__ __forceinline__ void addBits(Pack<unsigned, N>& words, int k, T x)
{
    constexpr int kEach = 4 / sizeof(T);
    words.v[k / kEach] |= (unsigned)x.bits << k % kEach * 8 * sizeof(T);
}
#endif

//! What a warp's rows see of a tile of keys.
struct MaskTile
{
    int firstKey;
    bool isWhole; // Every row sees all of the keys, but for what the mask says.
#ifdef MASK
    static constexpr int kWords = 2 * sizeof(MASK); // Of eight keys.
    Pack<unsigned, kWords> packs[2][KEYS / 32];

    static __device__ __forceinline__ MASK const* rowOf(AttentionParams const& p, Place const& at, int row)
    {
        return (MASK const*)p.mask + at.batch * p.maskStrides[0] + at.head * p.maskStrides[1]
            + (row < p.rows ? row : 0) * p.maskStrides[2];
    }
#endif
    //! Ahead of the products, as memory takes long to answer.
    __device__ __forceinline__ void load(AttentionParams const& p, Place const& at, int first)
    {
        firstKey = first;
        isWhole = first + KEYS <= p.keys && first + KEYS - 1 <= at.row + p.reach;
#ifdef MASK
        int const lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            MASK const* const own = rowOf(p, at, at.row + lane / 4 + i * 8);
#pragma unroll
            for (int g = 0; g < KEYS / 32; ++g)
            {
                int const key = first + keyOf(lane, g * 4, 0);
                packs[i][g] = {};
#ifdef MASK_LIES_EVEN
                if (key < p.keys)
                    packs[i][g] = *(Pack<unsigned, kWords> const*)(own + key);
#else
#pragma unroll
                for (int k = 0; k < 8; ++k)
                    if (key + k < p.keys)
                        addBits(packs[i][g], k, own[(key + k) * p.maskStrides[3]]);
#endif
            }
        }
#endif
    }
    //! Returns the factor that scores are still without.
    __device__ __forceinline__ float apply(float (&s)[KEYS / 8][4], AttentionParams const& p, Place const& at) const
    {
        int const lane = (int)threadIdx.x % 32;
#ifdef MASK
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    s[n][2 * i + j] = withMask(p, s[n][2 * i + j], maskOf(packs[i][n / 4], n % 4 * 2 + j, MASK{}));
#endif
        if (!isWhole)
#pragma unroll
            for (int i = 0; i < 2; ++i)
            {
                i64 const reached = at.row + lane / 4 + i * 8 + p.reach;
                int const last = (int)(reached < p.keys ? reached : p.keys - 1) - firstKey;
#pragma unroll
                for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                    for (int j = 0; j < 2; ++j)
                        if (keyOf(lane, n, j) > last)
                            s[n][2 * i + j] = hidden();
            }
#ifdef MASK
        return scaleBehind(p, MASK{});
#else
        return p.scale;
#endif
    }
};
)"};

constexpr char kHeadRowsText[]{R"(
//! A warp's sixteen rows: results, weighed by powers of two of scores less `peak`.
struct Rows
{
    unsigned q[COLUMNS / 16][4];
    float o[HALVES][8][4];
    float peak[2];
    float sum[2];

    __device__ __forceinline__ void begin(Stored const* from)
    {
        int const lane = (int)threadIdx.x % 32;
        Stored const* const own = from + (lane % 8 + lane / 8 % 2 * 8) * ROW_PITCH + lane / 16 * 8;
#pragma unroll
        for (int kk = 0; kk < COLUMNS / 16; ++kk)
            loadMatrices(q[kk], own + kk * 16);
    }
    __device__ __forceinline__ void multiplyByKeys(float (&s)[KEYS / 8][4], Stored const* keys, int keyRows)
    {
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < COLUMNS / 16; ++kk)
            multiplyKeys(s, q[kk], keys + kk / 4 * keyRows * 64, kk % 4, kk > 0);
        commitProducts();
    }
    //! Lets weights refer to the largest scores so far, where these have grown by more than what weights may.
    template <bool IsFirst>
    __device__ __forceinline__ void raisePeaks(float (&most)[2])
    {
        constexpr float kMaxGrowth = 8.0f; // A weight of 256, and its sums, are far inside every type.
        if (IsFirst)
        {
            peak[0] = most[0];
            peak[1] = most[1];
            sum[0] = sum[1] = 0.0f;
            return;
        }
        if (!isAny(most[0] > peak[0] + kMaxGrowth || most[1] > peak[1] + kMaxGrowth))
            return;
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            float const next = fmaxf(peak[i], most[i]);
            float const factor = next == hidden() ? 1.0f : powerOfTwo(peak[i] - next);
            peak[i] = next;
            sum[i] *= factor;
#pragma unroll
            for (int h = 0; h < HALVES; ++h)
#pragma unroll
                for (int n = 0; n < 8; ++n)
                {
                    o[h][n][2 * i] *= factor;
                    o[h][n][2 * i + 1] *= factor;
                }
        }
    }
    //! A tile of keys and values; `mask` becomes that of the next one.
    template <bool IsFirst>
    __device__ __forceinline__ void addTile(AttentionParams const& p, Place const& at, Stored const* keys,
        Stored const* values, int keyRows, MaskTile& mask, int next)
    {
        float s[KEYS / 8][4];
        multiplyByKeys(s, keys, keyRows);
        waitForProducts<0>();
        settled(s);
        if (!IsFirst)
            settleResults();
        float const scale = mask.apply(s, p, at);
        if (next >= 0)
            mask.load(p, at, next);
        float most[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            most[i] = s[0][2 * i];
#pragma unroll
            for (int n = 0; n < KEYS / 8; ++n)
                most[i] = fmaxf(most[i], fmaxf(s[n][2 * i], s[n][2 * i + 1]));
            most[i] = ofQuad(most[i], true) * scale;
        }
        raisePeaks<IsFirst>(most);
        unsigned weights[KEYS / 16][4];
        float parts[2] = {};
        float const from[2] = {peak[0] == hidden() ? 0.0f : peak[0], peak[1] == hidden() ? 0.0f : peak[1]};
#pragma unroll
        for (int kk = 0; kk < KEYS / 16; ++kk)
#pragma unroll
            for (int i = 0; i < 4; ++i)
            {
                float (&own)[4] = s[2 * kk + i / 2];
                float const low = powerOfTwo(fmaf(own[i % 2 * 2], scale, -from[i % 2]));
                float const high = powerOfTwo(fmaf(own[i % 2 * 2 + 1], scale, -from[i % 2]));
                parts[i % 2] += low + high;
                weights[kk][i] = pairOf(low, high, Stored{});
            }
        sum[0] += parts[0];
        sum[1] += parts[1];
        if (!IsFirst)
            settleResults();
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < KEYS / 16; ++kk)
#pragma unroll
            for (int h = 0; h < HALVES; ++h)
                multiplyValues(o[h], weights[kk], values + h * keyRows * 64, kk, !IsFirst || kk > 0);
        commitProducts();
    }
    __device__ __forceinline__ void settleResults()
    {
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
            settled(o[h]);
    }
    //! Rows that see no key.
    __device__ __forceinline__ void clear()
    {
        peak[0] = peak[1] = hidden();
        sum[0] = sum[1] = 0.0f;
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    o[h][n][i] = 0.0f;
    }
    //! Four neighbours have the pairs of a row's 32 columns; each takes eight that lie side by side.
    __device__ __forceinline__ void store(AttentionParams const& p, Place const& at)
    {
        int const lane = (int)threadIdx.x % 32;
        int const own = lane % 4;
        Stored* const to = (Stored*)p.out + at.batch * p.outStrides[0] + at.head * p.outStrides[1];
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            int const row = at.row + lane / 4 + i * 8;
            float const nothing = p.maskedRowsAreZero ? 0.0f : fromBits(0x7FC00000u);
            float const all = ofQuad(sum[i], false);
            float const by = peak[i] == hidden() ? nothing : 1.0f / all;
#pragma unroll
            for (int part = 0; part < COLUMNS / 32; ++part)
            {
                unsigned pairs[4];
#pragma unroll
                for (int n = 0; n < 4; ++n)
                {
                    float const (&pair)[4] = o[part / 2][part % 2 * 4 + n];
                    pairs[n] = pairOf(pair[2 * i] * by, pair[2 * i + 1] * by, Stored{});
                }
#pragma unroll
                for (int distance = 1; distance < 4; distance *= 2)
#pragma unroll
                    for (int n = 0; n < 4; ++n)
                        if ((n & distance) == 0)
                        {
                            bool const isUpper = (own & distance) != 0;
                            unsigned const given = isUpper ? pairs[n] : pairs[n + distance];
                            unsigned const got = __shfl_xor_sync(0xFFFFFFFFu, given, distance);
                            (isUpper ? pairs[n] : pairs[n + distance]) = got;
                        }
                if (row < p.rows)
                    *(Pack<unsigned, 4>*)(to + row * p.outStrides[2] + part * 32 + own * 8) =
                        Pack<unsigned, 4>{{pairs[0], pairs[1], pairs[2], pairs[3]}};
            }
        }
    }
};
)"};

constexpr char kHeadAttendText[]{R"(
//! One tile's keys and values by all threads; those behind the last are zeros.
static __device__ __forceinline__ void loadTile(
    Stored* keys, Stored* values, AttentionParams const& p, Place const& at, int tile, int keyRows, int threads)
{
    constexpr int kPieces = 2 * COLUMNS / 8;
    unsigned const shared = (unsigned)at.head / (unsigned)p.share;
    Stored const* const k = (Stored const*)p.k + at.batch * p.kStrides[0] + shared * p.kStrides[1];
    Stored const* const v = (Stored const*)p.v + at.batch * p.vStrides[0] + shared * p.vStrides[1];
#pragma unroll 4
    for (int item = (int)threadIdx.x; item < KEYS * kPieces; item += threads)
    {
        int const row = item / kPieces;
        int const piece = item % (kPieces / 2);
        bool const isKey = item % kPieces < kPieces / 2;
        int const key = tile * KEYS + row;
        int const place = piece / 8 * keyRows * 64 + pieceAt(tile * KEYS + placeOf(row), piece % 8);
        Stored const* const from = (isKey ? k + key * p.kStrides[2] : v + key * p.vStrides[2]) + piece * 8;
        copyAsync((isKey ? keys : values) + place, from, key < p.keys);
    }
    commitCopies();
}
//! q of a warp's sixteen rows, on their way.
static __device__ __forceinline__ void fetchRows(
    Stored* to, u64* arrival, AttentionParams const& p, Place const& at, int row)
{
    int const lane = (int)threadIdx.x % 32;
    i64 const left = p.rows - row;
    int const rows = left < 0 ? 0 : left < 16 ? (int)left : 16;
    if (lane == 0)
        expectRows(arrival, rows);
    meetWarp();
    if (lane < rows)
        copyRow(to + lane * ROW_PITCH,
            (Stored const*)p.q + at.batch * p.qStrides[0] + at.head * p.qStrides[1] + (row + lane) * p.qStrides[2],
            arrival);
}

template <int Groups>
static __device__ __forceinline__ void attend(AttentionParams const& p)
{
    constexpr int kThreads = Groups * 128;
    int const group = (int)threadIdx.x / 128;
    int const warp = (int)threadIdx.x / 32;
    int const keyRows = p.keyTiles * KEYS;
    Stored* const keys = sharedStart();
    Stored* const values = keys + HALVES * keyRows * 64;
    Stored* const rows = values + HALVES * keyRows * 64 + warp * 16 * ROW_PITCH;
    u64* const arrival = (u64*)(values + HALVES * keyRows * 64 + Groups * 64 * ROW_PITCH) + warp;
    unsigned const matrix = blockIdx.x / (unsigned)p.tiles;
    int const part = (int)(blockIdx.x % (unsigned)p.tiles);
    Place at{(int)(matrix / (unsigned)p.heads), (int)(matrix % (unsigned)p.heads), 0};
    at.row = (part * Groups + group) * 64 + warp % 4 * 16;
    if (threadIdx.x % 32 == 0)
        initArrival(arrival);
    meetWarp();
    fetchRows(rows, arrival, p, at, at.row);
    for (int j = 0; j < p.keyTiles; ++j)
        loadTile(keys, values, p, at, j, keyRows, kThreads);
    bool isLoaded = false;
    auto const await = [&](int j) {
        if (isLoaded)
            return;
        waitForOlderCopies(p.keyTiles - 1 - j);
        publishCopies();
        __syncthreads();
    };
    unsigned parity = 0;
    int const step = p.tiles * Groups; // From one of a warpgroup's tiles of rows to the next.
    Rows own;
    for (int tile = part * Groups; tile < p.rowTiles; tile += step)
    {
        int const first = (tile + group) * 64;
        at.row = first + warp % 4 * 16;
        awaitRows(arrival, parity);
        parity ^= 1;
        own.begin(rows);
        meetWarp();
        if (tile + step < p.rowTiles)
            fetchRows(rows, arrival, p, at, at.row + step * 64);
        // Behind the last key that the warpgroup's last row sees there is nothing to do.
        i64 const end = first < p.rows ? first + 63 + p.reach + 1 : 0;
        i64 const seen = (end < 0 ? 0 : end + KEYS - 1) / KEYS;
        int const ours = seen < p.keyTiles ? (int)seen : p.keyTiles;
        MaskTile mask;
        if (ours > 0)
        {
            mask.load(p, at, 0);
            await(0);
            own.addTile<true>(p, at, keys, values, keyRows, mask, ours > 1 ? KEYS : -1);
            for (int j = 1; j < ours; ++j)
            {
                await(j);
                own.addTile<false>(p, at, keys + j * KEYS * 64, values + j * KEYS * 64, keyRows, mask,
                    j + 1 < ours ? (j + 1) * KEYS : -1);
            }
            waitForProducts<0>();
            own.settleResults();
        }
        else
            own.clear();
        for (int j = ours; j < p.keyTiles; ++j)
            await(j); // Other warpgroups need what this one has loaded.
        isLoaded = true;
        if (first < p.rows)
            own.store(p, at);
    }
}
)"};
} // namespace

int headKeys(int64_t keys, int columns, bool isMasked) noexcept
{
    constexpr int64_t kMost{128};
    if (isMasked || columns > 64)
        return 64;
    int64_t const tiles = std::max<int64_t>((keys + kMost - 1) / kMost, 1);
    return static_cast<int>(std::max<int64_t>((keys + tiles * 16 - 1) / (tiles * 16), 1) * 16);
}

std::string headAttentionText(
    std::string const& stored, std::string const& mask, bool isMaskEven, int columns, int keys)
{
    std::string text = std::string{kAttentionParamsText}
        + fmt::format("typedef {} Stored;\n#define COLUMNS {}\n#define KEYS {}\n#define UNIT 1.44269504f\n", stored,
            columns, keys);
    if (!mask.empty())
        text += fmt::format("#define MASK {}\n{}", mask, isMaskEven ? "#define MASK_LIES_EVEN\n" : "");
    text += std::string{matrixText()} + std::string{attentionMaskText()} + warpgroupText(stored, keys) + kHeadCopiesText
        + kHeadScoresText + kHeadRowsText + kHeadAttendText;
    for (HeadShape const& shape : kHeadShapes)
        text += fmt::format("TENON_BOUNDED_KERNEL(__launch_bounds__({}, {}), {}, AttentionParams)\n{{\n"
                            "    attend<{}>(p);\n}}\n",
            shape.groups * 128, shape.blocks, shape.kernel, shape.groups);
    return wholeText(text);
}

} // namespace tenon::cuda
