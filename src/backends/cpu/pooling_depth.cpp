// Pooling over depth, lines and columns in channels-last layout: of each plane, then of the planes. Maxima of maxima
// are those of all, and what an average divides by is a product of counts.
#include "layers/pooling.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
using nvinfer1::PoolingType;

std::variant<std::vector<Offer>, Refusal> offersOfPlanes(Problem const& problem)
{
    Pooling const& layer = problem.fields<Pooling>();
    TensorType const& type = problem.output();
    if (!kRealTypes.has(type.dtype) || type.rank() != 5)
        return refuse("planes", fmt::format("takes volumes of rank 5 and real numbers, this is {}", type.show()));
    if (layer.poolingType == PoolingType::kMAX_AVERAGE_BLEND)
        return refuse("planes", "does not blend maximum and average");
    if (layer.poolingType == PoolingType::kAVERAGE && type.dtype != DType::kFLOAT)
        return refuse("planes", "rounds averages of planes, which only float32 can be");
    Window const window = layer.window();
    auto const elements = static_cast<double>(window.size[0] + window.size[1] * window.size[2]);
    double const count = static_cast<double>(volumeOf(problem.typicalExtents(type)));
    return std::vector<Offer>{{.candidate = "planes",
        .inputs = {Layout::kChannelsLast},
        .outputs = {Layout::kChannelsLast},
        .cost = costOf(problem, count * elements * 0.5, bytesOf(problem))}};
}

//! Lines and columns of every plane, and planes of every pixel, as images of channels.
template <typename T>
struct PlanePools
{
    Pool<T> within;
    Pool<T> across;
    int64_t linesWithin{0};
    int64_t linesAcross{0};
    size_t elements{0}; //!< Between the two.
};

template <typename T>
PlanePools<T> poolsOf(Pooling const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    Window const window = layer.window();
    auto const padding = [&](size_t axis) { return window.padding(axis, in[axis + 2]); };
    bool const isAverage = layer.poolingType == PoolingType::kAVERAGE;
    bool const counts = !layer.averageCountExcludesPadding;
    return {.within = {.channels = in[1],
                .inHeight = in[3],
                .inWidth = in[4],
                .outHeight = out[3],
                .outWidth = out[4],
                .windowHeight = window.size[1],
                .windowWidth = window.size[2],
                .strideHeight = window.stride[1],
                .strideWidth = window.stride[2],
                .top = padding(1).pre,
                .left = padding(2).pre,
                .bottom = padding(1).post,
                .right = padding(2).post,
                .isAverage = isAverage,
                .countsPadding = counts},
        .across = {.channels = in[1],
            .inHeight = in[2],
            .inWidth = out[3] * out[4],
            .outHeight = out[2],
            .outWidth = out[3] * out[4],
            .windowHeight = window.size[0],
            .strideHeight = window.stride[0],
            .top = padding(0).pre,
            .bottom = padding(0).post,
            .isAverage = isAverage,
            .countsPadding = counts},
        .linesWithin = in[0] * in[2] * out[3],
        .linesAcross = in[0] * out[2],
        .elements = static_cast<size_t>(in[0] * in[2] * out[3] * out[4] * in[1])};
}

Step stepOfPlanes(StepOf<Pooling> const& from)
{
    Pooling const& layer = from.layer();
    bool const isAverage = layer.poolingType == PoolingType::kAVERAGE;
    if (layer.windowSize.nbDims != 3 || layer.poolingType == PoolingType::kMAX_AVERAGE_BLEND
        || !from.areReal(Layout::kChannelsLast) || (isAverage && from.inputs[0].dtype != DType::kFLOAT))
        return badArgument("the kernel of pooled planes takes channels-last volumes of real numbers");
    std::vector<int64_t> const& in = from.inputs[0].extents;
    std::vector<int64_t> const& out = from.outputs[0].extents;
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        PlanePools<T> const form = poolsOf<T>(layer, in, out);
        auto const run = [form](Call const& call, Lane const& lane) {
            auto const share = [&](Pool<T> pool, void const* x, void* y, int64_t lines) {
                pool.in = static_cast<T const*>(x);
                pool.out = static_cast<T*>(y);
                auto const [first, last] = lane.part(lines);
                storageFunctions<T>().runPool(pool, first, last);
            };
            if (lane.stage == 0)
                share(form.within, call.inputs[0], call.scratch, form.linesWithin);
            else
                share(form.across, call.scratch, call.outputs[0], form.linesAcross);
        };
        return teamStep(run, form.elements * sizeof(T), 2);
    });
}

using PlanesFile = StepFile<"pooling_depth", "planes", offersOfPlanes, stepOfPlanes>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(PoolingDepth, PlanesFile::kCandidates, PlanesFile::kKernels);
