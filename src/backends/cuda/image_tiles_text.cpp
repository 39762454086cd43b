// ImageTilesText: pixels of four channels lie behind each other in shared memory, so that two of a row are 16 bytes and
// the windows of neighbouring results, an even number of pixels apart, are rows that ldmatrix reads where they lie. Two
// pixels apart, eight of them are what a warpgroup's products (wgmma) take for eight rows of an operand.
#include "backends/cuda/image_tiles_text.h"

#include "backends/cuda/copy_engine_text.h"
#include "backends/cuda/matrix_text.h"

#include <fmt/format.h>

namespace tenon::cuda
{

namespace
{
//! Constants in front: C channels; KH, KW, SY, SX the window; MAPS in all; NB of a block; PKY, PKX, PSY, PSX what is
//! pooled, IS_POOLED; BLOCKS of a multiprocessor; SHARED bytes. Types Source and Stored.
constexpr char kImageMeasuresText[]{R"(
constexpr int kThreads = 128;
constexpr int kChunksOfRow = (KW + 1) / 2, kChunks = KH * kChunksOfRow; // Of two pixels, a row's last one may be none.
constexpr int kSteps = (kChunks + 1) / 2;
constexpr int kPatchRows = 15 * SY + KH, kPatchColumns = 15 * SX + kChunksOfRow * 2;
constexpr int kPixels = kPatchRows * kPatchColumns, kEach = (kPixels + kThreads - 1) / kThreads;
constexpr int kTogether = kEach < 12 ? kEach : 12; // Pixels of a thread on their way at once.
constexpr int kHalves = NB / 32, kRowsOfWarp = 4 * kHalves; // A warp has 32 maps of some rows of the tile.
constexpr int kPieces = NB / 8;
constexpr int kResultRows = (16 - PKY) / PSY + 1, kResultColumns = (16 - PKX) / PSX + 1;

#ifdef TENON_EMULATED
alignas(16) static unsigned char sharedMemory[SHARED];
template <typename T>
static unsigned maxPair(unsigned a, unsigned b, T type)
{
    return pairOf(maxOf(halfOf(a, 0, type), halfOf(b, 0, type)), maxOf(halfOf(a, 1, type), halfOf(b, 1, type)), type);
}
#else
extern __shared__ __align__(16) unsigned char sharedMemory[];
static __device__ __forceinline__ unsigned maxPair(unsigned a, unsigned b, Half)
{
    unsigned most;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
}
static __device__ __forceinline__ unsigned maxPair(unsigned a, unsigned b, Bfloat)
{
    unsigned most;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
}
#endif

struct Tile
{
    int image, row, column; // Of results.
    static __device__ __forceinline__ Tile at(ImageTilesParams const& p, int tile)
    {
        int const line = tile / p.across;
        return {line / p.down, line % p.down * kResultRows, tile % p.across * kResultColumns};
    }
    __device__ __forceinline__ int productRow(ImageTilesParams const& p) const { return row * PSY - p.poolPadY; }
    __device__ __forceinline__ int productColumn(ImageTilesParams const& p) const { return column * PSX - p.poolPadX; }
};
)"};

//! Before: `kWeightChunks`, 16 bytes of weights each, and `placeOf`.
constexpr char kImageOperandsText[]{R"(
//! Where a channel's weights stand: so that a thread's results of four tiles of eight are neighbours.
static __device__ __forceinline__ int rowOf(int map)
{
    int const own = map % 32;
    return map / 32 * 32 + own % 8 / 2 * 8 + own / 8 * 2 + own % 2;
}
//! Rows of windows, a thread each; zeros where a pixel has no channel and a chunk no second pixel.
static __device__ __forceinline__ void loadWeights(Stored* weights, ImageTilesParams const& p, int firstMap)
{
    for (int i = (int)threadIdx.x; i < kWeightChunks; i += kThreads)
        ((Pack<u64, 2>*)weights)[i] = Pack<u64, 2>{};
    __syncthreads();
    for (int i = (int)threadIdx.x; i < NB * KH; i += kThreads)
    {
        int const map = i / KH, row = i % KH;
        if (firstMap + map >= MAPS)
            continue;
        Stored const* const from = (Stored const*)p.w + ((firstMap + map) * C * KH + row) * KW;
        u64 pixels[KW] = {};
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
            for (int k = 0; k < KW; ++k)
                pixels[k] |= (u64)from[c * KH * KW + k].bits << c * 16;
#pragma unroll
        for (int k = 0; k < KW; ++k)
            ((u64*)(weights + placeOf(rowOf(map), row * kChunksOfRow + k / 2)))[k % 2] = pixels[k];
    }
    __syncthreads();
}
static __device__ __forceinline__ constexpr unsigned exponentOf(Half) { return 0x7C00u; }
static __device__ __forceinline__ constexpr unsigned exponentOf(Bfloat) { return 0x7F80u; }
//! Whether one of a pair is infinite or no number.
static __device__ __forceinline__ bool isStrange(unsigned pair)
{
    constexpr unsigned kExponent = exponentOf(Stored{});
    return (pair & kExponent) == kExponent || (pair >> 16 & kExponent) == kExponent;
}

//! The pixels that a tile sees; zeros around the image. Other blocks multiply meanwhile. Answers whether this thread
//! has brought one that is infinite or no number.
static __device__ __forceinline__ bool loadPatch(Stored* patch, ImageTilesParams const& p, Tile const& at)
{
    bool foundStrange = false;
    Source const* const x = (Source const*)p.x + (i64)at.image * p.xStrides[0];
    int const top = at.productRow(p) * SY - p.padY, left = at.productColumn(p) * SX - p.padX;
#pragma unroll 1
    for (int begin = (int)threadIdx.x; begin < kPixels; begin += kTogether * kThreads)
    {
        Source pixels[kTogether][C];
#pragma unroll
        for (int e = 0; e < kTogether; ++e)
        {
            int const i = begin + e * kThreads;
            int const row = top + i / kPatchColumns, column = left + i % kPatchColumns;
            bool const isInside = i < kPixels && row >= 0 && row < p.height && column >= 0 && column < p.width;
            Source const* const from = x + (row * p.xStrides[2] + column * p.xStrides[3]);
#pragma unroll
            for (int c = 0; c < C; ++c)
                pixels[e][c] = isInside ? from[c * p.xStrides[1]] : Source{};
        }
#pragma unroll
        for (int e = 0; e < kTogether; ++e)
        {
            float channels[4] = {};
#pragma unroll
            for (int c = 0; c < C; ++c)
                channels[c] = widen(pixels[e][c]);
            u64 const low = pairOf(channels[0], channels[1], Stored{});
            u64 const high = pairOf(channels[2], channels[3], Stored{});
            foundStrange = foundStrange || isStrange((unsigned)low) || isStrange((unsigned)high);
            if (begin + e * kThreads < kPixels)
                ((u64*)patch)[begin + e * kThreads] = low | high << 32;
        }
    }
    return foundStrange;
}

//! From a window's first pixel to a chunk, in elements.
static __device__ __forceinline__ constexpr int offsetOf(int chunk)
{
    return chunk < kChunks ? (chunk / kChunksOfRow * kPatchColumns + chunk % kChunksOfRow * 2) * 4 : 0;
}
)"};

//! Weights of a map behind each other; each warp keeps those of 32 in registers.
constexpr char kRegisterWeightsText[]{R"(
constexpr int kPitch = kSteps * 16 + 8; // The eight keep neighbouring rows off one bank.
constexpr int kWeightChunks = NB * kPitch / 8;
static __device__ __forceinline__ constexpr int placeOf(int row, int chunk) { return row * kPitch + chunk * 8; }
)"};

constexpr char kRegisterProductsText[]{R"(
//! No number of a pixel that no window has meets a weight of 0: it may be infinite.
static __device__ __forceinline__ unsigned onlyWindow(unsigned pair, int chunk)
{
    bool const isOdd = KW % 2 != 0 && chunk % kChunksOfRow == kChunksOfRow - 1;
    return chunk >= kChunks || (isOdd && threadIdx.x % 4 >= 2) ? 0u : pair;
}
//! Sixteen columns of two rows of the tile, the first of them at `own`.
static __device__ __forceinline__ void multiplyRows(
    float (&sums)[2][4][4], Stored const* own, unsigned const (&weights)[kSteps][4][2])
{
    int const lane = (int)threadIdx.x % 32;
    Stored const* const first = own + lane % 16 * SX * 4;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
    {
        int const place = kChunksOfRow % 2 == 0 ? offsetOf(step * 2) + lane / 16 * 8
                                                : lane < 16 ? offsetOf(step * 2) : offsetOf(step * 2 + 1);
        unsigned a[2][4];
#pragma unroll
        for (int m = 0; m < 2; ++m)
        {
            loadMatrices(a[m], first + m * SY * kPatchColumns * 4 + place);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[m][i] = onlyWindow(a[m][i], step * 2 + i / 2);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
            for (int m = 0; m < 2; ++m)
                multiplyAdd(sums[m][n], a[m], weights[step][n][0], weights[step][n][1], Stored{});
    }
}
)"};

constexpr char kImageResultsText[]{R"(
//! Eight neighbouring channels of a pixel.
static __device__ __forceinline__ void storeResult(
    ImageTilesParams const& p, int image, int row, int column, int map, unsigned const (&words)[4])
{
    if (row >= p.outHeight || column >= p.outWidth || map >= MAPS)
        return;
    Stored* const y = (Stored*)p.y + (((i64)image * p.outHeight + row) * p.outWidth + column) * MAPS + map;
    if (p.hasWideResults)
        return storeWords(y, words);
#pragma unroll
    for (int i = 0; i < 8; ++i)
        if (map + i < MAPS)
            y[i] = Stored{(unsigned short)(words[i / 2] >> i % 2 * 16)};
}
//! Products between registers and pools: pieces of eight channels in an order that keeps the pixels of an access off
//! one bank.
static __device__ __forceinline__ unsigned* pieceOf(unsigned char* products, int row, int column, int piece)
{
    int const turn = NB == 64 ? column % 2 * 4 + column / 2 % 4 : 0;
    return (unsigned*)(products + ((row * 16 + column) * kPieces + (piece ^ turn)) * 16);
}
static __device__ __forceinline__ void poolTile(
    ImageTilesParams const& p, unsigned char* products, Tile const& at, int firstMap)
{
    unsigned const least = pairOf(fromBits(0xFF800000u), fromBits(0xFF800000u), Stored{});
    for (int item = (int)threadIdx.x; item < kResultRows * kResultColumns * kPieces; item += kThreads)
    {
        int const piece = item % kPieces, pixel = item / kPieces;
        int const row = pixel / kResultColumns, column = pixel % kResultColumns;
        unsigned most[4] = {least, least, least, least};
#pragma unroll
        for (int i = 0; i < PKY * PKX; ++i)
        {
            Pack<unsigned, 4> const words = *(Pack<unsigned, 4> const*)pieceOf(
                products, row * PSY + i / PKX, column * PSX + i % PKX, piece);
#pragma unroll
            for (int k = 0; k < 4; ++k)
                most[k] = maxPair(most[k], words.v[k], Stored{});
        }
        storeResult(p, at.image, at.row + row, at.column + column, firstMap + piece * 8, most);
    }
}

//! Eight neighbouring maps of a pixel of the tile, those of `piece`: the result, or what is pooled.
static __device__ __forceinline__ void finishPiece(ImageTilesParams const& p, unsigned char* products, Tile const& at,
    int row, int column, int firstMap, int piece, unsigned (&words)[4])
{
    if (!IS_POOLED)
        return storeResult(p, at.image, at.row + row, at.column + column, firstMap + piece * 8, words);
    int const y = at.productRow(p) + row, x = at.productColumn(p) + column;
    if (y < 0 || y >= p.productHeight || x < 0 || x >= p.productWidth) // Of no maximum.
    {
#pragma unroll
        for (int k = 0; k < 4; ++k)
            words[k] = pairOf(fromBits(0xFF800000u), fromBits(0xFF800000u), Stored{});
    }
    *(Pack<unsigned, 4>*)pieceOf(products, row, column, piece)
        = Pack<unsigned, 4>{{words[0], words[1], words[2], words[3]}};
}
static __device__ __forceinline__ void loadBias(float (&bias)[8], ImageTilesParams const& p, int map)
{
#pragma unroll
    for (int i = 0; i < 8; ++i)
        bias[i] = p.hasBias && map + i < MAPS ? widen(((Stored const*)p.bias)[map + i]) : 0.0f;
}
)"};

constexpr char kRegisterKernelText[]{R"(
TENON_EARLY_KERNEL(__launch_bounds__(128, BLOCKS), imageTiles, ImageTilesParams)
{
    Stored* const patch = (Stored*)sharedMemory;
    unsigned char* const products = sharedMemory + kPixels * 8; // Where weights lie before they are in registers.
    int const lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int const firstRow = warp / kHalves * kRowsOfWarp, half = warp % kHalves;
    int const firstMap = (int)(blockIdx.x % (unsigned)p.groups) * NB;
    int const ownPiece = half * 4 + lane % 4;
    if (!p.hasConstantWeights)
        awaitFormer();
    loadWeights((Stored*)products, p, firstMap);
    unsigned weights[kSteps][4][2];
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int n = 0; n < 4; n += 2)
        {
            unsigned b[4];
            int const row = half * 32 + n * 8 + lane / 16 * 8 + lane % 8;
            loadMatrices(b, (Stored*)products + placeOf(row, step * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; ++i)
                weights[step][n + i / 2][i % 2] = b[i];
        }
    float bias[8];
    loadBias(bias, p, firstMap + ownPiece * 8);
    awaitFormer();
    int const stride = (int)(gridDim.x / (unsigned)p.groups);
    for (int tile = (int)(blockIdx.x / (unsigned)p.groups); tile < p.tiles; tile += stride)
    {
        Tile const at = Tile::at(p, tile);
        loadPatch(patch, p, at);
        __syncthreads();
#pragma unroll 1
        for (int pair = 0; pair < kRowsOfWarp; pair += 2)
        {
            float sums[2][4][4] = {};
            multiplyRows(sums, patch + (firstRow + pair) * SY * kPatchColumns * 4, weights);
#pragma unroll
            for (int i = 0; i < 4; ++i)
            {
                int const m = i / 2, h = i % 2;
                unsigned words[4];
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    words[k] = pairOf(epilogue(sums[m][k][h * 2] + bias[k * 2]),
                        epilogue(sums[m][k][h * 2 + 1] + bias[k * 2 + 1]), Stored{});
                finishPiece(p, products, at, firstRow + pair + m, lane / 4 + h * 8, firstMap, ownPiece, words);
            }
        }
        __syncthreads(); // The next pixels overwrite what was read here.
        if (IS_POOLED)
            poolTile(p, products, at, firstMap);
    }
}
)"};

//! Chunks of 16 bytes in the order of wgmma's operands without swizzle: eight rows of a chunk behind each other.
constexpr char kSharedWeightsText[]{R"(
constexpr int kWeightChunks = NB * kSteps * 2;
static __device__ __forceinline__ constexpr int placeOf(int row, int chunk) { return (chunk * NB + row) * 8; }
)"};

//! A product's 64 rows are eight columns of eight rows of the tile. d as in multiplyAdd, for each warp's sixteen rows.
constexpr char kWarpgroupProductsText[]{R"(
constexpr int kRowOfTile = SY * kPatchColumns * 4; // Elements of the patch.
//! A quarter's first pixel.
static __device__ __forceinline__ constexpr int quarterAt(int quarter)
{
    return quarter / 2 * 8 * kRowOfTile + quarter % 2 * 8 * SX * 4;
}
//! From a step's first chunk to its second; the last step may have none, and weights of 0 for it.
static __device__ __forceinline__ constexpr int secondChunk(int step)
{
    return step * 2 + 1 < kChunks ? offsetOf(step * 2 + 1) - offsetOf(step * 2) : 0;
}
//! Without what a window has not; `isExact`: also where that is infinite, for which the instruction's zeros do not do.
static __device__ __forceinline__ void multiplySlowly(
    float (&d)[NB / 8][4], Stored const* patch, Stored const* weights, bool isExact)
{
    for (int item = 0; item < NB / 2; ++item)
    {
        int const n = item / 4, i = item % 4;
        int const row = (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4 + i / 2 * 8;
        int const column = n * 8 + (int)threadIdx.x % 4 * 2 + i % 2;
        float sum = 0.0f;
        for (int chunk = 0; chunk < kChunks; ++chunk)
        {
            bool const isOdd = KW % 2 != 0 && chunk % kChunksOfRow == kChunksOfRow - 1;
            Stored const* const a = patch + row / 8 * kRowOfTile + row % 8 * 8 + offsetOf(chunk);
            Stored const* const b = weights + placeOf(column, chunk);
            for (int k = 0; k < (isExact && isOdd ? 4 : 8); ++k)
                sum += widen(a[k]) * widen(b[k]);
        }
        d[n][i] = sum;
    }
}
#if !defined(TENON_EMULATED) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
static __device__ __forceinline__ u64 chunksAt(Stored const* first, int second, int eight)
{
    return (u64)((sharedAddress(first) & 0x3FFFFu) >> 4) | (u64)(second >> 4) << 16 | (u64)(eight >> 4) << 32;
}
static __device__ __forceinline__ void beginQuarter(
    float (&d)[NB / 8][4], Stored const* patch, Stored const* weights)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
        addProducts(d, chunksAt(patch + offsetOf(step * 2), secondChunk(step) * 2, kRowOfTile * 2),
            chunksAt(weights + placeOf(0, step * 2), NB * 16, 128), step != 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//! Until at most `Pending` quarters are under way, and not one that has begun before these numbers'.
template <int Pending>
static __device__ __forceinline__ void awaitQuarter(float (&d)[NB / 8][4])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Pending) : "memory");
#pragma unroll
    for (int n = 0; n < NB / 8; ++n)
        asm volatile("" : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3]) :: "memory");
}
static __device__ __forceinline__ void publishPixels() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
static __device__ __forceinline__ void beginQuarter(
    float (&d)[NB / 8][4], Stored const* patch, Stored const* weights)
{
    multiplySlowly(d, patch, weights, false);
}
template <int Pending>
static __device__ __forceinline__ void awaitQuarter(float (&)[NB / 8][4]) {}
static __device__ __forceinline__ void publishPixels() {}
#endif
)"};

constexpr char kWarpgroupKernelText[]{R"(
static __device__ __forceinline__ void finishQuarter(ImageTilesParams const& p, unsigned char* products, Tile const& at,
    int quarter, int firstMap, float const (&sums)[NB / 8][4], float const (&bias)[NB / 32][8])
{
    int const lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int part = 0; part < NB / 32; ++part)
#pragma unroll
        for (int h = 0; h < 2; ++h)
        {
            unsigned words[4];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                words[k] = pairOf(epilogue(sums[part * 4 + k][h * 2] + bias[part][k * 2]),
                    epilogue(sums[part * 4 + k][h * 2 + 1] + bias[part][k * 2 + 1]), Stored{});
            finishPiece(p, products, at, quarter / 2 * 8 + warp * 2 + h, quarter % 2 * 8 + lane / 4, firstMap,
                part * 4 + lane % 4, words);
        }
}
static __device__ __forceinline__ void loadBiases(float (&bias)[NB / 32][8], ImageTilesParams const& p, int firstMap)
{
#pragma unroll
    for (int part = 0; part < NB / 32; ++part)
        loadBias(bias[part], p, firstMap + part * 32 + (int)threadIdx.x % 4 * 8);
}
//! The tile once more, over what the instructions have made of infinite pixels.
static __device__ __noinline__ void finishSlowly(ImageTilesParams const& p, unsigned char* products, Tile const& at,
    int firstMap, Stored const* patch, Stored const* weights)
{
    float bias[NB / 32][8], sums[NB / 8][4];
    loadBiases(bias, p, firstMap);
#pragma unroll 1
    for (int quarter = 0; quarter < 4; ++quarter)
    {
        multiplySlowly(sums, patch + quarterAt(quarter), weights, true);
        finishQuarter(p, products, at, quarter, firstMap, sums, bias);
    }
}

TENON_EARLY_KERNEL(__launch_bounds__(128, BLOCKS), imageTiles, ImageTilesParams)
{
    Stored* const patch = (Stored*)sharedMemory;
    Stored* const weights = patch + kPixels * 4;
    unsigned char* const products = (unsigned char*)(weights + kWeightChunks * 8);
    int const firstMap = (int)(blockIdx.x % (unsigned)p.groups) * NB;
    if (!p.hasConstantWeights)
        awaitFormer();
    loadWeights(weights, p, firstMap);
    float bias[NB / 32][8];
    loadBiases(bias, p, firstMap);
    awaitFormer();
    int const stride = (int)(gridDim.x / (unsigned)p.groups);
    for (int tile = (int)(blockIdx.x / (unsigned)p.groups); tile < p.tiles; tile += stride)
    {
        Tile const at = Tile::at(p, tile);
        bool const ownStrange = loadPatch(patch, p, at);
        publishPixels();
        int const hasStrange = __syncthreads_or(ownStrange && (KW % 2 != 0 || kChunks % 2 != 0));
        float sums[2][NB / 8][4];
        beginQuarter(sums[0], patch, weights);
#pragma unroll
        for (int quarter = 0; quarter < 4; ++quarter)
        {
            if (quarter < 3)
                beginQuarter(sums[(quarter + 1) % 2], patch + quarterAt(quarter + 1), weights);
            if (quarter < 3)
                awaitQuarter<1>(sums[quarter % 2]);
            else
                awaitQuarter<0>(sums[quarter % 2]);
            finishQuarter(p, products, at, quarter, firstMap, sums[quarter % 2], bias);
        }
        if (hasStrange)
            finishSlowly(p, products, at, firstMap, patch, weights);
        __syncthreads(); // The next pixels overwrite what was read here.
        if (IS_POOLED)
            poolTile(p, products, at, firstMap);
    }
}
)"};
} // namespace

std::string imageTilesText(ImageTilesForm const& form)
{
    std::string const constants =
        fmt::format("typedef {} Source;\ntypedef {} Stored;\n"
                    "constexpr int C = {}, KH = {}, KW = {}, SY = {}, SX = {}, MAPS = {}, NB = {};\n"
                    "constexpr int PKY = {}, PKX = {}, PSY = {}, PSX = {}, BLOCKS = {}, SHARED = {};\n"
                    "constexpr bool IS_POOLED = {};\n",
            form.source, form.type, form.channels, form.size[0], form.size[1], form.stride[0], form.stride[1],
            form.maps, form.mapsOfBlock(), form.poolSize[0], form.poolSize[1], form.poolStride[0], form.poolStride[1],
            form.blocksOfMultiprocessor(), form.sharedBytes(), form.isPooled());
    std::string const start =
        kImageTilesParamsText + constants + std::string{matrixText()} + form.epilogue + kImageMeasuresText;
    if (!form.isByWarpgroup)
        return wholeText(start + kRegisterWeightsText + kImageOperandsText + kRegisterProductsText + kImageResultsText
            + kRegisterKernelText);
    std::string const instruction = fmt::format(
        "#if !defined(TENON_EMULATED) && defined(__CUDA_ARCH_FEAT_SM90_ALL)\nconstexpr int BN = NB;\n{}#endif\n",
        warpgroupProductText(form.type, form.mapsOfBlock(), true));
    return wholeText(start + instruction + kSharedWeightsText + kImageOperandsText + kWarpgroupProductsText
        + kImageResultsText + kWarpgroupKernelText);
}

} // namespace tenon::cuda
