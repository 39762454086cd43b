// StreamAttentionText: one thread fetches keys and values, head by head; warpgroups take tiles of 64 rows of one head
// after the other, each at its own pace, so that one's softmax runs beside the products of others.
#include "backends/cuda/stream_attention_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/warpgroup_text.h"

namespace tenon::cuda
{

namespace
{
//! Without a GPU a barrier is a word: arrivals that are missing, how many there are, and from bit 32 on the phase. What
//! the engine copies is there at once; who waits lets other threads go on.
constexpr char kStreamEmulatedText[]{R"(
static inline void beginBarrier(u64* barrier, unsigned arrivals) { *barrier = arrivals | arrivals << 16; }
static inline void publishBarriers() {}
static inline void arriveAt(u64* barrier)
{
    --*barrier;
    if ((*barrier & 0xffff) == 0)
        *barrier = (*barrier ^ 1ull << 32) | (*barrier >> 16 & 0xffff);
}
static inline void awaitPhase(u64* barrier, unsigned parity)
{
    while ((*barrier >> 32 & 1) == parity)
        __syncthreads();
}
static inline Stored* elementOf(u64 const (&map)[16], int column, int head, int row, int batch)
{
    bool const isThere = column < (int)map[1] && head < (int)map[2] && row < (int)map[3] && batch < (int)map[4];
    return isThere ? (Stored*)(map[0] + head * map[5] + row * map[6] + batch * map[7]) + column : nullptr;
}
static inline void expectRows(u64* barrier, int) { arriveAt(barrier); }
static inline void fetchRows(Stored* to, u64 const (&map)[16], u64*, int head, int row, int batch, int rows)
{
    for (int i = 0; i < rows * 64; ++i)
    {
        Stored const* const from = elementOf(map, i % 64, head, row + i / 64, batch);
        to[pieceAt(i / 64, i % 64 / 8) + i % 8] = from != nullptr ? *from : Stored{};
    }
}
static inline void storeRows(u64 const (&map)[16], Stored const* from, int head, int row, int batch)
{
    for (int i = 0; i < 16 * 64; ++i)
        if (Stored* const to = elementOf(map, i % 64, head, row + i / 64, batch))
            *to = from[pieceAt(i / 64, i % 64 / 8) + i % 8];
}
static inline void waitForStores() {}
static inline void meetWarp() { __syncthreads(); }
static inline void storeFragments(Stored* to, unsigned const (&from)[4])
{
    static Stored* rows[1024];
    unsigned const t = threadIdx.x;
    rows[t] = to;
    __syncthreads();
    for (unsigned i = 0; i < 4; ++i)
        std::memcpy(rows[t / 32 * 32 + i * 8 + t % 32 / 4] + t % 4 * 2, &from[i], 4);
    __syncthreads();
}
)"};

constexpr char kStreamCopiesText[]{R"(
static __device__ __forceinline__ void beginBarrier(u64* barrier, unsigned arrivals)
{
    initBarrier(sharedAddress(barrier), arrivals);
}
static __device__ __forceinline__ void publishBarriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // For the copy engine, too.
}
static __device__ __forceinline__ void arriveAt(u64* barrier) { arrive(sharedAddress(barrier)); }
static __device__ __forceinline__ void awaitPhase(u64* barrier, unsigned parity)
{
    waitBarrier(sharedAddress(barrier), parity);
}
static __device__ __forceinline__ void expectRows(u64* barrier, int rows)
{
    expectBytes(sharedAddress(barrier), rows * 128);
}
//! A box from there on; what is not there becomes zeros.
static __device__ __forceinline__ void fetchRows(
    Stored* to, u64 const (&map)[16], u64* barrier, int head, int row, int batch, int)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" :: "r"(sharedAddress(to)), "l"(map), "r"(sharedAddress(barrier)), "r"(0),
        "r"(head), "r"(row), "r"(batch) : "memory");
}
//! What a warp has written, by one of its threads; rows that are not there stay away.
static __device__ __forceinline__ void storeRows(
    u64 const (&map)[16], Stored const* from, int head, int row, int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n"
        "cp.async.bulk.commit_group;" :: "l"(map), "r"(sharedAddress(from)), "r"(0), "r"(head), "r"(row), "r"(batch)
        : "memory");
}
//! Until the thread's stores have read what they store.
static __device__ __forceinline__ void waitForStores()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
static __device__ __forceinline__ void meetWarp() { __syncwarp(); }
static __device__ __forceinline__ void storeFragments(Stored* to, unsigned const (&from)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(sharedAddress(to)), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]) : "memory");
}
)"};

constexpr char kStreamRowsText[]{R"(
constexpr int GROUPS = 3, OPERAND = KEYS * 64, SLOT = 16 * 64; // Keys or values of a head; rows of a warp.
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

//! A warp's sixteen rows, lane / 4 and lane / 4 + 8 of them a thread's: results are weighed by powers of two of scores
//! less `peak`.
struct Rows
{
    unsigned q[4][4];
    float o[8][4];
    float peak[2];
    float sum[2];

    __device__ __forceinline__ void begin(Stored const* from)
    {
        int const lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
            loadMatrices(q[kk], from + pieceAt(lane % 16, kk * 2 + lane / 16));
    }
    //! By two instructions: one alone has no registers.
    __device__ __forceinline__ void multiplyByKeys(float (&s)[KEYS / 8][4], Stored const* keys)
    {
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                multiplyKeys((float (&)[KEYS / 16][4])s[half * (KEYS / 16)], q[kk], keys + half * (KEYS / 2) * 64, kk,
                    kk > 0);
        commitProducts();
        waitForProducts<0>();
        settled(s);
    }
    //! Keys behind the last are among the last sixteen.
    static __device__ __forceinline__ void hideAbsent(float (&s)[KEYS / 8][4], int keys)
    {
        int const own = (int)threadIdx.x % 4 * 2;
#pragma unroll
        for (int n = KEYS / 8 - 2; n < KEYS / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (own + n * 8 + i % 2 >= keys)
                    s[n][i] = hidden();
    }
    __device__ __forceinline__ void findPeaks(float const (&s)[KEYS / 8][4], float scale)
    {
#pragma unroll
        for (int i = 0; i < 2; ++i)
        {
            float most = s[0][2 * i], other = s[0][2 * i + 1];
#pragma unroll
            for (int n = 1; n < KEYS / 8; ++n)
            {
                most = fmaxf(most, s[n][2 * i]);
                other = fmaxf(other, s[n][2 * i + 1]);
            }
            peak[i] = ofQuad(fmaxf(most, other), true) * scale;
        }
    }
    //! Sixteen keys' weights; `parts` are sums of a thread's.
    __device__ __forceinline__ void weigh(
        unsigned (&weights)[4], float const (&low)[4], float const (&high)[4], float scale, float (&parts)[2][2])
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
        {
            float const(&own)[4] = i < 2 ? low : high;
            float const first = powerOfTwo(fmaf(own[i % 2 * 2], scale, -peak[i % 2]));
            float const second = powerOfTwo(fmaf(own[i % 2 * 2 + 1], scale, -peak[i % 2]));
            parts[i % 2][0] += first;
            parts[i % 2][1] += second;
            weights[i] = pairOf(first, second, Stored{});
        }
    }
    //! Of 48 keys at a time: with all of them under way at once registers are too few. Rows that are not there
    //! (`isThere`: of the warp's any) have zeros.
    __device__ __forceinline__ void weighAll(
        unsigned (&weights)[KEYS / 16][4], float const (&s)[KEYS / 8][4], float scale, bool isThere)
    {
        constexpr int kSteps = 3;
        if (isThere)
            findPeaks(s, scale);
        float parts[2][2] = {};
#pragma unroll
        for (int first = 0; first < KEYS / 16; first += kSteps)
        {
            if (isThere)
            {
#pragma unroll
                for (int kk = first; kk < KEYS / 16; ++kk)
                    if (kk < first + kSteps)
                        weigh(weights[kk], s[2 * kk], s[2 * kk + 1], scale, parts);
            }
            else
            {
#pragma unroll
                for (int kk = first; kk < KEYS / 16; ++kk)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        if (kk < first + kSteps)
                            weights[kk][i] = 0u;
            }
        }
        sum[0] = parts[0][0] + parts[0][1];
        sum[1] = parts[1][0] + parts[1][1];
    }
    __device__ __forceinline__ void multiplyByValues(unsigned const (&weights)[KEYS / 16][4], Stored const* values)
    {
        beginProducts();
#pragma unroll
        for (int kk = 0; kk < KEYS / 16; ++kk)
            multiplyValues(o, weights[kk], values, kk, kk > 0);
        commitProducts();
        waitForProducts<0>();
        settled(o);
    }
    __device__ __forceinline__ void put(Stored* to)
    {
        int const lane = (int)threadIdx.x % 32;
        float const by[2] = {inverseOf(ofQuad(sum[0], false)), inverseOf(ofQuad(sum[1], false))};
#pragma unroll
        for (int n = 0; n < 8; n += 2)
        {
            unsigned pairs[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                pairs[i] = pairOf(
                    o[n + i / 2][i % 2 * 2] * by[i % 2], o[n + i / 2][i % 2 * 2 + 1] * by[i % 2], Stored{});
            storeFragments(to + pieceAt(lane % 16, n + lane / 16), pairs);
        }
    }
};
)"};

constexpr char kStreamText[]{R"(
//! Barriers of stages, keys and values apart, and of each warp's rows of q.
struct Arrivals
{
    u64 keys[STAGES], values[STAGES], empty[STAGES], rows[4 * GROUPS];
};

//! A tile of rows, and the stage that its head's keys and values are in.
struct Walk
{
    int tile, matrix, stage, heads; // The last: of the block's, before this one.
    unsigned parity;

    //! So many tiles on.
    __device__ __forceinline__ void go(StreamAttentionParams const& p, int tiles)
    {
        tile += tiles;
        while (tile >= p.rowTiles)
        {
            tile -= p.rowTiles;
            matrix += gridDim.x;
            ++heads;
            if (++stage == STAGES)
            {
                stage = 0;
                parity ^= 1;
            }
        }
    }
    //! The first of a warp's rows. Of a head's last tile often one warp alone has some: which one goes round, as each
    //! part of a multiprocessor has one warp of every warpgroup.
    __device__ __forceinline__ int rowOf(int warp) const { return tile * 64 + (warp + heads) % 4 * 16; }
};
struct Head
{
    int batch, head;
};
static __device__ __forceinline__ Head headOf(StreamAttentionParams const& p, int matrix)
{
    int const batch = (unsigned)matrix / (unsigned)p.heads;
    return {batch, matrix - batch * p.heads};
}

//! One thread's work: keys and values of all heads of the block.
static __device__ __forceinline__ void fetchHeads(StreamAttentionParams const& p, Stored* stages, Arrivals& arrivals)
{
    int stage = 0;
    unsigned parity = 1;
    for (int matrix = blockIdx.x; matrix < p.matrices; matrix += gridDim.x)
    {
        Head const at = headOf(p, matrix);
        int const head = (unsigned)at.head / (unsigned)p.share;
        Stored* const to = stages + stage * 2 * OPERAND;
        awaitPhase(&arrivals.empty[stage], parity);
        expectRows(&arrivals.keys[stage], KEYS);
        fetchRows(to, p.k, &arrivals.keys[stage], head, 0, at.batch, KEYS);
        expectRows(&arrivals.values[stage], KEYS);
        fetchRows(to + OPERAND, p.v, &arrivals.values[stage], head, 0, at.batch, KEYS);
        if (++stage == STAGES)
        {
            stage = 0;
            parity ^= 1;
        }
    }
}

//! q of a warp's sixteen rows.
static __device__ __forceinline__ void fetchOwn(
    StreamAttentionParams const& p, Stored* to, u64* arrival, Walk const& at, int warp)
{
    if (threadIdx.x % 32 != 0 || at.matrix >= p.matrices)
        return;
    Head const own = headOf(p, at.matrix);
    expectRows(arrival, 16);
    fetchRows(to, p.q, arrival, own.head, at.rowOf(warp), own.batch, 16);
}

//! What a warpgroup does: every third tile of the block's.
static __device__ __forceinline__ void attendTiles(
    StreamAttentionParams const& p, Stored const* stages, Stored* slots, Arrivals& arrivals, int group)
{
    int const warp = (int)threadIdx.x / 32;
    bool const isFirstLane = threadIdx.x % 32 == 0;
    Stored* const slot = slots + warp * 2 * SLOT;
    u64* const arrival = &arrivals.rows[warp];
    Walk at{0, (int)blockIdx.x, 0, 0, 0};
    at.go(p, group);
    fetchOwn(p, slot, arrival, at, warp % 4);
    unsigned parity = 0;
    Rows own;
#pragma unroll 1
    while (at.matrix < p.matrices)
    {
        Walk const now = at;
        int const row = now.rowOf(warp % 4);
        bool const isThere = row < p.rows;
        Stored const* const keys = stages + now.stage * 2 * OPERAND;
        awaitPhase(arrival, parity);
        parity ^= 1;
        own.begin(slot);
        meetWarp();
        at.go(p, GROUPS);
        fetchOwn(p, slot, arrival, at, warp % 4);
        float scores[KEYS / 8][4];
        unsigned weights[KEYS / 16][4];
        awaitPhase(&arrivals.keys[now.stage], now.parity);
        own.multiplyByKeys(scores, keys);
        own.hideAbsent(scores, p.keys);
        own.weighAll(weights, scores, p.scale, isThere);
        awaitPhase(&arrivals.values[now.stage], now.parity);
        own.multiplyByValues(weights, keys + OPERAND);
        if (isFirstLane)
            arriveAt(&arrivals.empty[now.stage]);
        if (!isThere)
            continue;
        if (isFirstLane)
            waitForStores();
        meetWarp();
        own.put(slot + SLOT);
        publishCopies();
        meetWarp();
        Head const head = headOf(p, now.matrix);
        if (isFirstLane)
            storeRows(p.out, slot + SLOT, head.head, row, head.batch);
    }
    if (isFirstLane)
        waitForStores(); // They read the shared memory, which is gone with the block.
}

static __device__ __forceinline__ void begin(StreamAttentionParams const& p, Arrivals& arrivals)
{
    if (threadIdx.x == 0)
    {
        for (int i = 0; i < STAGES; ++i)
        {
            beginBarrier(&arrivals.keys[i], 1);
            beginBarrier(&arrivals.values[i], 1);
            beginBarrier(&arrivals.empty[i], p.rowTiles * 4); // Warps.
        }
        for (int i = 0; i < 4 * GROUPS; ++i)
            beginBarrier(&arrivals.rows[i], 1);
        publishBarriers();
    }
}

#ifdef TENON_EMULATED
TENON_KERNEL(stream, StreamAttentionParams)
{
    Stored* const stages = sharedStart();
    Stored* const slots = stages + STAGES * 2 * OPERAND;
    Arrivals& arrivals = *(Arrivals*)(slots + GROUPS * 4 * 2 * SLOT);
    int const group = threadIdx.x / 128;
    begin(p, arrivals);
    __syncthreads();
    if (group < GROUPS)
        attendTiles(p, stages, slots, arrivals, group);
    else if (threadIdx.x % 128 == 0)
        fetchHeads(p, stages, arrivals);
}
#else
extern "C" __global__ void __launch_bounds__((GROUPS + 1) * 128, 1) stream(
    __grid_constant__ StreamAttentionParams const p)
{
    Stored* const stages = sharedStart();
    Stored* const slots = stages + STAGES * 2 * OPERAND;
    Arrivals& arrivals = *(Arrivals*)(slots + GROUPS * 4 * 2 * SLOT);
    int const group = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 128, 0); // The compiler knows that a warp goes one way.
    letNextBegin();
    bool isStopped = false;
    if (threadIdx.x == 0)
        isStopped = p.stop != nullptr && *p.stop != 0;
    begin(p, arrivals);
    bool const goesOn = __syncthreads_or(isStopped) == 0;
    awaitFormer();
    if (!goesOn)
        return;
    if (group == GROUPS)
    {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x % 128 == 0)
            fetchHeads(p, stages, arrivals);
    }
    else
    {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        attendTiles(p, stages, slots, arrivals, group);
    }
}
#endif
)"};

//! Other GPUs are not offered this kernel.
constexpr char kElsewhereText[]{R"(
extern "C" __global__ void stream(StreamAttentionParams const) { asm volatile("trap;"); }
)"};
} // namespace

std::optional<StreamShape> streamShape(int64_t rows, int64_t keys) noexcept
{
    constexpr int64_t kGrain{16};
    constexpr int64_t kMostKeys{208};
    constexpr int64_t kManyKeys{128};
    // Every warpgroup must have rows of every head: one that skips a head may take a stage's former phase for its own.
    if (rows <= (StreamShape::kGroups - 1) * StreamShape::kTileRows || keys < 1 || keys > kMostKeys)
        return std::nullopt;
    return StreamShape{
        .keys = static_cast<int>((keys + kGrain - 1) / kGrain * kGrain), .stages = keys > kManyKeys ? 2 : 4};
}

std::string streamAttentionText(std::string const& stored, StreamShape const& shape)
{
    std::string text = kStreamAttentionParamsText
        + fmt::format("typedef {} Stored;\nconstexpr int KEYS = {}, STAGES = {};\n", stored, shape.keys, shape.stages);
    text += std::string{matrixText()} + warpgroupText(stored, shape.keys / 2) + std::string{copyEngineText()};
    text += fmt::format("#if defined(TENON_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)\n#ifdef TENON_EMULATED\n"
                        "{}#else\n{}#endif\n{}{}#else\n{}#endif\n",
        kStreamEmulatedText, kStreamCopiesText, kStreamRowsText, kStreamText, kElsewhereText);
    return wholeText(text);
}

} // namespace tenon::cuda
