// SharedWindowsText: one warp copies lines of pixels, one weights; two warpgroups multiply weights by pixels, so that
// maps are the rows of wgmma and positions its columns, of which there may be any multiple of eight. Sums of a
// cluster's parts are sent to the block that finishes them.
#include "backends/cuda/shared_windows_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kPositionsOfUnit{8};     // Positions.
constexpr int64_t kSwizzledBytes{128};     // 64 channels of a pixel, 64 maps of a result.
constexpr int64_t kSwizzleAlignment{1024}; // Of what is exchanged by "128-byte swizzle" of the PTX ISA.
constexpr int64_t kUnitSumBytes{128 * 16}; // Four of a thread.
constexpr int64_t kStageBytes{64 * kSwizzledBytes};

//! A unit is eight positions by the 64 maps of a warpgroup: a thread has four of its sums.
constexpr char kWindowMeasuresText[]{R"(
constexpr int kTaps = 9, kWorking = 256, kThreads = 320;
constexpr int kPositions = 2 * BN, kMaps = 64; // Of a tile.
constexpr int kOctets = BN / 8, kUnits = 2 * kOctets;
constexpr int kOwned = (kUnits + PARTS - 1) / PARTS; // The most units that a block finishes,
constexpr int kStaged = PARTS == 1 ? kOctets : (kOwned + 1) / 2; // and one of its warpgroups.
constexpr int kStageBytes = kMaps * 128, kUnitBytes = 8 * 128, kUnitSumBytes = 128 * 16;
constexpr int kPlanes = STRIDE == 1 ? 1 : 4;
typedef float Sums[kOctets][4]; // d[j]: maps g and g + 8 of a warp's sixteen, positions 8j + 2t and the next.

//! What a block makes of a tile.
struct Share
{
    int position, map, part;
};
static __device__ __forceinline__ Share shareOf()
{
    return {(int)blockIdx.z * kPositions, (int)blockIdx.y * kMaps, (int)blockIdx.x};
}
static __device__ __forceinline__ int inverseTimes(unsigned inverse, int x)
{
    return (int)((u64)inverse * (unsigned)x >> 32);
}
//! In the order of the planes that they are on: even lines and columns; even lines and odd columns; and so on.
static __device__ __forceinline__ int tapOf(int step)
{
    return STRIDE == 1 ? step : (int)(0x862071534ull >> step * 4 & 15);
}
static __device__ __forceinline__ bool beginsPlane(int step)
{
    return step == 0 || STRIDE == 2 && (step == 1 || step == 3 || step == 5);
}
//! Positions behind a result's where a tap of its window is on its plane.
static __device__ __forceinline__ int tapOffset(SharedWindowsParams const& p, int tap)
{
    int const down = tap / 3, across = tap % 3;
    return STRIDE == 1 ? down * p.pitch + across : (down > 0 ? p.pitch : 0) + (across > 0 ? 1 : 0);
}
//! Units of a warpgroup, one behind the other.
static __device__ __forceinline__ int unitOf(int group, int slot, int part)
{
    return SHARERS == 1 ? group * kOctets + slot : (group + slot * 2) * SHARERS + part;
}
static __device__ __forceinline__ int unitsOf(int group, int part)
{
    return SHARERS == 1 ? kOctets : ((kUnits - part + SHARERS - 1) / SHARERS - group + 1) / 2;
}
//! Among all results; none: −1.
static __device__ __forceinline__ i64 resultAt(SharedWindowsParams const& p, int position)
{
    int const line = inverseTimes(p.pitchInverse, position), column = position - line * p.pitch;
    int const image = inverseTimes(p.linesInverse, line), row = line - image * (p.height + 1);
    bool const isThere = column < p.width && row < p.height && image < p.images;
    return isThere ? ((i64)image * p.height + row) * p.width + column : -1;
}
)"};

//! Without a GPU: what the fake driver writes into a map of images is the address; channels, width, height, images; and
//! bytes from each to the next of the last three. Blocks run one after the other: the last part of a tile finishes it.
constexpr char kWindowEmulatedText[]{R"(
static unsigned char sharedMemory[2 * kOctets * kUnitBytes];
static float sumsOfParts[PARTS][kUnits][128][4];

static inline unsigned stageOf(int group) { return group * kOctets * kUnitBytes; }
static inline void waitForGroup() { __syncthreads(); }
//! Rows of the stage are the matrix' columns.
static inline void storeTurned(unsigned at, unsigned low, unsigned high)
{
    static unsigned rows[1024];
    unsigned const t = threadIdx.x, lane = t % 32;
    rows[t] = at;
    __syncthreads();
    unsigned const both[]{low, high};
    for (unsigned i = 0; i < 2; ++i)
        for (unsigned k = 0; k < 2; ++k)
            *((Stored*)(sharedMemory + rows[t / 32 * 32 + i * 8 + lane % 4 * 2 + k]) + lane / 4) =
                Stored{(unsigned short)(both[i] >> k * 16)};
    __syncthreads();
}
static inline Pack<unsigned, 4> loadPiece(unsigned at) { return *(Pack<unsigned, 4> const*)(sharedMemory + at); }

static inline int planeOf(int step) { return STRIDE == 1 ? 0 : (step + 1) / 2 - step / 7; }
//! A channel of the pixel that a tap reads: where the copies of the tile's lines have put it.
static float pixelNumber(SharedWindowsParams const& p, Share const& share, int step, int position, int channel)
{
    int const from = position + tapOffset(p, tapOf(step)), line = from / p.pitch;
    if (line >= share.position / p.pitch + p.lines)
        return fromBits(0x7FC00000u); // Not among them.
    u64 const* const map = p.xs[planeOf(step)];
    int const image = line / (p.height + 1), y = line % (p.height + 1) - 1, x = from % p.pitch - 1;
    if (x < 0 || x >= (int)map[2] || y < 0 || y >= (int)map[3] || image >= (int)map[4] || channel >= (int)map[1])
        return 0.0f;
    return widen(((Stored const*)(map[0] + x * map[5] + y * map[6] + image * map[7]))[channel]);
}
static void multiplyTile(SharedWindowsParams const& p, Share const& share, int group)
{
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, channels = p.stepsOfPart * 64;
    for (int j = 0; j < kOctets; ++j)
        for (int i = 0; i < 4; ++i)
        {
            int const map = share.map + warp * 16 + lane / 4 + i / 2 * 8;
            int const position = share.position + group * BN + j * 8 + lane % 4 * 2 + i % 2;
            float sum = 0.0f;
            for (int step = 0; step < kTaps && resultAt(p, position) >= 0; ++step)
                for (int c = share.part * channels; c < (share.part + 1) * channels; ++c)
                    sum += pixelNumber(p, share, step, position, c) * numberAt(p.w, map, tapOf(step) * p.channels + c);
            sumsOfParts[share.part][group * kOctets + j][threadIdx.x % 128][i] = sum;
        }
}
static inline void sumUp(int unit, float (&sums)[4])
{
    for (int i = 0; i < 4; ++i)
        for (int part = 0; part < PARTS; ++part)
            sums[i] = (part > 0 ? sums[i] : 0.0f) + sumsOfParts[part][unit][threadIdx.x % 128][i];
}
)"};

constexpr char kWindowCopiesText[]{R"(
#define TENON_CLUSTER __cluster_dims__(PARTS, 1, 1)

//! A slab or stage is full when its bytes are there, and empty when every warp that multiplies it has done so.
struct Ring
{
    unsigned at, full, empty; // Addresses.
    int count, bytes;
};
//! Where a warp is in a ring.
struct Turn
{
    int at;
    unsigned parity;
};
static __device__ __forceinline__ void next(Turn& turn, int count)
{
    if (++turn.at < count)
        return;
    turn.at = 0;
    turn.parity ^= 1;
}

//! Pixels of a line, 64 channels of each, from the one in front of the image on; what is not there becomes zeros.
static __device__ __forceinline__ void fetchLine(
    unsigned to, u64 const (&map)[16], unsigned barrier, int channel, int line, int image)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];"
        :: "r"(to), "l"(map), "r"(barrier), "r"(channel), "r"(-1), "r"(line), "r"(image) : "memory");
}
static __device__ __forceinline__ void prefetchMap(u64 const (&map)[16])
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}

//! A warp's work: lines of all planes.
static __device__ __forceinline__ void fetchPixels(SharedWindowsParams const& p, Share const& share, Ring const& slabs)
{
    int const lane = threadIdx.x % 32, first = inverseTimes(p.pitchInverse, share.position);
    if (lane < kPlanes)
        prefetchMap(p.xs[lane]);
    awaitFormer();
    Turn turn{0, 1};
#pragma unroll 1
    for (int slab = 0; slab < p.stepsOfPart * kPlanes; ++slab)
    {
        int const channel = (share.part * p.stepsOfPart + slab / kPlanes) * 64;
        unsigned const full = slabs.full + turn.at * 8;
        waitBarrier(slabs.empty + turn.at * 8, turn.parity);
        if (lane == 0)
            expectBytes(full, p.lines * p.pitch * 128);
        __syncwarp();
        for (int i = lane; i < p.lines; i += 32)
        {
            int const image = inverseTimes(p.linesInverse, first + i);
            fetchLine(slabs.at + turn.at * slabs.bytes + i * p.pitch * 128, p.xs[slab % kPlanes], full, channel,
                first + i - image * (p.height + 1) - 1, image);
        }
        next(turn, slabs.count);
    }
}

//! One thread's work: weights, which nothing in a run writes, so that it waits for no former kernel.
static __device__ __forceinline__ void fetchWeights(
    SharedWindowsParams const& p, Share const& share, Ring const& stages)
{
    prefetchMap(p.w);
    Turn turn{0, 1};
#pragma unroll 1
    for (int step = 0; step < p.stepsOfPart * kTaps; ++step)
    {
        int const block = step / kTaps;
        int const depth = tapOf(step - block * kTaps) * p.channels + (share.part * p.stepsOfPart + block) * 64;
        waitBarrier(stages.empty + turn.at * 8, turn.parity);
        expectBytes(stages.full + turn.at * 8, kStageBytes);
        fetch(stages.at + turn.at * kStageBytes, p.w, stages.full + turn.at * 8, depth, share.map);
        next(turn, stages.count);
    }
}
)"};

constexpr char kWindowProductsText[]{R"(
static __device__ __forceinline__ void release(Ring const& ring, int at)
{
    if (threadIdx.x % 32 == 0)
        arrive(ring.empty + at * 8);
}

//! Starts of operands are no multiples of 1,024: which pieces of a row are exchanged goes by the address.
static __device__ __forceinline__ void multiplyTile(SharedWindowsParams const& p, Ring const& slabs,
    Ring const& stages, Share const& share, int group, Sums& d)
{
    Turn slab{0, 0}, stage{0, 0};
    int const own = share.position - inverseTimes(p.pitchInverse, share.position) * p.pitch;
    unsigned const first = (own + group * BN) * 128;
    unsigned from = 0;
    int stageBefore = 0, slabOfStep = 0;
#pragma unroll 1
    for (int block = 0; block < p.stepsOfPart; ++block)
#pragma unroll
        for (int step = 0; step < kTaps; ++step)
        {
            int slabBefore = -1;
            bool const isFirst = step == 0 && block == 0;
            if (beginsPlane(step))
            {
                if (!isFirst && slabs.count == 1)
                {
                    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                    release(slabs, 0);
                }
                else if (!isFirst)
                    slabBefore = slabOfStep;
                waitBarrier(slabs.full + slab.at * 8, slab.parity);
                from = slabs.at + slab.at * slabs.bytes + first;
                slabOfStep = slab.at;
                next(slab, slabs.count);
            }
            waitBarrier(stages.full + stage.at * 8, stage.parity);
            u64 const a = operandAt(stages.at + stage.at * kStageBytes, false);
            u64 const b = operandAt(from + tapOffset(p, tapOf(step)) * 128, false);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int i = 0; i < 4; ++i)
                addProducts(d, a + i * 2, b + i * 2, block + step + i);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (!isFirst)
                release(stages, stageBefore);
            if (slabBefore >= 0)
                release(slabs, slabBefore);
            stageBefore = stage.at;
            next(stage, stages.count);
        }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int j = 0; j < kOctets; ++j) // Nothing reads sums before they are there.
        asm volatile("" : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) :: "memory");
}

static __device__ __forceinline__ void waitForGroup()
{
    asm volatile("bar.sync %0, 128;" :: "r"(1 + (int)threadIdx.x / 128) : "memory");
}
//! Rows of the stage are the matrix' columns.
static __device__ __forceinline__ void storeTurned(unsigned at, unsigned low, unsigned high)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                 :: "r"(at), "r"(low), "r"(high) : "memory");
}
static __device__ __forceinline__ Pack<unsigned, 4> loadPiece(unsigned at)
{
    Pack<unsigned, 4> piece;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece.v[0]), "=r"(piece.v[1]), "=r"(piece.v[2]), "=r"(piece.v[3]) : "r"(at) : "memory");
    return piece;
}
static __device__ __forceinline__ unsigned inBlock(unsigned address, int part)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(part));
    return there;
}
//! The parts of a cluster meet: none sends sums to a block that has not begun.
static __device__ __forceinline__ void arriveAtParts()
{
    if (PARTS > 1)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ __forceinline__ void awaitParts()
{
    if (PARTS > 1)
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
//! Each unit's to the part that finishes it, whose barrier counts the bytes.
static __device__ __forceinline__ void sendSums(Sums const& d, int group, int part, unsigned sums, unsigned barrier)
{
#pragma unroll
    for (int j = 0; j < kOctets; ++j)
    {
        int const unit = group * kOctets + j, owner = unit % PARTS;
        unsigned const at = sums + (unit / PARTS * PARTS + part) * kUnitSumBytes + threadIdx.x % 128 * 16;
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
            :: "r"(inBlock(at, owner)), "f"(d[j][0]), "f"(d[j][1]), "f"(d[j][2]), "f"(d[j][3]),
            "r"(inBlock(barrier, owner)) : "memory");
    }
}
static __device__ __forceinline__ void waitForSums(unsigned barrier)
{
    unsigned isOver;
    do
        asm volatile("{.reg .pred isOver; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 isOver, [%1], 0;\n"
            "selp.u32 %0, 1, 0, isOver;}" : "=r"(isOver) : "r"(barrier) : "memory");
    while (isOver == 0);
}
//! Of all parts, in their order.
static __device__ __forceinline__ void sumUp(unsigned at, float (&sums)[4])
{
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
    {
        float v[4];
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "r"(at + part * kUnitSumBytes) : "memory");
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sums[i] = part > 0 ? sums[i] + v[i] : v[i];
    }
}
)"};

//! What is the same on the fake device.
constexpr char kWindowFinishText[]{R"(
//! Of a thread's two maps.
struct Terms
{
    float bias[2];
};
static __device__ __forceinline__ Terms termsOf(SharedWindowsParams const& p, Share const& share)
{
    int const map = share.map + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    Stored const* const bias = (Stored const*)p.bias;
    return HAS_BIAS ? Terms{widen(bias[map]), widen(bias[map + 8])} : Terms{};
}
//! Eight maps of a position: pieces are exchanged so that neighbouring positions lie in different banks.
static __device__ __forceinline__ unsigned pieceAt(unsigned stage, int position, int piece)
{
    return stage + position * 128 + (piece ^ position % 8) * 16;
}
static __device__ __forceinline__ void stageUnit(float const (&sums)[4], Terms const& terms, unsigned stage, int slot)
{
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        v[i] = epilogue(sums[i] + terms.bias[i / 2]);
    storeTurned(pieceAt(stage, slot * 8 + lane % 8, warp * 2 + lane / 8 % 2), pairOf(v[0], v[1], Stored{}),
        pairOf(v[2], v[3], Stored{}));
}
static __device__ __forceinline__ void storeUnits(
    SharedWindowsParams const& p, Share const& share, int group, unsigned stage)
{
    int const thread = threadIdx.x % 128, piece = thread % 8, count = unitsOf(group, share.part) * 8;
    Stored* const y = (Stored*)p.y + share.map + piece * 8;
#pragma unroll 4
    for (int i = thread / 8; i < count; i += 16)
    {
        int const unit = unitOf(group, i / 8, share.part);
        i64 const at = resultAt(p, share.position + unit * 8 + i % 8);
        if (at >= 0)
            storeWords(y + at * p.maps, loadPiece(pieceAt(stage, i, piece)).v);
    }
}

#ifdef TENON_EMULATED
TENON_KERNEL(sharedWindows, SharedWindowsParams)
{
    int const group = threadIdx.x / 128;
    if (group == 2)
        return;
    Share const share = shareOf();
    multiplyTile(p, share, group);
    if (share.part != PARTS - 1)
        return;
    Terms const terms = termsOf(p, share);
    for (int slot = 0; slot < kOctets; ++slot)
    {
        float sums[4];
        sumUp(unitOf(group, slot, share.part), sums);
        stageUnit(sums, terms, stageOf(group), slot);
    }
    storeUnits(p, share, group, stageOf(group));
}
#else
//! What a warpgroup multiplies and finishes. Who says stop waits for it, as for libraries' kernels: parts that send
//! each other sums go one way.
static __device__ __forceinline__ void makeTile(SharedWindowsParams const& p, Share const& share, Ring const& slabs,
    Ring const& stages, int group, unsigned staged, unsigned sums, unsigned barrier)
{
    awaitFormer();
    Terms const terms = termsOf(p, share);
    Sums d;
    multiplyTile(p, slabs, stages, share, group, d);
    if (PARTS == 1)
#pragma unroll
        for (int slot = 0; slot < kOctets; ++slot)
            stageUnit(d[slot], terms, staged, slot);
    else
    {
        awaitParts();
        sendSums(d, group, share.part, sums, barrier);
        waitForSums(barrier);
        for (int slot = 0; slot < unitsOf(group, share.part); ++slot)
        {
            float whole[4];
            sumUp(sums + (group + slot * 2) * PARTS * kUnitSumBytes + threadIdx.x % 128 * 16, whole);
            stageUnit(whole, terms, staged, slot);
        }
    }
    waitForGroup();
    storeUnits(p, share, group, staged);
}

static __device__ __forceinline__ void initRing(Ring const& ring)
{
    for (int i = 0; i < ring.count; ++i)
    {
        initBarrier(ring.full + i * 8, 1);
        initBarrier(ring.empty + i * 8, kWorking / 32); // Warps.
    }
}

extern "C" __global__ void TENON_CLUSTER __launch_bounds__(kThreads, 1)
    sharedWindows(__grid_constant__ SharedWindowsParams const p)
{
    letNextBegin();
    unsigned const pixels = (sharedAddress(sharedMemory) + 1023u) / 1024u * 1024u;
    unsigned const weights = pixels + p.slabs * p.slabBytes;
    unsigned const staged = weights + p.stages * kStageBytes;
    unsigned const sums = staged + 2 * kStaged * kUnitBytes;
    unsigned const barriers = sums + (PARTS > 1 ? kOwned * PARTS * kUnitSumBytes : 0);
    Ring const slabs{pixels, barriers + 8, barriers + 8 + p.slabs * 8, p.slabs, p.slabBytes};
    unsigned const behind = slabs.empty + p.slabs * 8;
    Ring const stages{weights, behind, behind + p.stages * 8, p.stages, kStageBytes};
    Share const share = shareOf();
    int const warp = __shfl_sync(0xFFFFFFFFu, threadIdx.x / 32, 0); // The compiler knows that a warp goes one way.
    if (threadIdx.x == 0)
    {
        initRing(slabs);
        initRing(stages);
        initBarrier(barriers, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // For the copy engine, too.
        if (PARTS > 1)
            expectBytes(barriers, (kUnits - (int)blockIdx.x + PARTS - 1) / PARTS * PARTS * kUnitSumBytes);
    }
    __syncthreads();
    arriveAtParts();
    if (warp < kWorking / 32)
        return makeTile(p, share, slabs, stages, warp / 4, staged + warp / 4 * kStaged * kUnitBytes, sums, barriers);
    if (warp == kWorking / 32)
        fetchPixels(p, share, slabs);
    else if (threadIdx.x % 32 == 0)
        fetchWeights(p, share, stages);
    __syncwarp();
    awaitFormer(); // All do, as the next kernel's wait is for all that came before only then.
    awaitParts();
}
#endif
)"};

//! Other GPUs are not offered this kernel.
constexpr char kWindowElsewhereText[]{R"(
extern "C" __global__ void sharedWindows(SharedWindowsParams const) { asm volatile("trap;"); }
)"};

int64_t wholeBlocks(int64_t count, int64_t block) noexcept
{
    return (count + block - 1) / block;
}
} // namespace

int64_t SharedWindowsTile::tiles(SharedWindowsShape const& shape) const noexcept
{
    return wholeBlocks(shape.positions(), kGroups * positions);
}

std::optional<SharedWindowsRoom> SharedWindowsTile::room(SharedWindowsShape const& shape) const noexcept
{
    constexpr int64_t kMost{227 << 10};
    constexpr int64_t kStart{2048}; // What alignment takes, and barriers.
    constexpr int64_t kMaxStages{8};
    constexpr int64_t kLeastStages{5};
    constexpr int64_t kMaxSlabs{8};
    if (shape.channels % (int64_t{kStep} * parts) != 0 || shape.maps % kMaps != 0)
        return std::nullopt;
    int64_t const pitch = shape.pitch();
    int64_t const tile = int64_t{kGroups} * positions;
    int64_t const reach = shape.stride == 1 ? 2 * pitch + 2 : pitch + 1; // From a result to the end of its window.
    int64_t const first = tile % pitch == 0 ? 0 : pitch - 1;             // Of its line, at most.
    int64_t const lines = (first + tile - 1 + reach) / pitch + 1;
    int64_t const slabBytes = wholeBlocks(lines * pitch * kSwizzledBytes, kSwizzleAlignment) * kSwizzleAlignment;
    int64_t const steps = stepsOfPart(shape);
    int64_t const units = tile / kPositionsOfUnit;
    int64_t const owned = wholeBlocks(units, parts);
    int64_t const staged = parts == 1 ? units : (owned + 1) / 2 * 2;
    int64_t const others =
        kStart + staged * kPositionsOfUnit * kSwizzledBytes + (parts == 1 ? 0 : owned * parts * kUnitSumBytes);
    for (int64_t slabs = std::min<int64_t>(kMaxSlabs, steps * shape.planes()); slabs > 0; --slabs)
    {
        int64_t const left = (kMost - others - slabs * slabBytes) / kStageBytes;
        int64_t const stages = std::min({left, kMaxStages, steps * kTaps});
        if (stages >= kLeastStages)
            return SharedWindowsRoom{.lines = static_cast<int>(lines),
                .slabBytes = static_cast<int>(slabBytes),
                .slabs = static_cast<int>(slabs),
                .stages = static_cast<int>(stages),
                .sharedBytes = static_cast<int>(others + slabs * slabBytes + stages * kStageBytes)};
    }
    return std::nullopt;
}

std::string sharedWindowsText(SharedWindowsForm const& form)
{
    SharedWindowsTile const& tile = form.tile;
    std::string text = functionsFor(std::array{DType::kHALF}) + kSharedWindowsParamsText;
    text += fmt::format("typedef {} Stored;\nconstexpr int BN = {}, PARTS = {}, STRIDE = {};\n"
                        "constexpr bool HAS_BIAS = {};\n"
                        "#ifdef TENON_EMULATED\nconstexpr int SHARERS = 1;\n#else\nconstexpr int SHARERS = PARTS;\n"
                        "#endif\n",
        form.type, tile.positions, tile.parts, form.stride, form.hasBias);
    text += matrixText();
    text += fmt::format("#if defined(TENON_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)\n{}{}#ifdef TENON_EMULATED\n"
                        "{}#else\n{}{}{}#endif\n{}{}#else\n{}#endif\n",
        copyEngineText(), kWindowMeasuresText, kWindowEmulatedText,
        warpgroupProductText(form.type, tile.positions, true), kWindowCopiesText, kWindowProductsText, form.epilogue,
        kWindowFinishText, kWindowElsewhereText);
    return wholeText(text);
}

} // namespace tenon::cuda
