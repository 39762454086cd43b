// EarlyTilesText: one thread copies into a ring of stages, weights before the wait for former kernels and rows behind
// it; warpgroups multiply; sums come together in shared memory, those of a cluster are read by the block that finishes
// them.
#include "backends/cuda/early_tiles_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/matrix_text.h"

#include <array>

namespace tenon::cuda
{

namespace
{
//! Rows of 128 bytes whose eight pieces are exchanged by the row's number ("128-byte swizzle" of the PTX ISA).
constexpr char kEarlyMeasuresText[]{R"(
constexpr bool FINDS_MOMENTS = IS_NORMALIZED && !HAS_MOMENTS;
constexpr int kDepth = 64, kWorking = BM * 2, kMeasuring = FINDS_MOMENTS ? 256 : 0;
constexpr int kThreads = kWorking + 32 + kMeasuring; // A warp behind those that multiply copies.
constexpr int kStart = IS_NORMALIZED || IS_EXTRA_NORMALIZED ? 3072 : 1024; // Where stages begin.
constexpr int kGroup = 32; // Columns, of moments.
constexpr int kBytesOfA = BM * 128, kStageBytes = kBytesOfA + BN * 128;
constexpr int kPitch = BN + 8; // Rows of sums begin in different banks.
constexpr int kOwnRows = BM / PARTS; // That a block finishes.
constexpr int kOctets = BN / 8;
constexpr int kItems = (kOwnRows * kOctets + kWorking - 1) / kWorking; // Octets of results of a thread.
typedef float Sums[BN / 8][4]; // d[j] is columns 8j + 2t and the next, of a warp's rows g and g + 8.

//! What a block multiplies.
struct Share
{
    int row, column, part;
    int firstStep, steps;
};
static __device__ __forceinline__ Share shareOf(EarlyTilesParams const& p)
{
    int const part = (int)(blockIdx.x % PARTS), at = (int)(blockIdx.x / PARTS), first = part * p.stepsOfPart;
    int const end = first + p.stepsOfPart < p.steps ? first + p.stepsOfPart : p.steps;
    return {at % p.tilesDown * BM, at / p.tilesDown * BN, part, first, end > first ? end - first : 0};
}
//! Of a block's columns and rows, in shared memory.
struct Terms
{
    float bias[128], sums[128]; // Or the scale of what is added.
    float means[128], factors[128]; // Of the rows: 1 over their deviation.
    float shift[128];
};

//! Where in the result a thread's octet of a block's share is; none: −1.
struct Octet
{
    int row, column;
    i64 at;
};

//! Of the tile, that a warp begins with.
static __device__ __forceinline__ int warpRow() { return (int)threadIdx.x / 32 * 16; }
)"};

//! Without a GPU blocks run one after the other: the last one of a tile finishes all of its rows.
constexpr char kEarlyEmulatedText[]{R"(
static Terms terms;
static float sumsOfParts[PARTS][BM * kPitch];
static float rowNumber(EarlyTilesParams const& p, Share const& share, int row, int k)
{
    int const firstDepth = p.firstSteps * kDepth;
    if (HAS_SECOND && k >= firstDepth)
        return windowNumber(
            p.second, p.secondWalk, windowAt(p.secondWalk, share.row), row - share.row, k - firstDepth);
    return IS_WINDOWED ? windowNumber(p.a, p.walk, windowAt(p.walk, share.row), row - share.row, k)
                       : numberAt(p.a, row, k);
}
static float gatedNumber(EarlyTilesParams const& p, Share const& share, int row, int k)
{
    float const number = rowNumber(p, share, row, k);
    if (!IS_GATED || row >= p.rows || k >= p.depth)
        return number;
    Stored product;
    put(product, number * widen(((Stored const*)p.gate)[(i64)(row / p.gatePixels) * p.gateOfImage + k]));
    return widen(product);
}
static void multiplyShare(EarlyTilesParams const& p, Share const& share, Sums& d)
{
    int const lane = threadIdx.x % 32;
    for (int n = 0; n < BN / 8; ++n)
        for (int i = 0; i < 4; ++i)
        {
            int const row = share.row + warpRow() + lane / 4 + i / 2 * 8;
            int const column = share.column + n * 8 + lane % 4 * 2 + i % 2;
            float sum = 0.0f;
            for (int k = share.firstStep * kDepth; k < (share.firstStep + share.steps) * kDepth; ++k)
                sum += gatedNumber(p, share, row, k) * numberAt(p.b, column, k);
            d[n][i] = sum;
        }
}
static void measureRows(EarlyTilesParams const& p, Share const& share, Terms& terms)
{
    for (int row = (int)threadIdx.x; row < BM; row += kWorking)
    {
        float sum = 0.0f, squares = 0.0f;
        for (int k = 0; k < p.depth; ++k)
            sum += numberAt(p.a, share.row + row, k);
        terms.means[row] = sum / (float)p.depth;
        for (int k = 0; k < p.depth; ++k)
        {
            float const off = numberAt(p.a, share.row + row, k) - terms.means[row];
            squares += off * off;
        }
        terms.factors[row] = 1.0f / std::sqrt(squares / (float)p.depth + p.epsilon);
    }
}
static inline int firstRowOf(int) { return 0; }
static inline int rowsToFinish(int part) { return part == PARTS - 1 ? BM : 0; }
constexpr int kOfMoments = 1;
static inline float ofPair(float x) { return x; }
//! Of results as they are stored.
static void leaveMoments(EarlyTilesParams const& p, Share const& share)
{
    constexpr int kGroups = BN < kGroup ? 1 : BN / kGroup;
    for (int item = (int)threadIdx.x; item < rowsToFinish(share.part) * kGroups; item += kWorking)
    {
        int const row = share.row + item / kGroups, column = share.column + item % kGroups * kGroup;
        if (row >= p.rows || column >= p.columns)
            continue;
        Stored const* const from = (Stored const*)p.c + (i64)row * p.columns + column;
        float mean = 0.0f, squares = 0.0f;
        for (int i = 0; i < kGroup; ++i)
            mean += widen(from[i]) / (float)kGroup;
        for (int i = 0; i < kGroup; ++i)
            squares += (widen(from[i]) - mean) * (widen(from[i]) - mean);
        ((Pack<float, 2>*)p.measured)[(i64)(column / kGroup) * p.rows + row] = Pack<float, 2>{{mean, squares}};
    }
}
static inline void measureOctet(EarlyTilesParams const&, Share const&, Octet const&, Pack<unsigned, 4> const&) {}
static inline float* ownSums(int part) { return sumsOfParts[part]; }
static inline Pack<float, 4> sumsAt(float const*, int part, int at)
{
    return *(Pack<float, 4> const*)(sumsOfParts[part] + at);
}
static inline void letPartsGo() {}
constexpr int kItemsOfThread = kItems * PARTS;
)"};

constexpr char kEarlyRingText[]{R"(
#define TENON_CLUSTER __cluster_dims__(PARTS, 1, 1)
constexpr int kItemsOfThread = kItems;
static __device__ __forceinline__ int firstRowOf(int part) { return kOwnRows * part; }
static __device__ __forceinline__ int rowsToFinish(int) { return kOwnRows; }
//! Four sums of another block of the cluster.
static __device__ __forceinline__ Pack<float, 4> sumsAt(float const* own, int part, int at)
{
    if (PARTS == 1)
        return *(Pack<float, 4> const*)(own + at);
    unsigned there;
    Pack<float, 4> sums;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(sharedAddress(own + at)), "r"(part));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(sums.v[0]), "=f"(sums.v[1]), "=f"(sums.v[2]), "=f"(sums.v[3]) : "r"(there) : "memory");
    return sums;
}
//! Has read what it needs of others. Before it stores results: to arrive behind those would wait for them.
static __device__ __forceinline__ void letPartsGo()
{
    if (PARTS > 1)
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
//! Until nobody reads this block's sums any more.
static __device__ __forceinline__ void awaitParts()
{
    if (PARTS > 1)
        asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
static __device__ __forceinline__ void meetParts()
{
    if (PARTS > 1)
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    else
        __syncthreads();
}

//! A stage is full when its bytes are there, and empty when every warp that multiplies it has done so.
struct Ring
{
    unsigned stages, full, empty; // Addresses.
};

//! Of all who read stages: sums take their place.
static __device__ __forceinline__ void meetReaders()
{
    asm volatile("bar.sync 1, %0;" :: "n"(kWorking + kMeasuring) : "memory");
}

//! Into the cache, where the ring has no room yet.
static __device__ __forceinline__ void fetchAhead(u64 const (&map)[16], int column, int row)
{
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];"
                 :: "l"(map), "r"(column), "r"(row) : "memory");
}

//! Where windows of a share's first row begin.
struct Windows
{
    WindowAt own, second;
};
static __device__ __forceinline__ Windows windowsOf(EarlyTilesParams const& p, int row)
{
    return {IS_WINDOWED ? windowAt(p.walk, row) : WindowAt{}, HAS_SECOND ? windowAt(p.secondWalk, row) : WindowAt{}};
}

//! The rows of a step.
static __device__ __forceinline__ void fetchRows(
    EarlyTilesParams const& p, unsigned to, unsigned barrier, Windows const& at, int row, int step)
{
    if (HAS_SECOND && step >= p.firstSteps)
        return fetchWindows(to, p.second, barrier, p.secondWalk, at.second, step - p.firstSteps);
    if (IS_WINDOWED)
        return fetchWindows(to, p.a, barrier, p.walk, at.own, step);
    fetch(to, p.a, barrier, step * kDepth, row);
}

static __device__ __forceinline__ void copyShare(EarlyTilesParams const& p, Share const& share, Ring const& ring)
{
    Windows const at = windowsOf(p, share.row);
    asm volatile("prefetch.tensormap [%0];" :: "l"(p.a) : "memory");
    int const ahead = share.steps < p.stages ? share.steps : p.stages;
    int depth = share.firstStep * kDepth;
    for (int step = 0; step < ahead; ++step)
    {
        expectBytes(ring.full + step * 8, kStageBytes);
        fetch(ring.stages + step * kStageBytes + kBytesOfA, p.b, ring.full + step * 8, depth + step * kDepth,
            share.column);
    }
    for (int step = ahead; step < share.steps; ++step)
        fetchAhead(p.b, depth + step * kDepth, share.column);
    awaitFormer();
    for (int step = 0; step < ahead; ++step)
        fetchRows(p, ring.stages + step * kStageBytes, ring.full + step * 8, at, share.row, share.firstStep + step);
    int stage = 0;
    unsigned parity = 0;
    for (int step = ahead; step < share.steps; ++step)
    {
        waitBarrier(ring.empty + stage * 8, parity);
        unsigned const to = ring.stages + stage * kStageBytes;
        expectBytes(ring.full + stage * 8, kStageBytes);
        fetchRows(p, to, ring.full + stage * 8, at, share.row, share.firstStep + step);
        fetch(to + kBytesOfA, p.b, ring.full + stage * 8, depth + step * kDepth, share.column);
        if (++stage == p.stages)
        {
            stage = 0;
            parity ^= 1;
        }
    }
}

//! Where warps that multiply are in the ring.
struct Turn
{
    int stage, before;
    unsigned parity;
};
//! Begins a step's products by add(stage), and lets go of the stage of the step before, whose products are over.
template <typename Add>
static __device__ __forceinline__ void multiplyStep(
    EarlyTilesParams const& p, Ring const& ring, Turn& turn, int step, Add const& add)
{
    waitBarrier(ring.full + turn.stage * 8, turn.parity);
    add(turn.stage);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (step > 0)
    {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        __syncwarp(); // All lanes have read the rows that one of them lets go.
        if (threadIdx.x % 32 == 0)
            arrive(ring.empty + turn.before * 8);
    }
    turn.before = turn.stage;
    if (++turn.stage == p.stages)
    {
        turn.stage = 0;
        turn.parity ^= 1;
    }
}

#if IS_GATED
//! Factors of the images of the block's rows, of its part of the depth; zeros behind that.
static __device__ __forceinline__ void copyGates(EarlyTilesParams const& p, Share const& share, Stored* to)
{
    int const first = share.row / p.gatePixels, last = (p.rows - 1) / p.gatePixels, across = p.gatePitch / 8;
    for (int i = (int)threadIdx.x; i < p.gateImages * across; i += kWorking)
    {
        int const image = first + i / across, k = share.firstStep * kDepth + i % across * 8;
        Pack<unsigned, 4> factors{};
        if (image <= last && k < p.depth)
            factors = *(Pack<unsigned, 4> const*)((Stored const*)p.gate + (i64)image * p.gateOfImage + k);
        *(Pack<unsigned, 4>*)(to + i * 8) = factors;
    }
    meetReaders();
}

//! A step's rows times their factors, as products take them from registers.
typedef unsigned Fragments[kDepth / 16][4];
static __device__ __forceinline__ void loadGated(
    Fragments& a, unsigned char const* stage, Stored const* const (&gates)[2], int step)
{
    int const lane = (int)threadIdx.x % 32, row = warpRow() + lane % 16;
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k)
    {
        loadMatrices(a[k], stage + row * 128 + ((k * 2 + lane / 16) ^ row % 8) * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) // Rows eight below are the odd ones; the second two are eight further in depth.
        {
            Stored const* const factors = gates[i % 2] + step * kDepth + k * 16 + i / 2 * 8 + lane % 4 * 2;
            a[k][i] = timesPair(a[k][i], *(unsigned const*)factors, Stored{});
        }
    }
}

static __device__ __forceinline__ void multiplyShare(
    EarlyTilesParams const& p, Share const& share, Ring const& ring, unsigned char const* stages, Stored* held, Sums& d)
{
    copyGates(p, share, held);
    int const first = share.row / p.gatePixels, row = share.row + warpRow() + (int)threadIdx.x % 32 / 4;
    Stored const* const gates[2] = {
        held + (row / p.gatePixels - first) * p.gatePitch, held + ((row + 8) / p.gatePixels - first) * p.gatePitch};
    Turn turn{};
    auto const multiply = [&](Fragments& a, int step) {
        multiplyStep(p, ring, turn, step, [&](int stage) {
            loadGated(a, stages + stage * kStageBytes, gates, step);
            u64 const b = operandAt(ring.stages + stage * kStageBytes + kBytesOfA, false);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < kDepth / 16; ++i)
                addProducts(d, a[i], b + i * 2, step + i);
        });
    };
    // Products read their registers until the next step's are under way. By twos, without a branch between them: behind
    // one the compiler no longer sees which registers are free, and lets every product end before the next begins.
    Fragments even, odd;
    int step = 0;
#pragma unroll 1
    for (; step + 1 < share.steps; step += 2)
    {
        multiply(even, step);
        multiply(odd, step + 1);
    }
    if (step < share.steps)
        multiply(even, step);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    meetReaders();
}
#else
static __device__ __forceinline__ void multiplyShare(
    EarlyTilesParams const& p, Share const& share, Ring const& ring, Sums& d)
{
    Turn turn{};
#pragma unroll 1
    for (int step = 0; step < share.steps; ++step)
        multiplyStep(p, ring, turn, step, [&](int stage) {
            unsigned const at = ring.stages + stage * kStageBytes;
            u64 const a = operandAt(at + threadIdx.x / 128 * 64 * 128, false);
            u64 const b = operandAt(at + kBytesOfA, false);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < kDepth / 16; ++i)
                addProducts(d, a + i * 2, b + i * 2, step + i);
        });
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    meetReaders();
}
#endif

//! All threads of a warp see it together: one of them lets go what all have read.
static __device__ __forceinline__ void waitTogether(unsigned barrier, unsigned parity)
{
    unsigned isOver;
    do
        asm volatile("{.reg .pred isOver; mbarrier.try_wait.parity.shared::cta.b64 isOver, [%1], %2;\n"
            "selp.u32 %0, 1, 0, isOver;}" : "=r"(isOver) : "r"(barrier), "r"(parity) : "memory");
    while (!__all_sync(0xFFFFFFFFu, isOver));
}

//! Sum of neighbouring threads that share a row.
constexpr int kOfRow = FINDS_MOMENTS ? kMeasuring / BM : 1;
static __device__ __forceinline__ float ofRow(float x)
{
#pragma unroll
    for (int lane = 1; lane < kOfRow; lane *= 2)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, lane);
    return x;
}

//! Mean and deviation of each row, from the stages on their way to the products. Numbers are taken from a pivot that is
//! near the mean, so that squares do not drown in it.
static __device__ __forceinline__ void measureRows(
    EarlyTilesParams const& p, Share const& share, Ring const& ring, unsigned char const* stages, Terms& terms)
{
    constexpr int kPieces = 8 / kOfRow; // Of 16 bytes, of a thread.
    int const thread = (int)threadIdx.x - kWorking - 32, row = thread / kOfRow;
    float pivot = 0.0f, sums[2] = {}, squares[2] = {};
    int stage = 0, before = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int step = 0; step < share.steps; ++step)
    {
        waitTogether(ring.full + stage * 8, parity);
        if (step > 0 && threadIdx.x % 32 == 0) // What was read there has been worked on, so it has come.
            arrive(ring.empty + before * 8);
        before = stage;
        unsigned char const* const from = stages + stage * kStageBytes + row * 128;
        float x[kPieces * 8];
#pragma unroll
        for (int i = 0; i < kPieces; ++i) // Neighbouring rows read other pieces, from other banks.
        {
            int const piece = thread % kOfRow + kOfRow * (i ^ row % kPieces);
            Pack<unsigned, 4> const words = *(Pack<unsigned, 4> const*)(from + piece * 16);
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                x[i * 8 + k * 2] = widen(Stored{(unsigned short)words.v[k]});
                x[i * 8 + k * 2 + 1] = widen(Stored{(unsigned short)(words.v[k] >> 16)});
            }
        }
        if (step == 0)
        {
            float both[2] = {};
#pragma unroll
            for (int i = 0; i < kPieces * 8; ++i)
                both[i % 2] += x[i];
            pivot = ofRow(both[0] + both[1]) / kDepth;
        }
#pragma unroll
        for (int i = 0; i < kPieces * 8; ++i)
        {
            float const off = x[i] - pivot;
            sums[i % 2] += off;
            squares[i % 2] = fmaf(off, off, squares[i % 2]);
        }
        if (++stage == p.stages)
        {
            stage = 0;
            parity ^= 1;
        }
    }
    meetReaders();
    float const off = ofRow(sums[0] + sums[1]) / (float)p.depth;
    float const variance = fmaf(-off, off, ofRow(squares[0] + squares[1]) / (float)p.depth);
    if (thread % kOfRow == 0)
    {
        terms.means[row] = pivot + off;
        terms.factors[row] = 1.0f / sqrtf(fmaxf(variance, 0.0f) + p.epsilon);
    }
}

//! Threads that read the moments of a row.
constexpr int kOfMoments = 2;
static __device__ __forceinline__ float ofPair(float x) { return x + __shfl_xor_sync(0xFFFFFFFFu, x, 1); }

//! Four neighbouring threads have a group's columns, all of them or none.
static __device__ __forceinline__ void measureOctet(
    EarlyTilesParams const& p, Share const& share, Octet const& octet, Pack<unsigned, 4> const& y)
{
    unsigned const together = 0xFu << (threadIdx.x & 28u);
    float x[8], sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k)
    {
        x[k] = widen(Stored{(unsigned short)(y.v[k / 2] >> k % 2 * 16)});
        sum += x[k];
    }
    sum += __shfl_xor_sync(together, sum, 1);
    sum += __shfl_xor_sync(together, sum, 2);
    float const mean = sum / (float)kGroup;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        squares = fmaf(x[k] - mean, x[k] - mean, squares);
    squares += __shfl_xor_sync(together, squares, 1);
    squares += __shfl_xor_sync(together, squares, 2);
    if (threadIdx.x % 4 == 0)
        ((Pack<float, 2>*)p.measured)[(i64)((share.column + octet.column) / kGroup) * p.rows + share.row + octet.row] =
            Pack<float, 2>{{mean, squares}};
}
)"};

//! What is the same on the fake device.
constexpr char kEarlyFinishText[]{R"(
static __device__ __forceinline__ void keepSums(float* sums, Sums const& d)
{
    int const lane = (int)threadIdx.x % 32;
    float* const mine = sums + (warpRow() + lane / 4) * kPitch + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < BN / 8; ++n)
    {
        *(Pack<float, 2>*)(mine + n * 8) = Pack<float, 2>{{d[n][0], d[n][1]}};
        *(Pack<float, 2>*)(mine + n * 8 + 8 * kPitch) = Pack<float, 2>{{d[n][2], d[n][3]}};
    }
}

static __device__ __forceinline__ Octet octetOf(EarlyTilesParams const& p, Share const& share, int item)
{
    int const number = (int)threadIdx.x + item * kWorking;
    int const row = firstRowOf(share.part) + number / kOctets, column = number % kOctets * 8;
    bool const isThere = number < rowsToFinish(share.part) * kOctets && share.row + row < p.rows
        && share.column + column < p.columns;
    return {row, column, isThere ? (i64)(share.row + row) * p.columns + share.column + column : -1};
}

typedef Pack<unsigned, 4> Extras[kItemsOfThread];

static_assert(GROUPS % kOfMoments == 0, "threads of a row have as many groups each");
//! Moments that a thread holds from before the products, so that it does not wait for them behind these.
constexpr int kHeld = GROUPS / kOfMoments < 16 ? GROUPS / kOfMoments : 16;
struct HeldMoments
{
    float pivot;
    Pack<float, 2> pairs[kHeld > 0 ? kHeld : 1];
};
//! Where those of a thread's row begin; it has every kOfMoments-th group.
static __device__ __forceinline__ Pack<float, 2> const* momentsOfRow(EarlyTilesParams const& p, Share const& share)
{
    int const row = share.row + (int)threadIdx.x / kOfMoments;
    return (Pack<float, 2> const*)p.moments + (row < p.rows ? row : p.rows - 1);
}
static __device__ __forceinline__ HeldMoments fetchMoments(EarlyTilesParams const& p, Share const& share)
{
    Pack<float, 2> const* const from = momentsOfRow(p, share);
    HeldMoments held{from->v[0], {}};
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
        held.pairs[i] = from[(i64)(i * kOfMoments + (int)threadIdx.x % kOfMoments) * p.rows];
    return held;
}

//! Mean and deviation of each row from those of its groups. Means are taken from a pivot, that of the first group,
//! before they are squared, so that squares do not drown in a large mean.
static __device__ __forceinline__ void readMoments(
    EarlyTilesParams const& p, Share const& share, HeldMoments const& held, Terms& terms)
{
    int const own = (int)threadIdx.x / kOfMoments;
    if (own >= BM)
        return;
    float sum = 0.0f, squares = 0.0f, inside = 0.0f;
    auto const add = [&](Pack<float, 2> const& group) {
        float const off = group.v[0] - held.pivot;
        sum += off;
        squares = fmaf(off, off, squares);
        inside += group.v[1];
    };
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
        add(held.pairs[i]);
    Pack<float, 2> const* const from = momentsOfRow(p, share);
#pragma unroll 8
    for (int group = kHeld * kOfMoments + (int)threadIdx.x % kOfMoments; group < GROUPS; group += kOfMoments)
        add(from[(i64)group * p.rows]);
    constexpr float kShare = GROUPS > 0 ? 1.0f / (float)GROUPS : 0.0f;
    float const off = ofPair(sum) * kShare;
    float const between = fmaf(-off, off, ofPair(squares) * kShare);
    float const variance = fmaxf(between, 0.0f) + ofPair(inside) * (kShare / kGroup);
    terms.means[own] = held.pivot + off;
    terms.factors[own] = 1.0f / sqrtf(variance + p.epsilon);
}

//! Of eight columns.
struct EightTerms
{
    Pack<float, 4> v[2];
};
static __device__ __forceinline__ EightTerms termsAt(float const* from, int column)
{
    return {{*(Pack<float, 4> const*)(from + column), *(Pack<float, 4> const*)(from + column + 4)}};
}

//! What is added, with mean 0 and variance 1, scale and shift; rounded.
static __device__ __forceinline__ void normalizeExtra(
    Terms const& terms, Octet const& octet, Pack<unsigned, 4>& extra)
{
    EightTerms const scale = termsAt(terms.sums, octet.column), shift = termsAt(terms.shift, octet.column);
    float const mean = terms.means[octet.row], factor = terms.factors[octet.row];
    float x[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
    {
        float const off = widen(Stored{(unsigned short)(extra.v[k / 2] >> k % 2 * 16)}) - mean;
        x[k] = fmaf(off * factor, scale.v[k / 4].v[k % 4], shift.v[k / 4].v[k % 4]);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
        extra.v[k] = pairOf(x[k * 2], x[k * 2 + 1], Stored{});
}

static __device__ __forceinline__ void finishShare(
    EarlyTilesParams const& p, Share const& share, float const* sums, Terms const& terms, Extras& extras)
{
    float v[kItemsOfThread][8] = {};
#pragma unroll
    for (int item = 0; item < kItemsOfThread; ++item)
    {
        Octet const octet = octetOf(p, share, item);
        if (octet.at < 0)
            continue;
#pragma unroll
        for (int from = 0; from < PARTS; ++from)
#pragma unroll
            for (int half = 0; half < 2; ++half)
            {
                Pack<float, 4> const four = sumsAt(sums, from, octet.row * kPitch + octet.column + half * 4);
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    v[item][half * 4 + k] += four.v[k];
            }
    }
    letPartsGo();
#pragma unroll
    for (int item = 0; item < kItemsOfThread; ++item)
    {
        Octet const octet = octetOf(p, share, item);
        if (octet.at < 0)
            continue;
        float const mean = IS_NORMALIZED ? terms.means[octet.row] : 0.0f;
        float const factor = IS_NORMALIZED ? terms.factors[octet.row] : p.alpha;
        EightTerms const sums = IS_NORMALIZED ? termsAt(terms.sums, octet.column) : EightTerms{};
        EightTerms const bias = HAS_BIAS ? termsAt(terms.bias, octet.column) : EightTerms{};
#pragma unroll
        for (int k = 0; k < 8; ++k)
        {
            float const sum = IS_NORMALIZED ? fmaf(-mean, sums.v[k / 4].v[k % 4], v[item][k]) : v[item][k];
            v[item][k] = fmaf(sum, factor, bias.v[k / 4].v[k % 4]);
        }
        if (IS_EXTRA_NORMALIZED)
            normalizeExtra(terms, octet, extras[item]);
        applyEpilogue(v[item], extras[item].v);
        Pack<unsigned, 4> y;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            y.v[k] = pairOf(v[item][k * 2], v[item][k * 2 + 1], Stored{});
        *(Pack<unsigned, 4>*)((Stored*)p.c + octet.at) = y;
        if (MEASURES)
            measureOctet(p, share, octet, y);
    }
}

static __device__ __forceinline__ void fetchExtras(EarlyTilesParams const& p, Share const& share, Extras& extras)
{
#pragma unroll
    for (int item = 0; item < kItemsOfThread; ++item)
    {
        Octet const octet = octetOf(p, share, item);
        i64 const at = REPEATS_EXTRA && octet.at >= 0
            ? (i64)((share.row + octet.row) % p.extraRows) * p.columns + share.column + octet.column
            : octet.at;
        extras[item] =
            HAS_EXTRA && at >= 0 ? *(Pack<unsigned, 4> const*)((Stored const*)p.extra + at) : Pack<unsigned, 4>{};
    }
}

//! Of the block's columns; a thread each.
static __device__ __forceinline__ void fetchTerms(EarlyTilesParams const& p, Share const& share, Terms& terms)
{
    int const own = (int)threadIdx.x, column = share.column + own;
    if (own >= BN)
        return;
    if (HAS_BIAS)
        terms.bias[own] = column < p.columns ? widen(((Stored const*)p.bias)[column]) : 0.0f;
    if (IS_NORMALIZED)
        terms.sums[own] = column < p.columns ? ((float const*)p.terms)[column] : 0.0f;
    if (IS_EXTRA_NORMALIZED)
    {
        bool const isThere = column < p.columns;
        terms.sums[own] = isThere ? widen(((Stored const*)p.terms)[column]) : 0.0f;
        terms.shift[own] = isThere && p.shift != nullptr ? widen(((Stored const*)p.shift)[column]) : 0.0f;
    }
}

#ifdef TENON_EMULATED
TENON_KERNEL(earlyTiles, EarlyTilesParams)
{
    Share const share = shareOf(p);
    if (share.column >= p.columns)
        return;
    Extras extras;
    bool const isCopying = threadIdx.x >= kWorking;
    if (!isCopying)
    {
        fetchTerms(p, share, terms);
        fetchExtras(p, share, extras);
        if (HAS_MOMENTS)
            readMoments(p, share, fetchMoments(p, share), terms);
        else if (FINDS_MOMENTS)
            measureRows(p, share, terms);
        Sums d;
        multiplyShare(p, share, d);
        keepSums(ownSums(share.part), d);
    }
    __syncthreads();
    if (!isCopying)
        finishShare(p, share, nullptr, terms, extras);
    __syncthreads();
    if (!isCopying && MEASURES)
        leaveMoments(p, share);
}
#else
//! Whether the run goes on: one thread of the cluster asks, as the host may say stop at any time, and blocks that
//! read each other's sums go one way.
static __device__ __forceinline__ bool begin(EarlyTilesParams const& p, Ring const& ring, unsigned* word)
{
    if (threadIdx.x == 0)
    {
        for (int i = 0; i < p.stages; ++i)
        {
            initBarrier(ring.full + i * 8, 1);
            initBarrier(ring.empty + i * 8, BM / 16 + kMeasuring / 32); // Warps.
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // For the copy engine, too.
        *word = p.stop != nullptr ? *p.stop : 0;
    }
    meetParts();
    if (p.stop == nullptr)
        return true;
    unsigned stop = *word;
    if (PARTS > 1)
        asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %1, 0; ld.shared::cluster.u32 %0, [there];}"
                     : "=r"(stop) : "r"(sharedAddress(word)) : "memory");
    meetParts(); // Until all have read it.
    return stop == 0;
}

extern "C" __global__ void TENON_CLUSTER __launch_bounds__(kThreads)
    earlyTiles(__grid_constant__ EarlyTilesParams const p)
{
    letNextBegin();
    unsigned char* const start = sharedMemory + (1024u - sharedAddress(sharedMemory) % 1024u) % 1024u;
    unsigned const barriers = sharedAddress(start);
    unsigned* const word = (unsigned*)(start + 448);
    Terms& terms = *(Terms*)(start + 512); // Without norms their bias alone has room.
    int const stages = kStart + (IS_GATED ? p.gateBytes : 0);
    float* const sums = (float*)(start + stages);
    Ring const ring{barriers + stages, barriers, barriers + 256};
    Share const share = shareOf(p);
    if (share.column >= p.columns || !begin(p, ring, word))
    {
        awaitFormer(); // A block without a tile keeps its place from those of the next kernel.
        return;
    }
    Extras extras;
    int const warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0);
    bool const isFinishing = warp < kWorking / 32;
    if (warp == kWorking / 32)
    {
        if (threadIdx.x == kWorking)
            copyShare(p, share, ring);
        awaitFormer();
        __syncwarp();
    }
    else if (!isFinishing)
    {
        awaitFormer();
        if (FINDS_MOMENTS) // Else there are no such threads.
            measureRows(p, share, ring, start + stages, terms);
    }
    else
    {
        if (p.areConstantTerms)
            fetchTerms(p, share, terms);
        awaitFormer();
        if (!p.areConstantTerms)
            fetchTerms(p, share, terms);
        fetchExtras(p, share, extras);
        HeldMoments held{};
        if (HAS_MOMENTS)
            held = fetchMoments(p, share);
        Sums d = {};
#if IS_GATED
        multiplyShare(p, share, ring, start + stages, (Stored*)(start + kStart), d);
#else
        multiplyShare(p, share, ring, d);
#endif
        if (HAS_MOMENTS)
            readMoments(p, share, held, terms);
        keepSums(sums, d);
    }
    meetParts();
    if (isFinishing)
        finishShare(p, share, sums, terms, extras);
    else
        letPartsGo();
    awaitParts();
}
#endif
)"};

//! Other GPUs are not offered this kernel.
constexpr char kEarlyElsewhereText[]{R"(
extern "C" __global__ void earlyTiles(EarlyTilesParams const) { asm volatile("trap;"); }
)"};
} // namespace

std::string earlyTilesText(EarlyTilesForm const& form)
{
    EarlyTile const& tile = form.tile;
    std::string text = functionsFor(std::array{DType::kHALF}) + kWindowWalkText + kEarlyTilesParamsText;
    text += fmt::format("typedef {} Stored;\nconstexpr int BM = {}, BN = {}, PARTS = {};\n"
                        "constexpr bool HAS_BIAS = {}, HAS_EXTRA = {}, IS_WINDOWED = {}, HAS_SECOND = {}, "
                        "IS_NORMALIZED = {}, IS_EXTRA_NORMALIZED = {}, MEASURES = {}, REPEATS_EXTRA = {};\n"
                        "#define IS_GATED {}\nconstexpr int GROUPS = {}; // Of a row, whose moments are there.\n"
                        "constexpr bool HAS_MOMENTS = GROUPS > 0;\n",
        form.type, tile.rows, tile.columns, tile.parts, form.hasBias, form.hasExtra, form.isWindowed, form.hasSecond,
        form.normalized == NormalizedOperand::kRows, form.normalized == NormalizedOperand::kExtra, form.measures,
        form.repeatsExtra, form.isGated ? 1 : 0, form.groups);
    text += matrixText();
    text +=
        fmt::format("#if defined(TENON_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)\n{}{}{}#ifdef TENON_EMULATED\n"
                    "{}#else\n{}{}#endif\n{}{}#else\n{}#endif\n",
            copyEngineText(), windowWalkText(), kEarlyMeasuresText, kEarlyEmulatedText,
            warpgroupProductText(form.type, tile.columns, true, form.isGated), kEarlyRingText, form.epilogue,
            kEarlyFinishText, kEarlyElsewhereText);
    return wholeText(text);
}

} // namespace tenon::cuda
