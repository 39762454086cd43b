// LargeTilesText: operands lie in shared memory as the copy engine puts them for wgmma; results go through slots of
// shared memory, warp by warp, so that the copy engine stores them, and clips what is not there.
#include "backends/cuda/large_tiles_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
//! Rows of 128 or 64 bytes whose pieces of 16 are exchanged by the row's number ("swizzle" of the PTX ISA).
constexpr char kMeasuresText[]{R"(
constexpr int kDepth = ROW_BYTES / (int)sizeof(In), kThreads = 384;
constexpr int kGroupRows = TAKES_TURNS ? BM : BM / 2; // That a warpgroup has of a tile.
constexpr int kPanels = kGroupRows / 64;
constexpr int kAcross = BN / 64;           // Pieces of results beside each other.
constexpr int kPieces = kPanels * kAcross; // Of a warp.
constexpr int kBytesOfA = BM * ROW_BYTES, kStageBytes = kBytesOfA + BN * ROW_BYTES;
constexpr int kBiasBytes = BN * (IS_SCALED ? 8 : 4);
constexpr int kResultBytes = 16 * 64 * (int)sizeof(Stored), kExtraBytes = 16 * 64 * (int)sizeof(Extra);
//! The tensor that is read has its own place where its elements are not as large as results.
constexpr int kExtraAt = HAS_EXTRA && kExtraBytes != kResultBytes ? kResultBytes : 0;
constexpr int kSlotBytes = kExtraAt > 0 ? kResultBytes + kExtraBytes : kResultBytes;
typedef Sum Sums[kPanels][BN / 8][4]; // d[.][j] is columns 8j + 2t and the next, of a warp's rows g and g + 8.

struct Place { int row, column; };
static __device__ __forceinline__ Place placeOf(LargeTilesParams const& p, int tile)
{
    int const down = tile / p.tilesAcross;
    return {down * BM, (tile - down * p.tilesAcross) * BN};
}
//! Bytes from the start of a piece, 16 rows of 64 columns, to elements of so many bytes.
static __device__ __forceinline__ unsigned placeInPiece(int bytes, int row, int column)
{
    int const own = column * bytes;
    return row * 64 * bytes + (own / 16 ^ (bytes == 2 ? row % 8 : row / 2 % 4)) * 16 + own % 16;
}
)"};

//! Without a GPU: what the fake driver writes into a map is the address, columns, rows, and bytes from row to row.
constexpr char kEmulatedText[]{R"(
static unsigned char sharedMemory[8 * (SLOTS * kSlotBytes + kBiasBytes)];
constexpr unsigned kBiases = 8 * SLOTS * kSlotBytes;
template <typename T>
static inline T* pieceAt(unsigned piece, int i)
{
    return (T*)(sharedMemory + piece + placeInPiece(sizeof(T), i / 64, i % 64));
}
template <typename T>
static inline void fetchPiece(unsigned to, u64 const (&map)[16], unsigned, int column, int row)
{
    for (int i = 0; i < 16 * 64; ++i)
    {
        T const* const from = elementAt<T>(map, row + i / 64, column + i % 64);
        *pieceAt<T>(to, i) = from != nullptr ? *from : T{};
    }
}
static inline void storePiece(u64 const (&map)[16], unsigned slot, int column, int row)
{
    for (int i = 0; i < 16 * 64; ++i)
        if (Stored* const to = elementAt(map, row + i / 64, column + i % 64))
            *to = *pieceAt<Stored>(slot, i);
}
static inline void meetWarp() { __syncthreads(); }
static inline void waitBarrier(unsigned, unsigned) { __syncthreads(); }
template <int Pending> static inline void waitForStores() {}
static inline void publishPieces() {}
static inline void storeTwo(unsigned at, float a, float b)
{
    float const both[]{a, b};
    std::memcpy(sharedMemory + at, both, sizeof both);
}
static inline Pack<float, 2> loadTwo(unsigned at) { return *(Pack<float, 2> const*)(sharedMemory + at); }
static inline Pack<float, 4> loadQuad(unsigned at) { return *(Pack<float, 4> const*)(sharedMemory + at); }
static inline unsigned short loadShort(unsigned at) { return *(unsigned short const*)(sharedMemory + at); }
static inline void storeShort(unsigned at, unsigned short both) { *(unsigned short*)(sharedMemory + at) = both; }
static inline void loadFragments(unsigned (&to)[4], unsigned at) { loadMatrices(to, sharedMemory + at); }
static inline void storeFragments(unsigned at, unsigned const (&from)[4])
{
    static unsigned rows[1024];
    unsigned const t = threadIdx.x;
    rows[t] = at;
    __syncthreads();
    for (unsigned i = 0; i < 4; ++i)
        std::memcpy(sharedMemory + rows[t / 32 * 32 + i * 8 + t % 32 / 4] + t % 4 * 4, &from[i], 4);
    __syncthreads();
}
//! Of a tile that begins at row `first`.
static float rowNumber(LargeTilesParams const& p, int first, int row, int k)
{
    int const firstDepth = p.firstSteps * kDepth;
    if (HAS_SECOND && k >= firstDepth)
        return windowNumber<In, kDepth>(
            p.second, p.secondWalk, windowAt(p.secondWalk, first), row - first, k - firstDepth);
    return IS_WINDOWED ? windowNumber<In, kDepth>(p.a, p.walk, windowAt(p.walk, first), row - first, k)
                       : numberAt<In>(p.a, row, k);
}
static void multiplyTile(LargeTilesParams const& p, Place const& at, Sums& d)
{
    int const lane = threadIdx.x % 32;
    int const first = at.row + (TAKES_TURNS ? 0 : threadIdx.x / 128 * kGroupRows) + threadIdx.x % 128 / 32 * 16 + lane / 4;
    for (int m = 0; m < kPanels; ++m)
        for (int n = 0; n < BN / 8; ++n)
            for (int i = 0; i < 4; ++i)
            {
                int const row = first + m * 64 + i / 2 * 8;
                int const column = at.column + n * 8 + lane % 4 * 2 + i % 2;
                Sum sum = 0;
                for (int k = 0; k < p.steps * kDepth && row < (int)p.c[2] && column < p.columns; ++k)
                {
                    float const a = rowNumber(p, at.row, row, k);
                    sum += (Sum)a * (Sum)(IS_TURNED_B ? numberAt<In>(p.b, column, k) : numberAt<In>(p.b, k, column));
                }
                d[m][n][i] = sum;
            }
}
)"};

//! Pieces of results, and the tensor that they are finished with.
constexpr char kPiecesText[]{R"(
template <typename T>
static __device__ __forceinline__ void fetchPiece(
    unsigned to, u64 const (&map)[16], unsigned barrier, int column, int row)
{
    expectBytes(barrier, 16 * 64 * sizeof(T));
    fetch(to, map, barrier, column, row);
}
static __device__ __forceinline__ void storePiece(u64 const (&map)[16], unsigned slot, int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\n"
        "cp.async.bulk.commit_group;" :: "l"(map), "r"(slot), "r"(column), "r"(row) : "memory");
}
//! Until all of the thread's stores but so many have read their slots.
template <int Pending>
static __device__ __forceinline__ void waitForStores()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(Pending) : "memory");
}
//! What the warp has written is there for the copy engine.
static __device__ __forceinline__ void publishPieces()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static __device__ __forceinline__ void meetWarp() { __syncwarp(); }
static __device__ __forceinline__ void storeTwo(unsigned at, float a, float b)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" :: "r"(at), "f"(a), "f"(b) : "memory");
}
static __device__ __forceinline__ Pack<float, 2> loadTwo(unsigned at)
{
    Pack<float, 2> both;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(both.v[0]), "=f"(both.v[1]) : "r"(at));
    return both;
}
static __device__ __forceinline__ Pack<float, 4> loadQuad(unsigned at)
{
    Pack<float, 4> all;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
        : "=f"(all.v[0]), "=f"(all.v[1]), "=f"(all.v[2]), "=f"(all.v[3]) : "r"(at));
    return all;
}
static __device__ __forceinline__ unsigned short loadShort(unsigned at)
{
    unsigned short both;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(both) : "r"(at) : "memory");
    return both;
}
static __device__ __forceinline__ void storeShort(unsigned at, unsigned short both)
{
    asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "h"(both) : "memory");
}
static __device__ __forceinline__ void loadFragments(unsigned (&to)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}
static __device__ __forceinline__ void storeFragments(unsigned at, unsigned const (&from)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(at), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]));
}
)"};

//! Both ends of the ring of stages. A stage is full when its bytes are there, and empty when every warp that multiplies
//! it has done so.
constexpr char kRingText[]{R"(
struct Ring
{
    unsigned stages, full, empty; // Addresses.
};

//! Where windows of a tile's first row begin.
struct Windows
{
    WindowAt own, second;
};

static __device__ __forceinline__ void fetchStage(
    LargeTilesParams const& p, Place const& at, Windows const& windows, unsigned to, unsigned barrier, int step)
{
    int const depth = step * kDepth;
    expectBytes(barrier, kStageBytes);
    if (HAS_SECOND && step >= p.firstSteps)
        fetchWindows<kDepth>(to, p.second, barrier, p.secondWalk, windows.second, step - p.firstSteps);
    else if (IS_WINDOWED)
        fetchWindows<kDepth>(to, p.a, barrier, p.walk, windows.own, step);
    else
        fetch(to, p.a, barrier, depth, at.row);
    if (IS_TURNED_B)
        return fetch(to + kBytesOfA, p.b, barrier, depth, at.column);
#pragma unroll
    for (int j = 0; j < kAcross; ++j)
        fetch(to + kBytesOfA + j * 8192, p.b, barrier, at.column + j * 64, depth);
}

//! One thread's work: all stages of all tiles of the block.
static __device__ __forceinline__ void fetchTiles(
    LargeTilesParams const& p, Ring const& ring, int first, int stride)
{
    int stage = 0;
    unsigned parity = 1;
    for (int tile = first; tile < p.tiles; tile += stride)
    {
        Place const at = placeOf(p, tile);
        Windows const windows{IS_WINDOWED ? windowAt(p.walk, at.row) : WindowAt{},
            HAS_SECOND ? windowAt(p.secondWalk, at.row) : WindowAt{}};
        for (int step = 0; step < p.steps; ++step)
        {
            waitBarrier(ring.empty + stage * 8, parity);
            fetchStage(p, at, windows, ring.stages + stage * kStageBytes, ring.full + stage * 8, step);
            if (++stage == STAGES)
            {
                stage = 0;
                parity ^= 1;
            }
        }
    }
}

static __device__ __forceinline__ void release(Ring const& ring, int stage)
{
    if (threadIdx.x % 32 == 0)
        arrive(ring.empty + stage * 8);
}

//! Named barriers of two warpgroups: the one that is on turn waits, the other arrives when it has begun all products.
static __device__ __forceinline__ void awaitTurn(int group)
{
    if (TAKES_TURNS)
        asm volatile("bar.sync %0, 256;" :: "r"(2 + group) : "memory");
}
static __device__ __forceinline__ void giveTurn(int group, bool isThere)
{
    if (TAKES_TURNS && isThere)
        asm volatile("bar.arrive %0, 256;" :: "r"(2 + group) : "memory");
}

//! Sums of a tile whose first stage is number `position` of the ring's; `isLast`: no tile follows.
static __device__ __forceinline__ void multiplyTile(
    LargeTilesParams const& p, Ring const& ring, int group, unsigned position, bool isLast, Sums& d)
{
    awaitTurn(group);
    int stage = position % STAGES, before = 0;
    unsigned parity = position / STAGES % 2;
#pragma unroll 1
    for (int step = 0; step < p.steps; ++step)
    {
        waitBarrier(ring.full + stage * 8, parity);
        unsigned const at = ring.stages + stage * kStageBytes;
        u64 const a = operandAt<ROW_BYTES>(at + (TAKES_TURNS ? 0 : group * kGroupRows * ROW_BYTES), false);
        u64 const b = operandAt<ROW_BYTES>(at + kBytesOfA, !IS_TURNED_B);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < ROW_BYTES / 32; ++i)
#pragma unroll
            for (int m = 0; m < kPanels; ++m)
                addProducts(d[m], a + m * (64 * ROW_BYTES >> 4) + i * 2, b + i * (IS_TURNED_B ? 2 : 2048 >> 4), step + i);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (step > 0)
        {
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            release(ring, before);
        }
        before = stage;
        if (++stage == STAGES)
        {
            stage = 0;
            parity ^= 1;
        }
    }
    giveTurn(group ^ 1, !isLast);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int m = 0; m < kPanels; ++m)
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) // Nothing reads sums before they are there.
            asm volatile("" : SUM_OPERAND(d[m][j][0]), SUM_OPERAND(d[m][j][1]), SUM_OPERAND(d[m][j][2]),
                SUM_OPERAND(d[m][j][3]) :: "memory");
    release(ring, before);
}
)"};

//! What is the same on the fake device: results of a warp, in pieces of 16 rows and 64 columns.
constexpr char kLargeFinishText[]{R"(
//! Of a warp: where its slots and the bias of its columns are, barriers of what is fetched into slots, and how many
//! tiles it has finished.
struct Slots
{
    unsigned at, bias, barriers;
    int tiles;
};

//! The bias of a tile's columns, before the products begin: addresses of its own would take registers from the sums. In
//! front of it each column's scale, where there are some.
static __device__ __forceinline__ void fetchBias(LargeTilesParams const& p, Slots const& slots, int column0)
{
    if (!HAS_BIAS && !IS_SCALED)
        return;
#pragma unroll
    for (int i = 0; i < kAcross; ++i)
    {
        int const column = i * 64 + threadIdx.x % 32 * 2, own = column0 + column;
        bool const isThere = own < p.columns;
        Pack<Bias, 2> both{};
        if (HAS_BIAS && isThere)
            both = *(Pack<Bias, 2> const*)((Bias const*)p.bias + own);
        if (!IS_SCALED)
        {
            storeTwo(slots.bias + column * 4, widen(both.v[0]), widen(both.v[1]));
            continue;
        }
        float const* const scales = (float const*)p.scales;
        float const first = isThere ? scales[own * p.scaleStep] : 0.0f;
        float const second = isThere ? scales[(own + 1) * p.scaleStep] : 0.0f;
        storeTwo(slots.bias + column * 8, first * p.alpha, widen(both.v[0]) * p.biasFactor);
        storeTwo(slots.bias + column * 8 + 8, second * p.alpha, widen(both.v[1]) * p.biasFactor);
    }
    meetWarp();
}

static __device__ __forceinline__ void fetchExtra(
    LargeTilesParams const& p, Slots const& slots, Place const& at, int piece)
{
    int const slot = piece % SLOTS, row = at.row + piece / kAcross * 64;
    fetchPiece<Extra>(slots.at + slot * kSlotBytes + kExtraAt, p.extra, slots.barriers + slot * 8,
        at.column + piece % kAcross * 64, REPEATS_EXTRA ? row % p.extraRows : row);
}

//! The first tensors of a tile that it will be finished with.
static __device__ __forceinline__ void fetchExtras(LargeTilesParams const& p, Slots const& slots, Place const& at)
{
    if (!HAS_EXTRA || threadIdx.x % 32 != 0)
        return;
    waitForStores<0>();
#pragma unroll
    for (int i = 0; i < SLOTS; ++i)
        fetchExtra(p, slots, at, i);
}

//! Between 2^23 and 2^24 the last bits of a float are a whole number: conversions by additions, and no slower ones.
//! The last byte is x, rounded half to even, within int8; 0 where it is no number.
static __device__ __forceinline__ unsigned roundedBits(float x)
{
    constexpr float kLeast = IS_FROM_ZERO ? 0.0f : -128.0f;
    return ARE_NUMBERS || x == x ? toBits(fminf(fmaxf(x, kLeast), 127.0f) + 12582912.0f) : 0u;
}
#ifdef TENON_EMULATED
static inline unsigned bytesOf(float low, float high, signed char)
{
    return (roundedBits(low) & 255u) | (roundedBits(high) & 255u) << 8;
}
static inline unsigned bytesOf(float low, float high, Fp8)
{
    Fp8 a, b;
    put(a, low);
    put(b, high);
    return a.bits | (unsigned)b.bits << 8;
}
static inline void realsOf(unsigned both, float& low, float& high, signed char)
{
    low = (float)(signed char)(both & 255u);
    high = (float)(signed char)(both >> 8);
}
static inline void realsOf(unsigned both, float& low, float& high, Fp8)
{
    low = widen(Fp8{(unsigned char)(both & 255u)});
    high = widen(Fp8{(unsigned char)(both >> 8)});
}
#else
static __device__ __forceinline__ unsigned bytesOf(float low, float high, signed char)
{
    return __byte_perm(roundedBits(low), roundedBits(high), 0x0040);
}
static __device__ __forceinline__ unsigned bytesOf(float low, float high, Fp8)
{
    unsigned short both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
}
static __device__ __forceinline__ void realsOf(unsigned both, float& low, float& high, signed char)
{
    unsigned const bits = both ^ 0x8080u; // From 0 to 255.
    low = fromBits(__byte_perm(bits, 0x4B000000u, 0x7650)) - 8388736.0f;
    high = fromBits(__byte_perm(bits, 0x4B000000u, 0x7651)) - 8388736.0f;
}
static __device__ __forceinline__ void realsOf(unsigned both, float& low, float& high, Fp8)
{
    unsigned pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)both));
    low = widen(Half{(unsigned short)pair});
    high = widen(Half{(unsigned short)(pair >> 16)});
}
#endif

//! Sixteen columns of a warp's rows, from there on: v[4h + 2r + i] is row g + 8r, column 8h + 2t + i.
template <typename T>
static __device__ __forceinline__ void loadExtra(unsigned piece, int column, float factor, float (&v)[8])
{
    int const lane = threadIdx.x % 32;
    if constexpr (sizeof(T) == 2)
    {
        unsigned pairs[4];
        loadFragments(pairs, piece + placeInPiece(2, lane % 16, column + lane / 16 * 8));
#pragma unroll
        for (int i = 0; i < 8; ++i)
            v[i] = widen(T{(unsigned short)(pairs[i / 2] >> i % 2 * 16)}) * (IS_FOLDED ? factor : 1.0f);
    }
    else
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
        {
            unsigned const at = placeInPiece(1, lane / 4 + i % 2 * 8, column + i / 2 * 8 + lane % 4 * 2);
            realsOf(loadShort(piece + at), v[i * 2], v[i * 2 + 1], T{});
            v[i * 2] *= factor;
            v[i * 2 + 1] *= factor;
        }
    }
}

template <typename T>
static __device__ __forceinline__ void storeResults(unsigned piece, int column, float const (&v)[8])
{
    int const lane = threadIdx.x % 32;
    if constexpr (sizeof(T) == 2)
    {
        unsigned results[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            results[i] = pairOf(v[i * 2], v[i * 2 + 1], T{});
        storeFragments(piece + placeInPiece(2, lane % 16, column + lane / 16 * 8), results);
    }
    else
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            storeShort(piece + placeInPiece(1, lane / 4 + i % 2 * 8, column + i / 2 * 8 + lane % 4 * 2),
                (unsigned short)bytesOf(v[i * 2], v[i * 2 + 1], T{}));
    }
}

//! The same of sums; `bias`: where that of the thread's first columns is.
static __device__ __forceinline__ void finishFragment(
    LargeTilesParams const& p, Sum const (&low)[4], Sum const (&high)[4], unsigned bias, float const (&extra)[8], float (&v)[8])
{
#pragma unroll
    for (int h = 0; h < 2; ++h)
    {
        float scales[2]{p.alpha, p.alpha}, terms[2]{};
        if constexpr (IS_SCALED)
        {
            Pack<float, 4> const all = loadQuad(bias + h * 64);
            scales[0] = all.v[0], terms[0] = all.v[1], scales[1] = all.v[2], terms[1] = all.v[3];
        }
        else if constexpr (HAS_BIAS)
        {
            Pack<float, 2> const both = loadTwo(bias + h * 32);
            terms[0] = both.v[0], terms[1] = both.v[1];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
            v[h * 4 + i] = fmaf((float)(h == 0 ? low[i] : high[i]), scales[i % 2], terms[i % 2]);
    }
    applyEpilogue(v, extra);
    if (IS_ROUNDED && !IS_FOLDED)
#pragma unroll
        for (int i = 0; i < 8; ++i)
            v[i] *= p.outFactor;
}

static __device__ __forceinline__ void finishTile(
    LargeTilesParams const& p, Sums const& d, Slots const& slots, Place const& at)
{
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece)
    {
        int const slot = piece % SLOTS, c = piece % kAcross;
        if (HAS_EXTRA)
            waitBarrier(slots.barriers + slot * 8, (slots.tiles * (kPieces / SLOTS) + piece / SLOTS) % 2);
        else
        {
            if (lane == 0)
                waitForStores<SLOTS - 1>();
            meetWarp();
        }
        unsigned const at0 = slots.at + slot * kSlotBytes;
#pragma unroll
        for (int j = 0; j < 4; ++j)
        {
            float extra[8] = {}, v[8];
            if (HAS_EXTRA)
                loadExtra<Extra>(at0 + kExtraAt, j * 16, p.extraFactor, extra);
            int const n = c * 8 + j * 2;
            finishFragment(p, d[piece / kAcross][n], d[piece / kAcross][n + 1],
                slots.bias + (n * 8 + lane % 4 * 2) * (IS_SCALED ? 8 : 4), extra, v);
            storeResults<Stored>(at0, j * 16, v);
        }
        publishPieces();
        meetWarp();
        if (lane != 0)
            continue;
        storePiece(p.c, slots.at + slot * kSlotBytes, at.column + c * 64, at.row + piece / kAcross * 64);
        if (HAS_EXTRA && piece > 0 && piece - 1 + SLOTS < kPieces)
        {
            waitForStores<1>(); // The slot of the piece before is free again.
            fetchExtra(p, slots, at, piece - 1 + SLOTS);
        }
    }
}

#ifdef TENON_EMULATED
TENON_KERNEL(largeTiles, LargeTilesParams)
{
    int const group = threadIdx.x / 128;
    if (group == 2)
        return;
    unsigned const warp = threadIdx.x / 32;
    Slots slots{warp * SLOTS * kSlotBytes, kBiases + warp * kBiasBytes, 0, 0};
    int const warpRow = (TAKES_TURNS ? 0 : group * kGroupRows) + threadIdx.x % 128 / 32 * 16;
    for (int tile = blockIdx.x + (TAKES_TURNS ? group * gridDim.x : 0); tile < p.tiles;
         tile += TAKES_TURNS ? 2 * gridDim.x : gridDim.x)
    {
        Place at = placeOf(p, tile);
        Sums d;
        multiplyTile(p, at, d);
        at.row += warpRow;
        fetchExtras(p, slots, at);
        fetchBias(p, slots, at.column);
        finishTile(p, d, slots, at);
        ++slots.tiles;
    }
}
#else
//! What a warpgroup multiplies and finishes: every tile of the block, or every other one.
static __device__ __forceinline__ void finishTiles(
    LargeTilesParams const& p, Ring const& ring, Slots slots, int group, int first, int stride)
{
    int const warpRow = (TAKES_TURNS ? 0 : group * kGroupRows) + threadIdx.x % 128 / 32 * 16;
    constexpr int kTurns = TAKES_TURNS ? 2 : 1;
    unsigned position = TAKES_TURNS ? group * p.steps : 0;
    giveTurn(0, group == 1 && first < p.tiles);
#pragma unroll 1
    for (int tile = first + (TAKES_TURNS ? group * stride : 0); tile < p.tiles; tile += kTurns * stride)
    {
        Place at = placeOf(p, tile);
        at.row += warpRow;
        fetchExtras(p, slots, at);
        fetchBias(p, slots, at.column);
        Sums d;
        multiplyTile(p, ring, group, position, tile + stride >= p.tiles, d);
        position += kTurns * p.steps;
        finishTile(p, d, slots, at);
        ++slots.tiles;
    }
    if (threadIdx.x % 32 == 0)
        waitForStores<0>(); // They read the shared memory, which is gone with the block.
}

//! Whether the run goes on: one thread of the block asks, as the host may say stop at any time.
static __device__ __forceinline__ bool begin(LargeTilesParams const& p, Ring const& ring, unsigned extras)
{
    bool isStopped = false;
    if (threadIdx.x == 0)
    {
        isStopped = p.stop != nullptr && *p.stop != 0;
        for (int i = 0; i < STAGES; ++i)
        {
            initBarrier(ring.full + i * 8, 1);
            initBarrier(ring.empty + i * 8, TAKES_TURNS ? 4 : 8); // Warps.
        }
        for (int i = 0; i < 8 * SLOTS; ++i)
            initBarrier(extras + i * 8, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // For the copy engine, too.
    }
    return __syncthreads_or(isStopped) == 0;
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) largeTiles(__grid_constant__ LargeTilesParams const p)
{
    unsigned const stages = (sharedAddress(sharedMemory) + 1023u) / 1024u * 1024u;
    unsigned const pieces = stages + STAGES * kStageBytes;
    unsigned const biases = pieces + 8 * SLOTS * kSlotBytes;
    unsigned const barriers = biases + 8 * kBiasBytes;
    Ring const ring{stages, barriers, barriers + STAGES * 8};
    unsigned const extras = barriers + STAGES * 16;
    int const warp = threadIdx.x / 32;
    int const group = __shfl_sync(0xFFFFFFFFu, warp / 4, 0); // The compiler knows that a warp goes one way.
    letNextBegin();
    bool const goesOn = begin(p, ring, extras);
    awaitFormer();
    if (!goesOn)
        return;
    if (group == 2)
    {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 256)
            fetchTiles(p, ring, blockIdx.x, gridDim.x);
    }
    else
    {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        finishTiles(p, ring,
            {pieces + warp * SLOTS * kSlotBytes, biases + warp * kBiasBytes, extras + warp * SLOTS * 8, 0}, group,
            blockIdx.x, gridDim.x);
    }
}
#endif
)"};

//! Other GPUs are not offered this kernel.
constexpr char kElsewhereText[]{R"(
extern "C" __global__ void largeTiles(LargeTilesParams const) { asm volatile("trap;"); }
)"};

//! x · Φ(x), where Φ(x) = 1 / (1 + exp(−x · q(x²))): 6e-4 of results from 2^-14 on away at most, absolute 1e-4.
//! Steps of all numbers together, so that none waits for the one before. Beyond the numbers that q was made for it
//! falls on and on, so that Φ becomes 0 or 1 of itself. Two numbers have one reciprocal, that of their product, as the
//! unit that makes these and powers is what the kernel waits for; powers end where such products are still numbers.
constexpr char kGeluText[]{R"(
template <int N>
static __device__ __forceinline__ void gelusOf(float (&x)[N])
{
    constexpr float kMostPower = 60.0f;
    constexpr float q[]{-4.258774e-7f, 5.9547874e-6f, 1.1509622e-3f, -1.0802771e-1f, -2.2993016f};
    float u[N], y[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        u[i] = x[i] * x[i];
#pragma unroll
    for (int i = 0; i < N; ++i)
        y[i] = q[0];
#pragma unroll
    for (int k = 1; k < 5; ++k)
#pragma unroll
        for (int i = 0; i < N; ++i)
            y[i] = fmaf(y[i], u[i], q[k]);
#pragma unroll
    for (int i = 0; i < N; ++i)
        y[i] = powerOfTwo(fminf(y[i] * x[i], kMostPower)) + 1.0f;
#pragma unroll
    for (int i = 0; i < N; i += 2)
    {
        float const inverse = inverseOf(y[i] * y[i + 1]);
        x[i] *= inverse * y[i + 1];
        x[i + 1] *= inverse * y[i];
    }
}
)"};

//! The same where extras are pairs of the results' type.
constexpr char kPairsText[]{R"(
template <typename T = Stored>
static __device__ __forceinline__ void applyEpilogue(float (&v)[8], unsigned const (&pairs)[4])
{
    float extra[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
        extra[i] = widen(T{(unsigned short)(pairs[i / 2] >> i % 2 * 16)});
    applyEpilogue(v, extra);
}
)"};
} // namespace

Result<std::string> largeEpilogueText(Epilogue const& epilogue)
{
    std::string functions = kGeluText;
    std::string calls;
    for (size_t i = 0; i < epilogue.steps.size(); ++i)
    {
        EpilogueStep const& step = epilogue.steps[i];
        if (step.kind == EpilogueKind::kGeluErf)
        {
            calls += "    gelusOf(v);\n";
            continue;
        }
        TensorType const real{DType::kFLOAT, {}};
        std::array const reals{&real, &real};
        Tape const tape =
            TENON_TRY(makeTape(Epilogue::body(step, Expr::input(0), Expr::input(1)), {reals.begin(), reals.end()}));
        functions +=
            TENON_TRY(printFunction(fmt::format("step{}", i), tape, std::vector(reals.size(), TapeKind::kReal)));
        calls +=
            fmt::format("#pragma unroll\n    for (int i = 0; i < 8; ++i)\n        v[i] = step{}(v[i], extra[i]);\n", i);
    }
    return functions
        + "static __device__ __forceinline__ void applyEpilogue(float (&v)[8], float const (&extra)[8])\n{\n" + calls
        + "}\n" + kPairsText;
}

int LargeTilesForm::fixedBytes() const noexcept
{
    constexpr int kWarps{8};
    constexpr int kAlignment{1024};
    constexpr int kBarriers{1024};
    int const elements = LargeTile::kSlotRows * LargeTile::kSlotColumns;
    int const result = isByte(type) ? 1 : 2;
    int const other = !hasExtra || isByte(extra) == isByte(type) ? 0 : isByte(extra) ? 1 : 2;
    int const bias = tile.columns * (isScaled() ? 8 : 4);
    return kWarps * (tile.slots * elements * (result + other) + bias) + kBarriers + kAlignment;
}

int LargeTilesForm::stages() const noexcept
{
    constexpr int kShared{227 * 1024};
    constexpr int kMost{16}; // For whose barriers there is room.
    return std::min((kShared - fixedBytes()) / stageBytes(), kMost);
}

std::string largeTilesText(LargeTilesForm const& form)
{
    LargeTile const& tile = form.tile;
    std::string text = functionsFor(std::array{DType::kHALF}) + kWindowWalkText + kLargeTilesParamsText;
    text += fmt::format("typedef {} In;\ntypedef {} Sum;\ntypedef {} Stored;\ntypedef {} Extra;\ntypedef {} Bias;\n"
                        "#define SUM_OPERAND(x) \"+{}\"(x)\n",
        form.in, form.in == "signed char" ? "int" : "float", form.type, form.extra, form.bias,
        form.in == "signed char" ? 'r' : 'f');
    text += fmt::format("constexpr int BM = {}, BN = {}, STAGES = {}, SLOTS = {}, ROW_BYTES = {};\n"
                        "constexpr bool TAKES_TURNS = {}, IS_TURNED_B = {}, HAS_BIAS = {}, HAS_EXTRA = {}, "
                        "IS_WINDOWED = {}, HAS_SECOND = {}, IS_SCALED = {}, REPEATS_EXTRA = {};\n"
                        "constexpr bool IS_ROUNDED = {}, IS_FOLDED = {}, IS_FROM_ZERO = {}, ARE_NUMBERS = {};\n",
        tile.rows, tile.columns, form.stages(), tile.slots, form.rowBytes, tile.takesTurns, form.isTurnedB,
        form.hasBias, form.hasExtra, form.isWindowed, form.hasSecond, form.isScaled(), form.repeatsExtra,
        LargeTilesForm::isByte(form.type), form.rounding.isFolded, form.rounding.isFromZero, form.rounding.areNumbers);
    text += matrixText();
    text += fmt::format("#if defined(TENON_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)\n{}#ifdef TENON_EMULATED\n"
                        "{}#else\n{}{}{}#endif\n{}{}#else\n{}#endif\n",
        kMeasuresText + std::string{copyEngineText()} + std::string{windowWalkText()}, kEmulatedText,
        warpgroupProductText(form.in, tile.columns, form.isTurnedB), kPiecesText, kRingText, form.epilogue,
        kLargeFinishText, kElsewhereText);
    return wholeText(text);
}

} // namespace tenon::cuda
