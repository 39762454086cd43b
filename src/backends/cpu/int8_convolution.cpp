// Convolution of int8 images in channels-last layout: windows as rows of an int8 product.
#include "backends/cpu/int8_convolution.h"

#include "backends/cpu/convolution_staging.h"
#include "backends/cpu/int8_functions.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! Whether a line of a window is one segment: where a tap has few channels, most of its quads would be padding.
bool readsLines(Convolution const& layer, std::vector<int64_t> const& kernel)
{
    Window const window = layer.window();
    bool const isPoint = std::all_of(window.size.begin(), window.size.end(), [](int64_t s) { return s == 1; });
    int64_t const lines = window.rank() == 1 ? 1 : window.size[0];
    return layer.nbGroups == 1 && kernel.at(1) <= kFewChannels && window.dilation.back() == 1 && !isPoint
        && lines <= kMaxSegments;
}

Int8Packing packingOfInt8(Convolution const& layer, std::vector<int64_t> const& kernel)
{
    return readsLines(layer, kernel) ? Int8Packing{Int8Packing::Kind::kLines}
                                     : Int8Packing{Int8Packing::Kind::kTaps, layer.nbGroups};
}

//! Scratch memory: what each lane's products need, then staged lines.
class PreparedInt8Convolution final : public HostPrepared
{
  public:
    PreparedInt8Convolution(std::shared_ptr<LoadedInt8Convolution const> loaded, Geometry const& geometry,
        Int8Epilogue const& epilogue, Int8Scaling scaling, bool isLinear, int32_t threads)
        : mLoaded{std::move(loaded)},
          mGeometry{geometry},
          mEpilogue{epilogue},
          mScaling{std::move(scaling)},
          mIsLinear{isLinear},
          mThreads{threads},
          mInHeight{geometry.window.inHeight},
          mInWidth{geometry.window.inWidth}
    {
        Int8Matrix const& matrix = mLoaded->matrix;
        if (mLoaded->isLines)
            mStaging = stage(mGeometry);
        mZero = static_cast<int8_t>(mLoaded->layer.inputZero);
        mZeros.resize(static_cast<size_t>(quadsOf(matrix.length) * kQuad), mZero);
        mLaneBytes = int8Scratch(matrix.segments, matrix.length);
        mInputElements = mGeometry.images * mGeometry.window.imageStride;
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads * mLaneBytes + (mStaging.isUsed ? mInputElements : 0));
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mStaging.isUsed ? 2 : 1;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        Geometry const& g = mGeometry;
        auto const* x = static_cast<int8_t const*>(call.inputs[0]);
        auto* const scratch = static_cast<int8_t*>(call.scratch);
        if (mStaging.isUsed)
        {
            int8_t* const staged = scratch + mThreads * mLaneBytes;
            if (lane.stage == 0)
            {
                copyLines(StagedFrom<int8_t>{x, mInHeight, mInWidth, mIsLinear}, mStaging, g, staged, lane, mZero);
                return Done{};
            }
            x = staged;
        }
        int32_t const lanes = std::min(lane.count, mThreads); // More than were prepared for have no memory.
        if (lane.index >= lanes)
            return Done{};
        int64_t const maps = g.maps / g.groups;
        GemmShare const share = shareOf(gemmSizeOf(g), lane.index, lanes, int8RowGrain());
        for (int64_t group = 0; group < g.groups; ++group)
        {
            Int8Gemm gemm;
            gemm.columns = maps;
            gemm.segments = mLoaded->matrix.segments;
            gemm.length = mLoaded->matrix.length;
            gemm.a = x + group * (g.channels / g.groups);
            gemm.aEnd = x + mInputElements;
            gemm.aStride = g.channels;
            gemm.window = g.isDirect ? nullptr : &g.window;
            gemm.zeros = mZeros.data();
            gemm.panels = mLoaded->weights.data() + group * mLoaded->matrix.bytes();
            gemm.shifts = mLoaded->shifts.data() + group * panelsOf(maps) * kPanel;
            gemm.finish = mEpilogue.bind(call, mScaling, 0, group * maps);
            int8Functions().runInt8Gemm(gemm, share, scratch + lane.index * mLaneBytes);
        }
        return Done{};
    }

  private:
    std::shared_ptr<LoadedInt8Convolution const> mLoaded;
    Geometry mGeometry;
    Int8Epilogue mEpilogue;
    Int8Scaling mScaling;
    bool mIsLinear;
    int32_t mThreads;
    int64_t mInHeight;
    int64_t mInWidth;
    int64_t mLaneBytes{0};
    int64_t mInputElements{0};
    Staging mStaging;
    std::vector<int8_t> mZeros;
    int8_t mZero{0}; //!< What stands for 0.
};

Step stepOfInt8Convolution(StepSource<LoadedInt8Convolution> const& from)
{
    TensorArg const& x = from.inputs[0];
    TensorArg const& y = from.outputs[0];
    Convolution const& layer = from.layer().product;
    if (x.extents.size() != 3 && x.extents.size() != 4)
        return badArgument("its input has rank {}", x.extents.size());
    Geometry const geometry = geometryOf(layer, x.extents, y.extents);
    if (geometry.window.padTop < 0 || geometry.window.padLeft < 0)
        return badArgument("a padding is negative");
    bool const isLines = from.loaded->isLines;
    if (isLines && !canStage(geometry))
        return badArgument("its padding is larger than any memory");
    bool const isLinear =
        x.layout == Layout::kLinear && x.extents[1] != 1 && volumeOf({x.extents.begin() + 2, x.extents.end()}) != 1;
    if (blockOf(x.layout) != 1 || (isLinear && !isLines))
        return badArgument("its input is {}", nameOf(x.layout));
    bool const isDense = y.extents[1] == 1 || volumeOf({y.extents.begin() + 2, y.extents.end()}) == 1;
    if (blockOf(y.layout) != 1 || (y.layout == Layout::kLinear && !isDense))
        return badArgument("its output is {}", nameOf(y.layout));
    Int8Epilogue epilogue = TENON_TRY(
        Int8Epilogue::make(layer.epilogue, resultOf(from.layer()), from.kernel(), from.inputs, y, y.extents[1]));
    Int8Scaling scaling = TENON_TRY(epilogue.scalingOf(from.kernel(), from.loaded->factors, from.loaded->zeroSums()));
    if (!isLines && wantsInt8Tiles(*from.loaded, geometry))
        return int8TilesStep(from.loaded, geometry, epilogue, std::move(scaling), std::max(from.threads, 1));
    return Step{std::shared_ptr<Prepared const>{std::make_shared<PreparedInt8Convolution>(
        from.loaded, geometry, epilogue, std::move(scaling), isLinear, std::max(from.threads, 1))}};
}

std::variant<std::vector<Offer>, Refusal> offerInt8Convolution(Problem const& problem)
{
    constexpr std::string_view kCandidateName{"int8"};
    Convolution const& layer = problem.fields<QuantizedConvolution>().product;
    TensorType const& x = problem.input(0);
    if (x.rank() != 3 && x.rank() != 4)
        return refuse(kCandidateName, "only 1-D and 2-D");
    Constant const* const kernel = problem.constant(1);
    if (kernel == nullptr)
        return refuse(kCandidateName, "the kernel is not a constant");
    if (std::optional<std::string> why = whyNoEpilogue(problem, layer.epilogue))
        return refuse(kCandidateName, *std::move(why));
    if (isDepthwise(layer, x))
        return refuse(kCandidateName, "depthwise");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = int8InPlaceOf(problem, layer.epilogue);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    auto const perOutput = static_cast<double>(kernel->count() / std::max<int64_t>(layer.nbOutputMaps, 1));
    offer.cost = int8CostOf(problem, outputs * perOutput);
    std::vector<Offer> offers{offer};
    if (readsLines(layer, asImage(kernel->extents)))
    {
        offer.inputs[0] = Layout::kLinear;
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildInt8Convolution(Problem const& problem, Offer const& offer)
{
    Convolution const& layer = problem.fields<QuantizedConvolution>().product;
    Constant const& kernel = *problem.constant(1);
    KernelSpec spec{.kernel = "int8_convolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
    spec.packed.push_back(TENON_TRY(packInt8Weight(1, kernel, packingOfInt8(layer, asImage(kernel.extents)))));
    return spec;
}

using Int8ConvolutionFile =
    StepFile<"int8_convolution", "int8", offerInt8Convolution, stepOfInt8Convolution, buildInt8Convolution>;
} // namespace

Result<Done> LoadedInt8Convolution::load()
{
    Convolution const& form = layer.product;
    std::vector<int64_t> const kernelExtents = asImage(kernel.weight(1).arg.extents);
    if (kernelExtents.size() != 4 || form.nbGroups < 1 || kernelExtents[0] < form.nbGroups
        || kernelExtents[0] % form.nbGroups != 0)
        return badArgument("the kernel does not have four extents and {} groups of maps", form.nbGroups);
    weights = TENON_TRY(Int8Operand::load(kernel, 1, packingOfInt8(form, kernelExtents)));
    isLines = readsLines(form, kernelExtents);
    int64_t const maps = kernelExtents[0] / form.nbGroups;
    matrix = isLines ? Int8Matrix{kernelExtents[2], kernelExtents[3] * kernelExtents[1], maps}
                     : Int8Matrix{kernelExtents[2] * kernelExtents[3], kernelExtents[1], maps};
    shifts = shiftsOf(matrix, form.nbGroups, weights.data());
    factors = TENON_TRY(int8Factors(kernel, static_cast<double>(layer.inputScale), kernelExtents[0]));
    return Done{};
}

std::vector<double> LoadedInt8Convolution::zeroSums() const
{
    std::vector<double> sums;
    if (layer.inputZero == 0)
        return sums;
    int64_t const stride = panelsOf(matrix.columns) * kPanel; // Of a group.
    for (int64_t group = 0; group < layer.product.nbGroups; ++group)
        for (int64_t map = 0; map < matrix.columns; ++map)
            sums.push_back(zeroSum(layer.inputZero, shifts[static_cast<size_t>(group * stride + map)]));
    return sums;
}

} // namespace tenon::cpu

TENON_KERNELS(Int8Convolution, Int8ConvolutionFile::kCandidates, Int8ConvolutionFile::kKernels);
