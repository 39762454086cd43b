// LargeTilesText: operands lie in shared memory as the copy engine puts them for wgmma; results go through slots of
// shared memory, warp by warp, so that the copy engine stores them, and clips what is not there.
#include "backends/cuda/large_tiles_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/matrix_text.h"

#include <array>

namespace tenon::cuda
{

namespace
{
//! Rows of 128 bytes whose eight pieces are exchanged by the row's number ("128-byte swizzle" of the PTX ISA).
constexpr char kMeasuresText[]{R"(
constexpr int kRows = 128, kDepth = 64, kThreads = 384, kSlotBytes = 16 * 128;
constexpr int kPanels = TAKES_TURNS ? 2 : 1; // Of 64 rows, that a warpgroup has of a tile.
constexpr int kAcross = BN / 64;             // Pieces of results beside each other.
constexpr int kPieces = kPanels * kAcross;   // Of a warp.
constexpr int kBytesOfA = kRows * kDepth * 2, kStageBytes = kBytesOfA + BN * kDepth * 2, kBiasBytes = BN * 4;
typedef float Sums[kPanels][BN / 8][4]; // d[.][j] is columns 8j + 2t and the next, of a warp's rows g and g + 8.

struct Place { int row, column; };
static __device__ __forceinline__ Place placeOf(LargeTilesParams const& p, int tile)
{
    int const down = tile / p.tilesAcross;
    return {down * kRows, (tile - down * p.tilesAcross) * BN};
}
)"};

//! Without a GPU: what the fake driver writes into a map is the address, columns, rows, and bytes from row to row.
constexpr char kEmulatedText[]{R"(
static unsigned char sharedMemory[8 * (SLOTS * kSlotBytes + kBiasBytes)];
constexpr unsigned kBiases = 8 * SLOTS * kSlotBytes;
static inline Stored* pieceOfSlot(unsigned slot, int row, int column)
{
    return (Stored*)(sharedMemory + slot + row * 128 + (column / 8 ^ row % 8) * 16) + column % 8;
}
static inline void fetchPiece(unsigned slot, u64 const (&map)[16], unsigned, int column, int row)
{
    for (int i = 0; i < 16 * 64; ++i)
    {
        Stored const* const from = elementAt(map, row + i / 64, column + i % 64);
        *pieceOfSlot(slot, i / 64, i % 64) = from != nullptr ? *from : Stored{};
    }
}
static inline void storePiece(u64 const (&map)[16], unsigned slot, int column, int row)
{
    for (int i = 0; i < 16 * 64; ++i)
        if (Stored* const to = elementAt(map, row + i / 64, column + i % 64))
            *to = *pieceOfSlot(slot, i / 64, i % 64);
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
static void multiplyTile(LargeTilesParams const& p, Place const& at, Sums& d)
{
    int const lane = threadIdx.x % 32;
    int const first = at.row + (TAKES_TURNS ? 0 : threadIdx.x / 128 * 64) + threadIdx.x % 128 / 32 * 16 + lane / 4;
    for (int m = 0; m < kPanels; ++m)
        for (int n = 0; n < BN / 8; ++n)
            for (int i = 0; i < 4; ++i)
            {
                int const row = first + m * 64 + i / 2 * 8;
                int const column = at.column + n * 8 + lane % 4 * 2 + i % 2;
                float sum = 0.0f;
                for (int k = 0; k < p.steps * kDepth && row < (int)p.c[2] && column < p.columns; ++k)
                    sum += (IS_WINDOWED ? windowNumber(p.a, p.walk, windowAt(p.walk, at.row), row - at.row, k)
                                        : numberAt(p.a, row, k))
                        * (IS_TURNED_B ? numberAt(p.b, column, k) : numberAt(p.b, k, column));
                d[m][n][i] = sum;
            }
}
)"};

//! Pieces of results, and the tensor that they are finished with.
constexpr char kPiecesText[]{R"(
static __device__ __forceinline__ void fetchPiece(
    unsigned slot, u64 const (&map)[16], unsigned barrier, int column, int row)
{
    expectBytes(barrier, kSlotBytes);
    fetch(slot, map, barrier, column, row);
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

static __device__ __forceinline__ void fetchStage(
    LargeTilesParams const& p, Place const& at, WindowAt const& window, unsigned to, unsigned barrier, int step)
{
    int const depth = step * kDepth;
    expectBytes(barrier, kStageBytes);
    if (IS_WINDOWED)
        fetchWindows(to, p.a, barrier, p.walk, window, step);
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
        WindowAt const window = IS_WINDOWED ? windowAt(p.walk, at.row) : WindowAt{};
        for (int step = 0; step < p.steps; ++step)
        {
            waitBarrier(ring.empty + stage * 8, parity);
            fetchStage(p, at, window, ring.stages + stage * kStageBytes, ring.full + stage * 8, step);
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
        u64 const a = operandAt(at + (TAKES_TURNS ? 0 : group * 64 * 128), false);
        u64 const b = operandAt(at + kBytesOfA, !IS_TURNED_B);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < kDepth / 16; ++i)
#pragma unroll
            for (int m = 0; m < kPanels; ++m)
                addProducts(d[m], a + m * (64 * 128 >> 4) + i * 2, b + i * (IS_TURNED_B ? 2 : 2048 >> 4), step + i);
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
            asm volatile("" : "+f"(d[m][j][0]), "+f"(d[m][j][1]), "+f"(d[m][j][2]), "+f"(d[m][j][3]) :: "memory");
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

//! The bias of a tile's columns, before the products begin: addresses of its own would take registers from the sums.
static __device__ __forceinline__ void fetchBias(LargeTilesParams const& p, Slots const& slots, int column0)
{
    if (!HAS_BIAS)
        return;
#pragma unroll
    for (int i = 0; i < kAcross; ++i)
    {
        int const column = i * 64 + threadIdx.x % 32 * 2;
        Pack<Stored, 2> both{};
        if (column0 + column < p.columns)
            both = *(Pack<Stored, 2> const*)((Stored const*)p.bias + column0 + column);
        storeTwo(slots.bias + column * 4, widen(both.v[0]), widen(both.v[1]));
    }
    meetWarp();
}

static __device__ __forceinline__ void fetchExtra(
    LargeTilesParams const& p, Slots const& slots, Place const& at, int piece)
{
    int const slot = piece % SLOTS;
    fetchPiece(slots.at + slot * kSlotBytes, p.extra, slots.barriers + slot * 8, at.column + piece % kAcross * 64,
        at.row + piece / kAcross * 64);
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

//! Sixteen columns of a warp's rows: results[2h + r] and extra are a pair of row g + 8r, columns 8h + 2t and the next.
static __device__ __forceinline__ void finishFragment(LargeTilesParams const& p, float const (&low)[4],
    float const (&high)[4], unsigned bias, unsigned const (&extra)[4], unsigned (&results)[4])
{
    float v[8];
#pragma unroll
    for (int h = 0; h < 2; ++h)
    {
        Pack<float, 2> both{};
        if (HAS_BIAS)
            both = loadTwo(bias + h * 32);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            v[h * 4 + i] = fmaf(h == 0 ? low[i] : high[i], p.alpha, both.v[i % 2]);
    }
    applyEpilogue(v, extra);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        results[i] = pairOf(v[i * 2], v[i * 2 + 1], Stored{});
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
        unsigned const row = slots.at + slot * kSlotBytes + lane % 16 * 128;
#pragma unroll
        for (int j = 0; j < 4; ++j)
        {
            unsigned const place = row + ((j * 2 + lane / 16) ^ lane % 8) * 16;
            unsigned extra[4] = {};
            if (HAS_EXTRA)
                loadFragments(extra, place);
            unsigned results[4];
            int const n = c * 8 + j * 2;
            finishFragment(p, d[piece / kAcross][n], d[piece / kAcross][n + 1],
                slots.bias + (n * 8 + lane % 4 * 2) * 4, extra, results);
            storeFragments(place, results);
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
    int const warpRow = (TAKES_TURNS ? 0 : group * 64) + threadIdx.x % 128 / 32 * 16;
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
    int const warpRow = (TAKES_TURNS ? 0 : group * 64) + threadIdx.x % 128 / 32 * 16;
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
//! falls on and on, so that Φ becomes 0 or 1 of itself.
constexpr char kGeluText[]{R"(
template <int N>
static __device__ __forceinline__ void gelusOf(float (&x)[N])
{
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
        y[i] = powerOfTwo(y[i] * x[i]) + 1.0f;
#pragma unroll
    for (int i = 0; i < N; ++i)
        x[i] *= inverseOf(y[i]);
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
            fmt::format("#pragma unroll\n    for (int i = 0; i < 8; ++i)\n"
                        "        v[i] = step{}(v[i], widen(Stored{{(unsigned short)(extra[i / 2] >> i % 2 * 16)}}));\n",
                i);
    }
    return functions
        + "static __device__ __forceinline__ void applyEpilogue(float (&v)[8], unsigned const (&extra)[4])\n{\n" + calls
        + "}\n";
}

std::string largeTilesText(LargeTilesForm const& form)
{
    LargeTile const& tile = form.tile;
    std::string text = functionsFor(std::array{DType::kHALF}) + kWindowWalkText + kLargeTilesParamsText;
    text += fmt::format(
        "typedef {} Stored;\n"
        "constexpr int BN = {}, STAGES = {}, SLOTS = {};\n"
        "constexpr bool TAKES_TURNS = {}, IS_TURNED_B = {}, HAS_BIAS = {}, HAS_EXTRA = {}, IS_WINDOWED = {};\n",
        form.type, tile.columns, tile.stages, tile.slots, tile.takesTurns, form.isTurnedB, form.hasBias, form.hasExtra,
        form.isWindowed);
    text += matrixText();
    text += fmt::format("#if defined(TENON_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)\n{}#ifdef TENON_EMULATED\n"
                        "{}#else\n{}{}{}#endif\n{}{}#else\n{}#endif\n",
        kMeasuresText + std::string{copyEngineText()} + std::string{windowWalkText()}, kEmulatedText,
        warpgroupProductText(form.type, tile.columns, form.isTurnedB), kPiecesText, kRingText, form.epilogue,
        kLargeFinishText, kElsewhereText);
    return wholeText(text);
}

} // namespace tenon::cuda
