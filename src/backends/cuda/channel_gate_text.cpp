// ChannelGateText: a block sums its part of an image, multiplies that by its slice of the first kernel, and has the
// sums of the others of its cluster from their shared memory; then each makes its share of the results. Blocks go from
// image to image, their slices of the kernels in shared memory.
#include "backends/cuda/channel_gate_text.h"

#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/matrix_text.h"

namespace tenon::cuda
{

namespace
{
//! Where parts of the hidden sums are. Without a GPU blocks run one after the other: the last one makes all results.
constexpr char kGatePartsText[]{R"(
#ifdef TENON_EMULATED
#define CHANNEL_GATE_KERNEL TENON_KERNEL(channelGate, ChannelGateParams)
static Pack<u64, 2> sharedMemory[(1 << 20) / 16]; // The last block has the weights of all.
static float partsOfHidden[PARTS][1 << 18]; // Of all images of a cluster.
static inline float* sharedStart() { return (float*)sharedMemory; }
static inline float* ownPart(ChannelGateParams const& p, float*, int part, int turn)
{
    return partsOfHidden[part] + turn * p.hidden;
}
static inline float partAt(float const* own, int from, int part, int at)
{
    return partsOfHidden[from][own - partsOfHidden[part] + at];
}
static inline bool makesResults(int part) { return part == PARTS - 1; }
static inline int firstMapOf(ChannelGateParams const&, int) { return 0; }
static inline int endMapOf(ChannelGateParams const& p, int) { return p.maps; }
static inline void arrive() { __syncthreads(); }
static inline void waitForAll() { __syncthreads(); }
#else
#if __CUDA_ARCH__ >= 900
#define TENON_CLUSTER __cluster_dims__(PARTS, 1, 1)
#else
#define TENON_CLUSTER
#endif
//! As of small tiles: threads and blocks may read different words of a stop; those of a cluster stay for each other.
#define CHANNEL_GATE_KERNEL                                                             \
    static __device__ __forceinline__ void channelGateBody(ChannelGateParams const& p); \
    extern "C" __global__ void TENON_CLUSTER __launch_bounds__(THREADS)                 \
        channelGate(ChannelGateParams const p)                                          \
    {                                                                                   \
        letNextBegin();                                                                 \
        bool const isStopped = p.stop != nullptr && *p.stop != 0;                       \
        if (!__syncthreads_or(isStopped))                                               \
        {                                                                               \
            channelGateBody(p);                                                         \
            return;                                                                     \
        }                                                                               \
        awaitFormer();                                                                  \
        for (int i = (int)(blockIdx.x / PARTS); i < p.images; i += p.clusters)          \
            for (int meeting = 0; meeting < 2; ++meeting)                               \
            {                                                                           \
                arrive();                                                               \
                waitForAll();                                                           \
            }                                                                           \
    }                                                                                   \
    static __device__ __forceinline__ void channelGateBody(ChannelGateParams const& p)
extern __shared__ Pack<u64, 2> sharedMemory[];
static __device__ __forceinline__ float* sharedStart() { return (float*)sharedMemory; }
static __device__ __forceinline__ float* ownPart(ChannelGateParams const& p, float* shared, int, int)
{
    return shared + p.partAt;
}
//! An element of the sums of another block of the cluster.
static __device__ __forceinline__ float partAt(float const* own, int from, int, int at)
{
#if __CUDA_ARCH__ >= 900
    if (PARTS > 1)
    {
        unsigned there;
        float sum;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(sharedAddress(own + at)), "r"(from));
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(sum) : "r"(there) : "memory");
        return sum;
    }
#endif
    return own[at];
}
static __device__ __forceinline__ bool makesResults(int) { return true; }
static __device__ __forceinline__ int firstMapOf(ChannelGateParams const& p, int part) { return part * p.mapsOfPart; }
static __device__ __forceinline__ int endMapOf(ChannelGateParams const& p, int part)
{
    return (part + 1) * p.mapsOfPart < p.maps ? (part + 1) * p.mapsOfPart : p.maps;
}
static __device__ __forceinline__ void arrive()
{
#if __CUDA_ARCH__ >= 900
    if (PARTS > 1)
    {
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}
static __device__ __forceinline__ void waitForAll()
{
#if __CUDA_ARCH__ >= 900
    if (PARTS > 1)
        asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
#endif
)"};

constexpr char kChannelGateText[]{R"(
//! A block's part of an image, and where its slices of the kernels are.
struct GatePlace
{
    int image, channel0, channels, pixel0, pixels;
    Stored const* w1; // Rows of the hidden numbers.
    int pitch1;
    Stored const* w2; // Rows of the maps, from the part's first on.
};

//! What a block reads of the kernels goes into shared memory in pieces of 16 bytes.
static __device__ __forceinline__ void stageWeights(
    ChannelGateParams const& p, GatePlace& place, Stored* to, int firstMap, int endMap)
{
    int const across = place.channels / 8;
    for (int i = (int)threadIdx.x; i < p.hidden * across; i += THREADS)
        copyAsync(to + i * 8, place.w1 + (i64)(i / across) * p.channels + i % across * 8, true);
    place.w1 = to;
    place.pitch1 = place.channels;
    to += p.hidden * place.channels;
    int const count = endMap > firstMap ? (endMap - firstMap) * p.hidden : 0;
    for (int i = (int)threadIdx.x; i < (count + 7) / 8; i += THREADS)
    {
        if (i * 8 + 8 <= count)
            copyAsync(to + i * 8, place.w2 + i * 8, true);
        else
            for (int k = i * 8; k < count; ++k)
                to[k] = place.w2[k];
    }
    place.w2 = to;
}

//! Sums over the block's pixels, W channels of each thread; what threads of the same channels have comes together.
template <int W>
static __device__ __forceinline__ void sumPixels(
    ChannelGateParams const& p, GatePlace const& place, float* sums, float* means)
{
    int const packs = (place.channels + W - 1) / W;
    int const lanes = packs < THREADS ? packs : THREADS;
    int const groups = lanes > 0 ? THREADS / lanes : 1;
    int const group = lanes > 0 ? (int)threadIdx.x / lanes : groups;
    float const share = 1.0f / (float)p.pixels;
    for (int first = 0; first < packs; first += lanes)
    {
        int const pack = first + (lanes > 0 ? (int)threadIdx.x % lanes : 0);
        if (group < groups && pack < packs)
        {
            float own[W] = {};
            Stored const* const x = (Stored const*)p.x
                + ((i64)place.image * p.pixels + place.pixel0) * p.channels + place.channel0 + pack * W;
#pragma unroll 8
            for (int i = group; i < place.pixels; i += groups)
            {
                Pack<Stored, W> const values = *(Pack<Stored, W> const*)(x + (i64)i * p.channels);
#pragma unroll
                for (int k = 0; k < W; ++k)
                    own[k] += widen(values.v[k]);
            }
#pragma unroll
            for (int k = 0; k < W; ++k)
                sums[(group * lanes + pack - first) * W + k] = own[k];
        }
        __syncthreads();
        int const here = (packs - first < lanes ? packs - first : lanes) * W;
        for (int c = (int)threadIdx.x; c < here; c += THREADS)
        {
            float sum = 0.0f;
#pragma unroll 8
            for (int i = 0; i < groups; ++i)
                sum += sums[i * lanes * W + c];
            means[first * W + c] = sum * share;
        }
        __syncthreads();
    }
}

//! A warp per hidden number; all warps go on together.
static __device__ __forceinline__ void multiplyMeans(
    ChannelGateParams const& p, GatePlace const& place, float const* means, float* part)
{
    int const lane = (int)threadIdx.x % 32;
    for (int first = 0; first < p.hidden; first += THREADS / 32)
    {
        int const s = first + (int)threadIdx.x / 32;
        int const channels = s < p.hidden ? place.channels : 0;
        Stored const* const w = place.w1 + (i64)s * place.pitch1;
        float sum = 0.0f;
        if (p.isWide)
            for (int c = lane * 8; c < channels; c += 256)
            {
                Pack<Stored, 8> const pack = *(Pack<Stored, 8> const*)(w + c);
#pragma unroll
                for (int k = 0; k < 8; k += 4)
                {
                    Pack<float, 4> const four = *(Pack<float, 4> const*)(means + c + k);
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        sum = fmaf(widen(pack.v[k + i]), four.v[i], sum);
                }
            }
        else
            for (int c = lane; c < channels; c += 32)
                sum = fmaf(widen(w[c]), means[c], sum);
        sum = warpJoin<JoinSum>(sum);
        if (lane == 0 && s < p.hidden)
            part[s] = sum;
    }
}

static __device__ __forceinline__ float biasOf(ChannelGateParams const& p, int map)
{
    return p.hasBias2 ? widen(((Stored const*)p.b2)[map]) : 0.0f;
}

static __device__ __forceinline__ float multiplyHidden(
    ChannelGateParams const& p, Stored const* w, float const* hidden, float sum)
{
    int s = 0;
    if (p.isStaged && p.hidden % 8 == 0)
#pragma unroll 4
        for (; s < p.hidden; s += 8)
        {
            Pack<Stored, 8> const pack = *(Pack<Stored, 8> const*)(w + s);
#pragma unroll
            for (int k = 0; k < 8; ++k)
                sum = fmaf(widen(pack.v[k]), hidden[s + k], sum);
        }
#pragma unroll 4
    for (; s < p.hidden; ++s)
        sum = fmaf(widen(w[s]), hidden[s], sum);
    return sum;
}

CHANNEL_GATE_KERNEL
{
    float* const shared = sharedStart();
    int const part = (int)(blockIdx.x % PARTS);
    int const slice = part % p.slices;
    int const range = part / p.slices;
    int const ranges = PARTS / p.slices;
    GatePlace place;
    place.channel0 = slice * p.channelsOfSlice;
    int const left = p.channels - place.channel0;
    place.channels = left < 0 ? 0 : left < p.channelsOfSlice ? left : p.channelsOfSlice;
    place.pixel0 = (int)((i64)p.pixels * range / ranges);
    place.pixels = (int)((i64)p.pixels * (range + 1) / ranges) - place.pixel0;
    int const firstMap = firstMapOf(p, part);
    int const endMap = endMapOf(p, part);
    place.w1 = (Stored const*)p.w1 + place.channel0;
    place.pitch1 = p.channels;
    place.w2 = (Stored const*)p.w2 + (i64)firstMap * p.hidden;
    if (!p.hasConstantWeights)
        awaitFormer();
    float* const bias1 = shared + p.biasAt;
    float* const hidden = shared + p.hiddenAt;
    if (p.isStaged) // On its way while the former kernels end, as are biases.
        stageWeights(p, place, (Stored*)(shared + p.weightsAt), firstMap, endMap);
    commitCopies();
    if (makesResults(part))
        for (int s = (int)threadIdx.x; s < p.hidden; s += THREADS)
            bias1[s] = p.hasBias1 ? widen(((Stored const*)p.b1)[s]) : 0.0f;
    float const bias2 = firstMap + (int)threadIdx.x < endMap ? biasOf(p, firstMap + (int)threadIdx.x) : 0.0f;
    awaitFormer();
    float* const means = shared + p.meansAt;
    waitForCopies<0>(); // With the image's sums on their way there is nothing to gain by waiting later.
    int turn = 0;
    for (place.image = (int)(blockIdx.x / PARTS); place.image < p.images; place.image += p.clusters, ++turn)
    {
        if (p.isWide)
            sumPixels<8>(p, place, shared, means);
        else
            sumPixels<1>(p, place, shared, means);
        float* const own = ownPart(p, shared, part, turn);
        multiplyMeans(p, place, means, own);
        arrive();
        waitForAll();
        if (makesResults(part))
            for (int s = (int)threadIdx.x; s < p.hidden; s += THREADS)
            {
                float sum = bias1[s];
#pragma unroll
                for (int from = 0; from < PARTS; ++from)
                    sum += partAt(own, from, part, s);
                hidden[s] = firstSteps(sum);
            }
        __syncthreads();
        arrive(); // Nobody reads the others' sums any more; no block goes on until all have said so.
        if (makesResults(part))
            for (int m = firstMap + (int)threadIdx.x; m < endMap; m += THREADS)
                put(((Stored*)p.y)[(i64)place.image * p.maps + m],
                    secondSteps(multiplyHidden(p, place.w2 + (i64)(m - firstMap) * p.hidden, hidden,
                        m == firstMap + (int)threadIdx.x ? bias2 : biasOf(p, m))));
        waitForAll();
    }
}
)"};
} // namespace

Result<std::string> channelGateText(ChannelGateForm const& form, ChannelGate const& layer)
{
    std::string text = functionsFor(std::array{DType::kHALF}) + kChannelGateParamsText;
    text += fmt::format("typedef {} Stored;\nconstexpr int PARTS = {}, THREADS = {};\n", form.type, form.parts,
        ChannelGateForm::kThreads);
    text += matrixText();
    text += kGatePartsText + TENON_TRY(epilogueExpression(layer.first, "firstSteps"))
        + TENON_TRY(epilogueExpression(layer.second, "secondSteps"));
    return wholeText(text + kChannelGateText);
}

} // namespace tenon::cuda
