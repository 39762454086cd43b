// Depthwise convolution in channels-last layout. Kernels that are known only in the run are turned by the team first.
#include "backends/cpu/convolution_lines.h"
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
    std::optional<PackedOperand> weights; //!< None: the run brings them.

    Result<Done> load()
    {
        if (kernel.weight(1).isConstant())
            weights = TENON_TRY(PackedOperand::load(kernel, 1, kDepthwisePacking));
        return Done{};
    }
};

//! Scratch memory: strips of a chain that begins here, or kernels of the run as packed ones stand.
template <typename T>
class PreparedDepthwise final : public LineStep
{
  public:
    PreparedDepthwise(StepSource<LoadedDepthwise> const& from, Geometry const& geometry, GemmEpilogue epilogue)
        : mLoaded{from.loaded},
          mGeometry{geometry},
          mEpilogue{std::move(epilogue)},
          mHasBias{isPresent(from.inputs, 2)},
          mZeros(static_cast<size_t>(geometry.channels), T{}),
          mForm{lineFormOf(geometry, sizeof(T), from.threads)}
    {
        mForm.canFollow = true;
    }
    size_t scratchBytes() const noexcept override
    {
        if (mLoaded->weights)
            return LineChain::scratchBytes(mForm);
        return static_cast<size_t>(taps() * mGeometry.channels) * sizeof(T);
    }
    LineStep const* byLines() const noexcept override
    {
        return mLoaded->weights ? this : nullptr;
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mLoaded->weights ? 1 : 2;
    }
    LineForm const& lineForm() const noexcept override
    {
        return mForm;
    }
    void runLines(Call const& call, LineShare const& share) const override
    {
        BoundEpilogue<T> const epilogue = mEpilogue.bind<T>(call);
        Depthwise<T> work;
        work.window = mGeometry.window;
        work.images = mGeometry.images;
        work.channels = mGeometry.channels;
        work.zeros = mZeros.data();
        work.in = static_cast<T const*>(call.inputs[0]);
        work.inRing = share.inRing;
        work.left = share.left;
        work.right = share.right;
        work.kernel = mLoaded->weights ? mLoaded->weights->template data<T>() : static_cast<T const*>(call.scratch);
        work.out = static_cast<T*>(call.outputs[0]);
        work.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
        epilogue.putInto(work);
        storageFunctions<T>().runDepthwise(work, share.first, share.last);
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if (lane.stage + 1 < stages(lane.count))
        {
            turnKernel(call, lane);
            return Done{};
        }
        auto const [first, last] = lane.part(mGeometry.images * mGeometry.window.outHeight);
        runLines(call, {.first = first, .last = last});
        return Done{};
    }

  private:
    int64_t taps() const noexcept
    {
        return mGeometry.window.kernelHeight * mGeometry.window.kernelWidth;
    }
    void turnKernel(Call const& call, Lane const& lane) const
    {
        constexpr int64_t kGrain{16};
        auto const [first, last] = lane.part(mGeometry.channels, kGrain);
        storageFunctions<T>().transposeElements(static_cast<T const*>(call.inputs[1]) + first * taps(), taps(),
            last - first, taps(), static_cast<T*>(call.scratch) + first, mGeometry.channels);
    }

    std::shared_ptr<LoadedDepthwise const> mLoaded;
    Geometry mGeometry;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    std::vector<T> mZeros;
    LineForm mForm;
};

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
    if (!from.loaded->weights && (blockOf(from.inputs[1].layout) != 1 || from.inputs[1].dtype != x.dtype))
        return badArgument(
            "its kernel, known in the run, is {} {}", nameOf(from.inputs[1].dtype), nameOf(from.inputs[1].layout));
    GemmEpilogue epilogue = TENON_TRY(
        GemmEpilogue::make(layer.epilogue, Convolution::kFirstExtra, from.inputs, y, pixelAxes(y.extents.size())));
    return withStorage(x.dtype, [&]<typename T>(T) {
        return Step{std::make_shared<PreparedDepthwise<T> const>(from, geometry, std::move(epilogue))};
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
    int64_t taps{1};
    for (int64_t const size : layer.window().size)
        taps *= size;
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
    if (Constant const* const kernel = problem.constant(1))
        spec.packed.push_back(TENON_TRY(packWeight(1, *kernel, kDepthwisePacking)));
    return spec;
}

using DepthwiseFile = StepFile<"depthwise", "depthwise", offerDepthwise, stepOfDepthwise, buildDepthwise>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ConvolutionDepthwise, DepthwiseFile::kCandidates, DepthwiseFile::kKernels);
