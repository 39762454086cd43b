// GroupAttentionText: all keys and values of a head are in shared memory, in the order that wgmma reads; warpgroups go
// over them each at its own pace, so that the softmax of one runs beside the products of another.
#include "backends/cuda/group_attention_text.h"

#include "backends/cuda/matrix_text.h"
#include "backends/cuda/warpgroup_text.h"

namespace tenon::cuda
{

namespace
{
constexpr char kGroupAttention[]{R"(
constexpr int HALVES = COLUMNS / 64;
constexpr int PITCH = COLUMNS + 8; // Of parts of results, in floats.

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
//! Keys and values of one tile by so many threads; those behind the last are zeros.
static __device__ __forceinline__ void loadTile(
    Stored* keys, AttentionParams const& p, Stored const* k, Stored const* v, int tile, int thread, int threads)
{
    constexpr int kPieces = 2 * COLUMNS / 8;
    Stored* const values = keys + p.keyTiles * HALVES * TILE;
    for (int item = thread; item < 64 * kPieces; item += threads)
    {
        int const row = item / kPieces;
        int const piece = item % (kPieces / 2);
        bool const isKey = item % kPieces < kPieces / 2;
        int const key = tile * 64 + row;
        Stored* const to = (isKey ? keys : values) + (tile * HALVES + piece / 8) * TILE + pieceAt(row, piece % 8);
        Stored const* const from = (isKey ? k + key * p.kStrides[2] : v + key * p.vStrides[2]) + piece * 8;
        copyAsync(to, from, key < p.keys);
    }
    commitCopies();
}
//! What a row came to, by its sum and peak.
static __device__ __forceinline__ float factorOf(AttentionParams const& p, float sum, float peak)
{
    return peak == hidden() ? p.maskedRowsAreZero || p.keys == 0 ? 0.0f : fromBits(0x7FC00000u) : 1.0f / sum;
}
static __device__ __forceinline__ Stored* outAt(AttentionParams const& p, Place const& at, int row)
{
    return (Stored*)p.out + at.batch * p.outStrides[0] + at.head * p.outStrides[1] + row * p.outStrides[2];
}

//! What rows see of a tile of keys.
struct MaskTile
{
    int firstKey;
    bool isWhole; // All rows see all of the keys, but for what the mask says.
#ifdef MASK
    Pack<MASK, 2> pairs[2][8]; // Of whole tiles.

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
        isWhole = first + 64 <= p.keys && first + 63 <= at.row + p.reach;
#ifdef MASK
        isWhole = isWhole && p.isMaskEven;
        if (isWhole)
        {
            int const lane = (int)threadIdx.x % 32;
#pragma unroll
            for (int i = 0; i < 2; ++i)
            {
                MASK const* const own = rowOf(p, at, at.row + lane / 4 + i * 8) + first + lane % 4 * 2;
#pragma unroll
                for (int n = 0; n < 8; ++n)
                    pairs[i][n] = *(Pack<MASK, 2> const*)(own + n * 8);
            }
        }
#endif
    }
    __device__ __forceinline__ void apply(float (&s)[8][4], AttentionParams const& p, Place const& at) const
    {
        int const lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            int const row = at.row + lane / 4 + i * 8;
            i64 const last = row + p.reach < p.keys ? row + p.reach : p.keys - 1;
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                {
                    int const key = firstKey + n * 8 + lane % 4 * 2 + j;
                    float& score = s[n][2 * i + j];
                    score *= p.scale;
#ifdef MASK
                    if (isWhole)
                        score = addMask(score, pairs[i][n].v[j]);
                    else if (key <= last)
                        score = addMask(score, rowOf(p, at, row)[key * p.maskStrides[3]]);
                    else
                        score = hidden();
#else
                    score = key <= last ? score : hidden();
#endif
                }
        }
    }
};

//! A warp's sixteen rows.
struct Rows
{
    unsigned q[COLUMNS / 16][4];
    unsigned weights[4][4];
    float o[HALVES][8][4];
    float peak[2];
    float sum[2];

    __device__ __forceinline__ void begin(AttentionParams const& p, Place const& at)
    {
        int const lane = (int)threadIdx.x % 32;
        Stored const* const from = (Stored const*)p.q + at.batch * p.qStrides[0] + at.head * p.qStrides[1];
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            int const row = at.row + lane / 4 + i * 8;
            Stored const* const own = from + row * p.qStrides[2] + lane % 4 * 2;
#pragma unroll
            for (int kk = 0; kk < COLUMNS / 16; ++kk)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    q[kk][2 * j + i] = row < p.rows ? *(unsigned const*)(own + kk * 16 + j * 8) : 0u;
        }
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    o[h][n][i] = 0.0f;
        peak[0] = peak[1] = hidden();
        sum[0] = sum[1] = 0.0f;
    }
    //! Powers of two of the scores against a tile of keys, in place. `factors` brings results so far down to the new
    //! peaks.
    __device__ __forceinline__ void weigh(
        float (&s)[8][4], float (&factors)[2], AttentionParams const& p, Place const& at, MaskTile const& mask)
    {
#ifdef MASK
        float const scale = 1.0f;
        mask.apply(s, p, at);
#else
        float const scale = mask.isWhole ? p.scale : 1.0f;
        if (!mask.isWhole)
            mask.apply(s, p, at);
#endif
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            float most = s[0][2 * i];
#pragma unroll
            for (int n = 0; n < 8; ++n)
                most = fmaxf(most, fmaxf(s[n][2 * i], s[n][2 * i + 1]));
            most = fmaxf(peak[i], ofQuad(most, true) * scale);
            float const from = most == hidden() ? 0.0f : most;
            factors[i] = powerOfTwo(peak[i] - from);
            peak[i] = most;
            float part = 0.0f;
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int j = 2 * i; j < 2 * i + 2; ++j)
                {
                    s[n][j] = powerOfTwo(fmaf(s[n][j], scale, -from));
                    part += s[n][j];
                }
            sum[i] = fmaf(sum[i], factors[i], part);
        }
    }
    __device__ __forceinline__ void multiplyByKeys(float (&s)[8][4], Stored const* keys)
    {
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < COLUMNS / 16; ++kk)
            multiplyKeys(s, q[kk], keys + kk / 4 * TILE, kk % 4, kk > 0);
        commitProducts();
    }
    __device__ __forceinline__ void addValues(Stored const* values)
    {
        settleResults();
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
#pragma unroll
            for (int h = 0; h < HALVES; ++h)
                multiplyValues(o[h], weights[kk], values + h * TILE, kk, true);
        commitProducts();
    }
    __device__ __forceinline__ void settleResults()
    {
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
            settled(o[h]);
    }
    __device__ __forceinline__ void takeWeights(float const (&s)[8][4])
    {
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                weights[kk][i] = pairOf(s[2 * kk + i / 2][i % 2 * 2], s[2 * kk + i / 2][i % 2 * 2 + 1], Stored{});
    }
    __device__ __forceinline__ void scaleResults(float const (&factors)[2])
    {
#pragma unroll
        for (int h = 0; h < HALVES; ++h)
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    o[h][n][i] *= factors[i / 2];
    }
    //! A tile's scores become weights, and its values are added by them.
    __device__ __forceinline__ void finish(float (&s)[8][4], AttentionParams const& p, Place const& at,
        MaskTile const& mask, Stored const* values)
    {
        float factors[2];
        weigh(s, factors, p, at, mask);
        scaleResults(factors);
        takeWeights(s);
        addValues(values);
        waitForProducts<0>();
        settleResults();
    }
    //! So many tiles one behind the other: while the softmax of one goes on, the next is multiplied. `await` returns
    //! when a tile is there.
    template <typename Await>
    __device__ __forceinline__ void add(AttentionParams const& p, Stored const* keys, Stored const* values,
        Place const& at, int firstTile, int tiles, Await const& await)
    {
        if (tiles <= 0)
            return;
        MaskTile mask;
        float s[8][4];
        mask.load(p, at, firstTile * 64);
        await(0);
        multiplyByKeys(s, keys + firstTile * HALVES * TILE);
        waitForProducts<0>();
        settled(s);
        int tile = firstTile;
        for (; tile < firstTile + tiles - 1; ++tile)
        {
            float next[8][4];
            await(tile + 1 - firstTile);
            multiplyByKeys(next, keys + (tile + 1) * HALVES * TILE);
            finish(s, p, at, mask, values + tile * HALVES * TILE);
            settled(next);
            mask.load(p, at, (tile + 1) * 64);
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    s[n][i] = next[n][i];
        }
        finish(s, p, at, mask, values + tile * HALVES * TILE);
    }
    //! Four neighbours have the pairs of a row's 32 columns; each takes eight that lie side by side.
    __device__ __forceinline__ void store(AttentionParams const& p, Place const& at)
    {
        int const lane = (int)threadIdx.x % 32;
        int const own = lane % 4;
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            int const row = at.row + lane / 4 + i * 8;
            float const by = factorOf(p, ofQuad(sum[i], false), peak[i]);
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
                    *(Pack<unsigned, 4>*)(outAt(p, at, row) + part * 32 + own * 8) =
                        Pack<unsigned, 4>{{pairs[0], pairs[1], pairs[2], pairs[3]}};
            }
        }
    }
    //! Into shared memory, for the warpgroups that share these rows.
    __device__ __forceinline__ void hand(float* parts, float* sums, int warp)
    {
        int const lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            int const row = warp * 16 + lane / 4 + i * 8;
            float const all = ofQuad(sum[i], false);
            if (lane % 4 == 0)
            {
                sums[2 * row] = peak[i];
                sums[2 * row + 1] = all;
            }
#pragma unroll
            for (int h = 0; h < HALVES; ++h)
#pragma unroll
                for (int n = 0; n < 8; ++n)
                    *(Pack<float, 2>*)(parts + row * PITCH + h * 64 + n * 8 + lane % 4 * 2) =
                        Pack<float, 2>{{o[h][n][2 * i], o[h][n][2 * i + 1]}};
        }
    }
};

//! The sum of what warpgroups made of the same 64 rows.
template <int KeyGroups>
static __device__ __forceinline__ void join(
    AttentionParams const& p, Place const& first, float const* parts, float const* sums)
{
    for (int item = (int)threadIdx.x; item < 64 * COLUMNS / 8; item += 128 * KeyGroups)
    {
        int const row = item / (COLUMNS / 8);
        int const column = item % (COLUMNS / 8) * 8;
        if (first.row + row >= p.rows)
            continue;
        float peak = hidden();
#pragma unroll
        for (int g = 0; g < KeyGroups; ++g)
            peak = fmaxf(peak, sums[(g * 64 + row) * 2]);
        float const from = peak == hidden() ? 0.0f : peak;
        float total = 0.0f;
        float values[8] = {};
#pragma unroll
        for (int g = 0; g < KeyGroups; ++g)
        {
            float const factor = powerOfTwo(sums[(g * 64 + row) * 2] - from);
            total = fmaf(sums[(g * 64 + row) * 2 + 1], factor, total);
#pragma unroll
            for (int half = 0; half < 2; ++half)
            {
                Pack<float, 4> const four =
                    *(Pack<float, 4> const*)(parts + (g * 64 + row) * PITCH + column + half * 4);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    values[half * 4 + i] = fmaf(four.v[i], factor, values[half * 4 + i]);
            }
        }
        float const by = factorOf(p, total, peak);
        Pack<unsigned, 4> packed;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            packed.v[i] = pairOf(values[2 * i] * by, values[2 * i + 1] * by, Stored{});
        *(Pack<unsigned, 4>*)(outAt(p, first, first.row + row) + column) = packed;
    }
}

template <int RowGroups, int KeyGroups>
static __device__ __forceinline__ void attend(AttentionParams const& p)
{
    int const group = (int)threadIdx.x / 128;
    int const warp = (int)threadIdx.x % 128 / 32;
    int const rowGroup = group / KeyGroups;
    int const keyGroup = group % KeyGroups;
    unsigned const matrix = blockIdx.x / (unsigned)p.tiles;
    int const part = blockIdx.x % (unsigned)p.tiles;
    Place at{(int)(matrix / (unsigned)p.heads), (int)(matrix % (unsigned)p.heads), 0};
    unsigned const shared = (unsigned)at.head / (unsigned)p.share;
    Stored const* const k = (Stored const*)p.k + at.batch * p.kStrides[0] + shared * p.kStrides[1];
    Stored const* const v = (Stored const*)p.v + at.batch * p.vStrides[0] + shared * p.vStrides[1];
    Stored* const keys = sharedStart();
    Stored* const values = keys + p.keyTiles * HALVES * TILE;
    int const tiles = p.keyTiles / KeyGroups; // Of a warpgroup.
    if (KeyGroups > 1) // Each loads its own, and waits for nobody else.
        for (int j = 0; j < tiles; ++j)
            loadTile(keys, p, k, v, keyGroup * tiles + j, (int)threadIdx.x % 128, 128);
    else
        for (int j = 0; j < tiles; ++j)
            loadTile(keys, p, k, v, j, (int)threadIdx.x, 128 * RowGroups);
    Rows own;
    bool isLoaded = false;
    auto const await = [&](int j) {
        if (isLoaded)
            return;
        waitForOlderCopies(tiles - 1 - j);
        publishCopies();
        if (KeyGroups > 1)
            waitForGroup();
        else
            __syncthreads();
    };
    for (int tile = part * RowGroups; tile < p.rowTiles; tile += p.tiles * RowGroups)
    {
        int const first = (tile + rowGroup) * 64;
        at.row = first + warp * 16;
        bool const isThere = first < p.rows;
        // Behind the last key that the warpgroup's last row sees there is nothing to do.
        i64 const end = KeyGroups > 1 ? (i64)p.keyTiles * 64 : isThere ? first + 63 + p.reach + 1 : 0;
        i64 const seen = (end < 0 ? 0 : end + 63) / 64;
        int const ours = seen < tiles ? (int)seen : tiles;
        if (isThere)
            own.begin(p, at);
        own.add(p, keys, values, at, keyGroup * tiles, ours, await);
        for (int j = ours; j < tiles; ++j)
            await(j); // Other warpgroups need what this one has loaded.
        isLoaded = true;
        if (KeyGroups == 1 && isThere)
            own.store(p, at);
        if (KeyGroups > 1)
        {
            float* const parts = (float*)keys;
            float* const sums = parts + KeyGroups * 64 * PITCH;
            __syncthreads(); // Keys and values have been read.
            own.hand(parts + keyGroup * 64 * PITCH, sums + keyGroup * 128, warp);
            __syncthreads();
            at.row = first;
            join<KeyGroups>(p, at, parts, sums);
        }
    }
}
TENON_BOUNDED_KERNEL(__launch_bounds__(128, 1), rows1, AttentionParams) { attend<1, 1>(p); }
TENON_BOUNDED_KERNEL(__launch_bounds__(256, COLUMNS == 64 ? 2 : 1), rows2, AttentionParams) { attend<2, 1>(p); }
TENON_BOUNDED_KERNEL(__launch_bounds__(256, 1), keys2, AttentionParams) { attend<1, 2>(p); }
#if COLUMNS == 64
TENON_BOUNDED_KERNEL(__launch_bounds__(384, 1), rows3, AttentionParams) { attend<3, 1>(p); }
#endif
)"};

} // namespace

std::string groupAttentionText(std::string const& stored, std::string const& mask, int columns)
{
    std::string text = std::string{kAttentionParamsText}
        + fmt::format("typedef {} Stored;\n#define COLUMNS {}\n#define UNIT 1.44269504f\n", stored, columns);
    if (!mask.empty())
        text += fmt::format("#define MASK {}\n", mask);
    return wholeText(text + std::string{matrixText()} + std::string{attentionMaskText()}
        + warpgroupText(stored, kGroupKeys) + kGroupAttention);
}

} // namespace tenon::cuda
