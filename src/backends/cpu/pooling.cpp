// Pooling of channels-last images: windows over the channels of each position.
#include "layers/pooling.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"

namespace tenon::cpu
{

namespace
{
using nvinfer1::PoolingType;

std::variant<std::vector<Offer>, Refusal> offersOfPooling(Problem const& problem)
{
    Pooling const& layer = problem.fields<Pooling>();
    TensorType const& type = problem.output();
    if (!kRealTypes.has(type.dtype) || type.rank() != 4)
        return refuse("channels-last", fmt::format("takes images of rank 4 and real numbers, this is {}", type.show()));
    if (layer.poolingType == PoolingType::kMAX_AVERAGE_BLEND)
        return refuse("channels-last", "does not blend maximum and average");
    Window const window = layer.window();
    auto const elements = static_cast<double>(window.size[0] * window.size[1]);
    double const count = static_cast<double>(volumeOf(problem.typicalExtents(type)));
    return std::vector<Offer>{{.candidate = "channels-last",
        .inputs = {Layout::kChannelsLast},
        .outputs = {Layout::kChannelsLast},
        .cost = costOf(problem, count * elements * 0.5, bytesOf(problem))}};
}

Result<KernelSpec> buildPooling(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"pooling", encodeLayerArgs(problem, offer), {}};
}

template <typename T>
class PoolingStep final : public HostPrepared
{
  public:
    PoolingStep(Pool<T> pool, int64_t lines)
        : mPool{pool},
          mLines{lines}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        Pool<T> pool = mPool;
        pool.in = static_cast<T const*>(call.inputs[0]);
        pool.out = static_cast<T*>(call.outputs[0]);
        auto const [first, last] = lane.part(mLines);
        storageFunctions<T>().runPool(pool, first, last);
        return Done{};
    }

  private:
    Pool<T> mPool;
    int64_t mLines;
};

class PoolingKernel final : public Kernel
{
  public:
    explicit PoolingKernel(LayerKernel kernel)
        : mKernel{std::move(kernel)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        Pooling const* layer = as<Pooling>(mKernel.layer());
        if (layer == nullptr || layer->windowSize.nbDims != 2 || layer->poolingType == PoolingType::kMAX_AVERAGE_BLEND
            || !isReal(inputs, 0, Layout::kChannelsLast) || !isReal(outputs, 0, Layout::kChannelsLast))
            return badArgument("the pooling kernel takes channels-last images of real numbers");
        return withStorage(inputs[0].dtype, [&]<typename T>(T) -> std::shared_ptr<Prepared const> {
            return std::make_shared<PoolingStep<T> const>(poolOf<T>(*layer, inputs[0].extents, outputs[0].extents),
                outputs[0].extents[0] * outputs[0].extents[2]);
        });
    }

  private:
    template <typename T>
    static Pool<T> poolOf(Pooling const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
    {
        Window const window = layer.window();
        WindowPadding const vertical = window.padding(0, in[2]);
        WindowPadding const horizontal = window.padding(1, in[3]);
        return {.channels = in[1],
            .inHeight = in[2],
            .inWidth = in[3],
            .outHeight = out[2],
            .outWidth = out[3],
            .windowHeight = window.size[0],
            .windowWidth = window.size[1],
            .strideHeight = window.stride[0],
            .strideWidth = window.stride[1],
            .top = vertical.pre,
            .left = horizontal.pre,
            .bottom = vertical.post,
            .right = horizontal.post,
            .isAverage = layer.poolingType == PoolingType::kAVERAGE,
            .countsPadding = !layer.averageCountExcludesPadding};
    }

    LayerKernel mKernel;
};

Result<std::unique_ptr<Kernel>> loadPooling(KernelSource const& source)
{
    return std::make_unique<PoolingKernel>(TENON_TRY(LayerKernel::load(source)));
}

constexpr Candidate kPoolingCandidates[]{{Pooling::kName, "channels-last", offersOfPooling, buildPooling}};
constexpr KernelEntry kPoolingKernels[]{{"pooling", loadPooling}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Pooling, kPoolingCandidates, kPoolingKernels);
