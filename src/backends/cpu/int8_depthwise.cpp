// Depthwise convolution of int8 images in channels-last layout.
#include "backends/cpu/int8_epilogue.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/int8_packing.h"
#include "backends/cpu/step_kernel.h"
#include "layers/quantized_convolution.h"

namespace tenon::cpu
{

namespace
{
constexpr int64_t kMaxInt8Taps{512}; // Sums of so many products are exact in float.

struct LoadedInt8Depthwise : LoadedLayer<QuantizedConvolution>
{
    std::vector<float> taps; //!< [y][x][channels]
    std::vector<float> factors;

    Result<Done> load()
    {
        LoadedWeight const& weight = kernel.weight(1);
        std::vector<int64_t> const e = asImage(weight.arg.extents);
        if (!weight.isConstant() || !weight.packing.empty() || weight.arg.dtype != DType::kINT8 || e.size() != 4
            || e[1] != 1 || volumeOf(e) < 1 || weight.arg.bytes < static_cast<size_t>(volumeOf(e)))
            return badArgument("the kernel is not a constant of int8 for each channel");
        auto const* const from = static_cast<int8_t const*>(weight.arg.data);
        int64_t const count = e[2] * e[3];
        taps.resize(static_cast<size_t>(volumeOf(e)));
        for (int64_t c = 0; c < e[0]; ++c)
            for (int64_t tap = 0; tap < count; ++tap)
                taps[static_cast<size_t>(tap * e[0] + c)] = from[c * count + tap];
        factors = TENON_TRY(int8Factors(kernel, static_cast<double>(layer.inputScale), e[0]));
        return Done{};
    }
};

Step stepOfInt8Depthwise(StepSource<LoadedInt8Depthwise> const& from)
{
    TensorArg const& x = from.inputs[0];
    TensorArg const& y = from.outputs[0];
    Convolution const& layer = from.layer().product;
    if (x.extents.size() != 3 && x.extents.size() != 4)
        return badArgument("its input has rank {}", x.extents.size());
    if (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast)
        return badArgument("its operands are not channels-last");
    if (layer.nbGroups != x.extents[1] || layer.nbGroups != y.extents[1])
        return badArgument("it is not depthwise");
    Geometry const geometry = geometryOf(layer, x.extents, y.extents);
    Int8Epilogue epilogue = TENON_TRY(
        Int8Epilogue::make(layer.epilogue, resultOf(from.layer()), from.kernel(), from.inputs, y, y.extents[1]));
    Int8Scaling scaling = TENON_TRY(epilogue.scalingOf(from.kernel(), from.loaded->factors, {}));
    auto run = [loaded = from.loaded, geometry, epilogue, scaling = std::move(scaling)](
                   Call const& call, int64_t first, int64_t last) {
        Int8Depthwise work;
        work.window = geometry.window;
        work.channels = geometry.channels;
        work.in = static_cast<int8_t const*>(call.inputs[0]);
        work.kernel = loaded->taps.data();
        work.zeroPoint = loaded->layer.inputZero;
        work.finish = epilogue.bind(call, scaling, 0, 0);
        int8Functions().runInt8Depthwise(work, first, last);
    };
    return sharedStep({geometry.images * geometry.window.outHeight}, std::move(run));
}

std::variant<std::vector<Offer>, Refusal> offerInt8Depthwise(Problem const& problem)
{
    constexpr std::string_view kCandidateName{"int8-depthwise"};
    Convolution const& layer = problem.fields<QuantizedConvolution>().product;
    TensorType const& x = problem.input(0);
    if (x.rank() != 3 && x.rank() != 4)
        return refuse(kCandidateName, "only 1-D and 2-D");
    if (!isDepthwise(layer, x))
        return refuse(kCandidateName, "not one kernel per channel");
    if (problem.constant(1) == nullptr)
        return refuse(kCandidateName, "the kernel is not a constant");
    if (std::optional<std::string> why = whyNoEpilogue(problem, layer.epilogue))
        return refuse(kCandidateName, *std::move(why));
    int64_t const taps = problem.constant(1)->count() / layer.nbGroups;
    if (taps > kMaxInt8Taps)
        return refuse(kCandidateName, fmt::format("{} taps", taps));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = int8InPlaceOf(problem, layer.epilogue);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, outputs * static_cast<double>(taps), bytesOf(problem));
    return std::vector<Offer>{offer};
}

using Int8DepthwiseFile = StepFile<"int8_depthwise", "int8-depthwise", offerInt8Depthwise, stepOfInt8Depthwise>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Int8Depthwise, Int8DepthwiseFile::kCandidates, Int8DepthwiseFile::kKernels);
