// Pooling, one thread per result, in row-major and channels-last order: correct for every window. Faster kernels are
// asked before it.
#include "backends/cuda/window_geometry.h"
#include "layers/pooling.h"

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(DirectPoolingParams, unsigned const* stop; void const* x; void* y; WindowGeometry g; int isAverage;
                    int countsPadding;);

constexpr char kPoolingKernel[]{R"(
static __device__ __forceinline__ i64 clipped(i64 low, i64 high, i64 least, i64 most)
{
    low = low < least ? least : low;
    high = high > most ? most : high;
    return high > low ? high - low : 0;
}
TENON_KERNEL(pooling, DirectPoolingParams)
{
    for (u64 item = firstItem(); item < p.g.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p.g, item, at);
        i64 low[3];
        i64 inside = 1;
        i64 padded = 1;
        for (int k = 0; k < 3; ++k)
        {
            low[k] = at[k + 2] * p.g.stride[k] - p.g.pre[k];
            inside *= clipped(low[k], low[k] + p.g.window[k], 0, p.g.inExtents[k + 2]);
            padded *= clipped(low[k], low[k] + p.g.window[k], -p.g.pre[k], p.g.inExtents[k + 2] + p.g.post[k]);
        }
        float sum = 0.0f;
        float most = fromBits(0xFF800000u);
        for (i64 z = low[0] < 0 ? 0 : low[0]; z < low[0] + p.g.window[0] && z < p.g.inExtents[2]; ++z)
            for (i64 y = low[1] < 0 ? 0 : low[1]; y < low[1] + p.g.window[1] && y < p.g.inExtents[3]; ++y)
                for (i64 x = low[2] < 0 ? 0 : low[2]; x < low[2] + p.g.window[2] && x < p.g.inExtents[4]; ++x)
                {
                    float const v = widen(((Stored const*)p.x)[offsetOf(p.g.inStrides, at[0], at[1], z, y, x)]);
                    sum += v;
                    most = maxOf(most, v);
                }
        i64 const count = p.countsPadding ? padded : inside;
        put(((Stored*)p.y)[offsetOf(p.g.outStrides, at[0], at[1], at[2], at[3], at[4])],
            p.isAverage ? (count > 0 ? sum / (float)count : 0.0f) : most);
    }
}
)"};

class PoolingStep final : public CudaPrepared
{
  public:
    PoolingStep(DirectPoolingParams params, void* code)
        : mParams{params},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        DirectPoolingParams params = mParams;
        params.x = at.call.inputs[0];
        params.y = at.call.outputs[0];
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.g.count), 128), params);
    }

  private:
    DirectPoolingParams mParams;
    void* mCode;
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
        DirectPoolingParams params{};
        params.g = TENON_TRY(windowGeometry(layer.window(), inputs[0], outputs[0]));
        params.isAverage = layer.poolingType == nvinfer1::PoolingType::kAVERAGE ? 1 : 0;
        params.countsPadding = layer.averageCountExcludesPadding ? 0 : 1;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(windowText() + kDirectPoolingParamsText
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(outputs[0].dtype))) + kPoolingKernel)));
        void* const code = TENON_TRY(module.function("pooling"));
        return std::shared_ptr<Prepared const>{std::make_shared<PoolingStep>(params, code)};
    }
};

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

Result<KernelSpec> buildPooling(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "pooling", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kWindowCandidates[]{
    {.layer = Pooling::kName, .name = "direct", .offers = offersOfPooling, .build = buildPooling}};
constexpr CudaKernelEntry kWindowKernels[]{{"pooling", &loadLayerKernel<PoolingKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Windows, kWindowCandidates, kWindowKernels);
