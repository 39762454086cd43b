// Convolution in channels-last layout: windows as rows of a matrix product, read where they lie. Kernels that are known
// only in the run are packed by the team before the product.
#include "layers/convolution.h"

#include "backends/cpu/amx.h"
#include "backends/cpu/convolution_lines.h"
#include "backends/cpu/convolution_staging.h"
#include "backends/cpu/convolution_winograd.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! Scratch memory: what each lane's products need, packed kernels of the run, staged lines, and strips of a chain that
//! begins here. With AMX not by lines: how it multiplies depends on how many rows there are.
template <typename T>
class PreparedConvolution final : public LineStep
{
  public:
    PreparedConvolution(std::shared_ptr<LoadedConvolution const> loaded, Geometry const& geometry,
        GemmEpilogue epilogue, bool isLinear, int32_t threads)
        : mLoaded{std::move(loaded)},
          mGeometry{geometry},
          mSize{gemmSizeOf(geometry)},
          mEpilogue{std::move(epilogue)},
          mIsLinear{isLinear},
          mThreads{std::max(threads, 1)},
          mInHeight{geometry.window.inHeight},
          mInWidth{geometry.window.inWidth},
          mForm{lineFormOf(geometry, sizeof(T), mThreads)}
    {
        mDepth = mGeometry.window.kernelHeight * mGeometry.window.kernelWidth * mGeometry.channels / mGeometry.groups;
        if (wantsStaging(mGeometry))
        {
            mStaging = stage(mGeometry);
            mIsWide = isWide();
        }
        else
            mZeros.resize(static_cast<size_t>(mGeometry.channels), T{});
        if (!mLoaded->weights)
            mPackedFloats = mGeometry.groups * packedSize(mDepth, mapsOfGroup());
        mLaneFloats = gemmScratch<T>({mSize.rows, mapsOfGroup(), mDepth}, !mLoaded->weights);
        mForm.canFollow = mGeometry.isDirect;
        constexpr size_t kCacheLine{64};
        size_t const staged = mStaging.isUsed ? static_cast<size_t>(mGeometry.images * mGeometry.window.imageStride)
                * (mIsWide ? sizeof(float) : sizeof(T))
                                              : 0;
        size_t const own = static_cast<size_t>(mThreads * mLaneFloats + mPackedFloats) * sizeof(float) + staged;
        mForm.ownScratch = (own + kCacheLine - 1) / kCacheLine * kCacheLine;
    }
    size_t scratchBytes() const noexcept override
    {
        return mForm.ownScratch + (byLines() == nullptr ? 0 : LineChain::scratchBytes(mForm));
    }
    LineStep const* byLines() const noexcept override
    {
        return mPackedFloats == 0 && !usesAmx<T>() ? this : nullptr;
    }
    LineForm const& lineForm() const noexcept override
    {
        return mForm;
    }
    bool needsPreparing() const noexcept override
    {
        return mStaging.isUsed;
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mStaging.isUsed || mPackedFloats > 0 ? 2 : 1;
    }
    int32_t pieces(int32_t lanes) const noexcept override
    {
        return lanes <= mThreads ? piecesOn(lanes).count : 1; // Others have no memory.
    }
    void prepareLines(Call const& call, Lane const& lane) const override
    {
        StagedFrom<T> const from{static_cast<T const*>(call.inputs[0]), mInHeight, mInWidth, mIsLinear};
        if (mIsWide)
            copyLines(from, mStaging, mGeometry, stagedLines<float>(call), lane);
        else
            copyLines(from, mStaging, mGeometry, stagedLines<T>(call), lane);
    }
    size_t linesScratch(int64_t lines) const noexcept override
    {
        int64_t const rows = lines * mGeometry.window.outWidth;
        return static_cast<size_t>(gemmScratch<T>({rows, mapsOfGroup(), mDepth})) * sizeof(float);
    }
    void runLines(Call const& call, LineShare const& share) const override
    {
        int64_t const panels = panelsOf(mapsOfGroup());
        int64_t const width = mGeometry.window.outWidth;
        int64_t const ring = share.inRing > 0 ? share.inRing : share.last;
        for (int64_t at = share.first, end = at; at < share.last; at = end)
        {
            int64_t const round = at / ring * ring;
            end = std::min(share.last, round + ring);
            int64_t const first = at * width + (at == share.first ? share.left : 0);
            int64_t const last = end * width - (end == share.last ? share.right : 0);
            multiply(call, {first, last, 0, panels}, round * width, static_cast<float*>(share.scratch));
        }
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if (lane.stage + 1 < stages(lane.count))
        {
            if (mStaging.isUsed)
                prepareLines(call, lane);
            if (mPackedFloats > 0)
                packKernel(call, lane);
            return Done{};
        }
        // Where lanes need memory, more of them than were prepared for have none.
        int32_t const lanes = mLaneFloats == 0 ? lane.count : std::min(lane.count, mThreads);
        if (lane.index >= lanes)
            return Done{};
        GemmShare share = shareOf(mSize, lane.index, lanes, rowGrain<T>());
        if (lane.pieces > 1)
            share = piecesOn(lanes).piece(share, lane.piece);
        int32_t const memory = lane.pieces > 1 ? lane.thread : lane.index;
        multiply(call, share, 0, static_cast<float*>(call.scratch) + memory * mLaneFloats);
        return Done{};
    }
    void setBias(bool hasBias, size_t inputs)
    {
        mHasBias = hasBias;
        mInputs = inputs;
    }

  private:
    GemmPieces piecesOn(int32_t lanes) const noexcept
    {
        return kIsFloat<T> ? piecesOf(mSize, mGeometry.groups, lanes, rowGrain<T>()) : GemmPieces{};
    }
    int64_t mapsOfGroup() const noexcept
    {
        return mGeometry.maps / mGeometry.groups;
    }
    float* packedKernel(Call const& call) const noexcept
    {
        return static_cast<float*>(call.scratch) + mThreads * mLaneFloats;
    }
    template <typename Staged>
    Staged* stagedLines(Call const& call) const noexcept
    {
        return reinterpret_cast<Staged*>(packedKernel(call) + mPackedFloats);
    }
    //! Whether lines are staged as floats, each element of which becomes one once instead of with every window.
    bool isWide() const noexcept
    {
        bool const isByDots = std::is_same_v<T, Bfloat> && mLoaded->weights && usesBfloatDots();
        return !kIsFloat<T> && !isByDots && !usesAmx<T>() && mDepth <= kMaxWideDepth;
    }
    //! This lane's panels of all groups. A map of a channels-last kernel is a column in the order of windows.
    void packKernel(Call const& call, Lane const& lane) const
    {
        auto const* const kernel = static_cast<T const*>(call.inputs[1]);
        int64_t const maps = mapsOfGroup();
        int64_t const panels = panelsOf(maps);
        auto const [first, last] = lane.part(mGeometry.groups * panels);
        for (int64_t at = first; at < last;)
        {
            int64_t const group = at / panels;
            int64_t const panel = at - group * panels;
            int64_t const end = std::min(panels, panel + last - at);
            storageFunctions<T>().packColumns(kernel + group * maps * mDepth, mDepth, true, mDepth, maps, panel, end,
                packedKernel(call) + group * packedSize(mDepth, maps));
            at += end - panel;
        }
    }
    //! All groups of the share. The first row that the input has is `firstRow`, of a direct product.
    void multiply(Call const& call, GemmShare const& share, int64_t firstRow, float* scratch) const
    {
        Geometry const& g = mGeometry;
        T const* const x = mStaging.isUsed ? stagedLines<T>(call) : static_cast<T const*>(call.inputs[0]);
        BoundEpilogue<T> epilogue = mEpilogue.bind<T>(call);
        int64_t const maps = mapsOfGroup();
        int64_t const channels = g.channels / g.groups;
        auto const* bias = static_cast<T const*>(call.inputs[2 < mInputs ? 2 : 0]);
        for (int64_t group = 0; group < g.groups; ++group)
        {
            Gemm<T> gemm;
            gemm.rows = g.images * g.window.outHeight * g.window.outWidth;
            gemm.columns = maps;
            gemm.segments = mStaging.isUsed ? g.window.kernelHeight : g.window.kernelHeight * g.window.kernelWidth;
            gemm.length = mDepth / gemm.segments;
            gemm.a = x + group * channels - firstRow * g.channels;
            gemm.aStride = g.channels;
            gemm.wide = mIsWide ? stagedLines<float>(call) : nullptr;
            gemm.window = g.isDirect ? nullptr : &g.window;
            gemm.zeros = mZeros.data();
            if (mLoaded->weights)
                gemm.setPanels(mLoaded->weights->template data<T>() + group * packedSize(mDepth, maps));
            else
                gemm.b = packedKernel(call) + group * packedSize(mDepth, maps);
            gemm.c = static_cast<T*>(call.outputs[0]) + group * maps;
            gemm.cStride = g.maps;
            gemm.bias = mHasBias ? bias + group * maps : nullptr;
            epilogue.putInto(gemm);
            storageFunctions<T>().runGemm(gemm, share, scratch);
            epilogue.advanceColumns(maps);
        }
    }

    std::shared_ptr<LoadedConvolution const> mLoaded;
    Geometry mGeometry;
    GemmSize mSize;
    GemmEpilogue mEpilogue;
    bool mIsLinear;
    int32_t mThreads;
    int64_t mInHeight;
    int64_t mInWidth;
    LineForm mForm;
    int64_t mDepth{0};
    int64_t mLaneFloats{0};
    int64_t mPackedFloats{0};
    bool mIsWide{false}; //!< What is staged are floats, though T is none.
    bool mHasBias{false};
    size_t mInputs{0};
    Staging mStaging;
    std::vector<T> mZeros;
};

//! A pair of products at a time, less what their panels cost.
constexpr double kDotRate{1.9};

Step stepOfConvolution(StepSource<LoadedConvolution> const& from)
{
    TensorArg const& x = from.inputs[0];
    TensorArg const& y = from.outputs[0];
    if (x.extents.size() != 3 && x.extents.size() != 4)
        return badArgument("its input has rank {}", x.extents.size());
    bool const hasPixels = x.extents.size() >= 3 && volumeOf({x.extents.begin() + 2, x.extents.end()}) != 1;
    Geometry const geometry = geometryOf(from.layer(), x.extents, y.extents);
    if (geometry.window.padTop < 0 || geometry.window.padLeft < 0)
        return badArgument("a padding is negative");
    if (wantsStaging(geometry) && !canStage(geometry))
        return badArgument("its padding is larger than any memory");
    bool const isLinear = x.layout == Layout::kLinear && hasPixels && x.extents[1] != 1;
    if (!kRealTypes.has(x.dtype) || blockOf(x.layout) != 1 || (isLinear && !wantsStaging(geometry)))
        return badArgument("its input is {}", nameOf(x.layout));
    bool const isDense = y.extents[1] == 1 || volumeOf({y.extents.begin() + 2, y.extents.end()}) == 1;
    if (blockOf(y.layout) != 1 || (y.layout == Layout::kLinear && !isDense))
        return badArgument("its output is {}", nameOf(y.layout));
    if (!wantsStaging(geometry) && geometry.window.kernelHeight * geometry.window.kernelWidth > kMaxSegments)
        return badArgument("its kernel has more than {} taps", kMaxSegments);
    if (!from.loaded->weights && (from.inputs[1].layout != Layout::kChannelsLast || from.inputs[1].dtype != x.dtype))
        return badArgument(
            "its kernel, known in the run, is {} {}", nameOf(from.inputs[1].dtype), nameOf(from.inputs[1].layout));
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Convolution::kFirstExtra, from.inputs, y, pixelAxes(y.extents.size())));
    bool const hasBias = isPresent(from.inputs, 2);
    // AMX multiplies bfloat16 so much faster than floats that what minimal filtering saves is less.
    bool const isByAmx = x.dtype == DType::kBF16 && usesAmxBfloats();
    bool const isKnown = from.loaded->weights.has_value();
    double const directRate = x.dtype == DType::kBF16 && usesBfloatDots() ? kDotRate : 1.0;
    WinogradPlan const plan =
        isByAmx || !isKnown ? WinogradPlan{} : planWinograd(from.layer(), geometry, from.threads, directRate);
    if (plan.side != 0)
        return winogradStep(from.loaded, x.dtype, geometry, plan, std::move(epilogue), hasBias, from.threads);
    return withStorage(x.dtype, [&]<typename T>(T) {
        auto prepared = std::make_shared<PreparedConvolution<T>>(
            from.loaded, geometry, std::move(epilogue), isLinear, from.threads);
        prepared->setBias(hasBias, from.inputs.size());
        return Step{std::shared_ptr<Prepared const>{std::move(prepared)}};
    });
}

Packing packingOfConvolution(Convolution const& layer)
{
    return {Packing::Kind::kConvolution, layer.nbGroups};
}

std::optional<std::string> whyNot(Problem const& problem)
{
    auto const& layer = problem.fields<Convolution>();
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return "only float32, float16 and bfloat16";
    if (x.rank() != 3 && x.rank() != 4)
        return "only 1-D and 2-D";
    if (isDepthwise(layer, x))
        return "depthwise";
    Window const window = layer.window();
    int64_t taps{1};
    for (int64_t const size : window.size)
        taps *= size;
    std::optional<int64_t> const channels = x.shape[1].constant();
    bool const isStaged = layer.nbGroups == 1 && channels && *channels <= kFewChannels && window.dilation.back() == 1
        && (window.rank() == 1 || window.size[0] <= kMaxSegments);
    if (taps > kMaxSegments && !isStaged)
        return fmt::format("{} taps", taps);
    return std::nullopt;
}

bool isSinglePixel(TensorType const& type)
{
    for (size_t i = 2; i < type.shape.size(); ++i)
        if (type.shape[i].constant() != 1)
            return false;
    return true;
}

std::variant<std::vector<Offer>, Refusal> offerConvolution(Problem const& problem)
{
    if (std::optional<std::string> why = whyNot(problem))
        return refuse("rows", *std::move(why));
    auto const& layer = problem.fields<Convolution>();
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, Convolution::kFirstExtra);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    int64_t const kernel = volumeOf(problem.typicalExtents(problem.input(1)));
    auto const perOutput = static_cast<double>(kernel / std::max<int64_t>(layer.nbOutputMaps, 1));
    offer.cost = costOf(problem, outputs * perOutput, bytesOf(problem));
    std::vector<Offer> offers{offer};
    TensorType const& x = problem.input(0);
    std::optional<int64_t> const channels = x.shape[1].constant();
    Window const window = layer.window();
    bool const isDirect = std::all_of(window.size.begin(), window.size.end(), [](int64_t s) { return s == 1; });
    if (layer.nbGroups == 1 && channels && *channels <= kFewChannels && window.dilation.back() == 1 && !isDirect)
    {
        offer.inputs[0] = Layout::kLinear;
        offers.push_back(offer);
    }
    else if (isSinglePixel(x) && isSinglePixel(problem.output()))
    {
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        if (problem.constant(1) == nullptr)
            offer.inputs[1] = Layout::kChannelsLast;
        offer.outputs = {Layout::kLinear};
        offers.push_back(offer);
    }
    return offers;
}

Result<KernelSpec> buildConvolution(Problem const& problem, Offer const& offer)
{
    auto const& layer = problem.fields<Convolution>();
    KernelSpec spec{.kernel = "convolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
    if (Constant const* const kernel = problem.constant(1))
        spec.packed.push_back(TENON_TRY(packWeight(1, *kernel, packingOfConvolution(layer))));
    return spec;
}

using ConvolutionFile = StepFile<"convolution", "rows", offerConvolution, stepOfConvolution, buildConvolution>;
} // namespace

Result<Done> LoadedConvolution::load()
{
    if (kernel.weight(1).isConstant())
        weights = TENON_TRY(PackedOperand::load(kernel, 1, packingOfConvolution(layer)));
    return Done{};
}

} // namespace tenon::cpu

TENON_KERNELS(Convolution, ConvolutionFile::kCandidates, ConvolutionFile::kKernels);
