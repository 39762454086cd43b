// Depthwise convolution in channels-last order. A thread makes a few neighbouring results of a few channels, its
// weights in registers: `window` reads each result's own window, with all loads under way at once; `sliding` goes down
// the image and reads each input once, `staged` does so over a tile in shared memory. Which is faster for a shape is
// measured (tactics).
#include "backends/cuda/depthwise_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr unsigned kDepthwiseThreads{128};

//! Parameters and threads for one way.
struct DepthwisePlan
{
    DepthwiseParams params{};
    Grid grid;
    void* code{nullptr};
    uintptr_t alignment{1};
};

class DepthwiseStep final : public CudaPrepared
{
  public:
    DepthwiseStep(DepthwisePlan wide, DepthwisePlan odd, EpilogueOperands extras, double hidden)
        : mWide{wide},
          mOdd{odd},
          mExtras{extras},
          mHidden{hidden}
    {
    }
    double hidden() const noexcept override
    {
        return mHidden;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        uintptr_t const all = reinterpret_cast<uintptr_t>(at.call.inputs[0])
            | reinterpret_cast<uintptr_t>(at.call.inputs[1]) | reinterpret_cast<uintptr_t>(at.call.outputs[0]);
        DepthwisePlan const& plan = mWide.code != nullptr && all % mWide.alignment == 0 ? mWide : mOdd;
        DepthwiseParams params = plan.params;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        mExtras.put(params.extra, at.call);
        return launchKernel(at, plan.code, plan.grid, params);
    }

  private:
    DepthwisePlan mWide; //!< No code: channels are no multiple of the vectors.
    DepthwisePlan mOdd;
    EpilogueOperands mExtras;
    double mHidden;
};

//! Lanes along channels that waste few, and strips beside them up to a block.
void shareOut(DepthwisePlan& plan, int64_t images, int columns, int vector, int rows)
{
    constexpr int64_t kMaxLanes{64};
    DepthwiseParams& params = plan.params;
    int64_t const vectors = params.channels / vector;
    int64_t lanes = std::min(vectors, kMaxLanes);
    for (int64_t each = lanes; each >= 8; --each)
        if (vectors % each == 0)
        {
            lanes = each;
            break;
        }
    params.rows = rows;
    params.lanes = static_cast<int>(lanes);
    params.strips = std::max(1, static_cast<int>(kDepthwiseThreads / static_cast<unsigned>(lanes)));
    params.across = (params.outWidth + columns - 1) / columns;
    params.down = (params.outHeight + rows - 1) / rows;
    params.slices = static_cast<int>((vectors + lanes - 1) / lanes);
    params.groups = (params.across * params.down + params.strips - 1) / params.strips;
    plan.grid = {.x = static_cast<unsigned>(images * params.slices * params.groups),
        .block = static_cast<unsigned>(params.lanes * params.strips)};
}

//! Long strips read less, but enough of them must be there for all multiprocessors.
int rowsOf(CudaDevice const& device, DepthwiseParams const& params, int64_t images, int columns, int vector)
{
    constexpr int64_t kThreadsPerMultiprocessor{512};
    int64_t const threads = images * (params.channels / vector) * ((params.outWidth + columns - 1) / columns);
    int rows = 28;
    while (rows > 2
        && threads * ((params.outHeight + rows - 1) / rows)
            < kThreadsPerMultiprocessor * device.model().multiprocessors)
        rows /= 2;
    return std::min(rows, params.outHeight);
}

//! Bytes of a tile: three blocks of Hopper's multiprocessors.
int32_t mostStaged(CudaDevice const& device)
{
    constexpr int32_t kMaxShared{72 << 10};
    return std::min(kMaxShared, device.model().sharedBytes);
}

//! Tiles in shared memory that leave several blocks a multiprocessor, and enough of them for all; false: the window is
//! too large for any. Adds what the launch needs to the plan.
bool shareOutStaged(
    CudaDevice const& device, DepthwisePlan& plan, DepthwiseWindow const& window, int64_t images, int columns)
{
    constexpr int kMaxChannels{96};
    constexpr int kLeastRows{4};
    DepthwiseParams& params = plan.params;
    auto const shares = [](int count, int most) { return (count + most - 1) / most; };
    params.slices = shares(params.channels, kMaxChannels);
    int const channels = shares(shares(params.channels, params.slices), kStagedPiece) * kStagedPiece;
    params.lanes = channels / kStagedPair;
    int const strips = shares(params.outWidth, columns);
    params.across = shares(strips, std::max(kMaxStagedThreads / params.lanes, 1));
    params.strips = shares(strips, params.across);
    int64_t const most = mostStaged(device);
    auto const sharedOf = [&](int rows) {
        int64_t const pixels = ((rows - 1) * window.stride[0] + window.size[0])
            * ((params.strips * columns - 1) * window.stride[1] + window.size[1]);
        return pixels * channels * 2;
    };
    auto const blocksOf = [&](int down) { return images * params.slices * params.across * down; };
    while (params.strips > 1 && sharedOf(1) > most)
        params.strips = shares(strips, ++params.across);
    if (sharedOf(1) > most)
        return false;
    params.across = shares(strips, params.strips);
    params.down = 1;
    while (sharedOf(shares(params.outHeight, params.down)) > most)
        ++params.down;
    while (shares(params.outHeight, params.down) > kLeastRows
        && blocksOf(params.down) < int64_t{4} * device.model().multiprocessors)
        ++params.down;
    params.rows = shares(params.outHeight, params.down);
    params.down = shares(params.outHeight, params.rows);
    plan.grid = {.x = static_cast<unsigned>(blocksOf(params.down)),
        .block = static_cast<unsigned>(params.lanes * params.strips),
        .sharedBytes = static_cast<unsigned>(sharedOf(params.rows))};
    return true;
}

class DepthwiseKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args()));
        TensorArg const& out = outputs[0];
        DepthwiseWindow const window{layer.window()};
        std::span<DepthwiseWay const> const ways = window.ways(out.dtype);
        size_t const at = TENON_TRY(positionOf(TENON_TRY(chosenTactic()), ways.size(), "a depthwise convolution"));
        DepthwiseParams params = TENON_TRY(paramsOf(layer, inputs, out));
        params.hasConstantWeights = isConstant(1) && (params.hasBias == 0 || isConstant(2)) ? 1 : 0;
        EpilogueOperands const extras =
            TENON_TRY(epilogueOperands(layer.epilogue, inputs, Convolution::kFirstExtra, out));
        Module const& module = *TENON_TRY(moduleOf(device(), TENON_TRY(depthwiseText(layer, out.dtype))));
        int64_t const images = out.extents[0];
        DepthwisePlan odd{params, {}, TENON_TRY(module.function("odd"))};
        shareOut(odd, images, 2, 1, 1);
        DepthwiseWay const& way = ways[at];
        DepthwisePlan wide{params, {}};
        bool const isStaged = way.kind == DepthwiseKind::kStaged;
        int const vector = isStaged ? kStagedPiece : window.vector();
        if (params.channels % vector == 0)
        {
            wide.alignment = static_cast<uintptr_t>(vector * movableBytes(out.dtype));
            if (!isStaged)
            {
                wide.code = TENON_TRY(module.function(way.kernel));
                int const rows = way.slides() ? rowsOf(device(), params, images, way.columns, vector) : 1;
                shareOut(wide, images, way.columns, vector, rows);
            }
            else if (shareOutStaged(device(), wide, window, images, way.columns))
            {
                Module const& staged =
                    *TENON_TRY(moduleOf(device(), TENON_TRY(stagedText(layer, out.dtype, wide.params.lanes))));
                wide.code = TENON_TRY(staged.function(way.kernel)); // Shared memory is that of all with this text.
                TENON_TRY(allowShared(device(), wide.code, static_cast<unsigned>(mostStaged(device()))));
            }
        }
        return std::shared_ptr<Prepared const>{
            std::make_shared<DepthwiseStep>(wide, odd, extras, isConstant(1) ? hiddenByEdges(device()) : 0.0)};
    }

  private:
    static Result<DepthwiseParams> paramsOf(
        Convolution const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
    {
        Window const window = layer.window();
        TensorArg const& x = inputs[0];
        size_t const spatial = window.rank();
        DType const type = out.dtype;
        bool const fits = spatial >= 1 && spatial <= 2 && x.layout == Layout::kChannelsLast
            && out.layout == Layout::kChannelsLast && inputs[1].layout == Layout::kLinear && kRealTypes.has(type)
            && x.dtype == type && inputs[1].dtype == type && x.extents[1] == layer.nbGroups
            && out.extents[1] == layer.nbGroups && window.size.back() <= kMaxDepthwiseColumns;
        int64_t const elements = std::max(volumeOf(x.extents), volumeOf(out.extents));
        if (!fits || !isSmall(elements))
            return badArgument("the depthwise kernel takes one type of real numbers in channels-last order");
        auto const ofRow = [&](TensorArg const& arg) { return spatial == 2 ? arg.extents[2] : int64_t{1}; };
        DepthwiseParams params{};
        params.height = static_cast<int>(ofRow(x));
        params.width = static_cast<int>(x.extents.back());
        params.channels = static_cast<int>(x.extents[1]);
        params.outHeight = static_cast<int>(ofRow(out));
        params.outWidth = static_cast<int>(out.extents.back());
        params.padY = spatial == 2 ? static_cast<int>(window.padding(0, x.extents[2]).pre) : 0;
        params.padX = static_cast<int>(window.padding(spatial - 1, x.extents.back()).pre);
        params.hasBias = inputs.size() > 2 && inputs[2].present ? 1 : 0;
        return params;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDepthwise(Problem const& problem)
{
    constexpr char kName[]{"depthwise"};
    Convolution const& layer = problem.fields<Convolution>();
    TensorType const& out = problem.output();
    ShapeExpr const channels = problem.input(0).shape[1];
    if (channels != ShapeExpr{layer.nbGroups} || layer.nbOutputMaps != layer.nbGroups || layer.nbGroups < 2)
        return refuse(kName, "takes one map per channel");
    Window const window = layer.window();
    if (window.rank() > 2 || window.size.back() > kMaxDepthwiseColumns)
        return refuse(kName, "takes windows of up to two axes and 31 columns");
    if (!kRealTypes.has(out.dtype) || problem.input(0).dtype != out.dtype || problem.input(1).dtype != out.dtype)
        return refuse(kName, "takes one type of real numbers");
    if (std::string const why = epilogueObjection(layer.epilogue, problem, Convolution::kFirstExtra); !why.empty())
        return refuse(kName, why);
    DepthwiseWindow const taken{window};
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(out)));
    constexpr double kManyResults{1 << 21}; // From here on reading each input once pays.
    bool const isLarge = elements > kManyResults;
    std::span<DepthwiseWay const> const ways = taken.ways(out.dtype);
    std::vector<Offer> offers;
    for (size_t i = 0; i < ways.size(); ++i)
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
        offer.outputs = {Layout::kChannelsLast};
        for (size_t k = 1; k < 3 && k < offer.inputs.size(); ++k)
            offer.inputs[k] = Layout::kLinear;
        bool const isWrongKind = taken.slides() && ways[i].slides() != isLarge;
        offer.cost = costOf(problem, elements * static_cast<double>(taken.taps()) / 2.0, bytesOf(problem))
                * (isWrongKind ? 1.5 : 1.0)
            + 0.01 * static_cast<double>(i); // Unless timed.
        offer.tactic = static_cast<int64_t>(i);
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildDepthwise(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "depthwise");
}

constexpr Candidate kDepthwiseCandidates[]{
    {.layer = Convolution::kName, .name = "depthwise", .offers = offersOfDepthwise, .build = buildDepthwise}};
constexpr CudaKernelEntry kDepthwiseKernels[]{{"depthwise", &loadLayerKernel<DepthwiseKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Depthwise, kDepthwiseCandidates, kDepthwiseKernels);
