// Depthwise convolution in channels-last layout.
#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/packing.h"

namespace tenon::cpu
{

namespace
{
struct LoadedDepthwise
{
    LayerKernel kernel;
    Convolution layer;
    PackedOperand weights;
};

template <typename T>
class PreparedDepthwise final : public HostPrepared
{
  public:
    PreparedDepthwise(
        std::shared_ptr<LoadedDepthwise const> loaded, Geometry const& geometry, GemmEpilogue epilogue, bool hasBias)
        : mLoaded{std::move(loaded)},
          mGeometry{geometry},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias},
          mZeros(static_cast<size_t>(geometry.channels), T{})
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        BoundEpilogue<T> const epilogue = mEpilogue.bind<T>(call);
        Depthwise<T> work;
        work.window = mGeometry.window;
        work.images = mGeometry.images;
        work.channels = mGeometry.channels;
        work.zeros = mZeros.data();
        work.in = static_cast<T const*>(call.inputs[0]);
        work.kernel = mLoaded->weights.template data<T>();
        work.out = static_cast<T*>(call.outputs[0]);
        work.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
        epilogue.putInto(work);
        auto const [first, last] = lane.part(mGeometry.images * mGeometry.window.outHeight);
        storageFunctions<T>().runDepthwise(work, first, last);
        return Done{};
    }

  private:
    std::shared_ptr<LoadedDepthwise const> mLoaded;
    Geometry mGeometry;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    std::vector<T> mZeros;
};

class DepthwiseKernel final : public Kernel
{
  public:
    explicit DepthwiseKernel(std::shared_ptr<LoadedDepthwise const> loaded)
        : mLoaded{std::move(loaded)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        LayerKernel const& kernel = mLoaded->kernel;
        TENON_TRY(kernel.check(inputs, outputs));
        TensorArg const& y = outputs[0];
        if (!isReal(inputs, 0, Layout::kChannelsLast) || !isReal(outputs, 0, Layout::kChannelsLast))
            return badArgument("its operands are not channels-last real numbers");
        Convolution const& layer = mLoaded->layer;
        if (layer.nbGroups != inputs[0].extents[1] || layer.nbGroups != y.extents[1])
            return badArgument("it is not depthwise");
        Geometry const geometry = geometryOf(layer, inputs[0].extents, y.extents);
        if (geometry.window.kernelHeight * geometry.window.kernelWidth > kMaxSegments)
            return badArgument("its kernel has more than {} taps", kMaxSegments);
        std::vector<int32_t> const axes =
            y.extents.size() == 3 ? std::vector<int32_t>{0, 2, 1} : std::vector<int32_t>{0, 2, 3, 1};
        GemmEpilogue epilogue =
            TENON_TRY(GemmEpilogue::make(layer.epilogue, Convolution::kFirstExtra, inputs, y, axes));
        return withStorage(inputs[0].dtype, [&]<typename T>(T) {
            return std::shared_ptr<Prepared const>{
                std::make_shared<PreparedDepthwise<T>>(mLoaded, geometry, std::move(epilogue), isPresent(inputs, 2))};
        });
    }

  private:
    std::shared_ptr<LoadedDepthwise const> mLoaded;
};

constexpr Packing kDepthwisePacking{Packing::Kind::kDepthwise};

Result<std::unique_ptr<Kernel>> loadDepthwise(KernelSource const& source)
{
    auto loaded = std::make_shared<LoadedDepthwise>();
    loaded->kernel = TENON_TRY(LayerKernel::load(source));
    loaded->layer = TENON_TRY(fieldsOf<Convolution>(loaded->kernel.args()));
    loaded->weights = TENON_TRY(PackedOperand::load(loaded->kernel, 1, kDepthwisePacking));
    return std::unique_ptr<Kernel>{std::make_unique<DepthwiseKernel>(std::move(loaded))};
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

constexpr Candidate kConvolutionDepthwiseCandidates[]{
    {.layer = Convolution::kName, .name = "depthwise", .offers = offerDepthwise, .build = buildDepthwise},
};
constexpr KernelEntry kConvolutionDepthwiseKernels[]{{"depthwise", &loadDepthwise}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ConvolutionDepthwise, kConvolutionDepthwiseCandidates, kConvolutionDepthwiseKernels);
