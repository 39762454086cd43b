// BoxSelection: candidates are found by all blocks; then a block of threads per image, or per class of an image, takes
// the best of them by digits of their keys, sorts these and leaves out what a better one covers.
#include "layers/box_selection.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/sort_text.h"

#include <algorithm>
#include <bit>

namespace tenon::cuda
{

namespace
{
//! A group is what is suppressed by itself: an image, or a class of one. Scratch memory per group: `room` keys, how
//! many they are, `sorted` keys of the best, what is hidden; per image of kByClass: `sorted` keys of all classes.
TENON_DEVICE_STRUCT(BoxSelectionParams, unsigned const* stop; float const* boxes; float const* scores;
                    float const* anchors; int* outCounts; float* outBoxes; float* outScores; int* outClasses;
                    unsigned long long* keys; unsigned long long* best; unsigned long long* all; float* places;
                    unsigned* counts; int* ofClass; unsigned char* hidden; long long images; long long perImage;
                    long long classes; long long boxClasses; long long anchorImages; long long room; long long sorted;
                    long long candidates; long long most; long long mostOfClass; long long allSorted; int background;
                    int emptyClass; int isByClass; int isCentre; int areLogits; int isAgnostic; int clips; float more;
                    float moreInCommon; float lowest; float overlap;);

constexpr char kBoxSelectionKernel[]{R"(
struct Box
{
    float x1;
    float y1;
    float x2;
    float y2;
};
//! Rounded as a product by itself is, whatever is added to it.
static __device__ __forceinline__ float times(float a, float b) { return (float)((double)a * (double)b); }
static __device__ __forceinline__ float least(float a, float b) { return b < a ? b : a; }
static __device__ __forceinline__ float largest(float a, float b) { return a < b ? b : a; }
static __device__ __forceinline__ Box ordered(Box const& a)
{
    return Box{least(a.x1, a.x2), least(a.y1, a.y2), largest(a.x1, a.x2), largest(a.y1, a.y2)};
}
static __device__ __forceinline__ Box cornersOf(Box const& a)
{
    float const width = times(0.5f, a.x2);
    float const height = times(0.5f, a.y2);
    return Box{a.x1 - width, a.y1 - height, a.x1 + width, a.y1 + height};
}
static __device__ __forceinline__ Box boxAt(float const* numbers, i64 index)
{
    float const* const at = numbers + index * 4;
    return Box{at[0], at[1], at[2], at[3]};
}
static __device__ __forceinline__ Box boxOf(BoxSelectionParams const& p, i64 image, i64 box, i64 label)
{
    i64 const row = image * p.perImage + box;
    Box const own = boxAt(p.boxes, row * p.boxClasses + (p.boxClasses == 1 ? 0 : label));
    if (p.anchorImages == 0)
        return p.isCentre ? cornersOf(own) : own;
    Box const anchor = boxAt(p.anchors, p.anchorImages == 1 ? box : row);
    if (p.isCentre)
        return cornersOf(Box{times(own.x1, anchor.x2) + anchor.x1, times(own.y1, anchor.y2) + anchor.y1,
            times(anchor.x2, expf(own.x2)), times(anchor.y2, expf(own.y2))});
    Box const offset = ordered(own);
    Box const base = ordered(anchor);
    return Box{base.x1 + offset.x1, base.y1 + offset.y1, base.x2 + offset.x2, base.y2 + offset.y2};
}
static __device__ __forceinline__ float areaOf(Box const& a)
{
    float const width = a.x2 - a.x1;
    float const height = a.y2 - a.y1;
    return width > 0.0f && height > 0.0f ? times(width, height) : 0.0f;
}
static __device__ __forceinline__ float sidesOf(Box const& a, float more)
{
    return a.x2 < a.x1 || a.y2 < a.y1 ? 0.0f : times(a.x2 - a.x1 + more, a.y2 - a.y1 + more);
}
static __device__ __forceinline__ bool covers(BoxSelectionParams const& p, Box const& better, Box const& one)
{
    Box const a = ordered(better);
    Box const b = ordered(one);
    bool const isApart = b.x1 > a.x2 || b.x2 < a.x1 || b.y1 > a.y2 || b.y2 < a.y1;
    Box common{0.0f, 0.0f, 0.0f, 0.0f};
    if (!isApart)
        common = Box{largest(a.x1, b.x1), largest(a.y1, b.y1), least(a.x2, b.x2), least(a.y2, b.y2)};
    if (!p.isByClass)
    {
        float const shared = areaOf(common);
        float const both = areaOf(a) + areaOf(b) - shared;
        return (shared > 0.0f && both > 0.0f ? shared / both : 0.0f) >= p.overlap;
    }
    float const width = common.x2 - common.x1 + p.moreInCommon;
    float const height = common.y2 - common.y1 + p.moreInCommon;
    float const shared = width > 0.0f && height > 0.0f ? times(width, height) : 0.0f;
    float const part =
        width > 0.0f && height > 0.0f ? shared / (sidesOf(a, p.more) + sidesOf(b, p.more) - shared) : 0.0f;
    return part > p.overlap;
}
//! Ascending keys: falling scores, then ascending ranks.
static __device__ __forceinline__ u64 keyOf(float score, i64 rank)
{
    unsigned const bits = toBits(score == 0.0f ? 0.0f : score);
    unsigned const rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (u64)(~rising) << 32 | (u64)(unsigned)rank;
}
static __device__ __forceinline__ float scoreOf(u64 key)
{
    unsigned const rising = ~(unsigned)(key >> 32);
    return fromBits(rising >> 31 ? rising & 0x7FFFFFFFu : ~rising);
}
//! Copies the least `limit` of unlike keys, all where there are no more; how many. They end padded to a power of two.
static __device__ __forceinline__ i64 takeBest(u64 const* keys, i64 count, i64 limit, u64* to)
{
    __shared__ unsigned histogram[256];
    __shared__ u64 last;
    __shared__ unsigned left;
    __shared__ unsigned taken;
    if (threadIdx.x == 0)
    {
        last = count <= limit ? ~0ull : 0ull;
        left = (unsigned)limit;
        taken = 0;
    }
    __syncthreads();
    for (int shift = 56; count > limit && shift >= 0; shift -= 8)
    {
        for (i64 i = threadIdx.x; i < 256; i += blockDim.x)
            histogram[i] = 0;
        __syncthreads();
        u64 const front = shift == 56 ? 0 : last >> (shift + 8);
        for (i64 i = threadIdx.x; i < count; i += blockDim.x)
            if ((shift == 56 ? 0 : keys[i] >> (shift + 8)) == front)
                atomicAdd(&histogram[(unsigned)(keys[i] >> shift) & 255u], 1u);
        __syncthreads();
        if (threadIdx.x == 0)
        {
            unsigned digit = 0;
            while (digit < 255u && left > histogram[digit])
                left -= histogram[digit++];
            last |= (u64)digit << shift;
        }
        __syncthreads();
    }
    u64 const end = last;
    for (i64 i = threadIdx.x; i < count; i += blockDim.x)
        if (keys[i] <= end)
            to[atomicAdd(&taken, 1u)] = keys[i];
    __syncthreads();
    i64 const all = taken;
    sortKeys(to, all);
    return all;
}
//! The position of the first that is not hidden, from `first` on; `count`: none.
static __device__ __forceinline__ i64 nextOf(unsigned char const* hidden, i64 first, i64 count)
{
    __shared__ unsigned next;
    while (first < count)
    {
        __syncthreads();
        if (threadIdx.x == 0)
            next = blockDim.x;
        __syncthreads();
        i64 const own = first + threadIdx.x;
        if (own < count && !hidden[own])
            atomicMin(&next, threadIdx.x);
        __syncthreads();
        if (next < blockDim.x)
            return first + next;
        first += blockDim.x;
    }
    return count;
}
static __device__ __forceinline__ void writeOne(
    BoxSelectionParams const& p, i64 at, Box const& box, float score, i64 label)
{
    float const sides[4] = {box.x1, box.y1, box.x2, box.y2};
    for (int i = 0; i < 4; ++i)
        p.outBoxes[at * 4 + i] = p.clips ? largest(least(sides[i], 1.0f), 0.0f) : sides[i];
    p.outScores[at] = p.areLogits ? 1.0f / (1.0f + expf(-score)) : score;
    p.outClasses[at] = (int)label;
}
//! What is behind the last box of an image.
static __device__ __forceinline__ void writeRest(BoxSelectionParams const& p, i64 image, i64 count)
{
    if (threadIdx.x == 0)
        p.outCounts[image] = (int)count;
    for (i64 i = count + threadIdx.x; i < p.most; i += blockDim.x)
    {
        i64 const at = image * p.most + i;
        for (int side = 0; side < 4; ++side)
            p.outBoxes[at * 4 + side] = 0.0f;
        p.outScores[at] = 0.0f;
        p.outClasses[at] = p.emptyClass;
    }
}

TENON_KERNEL(beginBoxes, BoxSelectionParams)
{
    u64 const groups = (u64)(p.isByClass ? p.images * p.classes : p.images);
    for (u64 i = firstItem(); i < groups; i += itemStride())
        p.counts[i] = 0;
}
TENON_KERNEL(findBoxes, BoxSelectionParams)
{
    u64 const items = (u64)(p.images * p.perImage * p.classes);
    for (u64 i = firstItem(); i < items; i += itemStride())
    {
        i64 const label = (i64)i % p.classes;
        i64 const box = (i64)i / p.classes % p.perImage;
        i64 const image = (i64)i / p.classes / p.perImage;
        float const score = p.scores[i];
        bool const counts = p.isByClass ? score > p.lowest : score >= p.lowest;
        if (!counts || label == p.background)
            continue;
        i64 const group = p.isByClass ? image * p.classes + label : image;
        i64 const rank = p.isByClass ? box : box * p.classes + label;
        p.keys[group * p.room + atomicAdd(p.counts + group, 1u)] = keyOf(score, rank);
    }
}
TENON_KERNEL(selectBoxes, BoxSelectionParams)
{
    i64 const group = blockIdx.x;
    i64 const image = p.isByClass ? group / p.classes : group;
    u64* const keys = p.keys + group * p.room;
    u64* const best = p.best + group * p.sorted;
    float* const places = p.places + group * p.sorted * 4;
    unsigned char* const hidden = p.hidden + group * p.sorted;
    int* const ofClass = p.ofClass + image * p.classes;
    i64 const count = takeBest(keys, p.counts[group], p.candidates, best);
    for (i64 i = threadIdx.x; i < count; i += blockDim.x)
    {
        i64 const rank = (i64)(unsigned)best[i];
        i64 const label = p.isByClass ? group % p.classes : rank % p.classes;
        Box const box = boxOf(p, image, p.isByClass ? rank : rank / p.classes, label);
        places[i * 4] = box.x1;
        places[i * 4 + 1] = box.y1;
        places[i * 4 + 2] = box.x2;
        places[i * 4 + 3] = box.y2;
        hidden[i] = 0;
    }
    for (i64 i = threadIdx.x; !p.isByClass && i < p.classes; i += blockDim.x)
        ofClass[i] = 0;
    __syncthreads();
    i64 kept = 0;
    for (i64 at = nextOf(hidden, 0, count); at < count && (p.isByClass || kept < p.most);
         at = nextOf(hidden, at + 1, count))
    {
        Box const box = boxAt(places, at);
        i64 const rank = (i64)(unsigned)best[at];
        i64 const label = p.isByClass ? group % p.classes : rank % p.classes;
        for (i64 i = at + 1 + threadIdx.x; i < count; i += blockDim.x)
        {
            bool const meets = p.isByClass || p.isAgnostic || (i64)(unsigned)best[i] % p.classes == label;
            if (!hidden[i] && meets && covers(p, box, boxAt(places, i)))
                hidden[i] = 1;
        }
        // Beyond the number of its class, too, it has covered others. The count was read by all before it grows.
        bool const isWanted = p.mostOfClass == 0 || ofClass[label] < p.mostOfClass;
        __syncthreads();
        if (threadIdx.x == 0 && isWanted)
        {
            if (p.isByClass)
                keys[kept] = keyOf(scoreOf(best[at]), label * p.perImage + rank);
            else
            {
                ++ofClass[label];
                writeOne(p, image * p.most + kept, box, scoreOf(best[at]), label);
            }
        }
        kept += isWanted ? 1 : 0;
        __syncthreads();
    }
    if (!p.isByClass)
        writeRest(p, image, kept);
    else if (threadIdx.x == 0)
        p.counts[group] = (unsigned)kept;
}
//! The best of all classes of an image, whose keys are moved together first: none moves behind where it was.
TENON_KERNEL(joinBoxes, BoxSelectionParams)
{
    i64 const image = blockIdx.x;
    u64* const keys = p.keys + image * p.classes * p.room;
    u64* const all = p.all + image * p.allSorted;
    i64 count = 0;
    for (i64 label = 0; label < p.classes; ++label)
    {
        i64 const own = p.counts[image * p.classes + label];
        for (i64 first = 0; first < own; first += blockDim.x)
        {
            i64 const i = first + threadIdx.x;
            u64 const key = i < own ? keys[label * p.room + i] : 0;
            __syncthreads();
            if (i < own)
                keys[count + i] = key;
            __syncthreads();
        }
        count += own;
    }
    i64 const kept = takeBest(keys, count, p.most, all);
    for (i64 i = threadIdx.x; i < kept; i += blockDim.x)
    {
        i64 const rank = (i64)(unsigned)all[i];
        i64 const label = rank / p.perImage;
        writeOne(p, image * p.most + i, boxOf(p, image, rank % p.perImage, label), scoreOf(all[i]), label);
    }
    writeRest(p, image, kept);
}
)"};

struct BoxSelectionCode
{
    void* begin;
    void* find;
    void* select;
    void* join;
};

class BoxSelectionStep final : public CudaPrepared
{
  public:
    BoxSelectionStep(BoxSelectionParams params, BoxSelectionCode code)
        : mParams{params},
          mCode{code}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return arranged(nullptr).second;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        BoxSelectionParams params = arranged(at.call.scratch).first;
        params.boxes = static_cast<float const*>(at.call.inputs[0]);
        params.scores = static_cast<float const*>(at.call.inputs[1]);
        params.anchors = params.anchorImages == 0 ? nullptr : static_cast<float const*>(at.call.inputs[2]);
        params.outCounts = static_cast<int*>(at.call.outputs[0]);
        params.outBoxes = static_cast<float*>(at.call.outputs[1]);
        params.outScores = static_cast<float*>(at.call.outputs[2]);
        params.outClasses = static_cast<int*>(at.call.outputs[3]);
        TENON_TRY(launchKernel(at, mCode.begin, gridFor(at.device, std::max<int64_t>(groups(), 1)), params));
        int64_t const items = params.images * params.perImage * params.classes;
        if (items > 0)
            TENON_TRY(launchKernel(at, mCode.find, gridFor(at.device, items), params));
        constexpr unsigned kThreads{512};
        if (groups() > 0)
            TENON_TRY(
                launchKernel(at, mCode.select, Grid{.x = static_cast<unsigned>(groups()), .block = kThreads}, params));
        if (params.isByClass == 0 || params.images == 0)
            return Done{};
        return launchKernel(at, mCode.join, Grid{.x = static_cast<unsigned>(params.images), .block = kThreads}, params);
    }

  private:
    int64_t groups() const noexcept
    {
        return mParams.isByClass != 0 ? mParams.images * mParams.classes : mParams.images;
    }
    //! With the parts of the scratch memory, and how many bytes they take.
    std::pair<BoxSelectionParams, size_t> arranged(void* scratch) const
    {
        BoxSelectionParams params = mParams;
        auto const base = reinterpret_cast<uintptr_t>(scratch);
        size_t used{0};
        auto const take = [&](auto*& part, int64_t count) {
            using Element = std::remove_pointer_t<std::remove_reference_t<decltype(part)>>;
            part = reinterpret_cast<Element*>(base + used);
            used += static_cast<size_t>(count) * sizeof(Element); // From the widest elements on.
        };
        take(params.keys, groups() * params.room);
        take(params.best, groups() * params.sorted);
        take(params.all, params.isByClass != 0 ? params.images * params.allSorted : 0);
        take(params.places, groups() * params.sorted * 4);
        take(params.counts, groups());
        take(params.ofClass, params.images * params.classes);
        take(params.hidden, groups() * params.sorted);
        return {params, used};
    }

    BoxSelectionParams mParams;
    BoxSelectionCode mCode;
};

BoxSelectionParams paramsOf(BoxSelection const& layer, BoxSelection::Extents const& extents)
{
    bool const isByClass = layer.rule == BoxRule::kByClass;
    auto const padded = [](int64_t count) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))); };
    BoxSelectionParams params{};
    params.images = extents.images;
    params.perImage = extents.boxes;
    params.classes = extents.classes;
    params.boxClasses = extents.boxClasses;
    params.anchorImages = extents.anchorImages;
    params.room = isByClass ? extents.boxes : extents.boxes * extents.classes;
    params.candidates = layer.candidates;
    params.sorted = padded(std::min<int64_t>(layer.candidates, params.room));
    params.most = layer.most;
    params.allSorted = padded(std::min<int64_t>(layer.most, extents.boxes * extents.classes));
    params.mostOfClass = layer.mostOfClass;
    params.background = layer.background;
    params.emptyClass = layer.emptyClass;
    params.isByClass = isByClass ? 1 : 0;
    params.isCentre = layer.form == BoxForm::kCentre ? 1 : 0;
    params.areLogits = layer.areLogits ? 1 : 0;
    params.isAgnostic = layer.isAgnostic ? 1 : 0;
    params.clips = layer.clips ? 1 : 0;
    params.more = layer.arePixels ? 1.0F : 0.0F;
    params.moreInCommon = layer.arePixels && layer.haveOneInCommon ? 1.0F : 0.0F;
    params.lowest = isByClass ? layer.scoreThreshold : layer.lowestScore();
    params.overlap = layer.overlapThreshold;
    return params;
}

class BoxSelectionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        BoxSelection const layer = TENON_TRY(fieldsOf<BoxSelection>(args()));
        auto const isLinear = [](TensorArg const& each) { return !each.present || each.layout == Layout::kLinear; };
        if (!std::ranges::all_of(inputs, isLinear) || !std::ranges::all_of(outputs, isLinear))
            return badArgument("the kernel of selected boxes takes row-major tensors");
        bool const hasAnchors = inputs.size() > 2 && inputs[2].present;
        BoxSelection::Extents const extents =
            BoxSelection::extentsOf(inputs[0].extents, inputs[1].extents, hasAnchors ? &inputs[2].extents : nullptr);
        if (!isSmall(extents.boxes * extents.classes) || !isSmall(extents.images * extents.classes))
            return badArgument("{} boxes of {} classes", extents.boxes, extents.classes);
        Module const& module = *TENON_TRY(
            moduleOf(device(), wholeText(std::string{kBoxSelectionParamsText} + kSortKeysText + kBoxSelectionKernel)));
        BoxSelectionCode const code{TENON_TRY(module.function("beginBoxes")), TENON_TRY(module.function("findBoxes")),
            TENON_TRY(module.function("selectBoxes")), TENON_TRY(module.function("joinBoxes"))};
        return std::shared_ptr<Prepared const>{std::make_shared<BoxSelectionStep>(paramsOf(layer, extents), code)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfBoxSelection(Problem const& problem)
{
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(4, Layout::kLinear);
    offer.cost = costOf(problem, 0.0, 4.0 * bytesOf(problem)) + 50.0;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildBoxSelection(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "box_selection", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kBoxSelectionCandidates[]{
    {.layer = BoxSelection::kName, .name = "blocks", .offers = offersOfBoxSelection, .build = buildBoxSelection}};
constexpr CudaKernelEntry kBoxSelectionKernels[]{{"box_selection", &loadLayerKernel<BoxSelectionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(BoxSelection, kBoxSelectionCandidates, kBoxSelectionKernels);
