// Convolution and pooling, one thread per result, in row-major and channels-last order: correct for every window,
// without a library. Libraries and faster kernels are asked before them.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "layers/convolution.h"
#include "layers/pooling.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(WindowParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    unsigned long long count; unsigned isSmall; int hasBias; long long channels; long long perGroup;
                    long long mapsPerGroup; unsigned long long outExtents[5]; long long outStrides[5];
                    long long inExtents[5]; long long inStrides[5]; long long window[3]; long long stride[3];
                    long long dilation[3]; long long pre[3]; long long post[3]; int isAverage; int countsPadding;
                    float blend;);

//! Items are results, in the order of the output's memory: order[axis], slowest first.
constexpr char kWindowStart[]{R"(
static __device__ __forceinline__ void placeOf(WindowParams const& p, u64 item, i64* at)
{
    u64 left = item;
    if (p.outStrides[1] == 1)
        at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
    for (int axis = 4; axis >= 2; --axis)
        at[axis] = (i64)takeAxis(left, p.outExtents[axis], p.isSmall);
    if (p.outStrides[1] != 1)
        at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
    at[0] = (i64)left;
}
static __device__ __forceinline__ i64 offsetOf(i64 const* strides, i64 n, i64 c, i64 z, i64 y, i64 x)
{
    return n * strides[0] + c * strides[1] + z * strides[2] + y * strides[3] + x * strides[4];
}
)"};

constexpr char kConvolutionKernel[]{R"(
TENON_KERNEL(convolution, WindowParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p, item, at);
        i64 const first = at[1] / p.mapsPerGroup * p.perGroup;
        float sum = 0.0f;
        i64 const taps = p.window[0] * p.window[1] * p.window[2];
        for (i64 kz = 0; kz < p.window[0]; ++kz)
        {
            i64 const z = at[2] * p.stride[0] - p.pre[0] + kz * p.dilation[0];
            if (z < 0 || z >= p.inExtents[2])
                continue;
            for (i64 ky = 0; ky < p.window[1]; ++ky)
            {
                i64 const y = at[3] * p.stride[1] - p.pre[1] + ky * p.dilation[1];
                if (y < 0 || y >= p.inExtents[3])
                    continue;
                for (i64 kx = 0; kx < p.window[2]; ++kx)
                {
                    i64 const x = at[4] * p.stride[2] - p.pre[2] + kx * p.dilation[2];
                    if (x < 0 || x >= p.inExtents[4])
                        continue;
                    Stored const* in = (Stored const*)p.x + offsetOf(p.inStrides, at[0], first, z, y, x);
                    Stored const* w = (Stored const*)p.w + at[1] * p.perGroup * taps
                        + (kz * p.window[1] + ky) * p.window[2] + kx;
                    float part = 0.0f; // Of one tap: short sums round less than a long one.
                    for (i64 c = 0; c < p.perGroup; ++c)
                        part = fmaf(widen(in[c * p.inStrides[1]]), widen(w[c * taps]), part);
                    sum += part;
                }
            }
        }
        if (p.hasBias)
            sum += widen(((Stored const*)p.bias)[at[1]]);
        put(((Stored*)p.y)[offsetOf(p.outStrides, at[0], at[1], at[2], at[3], at[4])], sum);
    }
}
)"};

constexpr char kPoolingKernel[]{R"(
static __device__ __forceinline__ i64 clipped(i64 low, i64 high, i64 least, i64 most)
{
    low = low < least ? least : low;
    high = high > most ? most : high;
    return high > low ? high - low : 0;
}
TENON_KERNEL(pooling, WindowParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p, item, at);
        i64 low[3];
        i64 inside = 1;
        i64 padded = 1;
        for (int k = 0; k < 3; ++k)
        {
            low[k] = at[k + 2] * p.stride[k] - p.pre[k];
            inside *= clipped(low[k], low[k] + p.window[k], 0, p.inExtents[k + 2]);
            padded *= clipped(low[k], low[k] + p.window[k], -p.pre[k], p.inExtents[k + 2] + p.post[k]);
        }
        float sum = 0.0f;
        float most = fromBits(0xFF800000u);
        for (i64 z = low[0] < 0 ? 0 : low[0]; z < low[0] + p.window[0] && z < p.inExtents[2]; ++z)
            for (i64 y = low[1] < 0 ? 0 : low[1]; y < low[1] + p.window[1] && y < p.inExtents[3]; ++y)
                for (i64 x = low[2] < 0 ? 0 : low[2]; x < low[2] + p.window[2] && x < p.inExtents[4]; ++x)
                {
                    float const v = widen(((Stored const*)p.x)[offsetOf(p.inStrides, at[0], at[1], z, y, x)]);
                    sum += v;
                    most = maxOf(most, v);
                }
        i64 const count = p.countsPadding ? padded : inside;
        put(((Stored*)p.y)[offsetOf(p.outStrides, at[0], at[1], at[2], at[3], at[4])],
            p.isAverage ? (count > 0 ? sum / (float)count : 0.0f) : most);
    }
}
)"};

class WindowStep final : public CudaPrepared
{
  public:
    WindowStep(WindowParams params, bool hasWeights, void* code)
        : mParams{params},
          mHasWeights{hasWeights},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        WindowParams params = mParams;
        params.x = at.call.inputs[0];
        params.w = mHasWeights ? at.call.inputs[1] : nullptr;
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.count), 128), params);
    }

  private:
    WindowParams mParams;
    bool mHasWeights;
    void* mCode;
};

//! Extents or strides as image, channel and three spatial axes.
template <typename To>
void putAxes(std::vector<int64_t> const& from, To (&to)[5], int64_t missing)
{
    size_t const spatial = from.size() - 2;
    to[0] = static_cast<To>(from[0]);
    to[1] = static_cast<To>(from[1]);
    for (size_t k = 0; k < 3; ++k)
        to[2 + k] = static_cast<To>(k + spatial < 3 ? missing : from[2 + k + spatial - 3]);
}

Result<WindowParams> windowParams(Window const& window, TensorArg const& in, TensorArg const& out)
{
    size_t const spatial = window.rank();
    if (spatial < 1 || spatial > 3 || in.extents.size() != spatial + 2 || blockOf(in.layout) != 1
        || blockOf(out.layout) != 1)
        return badArgument("windows of rank {} over a tensor of rank {}", spatial, in.extents.size());
    WindowParams params{};
    putAxes(in.extents, params.inExtents, 1);
    putAxes(out.extents, params.outExtents, 1);
    putAxes(stridesIn(in.layout, in.extents), params.inStrides, 0);
    putAxes(stridesIn(out.layout, out.extents), params.outStrides, 0);
    for (size_t k = 0; k < 3; ++k)
    {
        bool const isThere = k + spatial >= 3;
        size_t const axis = k + spatial - 3;
        params.window[k] = isThere ? window.size[axis] : 1;
        params.stride[k] = isThere ? window.stride[axis] : 1;
        params.dilation[k] = isThere ? window.dilation[axis] : 1;
        params.pre[k] = isThere ? window.padding(axis, in.extents[2 + axis]).pre : 0;
        params.post[k] = isThere ? window.padding(axis, in.extents[2 + axis]).post : 0;
    }
    int64_t const count = volumeOf(out.extents);
    params.count = static_cast<uint64_t>(count);
    params.isSmall = isSmall(count) ? 1 : 0;
    return params;
}

Result<void*> windowCode(CudaDevice const& device, DType type, char const* kernel, char const* name)
{
    Module const& module = *TENON_TRY(moduleOf(device,
        wholeText(std::string{kWindowParamsText} + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(type)))
            + kWindowStart + kernel)));
    return module.function(name);
}

class ConvolutionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args()));
        DType const type = outputs[0].dtype;
        if (!layer.epilogue.steps.empty() || inputs.size() < 2 || inputs[0].dtype != type || inputs[1].dtype != type
            || inputs[1].layout != Layout::kLinear || !kRealTypes.has(type))
            return badArgument("the direct kernel takes one type of real numbers and no epilogue");
        WindowParams params = TENON_TRY(windowParams(layer.window(), inputs[0], outputs[0]));
        params.perGroup = inputs[0].extents[1] / layer.nbGroups;
        params.mapsPerGroup = outputs[0].extents[1] / layer.nbGroups;
        params.hasBias = inputs.size() > 2 && inputs[2].present ? 1 : 0;
        void* const code = TENON_TRY(windowCode(device(), type, kConvolutionKernel, "convolution"));
        return std::shared_ptr<Prepared const>{std::make_shared<WindowStep>(params, true, code)};
    }
};

class PoolingKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Pooling const layer = TENON_TRY(fieldsOf<Pooling>(args()));
        if (layer.poolingType == nvinfer1::PoolingType::kMAX_AVERAGE_BLEND || !kRealTypes.has(outputs[0].dtype))
            return badArgument("the pooling kernel takes real numbers and does not blend");
        WindowParams params = TENON_TRY(windowParams(layer.window(), inputs[0], outputs[0]));
        params.isAverage = layer.poolingType == nvinfer1::PoolingType::kAVERAGE ? 1 : 0;
        params.countsPadding = layer.averageCountExcludesPadding ? 0 : 1;
        void* const code = TENON_TRY(windowCode(device(), outputs[0].dtype, kPoolingKernel, "pooling"));
        return std::shared_ptr<Prepared const>{std::make_shared<WindowStep>(params, false, code)};
    }
};

std::vector<Offer> windowOffers(Problem const& problem, double multiplications)
{
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = costOf(problem, multiplications, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfConvolution(Problem const& problem)
{
    Convolution const& layer = problem.fields<Convolution>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type) || problem.input(0).dtype != type || problem.input(1).dtype != type
        || !layer.epilogue.steps.empty())
        return refuse("direct", "takes one type of real numbers and no epilogue");
    if (layer.window().rank() > 3)
        return refuse("direct", "takes up to three spatial axes");
    std::vector<int64_t> const w = problem.typicalExtents(problem.input(1));
    auto const each = static_cast<double>(volumeOf(w) / std::max<int64_t>(w[0], 1));
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return windowOffers(problem, 4.0 * each * elements);
}

std::variant<std::vector<Offer>, Refusal> offersOfPooling(Problem const& problem)
{
    Pooling const& layer = problem.fields<Pooling>();
    if (!kRealTypes.has(problem.output().dtype) || layer.window().rank() > 3)
        return refuse("direct", "takes real numbers and up to three spatial axes");
    if (layer.poolingType == nvinfer1::PoolingType::kMAX_AVERAGE_BLEND)
        return refuse("direct", "does not blend maximum and average");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return windowOffers(problem, elements * static_cast<double>(volumeOf(layer.window().size)));
}

Result<KernelSpec> buildConvolution(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "convolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

Result<KernelSpec> buildPooling(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "pooling", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kWindowCandidates[]{
    {.layer = Convolution::kName, .name = "direct", .offers = offersOfConvolution, .build = buildConvolution},
    {.layer = Pooling::kName, .name = "direct", .offers = offersOfPooling, .build = buildPooling}};
constexpr CudaKernelEntry kWindowKernels[]{
    {"convolution", &loadLayerKernel<ConvolutionKernel>}, {"pooling", &loadLayerKernel<PoolingKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Windows, kWindowCandidates, kWindowKernels);
