// Resize by tables: for each axis that changes, the indices and weights that the layer itself gives.
#include "layers/resize.h"
#include "backends/cuda/device_table.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>
#include <cstring>

namespace tenon::cuda
{

namespace
{
constexpr size_t kResizeAxes{5};

//! Axes from the slowest to the fastest in memory; those that stay have no table.
TENON_DEVICE_STRUCT(ResizeParams, unsigned const* stop; void const* in; void* out; unsigned long long count;
                    unsigned isSmall; unsigned long long extents[5]; long long strides[5]; int taps[5];
                    int const* index[5]; float const* weight[5];);

constexpr char kResizeKernel[]{R"(
static __device__ __forceinline__ i64 sourceOf(ResizeParams const& p, int axis, i64 at, int tap)
{
    return (p.index[axis] ? (i64)p.index[axis][at * p.taps[axis] + tap] : at) * p.strides[axis];
}
static __device__ __forceinline__ float weightOf(ResizeParams const& p, int axis, i64 at, int tap)
{
    return p.index[axis] ? p.weight[axis][at * p.taps[axis] + tap] : 1.0f;
}
//! Items are packs of N elements along the last axis, which stays as it is when N is not 1.
template <typename T>
static __device__ __forceinline__ void nearest(ResizeParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 from = 0;
        for (int axis = 4; axis >= 0; --axis)
            from += sourceOf(p, axis, (i64)takeAxis(left, p.extents[axis], p.isSmall), 0);
        ((T*)p.out)[item] = ((T const*)p.in)[from];
    }
}
#ifdef STORED
//! A weight of 0 reads nothing: an infinity there does not turn into a NaN.
template <int N>
static __device__ __forceinline__ void interpolate(ResizeParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 at[5];
        for (int axis = 4; axis >= 0; --axis)
            at[axis] = (i64)takeAxis(left, p.extents[axis], p.isSmall);
        float sum[N] = {};
        int const all = p.taps[0] * p.taps[1] * p.taps[2] * p.taps[3] * p.taps[4];
        for (int tap = 0; tap < all; ++tap)
        {
            int rest = tap;
            i64 from = 0;
            float weight = 1.0f;
            for (int axis = 4; axis >= 0; --axis)
            {
                int const own = rest % p.taps[axis];
                rest /= p.taps[axis];
                from += sourceOf(p, axis, at[axis], own);
                weight *= weightOf(p, axis, at[axis], own);
            }
            if (weight == 0.0f)
                continue;
            Pack<STORED, N> const x = ((Pack<STORED, N> const*)p.in)[from];
            for (int k = 0; k < N; ++k)
                sum[k] = fmaf(weight, widen(x.v[k]), sum[k]);
        }
        Pack<STORED, N> y;
        for (int k = 0; k < N; ++k)
            put(y.v[k], sum[k]);
        ((Pack<STORED, N>*)p.out)[item] = y;
    }
}
TENON_KERNEL(interpolateOne, ResizeParams) { interpolate<1>(p); }
TENON_KERNEL(interpolatePack, ResizeParams) { interpolate<16 / sizeof(STORED)>(p); }
#endif
TENON_KERNEL(nearest1, ResizeParams) { nearest<unsigned char>(p); }
TENON_KERNEL(nearest2, ResizeParams) { nearest<unsigned short>(p); }
TENON_KERNEL(nearest4, ResizeParams) { nearest<unsigned>(p); }
TENON_KERNEL(nearest8, ResizeParams) { nearest<u64>(p); }
TENON_KERNEL(nearest16, ResizeParams) { nearest<Pack<u64, 2> >(p); }
)"};

struct ResizePlan
{
    ResizeParams params{};
    void* code{nullptr};
};

constexpr int64_t kResizeBytes{16}; //!< Of one access where the last axis stays.

class ResizeStep final : public CudaPrepared
{
  public:
    ResizeStep(ResizePlan narrow, std::optional<ResizePlan> wide, std::unique_ptr<DeviceTable const> tables)
        : mNarrow{narrow},
          mWide{wide},
          mTables{std::move(tables)}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        auto const all =
            reinterpret_cast<uintptr_t>(at.call.inputs[0]) | reinterpret_cast<uintptr_t>(at.call.outputs[0]);
        ResizePlan const& plan = mWide && all % kResizeBytes == 0 ? *mWide : mNarrow;
        ResizeParams params = plan.params;
        params.in = at.call.inputs[0];
        params.out = at.call.outputs[0];
        return launchKernel(at, plan.code, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

  private:
    ResizePlan mNarrow;
    std::optional<ResizePlan> mWide;
    std::unique_ptr<DeviceTable const> mTables; //!< What the parameters point into.
};

//! Tables of all axes in one piece; offsets are of 4 bytes each.
struct ResizeTables
{
    std::vector<std::byte> bytes;
    size_t index[kResizeAxes]{};
    size_t weight[kResizeAxes]{};
    bool isThere[kResizeAxes]{};

    template <typename To, typename From>
    size_t add(std::vector<From> const& numbers)
    {
        static_assert(sizeof(To) == 4);
        size_t const begin = bytes.size();
        bytes.resize(begin + numbers.size() * sizeof(To));
        for (size_t i = 0; i < numbers.size(); ++i)
        {
            To const number = static_cast<To>(numbers[i]);
            std::memcpy(bytes.data() + begin + i * sizeof(To), &number, sizeof(To));
        }
        return begin;
    }
};

class ResizeKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Resize const layer = TENON_TRY(fieldsOf<Resize>(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        int32_t const bytes = movableBytes(x.dtype);
        size_t const rank = x.extents.size();
        bool const isNearest = layer.resizeMode == nvinfer1::InterpolationMode::kNEAREST;
        if (rank > kResizeAxes || x.layout != out.layout || blockOf(x.layout) != 1 || bytes == 0
            || (!isNearest && !kRealTypes.has(x.dtype)))
            return badArgument("the resize kernel takes one layout and up to {} axes", kResizeAxes);
        ResizePlan narrow;
        ResizeTables tables;
        TENON_TRY(arrange(layer, x, out, narrow.params, tables));
        auto table = TENON_TRY(deviceTable(device(), tables.bytes));
        auto const* const base = static_cast<std::byte const*>(table->data());
        for (size_t axis = 0; axis < kResizeAxes; ++axis)
            if (tables.isThere[axis])
            {
                narrow.params.index[axis] = reinterpret_cast<int const*>(base + tables.index[axis]);
                narrow.params.weight[axis] = reinterpret_cast<float const*>(base + tables.weight[axis]);
            }
        std::string const stored = isNearest ? "" : fmt::format("#define STORED {}\n", TENON_TRY(storageOf(x.dtype)));
        Module const& module =
            *TENON_TRY(moduleOf(device(), wholeText(std::string{kResizeParamsText} + stored + kResizeKernel)));
        narrow.code =
            TENON_TRY(module.function(isNearest ? fmt::format("nearest{}", bytes).c_str() : "interpolateOne"));
        std::optional<ResizePlan> wide = widened(narrow, kResizeBytes / bytes, tables.isThere[kResizeAxes - 1]);
        if (wide)
            wide->code = TENON_TRY(module.function(isNearest ? "nearest16" : "interpolatePack"));
        return std::shared_ptr<Prepared const>{std::make_shared<ResizeStep>(narrow, wide, std::move(table))};
    }

  private:
    static Result<Done> arrange(
        Resize const& layer, TensorArg const& x, TensorArg const& out, ResizeParams& params, ResizeTables& tables)
    {
        std::vector<size_t> const axes = memoryAxes(x.layout, x.extents.size());
        std::vector<int64_t> const strides = stridesIn(x.layout, x.extents);
        std::ranges::fill(params.extents, 1);
        std::ranges::fill(params.taps, 1);
        for (size_t i = 0; i < axes.size(); ++i)
        {
            size_t const axis = axes[i];
            size_t const to = i + kResizeAxes - axes.size();
            params.extents[to] = static_cast<uint64_t>(out.extents[axis]);
            params.strides[to] = strides[axis];
            bool const isScaledAway = axis < layer.scales.size() && layer.scales[axis] != 1.0F;
            if (x.extents[axis] == out.extents[axis] && !isScaledAway)
                continue;
            if (x.extents[axis] == 0 || !isSmall(x.extents[axis]))
                return badConfig("axis {} has extent {}: it cannot be resized", axis, x.extents[axis]);
            Resize::Taps const taps = layer.tapsOf(axis, x.extents[axis], out.extents[axis]);
            params.taps[to] = taps.width;
            tables.isThere[to] = true;
            tables.index[to] = tables.add<int32_t>(taps.index);
            tables.weight[to] = tables.add<float>(taps.weight);
        }
        int64_t const count = volumeOf(out.extents);
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        return Done{};
    }

    static std::optional<ResizePlan> widened(ResizePlan plan, int64_t together, bool lastChanges)
    {
        ResizeParams& params = plan.params;
        if (together < 2 || lastChanges || static_cast<int64_t>(params.extents[kResizeAxes - 1]) % together != 0)
            return std::nullopt;
        params.extents[kResizeAxes - 1] /= static_cast<uint64_t>(together);
        params.count /= static_cast<uint64_t>(together);
        for (size_t axis = 0; axis + 1 < kResizeAxes; ++axis)
            params.strides[axis] /= together; // Of a dense tensor whose last extent is a multiple.
        return plan;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfResize(Problem const& problem)
{
    constexpr char kName[]{"tables"};
    Resize const& layer = problem.fields<Resize>();
    TensorType const& out = problem.output();
    bool const isNearest = layer.resizeMode == nvinfer1::InterpolationMode::kNEAREST;
    if (out.rank() > static_cast<int32_t>(kResizeAxes) || movableBytes(out.dtype) == 0)
        return refuse(kName, fmt::format("elements of {} or rank {}", nameOf(out.dtype), out.rank()));
    if (!isNearest && !kRealTypes.has(out.dtype))
        return refuse(kName, fmt::format("interpolation of {}", nameOf(out.dtype)));
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
        if (problem.hasInput(i) && !hasKnownContents(problem, i))
            return refuse(kName, "the extents are known only when it runs");
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(out.rank()))
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.unread = ((1U << problem.node->inputs.size()) - 1U) & ~1U;
        offer.cost = costOf(problem, 0.0, bytesOf(problem) * (layout == Layout::kLinear ? 2.0 : 1.0));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildResize(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "resize", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kResizeCandidates[]{
    {.layer = Resize::kName, .name = "tables", .offers = offersOfResize, .build = buildResize}};
constexpr CudaKernelEntry kResizeKernels[]{{"resize", &loadLayerKernel<ResizeKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Resize, kResizeCandidates, kResizeKernels);
