// Depthwise convolution in channels-last layout.
#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
constexpr Packing kDepthwisePacking{Packing::Kind::kDepthwise};

struct LoadedDepthwise : LoadedLayer<Convolution>
{
    PackedOperand weights;

    Result<Done> load()
    {
        weights = TENON_TRY(PackedOperand::load(kernel, 1, kDepthwisePacking));
        return Done{};
    }
};

template <typename T>
Step depthwiseStep(StepSource<LoadedDepthwise> const& from, Geometry const& geometry, GemmEpilogue steps, bool hasBias)
{
    std::vector<T> zeros(static_cast<size_t>(geometry.channels), T{});
    auto run = [loaded = from.loaded, geometry, steps = std::move(steps), hasBias, zeros = std::move(zeros)](
                   Call const& call, int64_t first, int64_t last) {
        BoundEpilogue<T> const epilogue = steps.bind<T>(call);
        Depthwise<T> work;
        work.window = geometry.window;
        work.images = geometry.images;
        work.channels = geometry.channels;
        work.zeros = zeros.data();
        work.in = static_cast<T const*>(call.inputs[0]);
        work.kernel = loaded->weights.template data<T>();
        work.out = static_cast<T*>(call.outputs[0]);
        work.bias = hasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
        epilogue.putInto(work);
        storageFunctions<T>().runDepthwise(work, first, last);
    };
    return sharedStep({geometry.images * geometry.window.outHeight}, std::move(run));
}

Step stepOfDepthwise(StepSource<LoadedDepthwise> const& from)
{
    TensorArg const& x = from.inputs[0];
    TensorArg const& y = from.outputs[0];
    if (!from.areReal(Layout::kChannelsLast))
        return badArgument("its operands are not channels-last real numbers");
    Convolution const& layer = from.layer();
    if (layer.nbGroups != x.extents[1] || layer.nbGroups != y.extents[1])
        return badArgument("it is not depthwise");
    Geometry const geometry = geometryOf(layer, x.extents, y.extents);
    if (geometry.window.kernelHeight * geometry.window.kernelWidth > kMaxSegments)
        return badArgument("its kernel has more than {} taps", kMaxSegments);
    GemmEpilogue epilogue = TENON_TRY(
        GemmEpilogue::make(layer.epilogue, Convolution::kFirstExtra, from.inputs, y, pixelAxes(y.extents.size())));
    return withStorage(x.dtype, [&]<typename T>(T) {
        return depthwiseStep<T>(from, geometry, std::move(epilogue), isPresent(from.inputs, 2));
    });
}

std::variant<std::vector<Offer>, Refusal> offerDepthwise(Problem const& problem)
{
    auto const& layer = problem.fields<Convolution>();
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype) || (x.rank() != 3 && x.rank() != 4))
        return refuse("depthwise", "only float32, float16 and bfloat16, 1-D and 2-D");
    if (!isDepthwise(layer, x))
        return refuse("depthwise", "not one kernel per channel");
    if (problem.constant(1) == nullptr)
        return refuse("depthwise", "the kernel is not a constant");
    int64_t const taps = problem.constant(1)->count() / layer.nbGroups;
    if (taps > kMaxSegments)
        return refuse("depthwise", fmt::format("{} taps", taps));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, Convolution::kFirstExtra);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, outputs * static_cast<double>(taps), bytesOf(problem));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildDepthwise(Problem const& problem, Offer const& offer)
{
    KernelSpec spec{.kernel = "depthwise", .args = encodeLayerArgs(problem, offer), .packed = {}};
    spec.packed.push_back(TENON_TRY(packWeight(1, *problem.constant(1), kDepthwisePacking)));
    return spec;
}

using DepthwiseFile = StepFile<"depthwise", "depthwise", offerDepthwise, stepOfDepthwise, buildDepthwise>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ConvolutionDepthwise, DepthwiseFile::kCandidates, DepthwiseFile::kKernels);
