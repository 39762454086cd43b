// Gather in all three modes: rows of one piece are moved by wide accesses.
#include "layers/gather.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::GatherMode;

//! kDEFAULT and kND: rows of `width` packs, of which `perOuter` belong to each of the positions in front. kELEMENT: one
//! element per index.
TENON_DEVICE_STRUCT(GatherParams, unsigned const* stop; void const* data; void const* indices; void* out;
                    unsigned long long count; unsigned isSmall; unsigned long long width; unsigned long long perOuter;
                    long long outerStride; long long outerPerBatch; int depth; int axes; int axis; long long extents[8];
                    long long strides[8]; unsigned long long outExtents[8];);

constexpr char kGatherKernel[]{R"(
//! -1: out of bounds.
static __device__ __forceinline__ i64 wrapped(i64 index, i64 extent)
{
    i64 const at = index < 0 ? index + extent : index;
    return at >= 0 && at < extent ? at : -1;
}
template <typename T>
static __device__ __forceinline__ void gatherRows(GatherParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 const column = (i64)takeAxis(left, p.width, p.isSmall);
        i64 const row = (i64)takeAxis(left, p.perOuter, p.isSmall);
        i64 const outer = (i64)left;
        Index const* index = (Index const*)p.indices + (outer / p.outerPerBatch * (i64)p.perOuter + row) * p.depth;
        i64 from = outer * p.outerStride + column;
        bool isInside = true;
        for (int d = 0; d < p.depth; ++d)
        {
            i64 const at = wrapped((i64)index[d], p.extents[d]);
            isInside = isInside && at >= 0;
            from += at * p.strides[d];
        }
        ((T*)p.out)[item] = isInside ? ((T const*)p.data)[from] : T{};
    }
}
template <typename T>
static __device__ __forceinline__ void gatherElements(GatherParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 const index = wrapped((i64)((Index const*)p.indices)[item], p.extents[p.axis]);
        bool isInside = index >= 0;
        i64 from = index * p.strides[p.axis];
        for (int axis = p.axes - 1; axis >= 0; --axis)
        {
            i64 const x = (i64)takeAxis(left, p.outExtents[axis], p.isSmall);
            if (axis == p.axis)
                continue;
            isInside = isInside && x < p.extents[axis];
            from += x * p.strides[axis];
        }
        ((T*)p.out)[item] = isInside ? ((T const*)p.data)[from] : T{};
    }
}
TENON_KERNEL(rows1, GatherParams) { gatherRows<unsigned char>(p); }
TENON_KERNEL(rows2, GatherParams) { gatherRows<unsigned short>(p); }
TENON_KERNEL(rows4, GatherParams) { gatherRows<unsigned>(p); }
TENON_KERNEL(rows8, GatherParams) { gatherRows<u64>(p); }
TENON_KERNEL(rows16, GatherParams) { gatherRows<Pack<u64, 2> >(p); }
TENON_KERNEL(elements1, GatherParams) { gatherElements<unsigned char>(p); }
TENON_KERNEL(elements2, GatherParams) { gatherElements<unsigned short>(p); }
TENON_KERNEL(elements4, GatherParams) { gatherElements<unsigned>(p); }
TENON_KERNEL(elements8, GatherParams) { gatherElements<u64>(p); }
)"};

int64_t volumeFrom(std::vector<int64_t> const& extents, size_t first, size_t last)
{
    int64_t volume{1};
    for (size_t i = first; i < last; ++i)
        volume *= extents[i];
    return volume;
}

GatherParams defaultParams(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    auto const axis = static_cast<size_t>(layer.gatherAxis);
    auto const shared = static_cast<size_t>(layer.nbElementWiseDims);
    GatherParams params{};
    int64_t const inner = volumeFrom(data.extents, axis + 1, data.extents.size());
    params.width = static_cast<uint64_t>(inner);
    params.perOuter = static_cast<uint64_t>(volumeFrom(indices.extents, shared, indices.extents.size()));
    params.outerStride = data.extents[axis] * inner;
    params.outerPerBatch = shared == 0 ? INT64_MAX : std::max<int64_t>(volumeFrom(data.extents, 1, axis), 1);
    params.depth = 1;
    params.extents[0] = data.extents[axis];
    params.strides[0] = inner;
    return params;
}

GatherParams positionParams(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    auto const shared = static_cast<size_t>(layer.nbElementWiseDims);
    auto const depth = static_cast<size_t>(indices.extents.back());
    std::vector<int64_t> const strides = stridesIn(Layout::kLinear, data.extents);
    GatherParams params{};
    params.width = static_cast<uint64_t>(volumeFrom(data.extents, shared + depth, data.extents.size()));
    params.perOuter = static_cast<uint64_t>(volumeFrom(indices.extents, shared, indices.extents.size() - 1));
    params.outerStride = volumeFrom(data.extents, shared, data.extents.size());
    params.outerPerBatch = 1;
    params.depth = static_cast<int>(depth);
    for (size_t d = 0; d < depth; ++d)
    {
        params.extents[d] = data.extents[shared + d];
        params.strides[d] = strides[shared + d];
    }
    return params;
}

GatherParams elementParams(Gather const& layer, TensorArg const& data, TensorArg const& out)
{
    GatherParams params{};
    params.axes = static_cast<int>(out.extents.size());
    params.axis = layer.gatherAxis;
    std::ranges::copy(data.extents, params.extents);
    std::ranges::copy(stridesIn(Layout::kLinear, data.extents), params.strides);
    std::ranges::copy(out.extents, params.outExtents);
    return params;
}

//! Rows in packs of several elements; none where they do not come out even.
std::optional<GatherParams> widened(GatherParams params, int64_t together)
{
    auto const isEven = [&](auto number) { return static_cast<int64_t>(number) % together == 0; };
    bool fits = isEven(params.width) && isEven(params.outerStride);
    for (int d = 0; d < params.depth; ++d)
        fits = fits && isEven(params.strides[d]);
    if (!fits)
        return std::nullopt;
    params.width /= static_cast<uint64_t>(together);
    params.outerStride /= together;
    params.count /= static_cast<uint64_t>(together);
    for (int d = 0; d < params.depth; ++d)
        params.strides[d] /= together;
    return params;
}

class GatherKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Gather const layer = TENON_TRY(fieldsOf<Gather>(args()));
        TensorArg const& data = inputs[0];
        TensorArg const& out = outputs[0];
        int32_t const bytes = movableBytes(data.dtype);
        if (data.layout != Layout::kLinear || inputs[1].layout != Layout::kLinear || out.layout != Layout::kLinear
            || bytes == 0 || std::max(data.extents.size(), out.extents.size()) > kMaxAxes)
            return badArgument("the gather kernel takes row-major tensors of up to {} axes", kMaxAxes);
        bool const isByElement = layer.mode == GatherMode::kELEMENT;
        KernelForm<GatherParams> narrow;
        narrow.params = isByElement         ? elementParams(layer, data, out)
            : layer.mode == GatherMode::kND ? positionParams(layer, data, inputs[1])
                                            : defaultParams(layer, data, inputs[1]);
        int64_t const count = volumeOf(out.extents);
        narrow.params.count = static_cast<uint64_t>(count);
        narrow.params.isSmall = isSmall(count) ? 1U : 0U;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kGatherParamsText}
                + fmt::format("typedef {} Index;\n", TENON_TRY(storageOf(inputs[1].dtype))) + kGatherKernel)));
        narrow.code = TENON_TRY(module.function(fmt::format("{}{}", isByElement ? "elements" : "rows", bytes).c_str()));
        std::optional<KernelForm<GatherParams>> wide;
        if (auto const params = isByElement ? std::nullopt : widened(narrow.params, elementsAtOnce(bytes)))
            wide = {*params, TENON_TRY(module.function("rows16")), kWideBytes};
        return widthStep(narrow, wide, 0b1, [](GatherParams& params, Call const& call) {
            params.data = call.inputs[0];
            params.indices = call.inputs[1];
            params.out = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfGather(Problem const& problem)
{
    constexpr char kName[]{"rows"};
    if (movableBytes(problem.output().dtype) == 0)
        return refuse(kName, "elements are smaller than a byte");
    if (std::max(problem.output().rank(), problem.input(0).rank()) > static_cast<int32_t>(kMaxAxes))
        return refuse(kName, fmt::format("rank {}", problem.output().rank()));
    auto const elements = volumeOf(problem.typicalExtents(problem.output()));
    auto const bytes = static_cast<double>(tenon::bytesOf(problem.output().dtype, elements));
    Offer offer;
    offer.inputs = {Layout::kLinear, Layout::kLinear};
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, 2.0 * bytes);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildGather(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "gather", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kGatherCandidates[]{
    {.layer = Gather::kName, .name = "rows", .offers = offersOfGather, .build = buildGather}};
constexpr CudaKernelEntry kGatherKernels[]{{"gather", &loadLayerKernel<GatherKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Gather, kGatherCandidates, kGatherKernels);
