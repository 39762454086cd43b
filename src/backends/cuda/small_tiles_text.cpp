// SmallTilesText: tiles by mma.sync, operands through shared memory in many stages, sums through the shared memory of
// a cluster.
#include "backends/cuda/small_tiles_text.h"

#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/matrix_text.h"

#include <array>

namespace tenon::cuda
{

namespace
{
//! Where parts of a tile's sums are. Without a GPU blocks run one after the other: the last one finishes all rows.
constexpr char kPartsText[]{R"(
constexpr int BN = 64, BK = 64;
constexpr int kPitch = BN + 4; // Rows of sums begin in different banks.
constexpr int kGateBytes = IS_GATED ? GATE_ROWS * BK * 2 : 0;
constexpr int kStageBytes = (BM + BN) * BK * 2 + kGateBytes;
#ifdef TENON_EMULATED
#define SMALL_TILES_KERNEL TENON_KERNEL(smallTiles, SmallTilesParams)
static Pack<u64, 2> sharedMemory[227 * 1024 / 16];
static float sumsOfParts[PARTS][BM * kPitch];
static inline unsigned char* sharedStart() { return (unsigned char*)(((u64)sharedMemory + 127) / 128 * 128); }
static inline float* ownSums(unsigned char*, int part) { return sumsOfParts[part]; }
static inline Pack<float, 4> sumsAt(float const* own, int part, int at)
{
    return *(Pack<float, 4> const*)(sumsOfParts[part] + at);
}
static inline void meetParts() { __syncthreads(); }
static inline int firstRowOf(int part) { return part == PARTS - 1 ? 0 : BM; }
static inline int endRowOf(int) { return BM; }
#else
#if __CUDA_ARCH__ >= 900
#define TENON_CLUSTER __cluster_dims__(PARTS, 1, 1)
#else
#define TENON_CLUSTER
#endif
//! The host may ask for a stop at any time, so that blocks of a cluster and threads of a block read different words. A
//! block whose threads agree may stop, but must stay until others of the cluster have read its shared memory.
#define SMALL_TILES_KERNEL                                                             \
    static __device__ __forceinline__ void smallTilesBody(SmallTilesParams const& p);  \
    extern "C" __global__ void TENON_CLUSTER __launch_bounds__(THREADS)                \
        smallTiles(SmallTilesParams const p)                                           \
    {                                                                                  \
        letNextBegin();                                                                \
        bool const isStopped = p.stop != nullptr && *p.stop != 0;                      \
        if (!anyOfBlock(isStopped))                                                    \
        {                                                                              \
            smallTilesBody(p);                                                         \
            return;                                                                    \
        }                                                                              \
        awaitFormer();                                                                 \
        if (PARTS > 1)                                                                 \
            standBy();                                                                 \
    }                                                                                  \
    static __device__ __forceinline__ void smallTilesBody(SmallTilesParams const& p)
extern __shared__ unsigned char sharedMemory[];
static __device__ __forceinline__ unsigned char* sharedStart()
{
    return sharedMemory + (128u - sharedAddress(sharedMemory) % 128u) % 128u;
}
static __device__ __forceinline__ float* ownSums(unsigned char* shared, int) { return (float*)shared; }
//! Four sums of another block of the cluster.
static __device__ __forceinline__ Pack<float, 4> sumsAt(float const* own, int part, int at)
{
#if __CUDA_ARCH__ >= 900
    if (PARTS > 1)
    {
        unsigned there;
        Pack<float, 4> sums;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(sharedAddress(own + at)), "r"(part));
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(sums.v[0]), "=f"(sums.v[1]), "=f"(sums.v[2]), "=f"(sums.v[3]) : "r"(there) : "memory");
        return sums;
    }
#endif
    return *(Pack<float, 4> const*)(own + at);
}
static __device__ __forceinline__ void meetParts()
{
#if __CUDA_ARCH__ >= 900
    if (PARTS > 1)
    {
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}
static __device__ __forceinline__ bool anyOfBlock(bool own) { return PARTS > 1 ? __syncthreads_or(own) != 0 : own; }
//! As often as a block that works: what others read meanwhile is a stopped run's.
static __device__ __forceinline__ void standBy()
{
    meetParts();
    meetParts();
}
static __device__ __forceinline__ int firstRowOf(int part) { return BM / PARTS * part; }
static __device__ __forceinline__ int endRowOf(int part) { return BM / PARTS * (part + 1); }
#endif
)"};

//! Tiles of rows of 64 elements, whose eight pieces of 16 bytes are exchanged by the row's number.
constexpr char kSmallTilesText[]{R"(
static __device__ __forceinline__ int pieceAt(int row, int piece) { return row * BK + (piece ^ row % 8) * 8; }

//! Rows of `wide` elements that lie `pitch` apart, of which `count` are there, from element `first` on.
static __device__ __forceinline__ void copyRows(
    Stored* to, Stored const* from, int rows, int count, int wide, int first, int pitch, int isWide)
{
    for (int i = (int)threadIdx.x; i < rows * 8; i += THREADS)
    {
        int const row = i / 8;
        int const at = first + i % 8 * 8;
        Stored* const piece = to + pieceAt(row, i % 8);
        Stored const* const x = from + (i64)row * pitch + at;
        bool const isThere = row < count && at < wide;
        if (isWide)
        {
            copyAsync(piece, isThere ? x : from, isThere);
            continue;
        }
        Pack<Stored, 8> pack;
        for (int k = 0; k < 8; ++k)
            pack.v[k] = isThere && at + k < wide ? x[k] : Stored{};
        *(Pack<Stored, 8>*)piece = pack;
    }
}

//! The rows of a tile of which a thread copies pieces: the same piece of each.
constexpr int kRowsOfThread = BM * 8 / THREADS;
struct LeftRows
{
#if IS_WINDOWED
    i64 at[kRowsOfThread]; // Of the window's first pixel, which may lie beside the image.
    int y[kRowsOfThread], x[kRowsOfThread];
#endif
};
static __device__ __forceinline__ LeftRows leftRowsOf(SmallTilesParams const& p, int row0)
{
    LeftRows rows;
#if IS_WINDOWED
    SmallWindow const& w = p.window;
#pragma unroll
    for (int n = 0; n < kRowsOfThread; ++n)
    {
        int const row = row0 + ((int)threadIdx.x + n * THREADS) / 8;
        int const line = row / w.outWidth;
        int const image = line / w.outHeight;
        rows.x[n] = row % w.outWidth * w.strideX - w.padX;
        rows.y[n] = row < p.rows ? line % w.outHeight * w.strideY - w.padY : -(1 << 30);
        rows.at[n] = (((i64)image * w.height + rows.y[n]) * w.width + rows.x[n]) * w.channels;
    }
#endif
    return rows;
}
#if IS_WINDOWED
//! Depth goes through the channels of each pixel of the window; pixels beside the image are zeros.
static __device__ __forceinline__ void copyWindows(
    Stored* to, SmallTilesParams const& p, LeftRows const& rows, int first)
{
    SmallWindow const& w = p.window;
    int const at = first + (int)threadIdx.x % 8 * 8;
    int const tap = at / w.channels;
    int const dy = tap / w.kernelX * w.dilationY;
    int const dx = tap % w.kernelX * w.dilationX;
    Stored const* const x = (Stored const*)p.a + ((i64)dy * w.width + dx) * w.channels + at % w.channels;
#pragma unroll
    for (int n = 0; n < kRowsOfThread; ++n)
    {
        int const row = ((int)threadIdx.x + n * THREADS) / 8;
        Stored* const piece = to + pieceAt(row, (int)threadIdx.x % 8);
        bool const isThere = at < p.depth && (unsigned)(rows.y[n] + dy) < (unsigned)w.height
            && (unsigned)(rows.x[n] + dx) < (unsigned)w.width;
        Stored const* const from = isThere ? x + rows.at[n] : (Stored const*)p.a;
        if (p.isWideA)
        {
            copyAsync(piece, from, isThere);
            continue;
        }
        Pack<Stored, 8> pack = {};
        for (int k = 0; k < 8; ++k)
            if (isThere)
                pack.v[k] = from[k];
        *(Pack<Stored, 8>*)piece = pack;
    }
}
#endif

struct TilePlace
{
    Stored const* a;
    Stored const* b;
    int row0, column0;
};

#if IS_GATED
//! Factors of the images of a tile's rows, GATE_ROWS of them at most.
static __device__ __forceinline__ void copyGates(
    SmallTilesParams const& p, TilePlace const& tile, unsigned char* stage, int step)
{
    if (threadIdx.x >= GATE_ROWS * 8)
        return;
    int const row = (int)threadIdx.x / 8;
    int const image = tile.row0 / p.pixels + row;
    int const at = step * BK + (int)threadIdx.x % 8 * 8;
    bool const isThere = (i64)image * p.pixels < p.rows && at < p.depth;
    Stored const* const from = (Stored const*)p.gate + (isThere ? image * p.gateOfImage + at : 0);
    Stored* const to = (Stored*)(stage + (BM + BN) * BK * 2) + (int)threadIdx.x * 8;
    if (p.isWideGate)
    {
        copyAsync(to, from, isThere);
        return;
    }
    Pack<Stored, 8> pack;
    for (int k = 0; k < 8; ++k)
        pack.v[k] = isThere && at + k < p.depth ? from[k] : Stored{};
    *(Pack<Stored, 8>*)to = pack;
}
#endif
//! Where the factors of the rows of a thread's fragments begin, in elements of a stage's.
struct GateRows
{
#if IS_GATED
    int at[BM / WARPS_DOWN / 16][2];
#endif
};
static __device__ __forceinline__ GateRows gateRowsOf(SmallTilesParams const& p, TilePlace const& tile, int warpRow)
{
    GateRows rows;
#if IS_GATED
#pragma unroll
    for (int i = 0; i < BM / WARPS_DOWN / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            int const row = tile.row0 + warpRow + i * 16 + half * 8 + (int)threadIdx.x % 32 / 4;
            rows.at[i][half] = ((row < p.rows ? row : p.rows - 1) / p.pixels - tile.row0 / p.pixels) * BK;
        }
#endif
    return rows;
}

static __device__ __forceinline__ void copyLeft(
    SmallTilesParams const& p, TilePlace const& tile, LeftRows const& rows, unsigned char* stage, int step)
{
#if IS_WINDOWED
    copyWindows((Stored*)stage, p, rows, step * BK);
#else
    copyRows((Stored*)stage, tile.a, BM, p.rows - tile.row0, p.depth, step * BK, p.depth, p.isWideA);
#endif
#if IS_GATED
    copyGates(p, tile, stage, step);
#endif
}
static __device__ __forceinline__ void copyRight(
    SmallTilesParams const& p, TilePlace const& tile, unsigned char* stage, int step)
{
    Stored* const b = (Stored*)stage + BM * BK;
    int const k0 = step * BK;
    if (IS_TURNED_B)
        copyRows(b, tile.b, BN, p.columns - tile.column0, p.depth, k0, p.depth, p.isWideB);
    else
        copyRows(b, tile.b + (i64)k0 * p.columns, BK, p.depth - k0, p.columns, tile.column0, p.columns, p.isWideB);
}

constexpr int kDown = BM / WARPS_DOWN / 16;      // Of a warp, in sixteens.
constexpr int kAcross = BN / WARPS_ACROSS / 16;

//! The products of one stage. Lanes point at the rows of four 8 by 8 matrices, in the order of the fragments.
static __device__ __forceinline__ void multiplyStage(
    float (&d)[kDown][kAcross * 2][4], unsigned char const* stage, int warpRow, int warpColumn, GateRows const& gates)
{
    Stored const* const a = (Stored const*)stage;
    Stored const* const b = a + BM * BK;
    int const lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < BK / 16; ++k)
    {
        unsigned left[kDown][4];
        unsigned right[kAcross][4];
#pragma unroll
        for (int i = 0; i < kDown; ++i)
            loadMatrices(left[i], a + pieceAt(warpRow + i * 16 + lane % 16, k * 2 + lane / 16));
#if IS_GATED
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
            for (int n = 0; n < 4; ++n) // Rows eight below are the odd ones; the second two are eight further in depth.
            {
                Stored const* const gate = b + BN * BK + gates.at[i][n % 2] + k * 16 + n / 2 * 8 + lane % 4 * 2;
                left[i][n] = timesPair(left[i][n], *(unsigned const*)gate, Stored{});
            }
#endif
#pragma unroll
        for (int j = 0; j < kAcross; ++j)
        {
            int const column = warpColumn + j * 16;
            if (IS_TURNED_B)
                loadMatrices(right[j], b + pieceAt(column + lane / 16 * 8 + lane % 8, k * 2 + lane / 8 % 2));
            else
                loadTurned(right[j], b + pieceAt(k * 16 + lane % 16, column / 8 + lane / 16));
        }
#pragma unroll
        for (int i = 0; i < kDown; ++i)
#pragma unroll
            for (int j = 0; j < kAcross; ++j)
            {
                multiplyAdd(d[i][j * 2], left[i], right[j][0], right[j][1], Stored{});
                multiplyAdd(d[i][j * 2 + 1], left[i], right[j][2], right[j][3], Stored{});
            }
    }
}

//! N neighbouring results of a row.
template <int N>
static __device__ __forceinline__ void finishSums(SmallTilesParams const& p, float (&v)[N], int column, i64 at)
{
    Pack<Stored, N> bias{};
    if (p.hasBias)
        bias = *(Pack<Stored, N> const*)((Stored const*)p.bias + column);
#pragma unroll
    for (int k = 0; k < N; ++k)
        v[k] = fmaf(v[k], p.alpha, p.hasBias ? widen(bias.v[k]) : 0.0f);
    applyEpilogue(p.extra, at, v);
    Pack<Stored, N> y;
#pragma unroll
    for (int k = 0; k < N; ++k)
        put(y.v[k], v[k]);
    *(Pack<Stored, N>*)((Stored*)p.c + at) = y;
}

//! A part's share of the rows, eight columns a thread.
static __device__ __forceinline__ void finishTile(
    SmallTilesParams const& p, float const* sums, TilePlace const& tile, int part)
{
    int const octet = (int)threadIdx.x % 8 * 8;
    int const column = tile.column0 + octet;
    i64 const start = (i64)blockIdx.z * p.cBatch + column;
    for (int r = firstRowOf(part) + (int)threadIdx.x / 8; r < endRowOf(part); r += THREADS / 8)
    {
        if (tile.row0 + r >= p.rows || column >= p.columns)
            continue;
        float v[8] = {};
#pragma unroll
        for (int from = 0; from < PARTS; ++from)
#pragma unroll
            for (int half = 0; half < 2; ++half)
            {
                Pack<float, 4> const four = sumsAt(sums, from, r * kPitch + octet + half * 4);
                for (int k = 0; k < 4; ++k)
                    v[half * 4 + k] += four.v[k];
            }
        i64 const at = start + (i64)(tile.row0 + r) * p.columns;
        if (p.isWideC)
        {
            finishSums<8>(p, v, column, at);
            continue;
        }
#pragma unroll
        for (int k = 0; k < 8; ++k)
            if (column + k < p.columns)
            {
                float one[1] = {v[k]};
                finishSums<1>(p, one, column + k, at + k);
            }
    }
}

SMALL_TILES_KERNEL
{
    unsigned char* const shared = sharedStart();
    int const part = (int)(blockIdx.x % PARTS);
    int const at = (int)(blockIdx.x / PARTS);
    TilePlace tile;
    tile.row0 = at % p.tilesDown * BM;
    tile.column0 = at / p.tilesDown * BN;
    tile.a = (Stored const*)p.a + (i64)blockIdx.z * p.aBatch + (i64)tile.row0 * p.depth;
    tile.b = (Stored const*)p.b + (i64)blockIdx.z * p.bBatch + (IS_TURNED_B ? (i64)tile.column0 * p.depth : 0);
    int const first = part * p.stepsOfPart;
    int const all = (p.depth + BK - 1) / BK;
    int const steps = (first + p.stepsOfPart < all ? first + p.stepsOfPart : all) - first;
    if (!p.isConstantB)
        awaitFormer();
#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step) // Weights are on their way while the former kernels end.
        if (step < steps)
            copyRight(p, tile, shared + step * kStageBytes, first + step);
    commitCopies();
    LeftRows const rows = leftRowsOf(p, tile.row0);
    awaitFormer();
#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step)
    {
        if (step < steps)
            copyLeft(p, tile, rows, shared + step * kStageBytes, first + step);
        commitCopies();
    }
    int const warp = (int)threadIdx.x / 32;
    int const warpRow = warp % WARPS_DOWN * (BM / WARPS_DOWN);
    int const warpColumn = warp / WARPS_DOWN * (BN / WARPS_ACROSS);
    GateRows const gates = gateRowsOf(p, tile, warpRow);
    float d[kDown][kAcross * 2][4] = {};
    int stage = 0, next = STAGES - 1;
    for (int step = 0; step < steps; ++step)
    {
        waitForCopies<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < steps)
        {
            copyLeft(p, tile, rows, shared + next * kStageBytes, first + step + STAGES - 1);
            copyRight(p, tile, shared + next * kStageBytes, first + step + STAGES - 1);
        }
        commitCopies();
        multiplyStage(d, shared + stage * kStageBytes, warpRow, warpColumn, gates);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        next = next + 1 == STAGES ? 0 : next + 1;
    }
    waitForCopies<0>();
    __syncthreads(); // Sums take the place of operands.
    float* const sums = ownSums(shared, part);
    int const lane = (int)threadIdx.x % 32;
    float* const mine = sums + (warpRow + lane / 4) * kPitch + warpColumn + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kDown; ++i)
#pragma unroll
        for (int j = 0; j < kAcross * 2; ++j)
        {
            float* const to = mine + i * 16 * kPitch + j * 8;
            *(Pack<float, 2>*)to = Pack<float, 2>{{d[i][j][0], d[i][j][1]}};
            *(Pack<float, 2>*)(to + 8 * kPitch) = Pack<float, 2>{{d[i][j][2], d[i][j][3]}};
        }
    meetParts();
    finishTile(p, sums, tile, part);
    if (PARTS > 1)
        meetParts(); // Until nobody reads these sums any more.
}
)"};
} // namespace

Result<std::string> wideEpilogueText(Epilogue const& epilogue)
{
    auto const extras = static_cast<size_t>(epilogue.extraInputs());
    std::string text = TENON_TRY(epilogueExpression(epilogue));
    std::string operands;
    text += "template <int N>\nstatic __device__ __forceinline__ void applyEpilogue(\n"
            "    void const* const (&extra)[4], i64 at, float (&v)[N])\n{\n";
    for (size_t i = 0; i < extras; ++i)
    {
        text += fmt::format(
            "    Pack<Stored, N> const e{0} = *(Pack<Stored, N> const*)((Stored const*)extra[{0}] + at);\n", i);
        operands += fmt::format(", widen(e{}.v[k])", i);
    }
    return text + "#pragma unroll\n    for (int k = 0; k < N; ++k)\n        v[k] = epilogue(v[k]" + operands
        + ");\n}\n";
}

std::string smallTilesText(SmallTilesForm const& form)
{
    SmallTile const& tile = form.tile;
    bool const isLow = tile.rows == 16;
    std::string text = functionsFor(std::array{DType::kHALF}) + kSmallWindowText + kSmallTilesParamsText;
    text += fmt::format("typedef {} Stored;\nconstexpr int BM = {}, PARTS = {}, STAGES = {}, THREADS = {};\n"
                        "constexpr int WARPS_DOWN = {}, WARPS_ACROSS = {};\nconstexpr bool IS_TURNED_B = {};\n"
                        "#define IS_WINDOWED {}\n#define IS_GATED {}\nconstexpr int GATE_ROWS = {};\n",
        form.type, tile.rows, tile.parts, tile.stages(), tile.threads(), isLow ? 1 : tile.rows / 32, isLow ? 4 : 2,
        form.isTurnedB, form.isWindowed ? 1 : 0, form.isGated ? 1 : 0, SmallTile::kGateRows);
    text += matrixText();
    return wholeText(text + kPartsText + form.epilogue + kSmallTilesText);
}

} // namespace tenon::cuda
