// Maxima over windows of int8 images in channels-last layout.
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/step_kernel.h"
#include "layers/pooling.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfInt8Pooling(Problem const& problem)
{
    Pooling const& layer = problem.fields<Pooling>();
    TensorType const& type = problem.output();
    if (type.dtype != DType::kINT8 || type.rank() != 4 || layer.poolingType != nvinfer1::PoolingType::kMAX)
        return refuse("int8", "takes maxima of int8 images of rank 4");
    Window const window = layer.window();
    auto const elements = static_cast<double>(window.size[0] * window.size[1]);
    auto const count = static_cast<double>(volumeOf(problem.typicalExtents(type)));
    return std::vector<Offer>{{.candidate = "int8",
        .inputs = {Layout::kChannelsLast},
        .outputs = {Layout::kChannelsLast},
        .cost = costOf(problem, count * elements * 0.25, bytesOf(problem))}};
}

Step stepOfInt8Pooling(StepOf<Pooling> const& from)
{
    Pooling const& layer = from.layer();
    if (layer.windowSize.nbDims != 2 || layer.poolingType != nvinfer1::PoolingType::kMAX
        || !from.areAllIn(Layout::kChannelsLast) || from.inputs[0].dtype != DType::kINT8
        || from.inputs[0].extents.size() != 4)
        return badArgument("the int8 pooling kernel takes maxima of channels-last images");
    std::vector<int64_t> const& in = from.inputs[0].extents;
    std::vector<int64_t> const& out = from.outputs[0].extents;
    Window const window = layer.window();
    GemmWindow w;
    w.inHeight = in[2];
    w.inWidth = in[3];
    w.outHeight = out[2];
    w.outWidth = out[3];
    w.kernelHeight = window.size[0];
    w.kernelWidth = window.size[1];
    w.strideY = window.stride[0];
    w.strideX = window.stride[1];
    w.padTop = window.padding(0, in[2]).pre;
    w.padLeft = window.padding(1, in[3]).pre;
    w.pixelStride = in[1];
    w.lineStride = in[1] * in[3];
    w.imageStride = w.lineStride * in[2];
    auto const run = [w, channels = in[1]](Call const& call, int64_t first, int64_t last) {
        int8Functions().runInt8MaxPool(
            {w, channels, static_cast<int8_t const*>(call.inputs[0]), static_cast<int8_t*>(call.outputs[0])}, first,
            last);
    };
    return sharedStep({out[0] * out[2]}, run);
}

using Int8PoolingFile = StepFile<"int8_pooling", "int8", offersOfInt8Pooling, stepOfInt8Pooling>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Int8Pooling, Int8PoolingFile::kCandidates, Int8PoolingFile::kKernels);
