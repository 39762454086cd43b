// NMS: a block of threads per image sorts its pairs of box and class by score and decides about many at a time: first
// which of them are kept, then what those hide of all behind them. A second kernel writes the pairs of all images one
// behind the other, and the host is told how many they are.
#include "layers/nms.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/sort_text.h"

#include <algorithm>
#include <bit>

namespace tenon::cuda
{

namespace
{
//! Scratch memory per image: `room` keys, `limit` kept pairs and marks, a count per class.
TENON_DEVICE_STRUCT(NMSParams, unsigned const* stop; float const* boxes; float const* scores; int const* most;
                    float const* overlap; float const* least; void* out; int* found; long long* total;
                    unsigned long long* keys; int* kept; int* counts; int* ofClass; unsigned char* hidden;
                    long long images; long long perImage; long long classes; long long room; long long limit;
                    long long rows; int isPerClass; int areCorners;);

constexpr char kNMSKernel[]{R"(
struct Box
{
    double low[2];
    double high[2];
    __device__ double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};
//! A key's lower half is the class times the boxes of an image plus the box.
static __device__ __forceinline__ Box boxOf(NMSParams const& p, i64 image, u64 key)
{
    i64 const pair = (i64)(unsigned)key;
    i64 const row = image * p.perImage + pair % p.perImage;
    float const* const from = p.boxes + (p.isPerClass ? row * p.classes + pair / p.perImage : row) * 4;
    Box box;
    for (int axis = 0; axis < 2; ++axis)
    {
        double const a = from[axis];
        double const b = from[axis + 2];
        box.low[axis] = p.areCorners ? (a < b ? a : b) : a - b / 2.0;
        box.high[axis] = p.areCorners ? (a < b ? b : a) : a + b / 2.0;
    }
    return box;
}
static __device__ __forceinline__ bool overlaps(Box const& a, Box const& b, double threshold)
{
    double common = 1.0;
    for (int axis = 0; axis < 2; ++axis)
    {
        double const high = a.high[axis] < b.high[axis] ? a.high[axis] : b.high[axis];
        double const low = a.low[axis] > b.low[axis] ? a.low[axis] : b.low[axis];
        if (!(high > low) && threshold >= 0.0) // As most pairs are.
            return false;
        common *= high > low ? high - low : 0.0;
    }
    double const both = a.area() + b.area() - common;
    return both > 0.0 && common > threshold * both;
}
//! How many keys of an image there are, sorted: by falling scores, then class, then box.
static __device__ __forceinline__ i64 collect(NMSParams const& p, i64 image, u64* keys)
{
    __shared__ unsigned count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    float const least = p.least ? *p.least : 0.0f;
    float const* const scores = p.scores + image * p.perImage * p.classes;
    for (i64 i = threadIdx.x; i < p.perImage * p.classes; i += blockDim.x)
    {
        float const score = scores[i];
        if (!(score > least))
            continue;
        unsigned const bits = toBits(score == 0.0f ? 0.0f : score);
        unsigned const ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
        u64 const pair = (u64)(i % p.classes * p.perImage + i / p.classes);
        keys[atomicAdd(&count, 1u)] = (u64)(~ordered) << 32 | pair;
    }
    __syncthreads();
    i64 const all = count;
    sortKeys(keys, all);
    return all < p.limit ? all : p.limit;
}

constexpr int kAtOnce = 256, kWords = kAtOnce / 32;
//! Boxes with their classes, that are compared with many others.
struct Compared
{
    Box boxes[kAtOnce];
    int kinds[kAtOnce];
};
//! Which of the keys from `first` on are kept, in order; all threads find what they would hide of each other, one of
//! them takes them in turn. `all`: how many of the image are kept.
static __device__ __forceinline__ void decide(
    NMSParams const& p, i64 image, i64 first, i64 count, Compared& kept, int& now, int& all)
{
    __shared__ Compared own;
    __shared__ unsigned hides[kAtOnce][kWords];
    __shared__ unsigned gone[kWords];
    __shared__ int chosen[kAtOnce];
    u64 const* const keys = p.keys + image * p.room + first;
    int const here = count - first < kAtOnce ? (int)(count - first) : kAtOnce;
    double const threshold = p.overlap ? *p.overlap : 0.0f;
    for (int i = threadIdx.x; i < here; i += blockDim.x)
    {
        own.boxes[i] = boxOf(p, image, keys[i]);
        own.kinds[i] = (int)((unsigned)keys[i] / p.perImage);
    }
    for (int word = threadIdx.x; word < kWords; word += blockDim.x)
    {
        unsigned bits = 0;
        for (int j = word * 32; j < word * 32 + 32 && j < here; ++j)
            bits |= (unsigned)(p.hidden[image * p.limit + first + j] != 0) << j % 32;
        gone[word] = bits;
    }
    __syncthreads();
    for (int item = threadIdx.x; item < here * kWords; item += blockDim.x)
    {
        int const i = item / kWords, word = item % kWords;
        bool const isGone = (gone[i / 32] >> i % 32 & 1u) != 0;
        unsigned bits = 0;
        for (int j = word * 32 > i ? word * 32 : i + 1; j < word * 32 + 32 && j < here && !isGone; ++j)
            if ((gone[word] >> j % 32 & 1u) == 0 && own.kinds[i] == own.kinds[j] && overlaps(own.boxes[j], own.boxes[i], threshold))
                bits |= 1u << j % 32;
        hides[i][word] = bits;
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
        i64 const most = *p.most;
        int* const ofClass = p.ofClass + image * p.classes;
        now = 0;
        for (int i = 0; i < here; ++i)
        {
            int const kind = own.kinds[i];
            if ((gone[i / 32] >> i % 32 & 1u) != 0 || ofClass[kind] >= most)
                continue;
            ++ofClass[kind];
            p.kept[image * p.limit + all++] = (int)(unsigned)keys[i];
            chosen[now++] = i;
            for (int word = i / 32; word < kWords; ++word)
                gone[word] |= hides[i][word];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < now; i += blockDim.x)
    {
        kept.boxes[i] = own.boxes[chosen[i]];
        kept.kinds[i] = own.kinds[chosen[i]];
    }
    __syncthreads();
}
//! Marks from `first` on what those that have just been kept hide, and what is of a class of which enough are kept.
static __device__ __forceinline__ void hide(
    NMSParams const& p, i64 image, i64 first, i64 count, Compared const& kept, int now)
{
    u64 const* const keys = p.keys + image * p.room;
    int const* const ofClass = p.ofClass + image * p.classes;
    unsigned char* const hidden = p.hidden + image * p.limit;
    double const threshold = p.overlap ? *p.overlap : 0.0f;
    i64 const most = *p.most;
    for (i64 i = first + threadIdx.x; i < count; i += blockDim.x)
    {
        if (hidden[i])
            continue;
        int const kind = (int)((unsigned)keys[i] / p.perImage);
        bool isHidden = ofClass[kind] >= most;
        if (!isHidden)
        {
            Box const box = boxOf(p, image, keys[i]);
            for (int j = 0; j < now && !isHidden; ++j)
                isHidden = kept.kinds[j] == kind && overlaps(box, kept.boxes[j], threshold);
        }
        if (isHidden)
            hidden[i] = 1;
    }
    __syncthreads();
}

TENON_KERNEL(selectBoxes, NMSParams)
{
    __shared__ Compared kept;
    __shared__ int now, all;
    i64 const image = blockIdx.x;
    i64 const count = collect(p, image, p.keys + image * p.room);
    for (i64 i = threadIdx.x; i < count; i += blockDim.x)
        p.hidden[image * p.limit + i] = 0;
    for (i64 i = threadIdx.x; i < p.classes; i += blockDim.x)
        p.ofClass[image * p.classes + i] = 0;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    for (i64 first = 0; first < count; first += kAtOnce)
    {
        decide(p, image, first, count, kept, now, all);
        if (now > 0)
            hide(p, image, first + kAtOnce, count, kept, now);
    }
    if (threadIdx.x == 0)
        p.counts[image] = all;
}
TENON_KERNEL(writeBoxes, NMSParams)
{
    i64 before = 0;
    i64 all = 0;
    for (i64 image = 0; image < p.images; ++image)
    {
        before += image < blockIdx.x ? p.counts[image] : 0;
        all += p.counts[image];
    }
    i64 const image = blockIdx.x;
    // A plan may lie about how many there can be: whoever reads `total` refuses more than that.
    for (i64 i = threadIdx.x; image < p.images && i < p.counts[image] && before + i < p.rows; i += blockDim.x)
    {
        i64 const pair = p.kept[image * p.limit + i];
        Index* const to = (Index*)p.out + (before + i) * 3;
        to[0] = (Index)image;
        to[1] = (Index)(pair / p.perImage);
        to[2] = (Index)(pair % p.perImage);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
    {
        *p.total = all;
        *p.found = (int)all;
    }
}
)"};

class NMSStep final : public CudaPrepared
{
  public:
    NMSStep(NMSParams params, void* select, void* write)
        : mParams{params},
          mSelect{select},
          mWrite{write}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return arranged(nullptr).second;
    }
    bool isRepeatable() const noexcept override
    {
        return false; // What it tells goes to where the run at hand reads it.
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        NMSParams params = arranged(at.call.scratch).first;
        auto const number = [&](size_t i, bool isThere) {
            return isThere ? static_cast<float const*>(at.call.inputs[i]) : nullptr;
        };
        params.boxes = number(0, true);
        params.scores = number(1, true);
        params.most = static_cast<int const*>(at.call.inputs[2]);
        params.overlap = number(3, mHasOverlap);
        params.least = number(4, mHasLeast);
        params.out = at.call.outputs[0];
        params.found = static_cast<int*>(at.call.outputs[1]);
        Grid const grid{.x = std::max(static_cast<unsigned>(params.images), 1U), .block = 512};
        if (params.images > 0)
            TENON_TRY(launchKernel(at, mSelect, grid, params));
        TENON_TRY(launchKernel(at, mWrite, grid, params));
        if (at.call.produced == nullptr)
            return Done{};
        Code const code = at.api.cuMemcpyAsync(reinterpret_cast<Address>(at.call.produced),
            reinterpret_cast<Address>(params.total), sizeof(int64_t), at.stream);
        if (code != kSuccess)
            return at.device.noted(code, "cuMemcpyAsync");
        return Done{};
    }
    void setThere(bool hasOverlap, bool hasLeast) noexcept
    {
        mHasOverlap = hasOverlap;
        mHasLeast = hasLeast;
    }

  private:
    //! With the parts of the scratch memory, and how many bytes they take.
    std::pair<NMSParams, size_t> arranged(void* scratch) const
    {
        NMSParams params = mParams;
        auto const base = reinterpret_cast<uintptr_t>(scratch);
        size_t used{0};
        auto const take = [&](auto*& part, int64_t count) {
            using Element = std::remove_pointer_t<std::remove_reference_t<decltype(part)>>;
            part = reinterpret_cast<Element*>(base + used);
            used += static_cast<size_t>(count) * sizeof(Element); // From the widest elements on.
        };
        take(params.keys, params.images * params.room);
        take(params.total, 1);
        take(params.kept, params.images * params.limit);
        take(params.counts, params.images);
        take(params.ofClass, params.images * params.classes);
        take(params.hidden, params.images * params.limit);
        return {params, used};
    }

    NMSParams mParams;
    void* mSelect;
    void* mWrite;
    bool mHasOverlap{false};
    bool mHasLeast{false};
};

class NMSKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        NMS const layer = TENON_TRY(fieldsOf<NMS>(args()));
        std::vector<int64_t> const& scores = inputs[1].extents;
        bool fits = outputs[0].layout == Layout::kLinear && isSmall(scores[1] * scores[2]) && isSmall(scores[0]);
        for (size_t i = 0; i < inputs.size(); ++i)
            fits = fits
                && (!inputs[i].present
                    || (inputs[i].layout == Layout::kLinear && (i == 2 || inputs[i].dtype == DType::kFLOAT)));
        NMSParams params{};
        params.images = scores[0];
        params.perImage = scores[1];
        params.classes = scores[2];
        params.room = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(scores[1] * scores[2])));
        params.limit = std::min<int64_t>(scores[1] * scores[2], layer.topKBoxLimit);
        params.rows = outputs[0].extents.at(0);
        params.isPerClass = inputs[0].extents.size() == 4 ? 1 : 0;
        params.areCorners = layer.boundingBoxFormat == nvinfer1::BoundingBoxFormat::kCORNER_PAIRS ? 1 : 0;
        if (!fits)
            return badArgument("the kernel of NMS takes row-major float32");
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kNMSParamsText} + kSortKeysText
                + fmt::format("typedef {} Index;\n", TENON_TRY(storageOf(outputs[0].dtype))) + kNMSKernel)));
        auto step = std::make_shared<NMSStep>(
            params, TENON_TRY(module.function("selectBoxes")), TENON_TRY(module.function("writeBoxes")));
        auto const isThere = [&](size_t i) { return i < inputs.size() && inputs[i].present; };
        step->setThere(isThere(3), isThere(4));
        return std::shared_ptr<Prepared const>{std::move(step)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfNMS(Problem const& problem)
{
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        if (i != 2 && problem.hasInput(i) && problem.input(i).dtype != DType::kFLOAT)
            return refuse("blocks", fmt::format("takes float32, this is {}", nameOf(problem.input(i).dtype)));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(2, Layout::kLinear);
    offer.cost = costOf(problem, 0.0, 40.0 * bytesOf(problem)) + 50.0;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildNMS(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "nms", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kNMSCandidates[]{{.layer = NMS::kName, .name = "blocks", .offers = offersOfNMS, .build = buildNMS}};
constexpr CudaKernelEntry kNMSKernels[]{{"nms", &loadLayerKernel<NMSKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(NMS, kNMSCandidates, kNMSKernels);
