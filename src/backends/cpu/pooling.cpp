// Pooling of channels-last images: windows over the channels of each position.
#include "layers/pooling.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

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

template <typename T>
Pool<T> poolOf(Pooling const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
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

Step stepOfPooling(StepOf<Pooling> const& from)
{
    Pooling const& layer = from.layer();
    if (layer.windowSize.nbDims != 2 || layer.poolingType == PoolingType::kMAX_AVERAGE_BLEND
        || !from.areReal(Layout::kChannelsLast))
        return badArgument("the pooling kernel takes channels-last images of real numbers");
    std::vector<int64_t> const& out = from.outputs[0].extents;
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        auto const run = [form = poolOf<T>(layer, from.inputs[0].extents, out)](
                             Call const& call, int64_t first, int64_t last) {
            Pool<T> pool = form;
            pool.in = static_cast<T const*>(call.inputs[0]);
            pool.out = static_cast<T*>(call.outputs[0]);
            storageFunctions<T>().runPool(pool, first, last);
        };
        return sharedStep({out[0] * out[2]}, run);
    });
}

using PoolingFile = StepFile<"pooling", "channels-last", offersOfPooling, stepOfPooling>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Pooling, PoolingFile::kCandidates, PoolingFile::kKernels);
