// FewChannelsText: pixels are the rows of a product, weights its columns; both come from shared memory.
#include "backends/cuda/few_channels_text.h"

#include "backends/cuda/matrix_text.h"

namespace tenon::cuda
{

namespace
{
//! Constants in front: C, CP channels and padded ones; KH, KW, SY, SX the window; MAPS in all; NB of a block.
constexpr char kFewChannelsText[]{R"(
constexpr int kTaps = KH * KW;
constexpr int kSteps = (kTaps * CP + 15) / 16;
constexpr int kPitch = kSteps * 16 + 8; // The eight keep neighbouring rows off one bank.
constexpr int kPatchRows = 7 * SY + KH;
constexpr int kPatchColumns = 15 * SX + KW;
constexpr int kTiles = NB / 8;
constexpr int kTogether = NB == 16 ? 2 : 4; // Tiles of eight columns of which a thread has neighbouring channels.

//! Where a channel's weights stand: so that a thread's results of kTogether tiles are neighbours.
static __device__ __forceinline__ int rowOf(int map)
{
    constexpr int kGroup = kTogether * 8;
    int const own = map % kGroup;
    return map / kGroup * kGroup + own % (2 * kTogether) / 2 * 8 + own / (2 * kTogether) * 2 + own % 2;
}
static __device__ __forceinline__ void putWeight(Stored* weights, int index, int firstMap, Stored w)
{
    int const map = index / (C * kTaps) - firstMap;
    if (map >= 0 && map < NB)
        weights[rowOf(map) * kPitch + index % kTaps * CP + index / kTaps % C] = w;
}
static __device__ __forceinline__ void loadWeights(Stored* weights, FewChannelsParams const& p, int firstMap)
{
    for (int i = (int)threadIdx.x; i < NB * kPitch / 8; i += 128)
        ((Pack<Stored, 8>*)weights)[i] = Pack<Stored, 8>{};
    __syncthreads();
    int const begin = firstMap * C * kTaps;
    int const end = firstMap + NB < MAPS ? (firstMap + NB) * C * kTaps : MAPS * C * kTaps;
    if (p.hasWideWeights)
    {
#pragma unroll 4
        for (int i = begin / 8 + (int)threadIdx.x; i < (end + 7) / 8; i += 128)
        {
            Pack<Stored, 8> const w = ((Pack<Stored, 8> const*)p.w)[i];
#pragma unroll
            for (int k = 0; k < 8; ++k)
                putWeight(weights, i * 8 + k, firstMap, w.v[k]);
        }
    }
    else
        for (int i = begin + (int)threadIdx.x; i < end; i += 128)
            putWeight(weights, i, firstMap, ((Stored const*)p.w)[i]);
}
//! The pixels that a tile of results sees; zeros around the image and behind the channels.
static __device__ __forceinline__ void loadPatch(
    Stored* patch, FewChannelsParams const& p, int image, int top, int left)
{
    constexpr int kPixels = kPatchRows * kPatchColumns;
    Stored const* const x = (Stored const*)p.x + image * p.xStrides[0];
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < kPixels; i += 128)
    {
        int const row = top + i / kPatchColumns;
        int const column = left + i % kPatchColumns;
        bool const isInside = row >= 0 && row < p.height && column >= 0 && column < p.width;
        Stored const* const from = x + row * p.xStrides[2] + column * p.xStrides[3];
        Pack<Stored, CP> pixel = {};
#pragma unroll
        for (int c = 0; c < C; ++c)
            if (isInside)
                pixel.v[c] = from[c * p.xStrides[1]];
        ((Pack<Stored, CP>*)patch)[i] = pixel;
    }
}
static __device__ __forceinline__ void storePixel(FewChannelsParams const& p, float const (&sums)[kTiles][4], int half,
    int image, int row, int column, int firstMap)
{
    constexpr int kOwn = 2 * kTogether;
    int const lane = (int)threadIdx.x % 32;
    Stored* const y = (Stored*)p.y + (((i64)image * p.outHeight + row) * p.outWidth + column) * MAPS;
#pragma unroll
    for (int group = 0; group < kTiles / kTogether; ++group)
    {
        int const map = firstMap + group * kTogether * 8 + lane % 4 * kOwn;
        Pack<Stored, kOwn> pack = {};
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
        {
            if (map + i >= MAPS)
                continue;
            float const bias = p.hasBias ? widen(((Stored const*)p.bias)[map + i]) : 0.0f;
            float const sum = sums[group * kTogether + i / 2][2 * half + i % 2] + bias;
            put(pack.v[i], finish(p.extra, sum, image, map + i, 0, row, column));
        }
        if (p.hasWideResults && map < MAPS)
            *(Pack<Stored, kOwn>*)(y + map) = pack;
        else
        {
#pragma unroll
            for (int i = 0; i < kOwn; ++i)
                if (map + i < MAPS)
                    y[map + i] = pack.v[i];
        }
    }
}

TENON_EARLY_KERNEL(, fewChannels, FewChannelsParams)
{
    __shared__ Pack<Stored, 8> weightPacks[NB * kPitch / 8];
    __shared__ Pack<Stored, 8> patchPacks[(kPatchRows * kPatchColumns * CP + 7) / 8];
    Stored* const weights = (Stored*)weightPacks;
    Stored* const patch = (Stored*)patchPacks;
    int const lane = (int)threadIdx.x % 32;
    int const warp = (int)threadIdx.x / 32;
    int const firstMap = (int)(blockIdx.x % (unsigned)p.groups) * NB;
    if (!p.hasConstantWeights)
        awaitFormer();
    loadWeights(weights, p, firstMap);
    awaitFormer();
    int places[kSteps][2]; // Of this lane's pairs of products, from the window's first pixel; -1: behind the last tap.
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            int const k = step * 16 + half * 8 + lane % 4 * 2;
            int const tap = k / CP;
            places[step][half] = tap < kTaps ? (tap / KW * kPatchColumns + tap % KW) * CP + k % CP : -1;
        }
    int const each = (int)(gridDim.x / (unsigned)p.groups);
    for (int tile = (int)(blockIdx.x / (unsigned)p.groups); tile < p.tiles; tile += each)
    {
        int const column0 = tile % p.across * 16;
        int const row0 = tile / p.across % p.down * 8;
        int const image = tile / p.across / p.down;
        loadPatch(patch, p, image, row0 * SY - p.padY, column0 * SX - p.padX);
        __syncthreads();
        float sums[2][kTiles][4] = {};
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
        {
            unsigned a[2][4];
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                {
                    int const first = ((warp * 2 + m) * SY * kPatchColumns + (lane / 4 + i % 2 * 8) * SX) * CP;
                    int const place = places[step][i / 2];
                    a[m][i] = place < 0 ? 0u : *(unsigned const*)(patch + first + place);
                }
#pragma unroll
            for (int n = 0; n < kTiles; n += 2)
            {
                unsigned b[4];
                loadMatrices(b, weights + (n * 8 + lane / 16 * 8 + lane % 8) * kPitch + step * 16 + lane / 8 % 2 * 8);
#pragma unroll
                for (int m = 0; m < 2; ++m)
                {
                    multiplyAdd(sums[m][n], a[m], b[0], b[1], Stored{});
                    multiplyAdd(sums[m][n + 1], a[m], b[2], b[3], Stored{});
                }
            }
        }
        __syncthreads(); // The next pixels overwrite what was read here.
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half)
            {
                int const row = row0 + warp * 2 + m;
                int const column = column0 + lane / 4 + half * 8;
                if (row < p.outHeight && column < p.outWidth)
                    storePixel(p, sums[m], half, image, row, column, firstMap);
            }
    }
}
)"};
} // namespace

std::string fewChannelsText(FewChannelsForm const& form, std::string const& stored, std::string const& epilogue)
{
    return wholeText(std::string{kEpilogueOperandText} + kFewChannelsParamsText
        + fmt::format("typedef {} Stored;\n"
                      "constexpr int C = {}, CP = {}, KH = {}, KW = {}, SY = {}, SX = {}, MAPS = {}, NB = {};\n",
            stored, form.channels, form.paddedChannels(), form.size[0], form.size[1], form.stride[0], form.stride[1],
            form.maps, form.mapsOfBlock())
        + std::string{matrixText()} + epilogue + kFewChannelsText);
}

} // namespace tenon::cuda
