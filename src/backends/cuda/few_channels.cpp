// Convolution of images with up to four channels by the tensor cores: a tile of pixels lies in shared memory, padded to
// two or four channels, and its windows are read from there as rows of a matrix; nothing is copied out.
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/few_channels_text.h"
#include "backends/cuda/matrix_text.h"
#include "layers/convolution.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
struct FewChannelsPlan
{
    FewChannelsParams params{};
    Grid grid;
    void* code{nullptr};
};

class FewChannelsStep final : public CudaPrepared
{
  public:
    FewChannelsStep(FewChannelsPlan plan, EpilogueOperands extras)
        : mPlan{plan},
          mExtras{extras}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr uintptr_t kWide{16};
        FewChannelsParams params = mPlan.params;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        if (reinterpret_cast<uintptr_t>(params.w) % kWide != 0)
            params.hasWideWeights = 0;
        if (reinterpret_cast<uintptr_t>(params.y) % kWide != 0)
            params.hasWideResults = 0;
        mExtras.put(params.extra, at.call);
        return launchKernel(at, mPlan.code, mPlan.grid, params);
    }

  private:
    FewChannelsPlan mPlan;
    EpilogueOperands mExtras;
};

FewChannelsForm formOf(Convolution const& layer, int64_t channels)
{
    Window const window = layer.window();
    return {.channels = static_cast<int>(channels),
        .maps = static_cast<int>(layer.nbOutputMaps),
        .size = {static_cast<int>(window.size[0]), static_cast<int>(window.size[1])},
        .stride = {static_cast<int>(window.stride[0]), static_cast<int>(window.stride[1])}};
}

//! Empty: the kernel takes it.
std::string objectionTo(Convolution const& layer, int64_t channels, DType type, int32_t major)
{
    Window const window = layer.window();
    constexpr int64_t kMaxChannels{4};
    constexpr int64_t kMaxSize{64};
    if (layer.nbGroups != 1 || channels < 1 || channels > kMaxChannels || window.rank() != 2)
        return "takes images of up to four channels";
    bool const isBfloat = type == DType::kBF16;
    if ((type != DType::kHALF && !isBfloat) || !hasMatrixUnits(major, isBfloat))
        return fmt::format("the GPU's matrix units do not take {}", nameOf(type));
    for (size_t axis = 0; axis < 2; ++axis)
        if (window.dilation[axis] != 1 || window.size[axis] > kMaxSize || window.stride[axis] > kMaxSize)
            return "takes windows without dilation";
    constexpr int64_t kShared{48 << 10};
    if (formOf(layer, channels).sharedBytes() > kShared)
        return "its window does not fit into shared memory";
    return "";
}

class FewChannelsKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        DType const type = out.dtype;
        if (std::string const why = objectionTo(layer, x.extents[1], type, device().model().major); !why.empty())
            return badArgument("the kernel for few channels {}", why);
        bool const fits = x.dtype == type && inputs[1].dtype == type && inputs[1].layout == Layout::kLinear
            && blockOf(x.layout) == 1 && out.layout == Layout::kChannelsLast
            && isSmall(std::max(volumeOf(x.extents), volumeOf(out.extents)));
        if (!fits)
            return badArgument("the kernel for few channels takes one type and gives channels-last order");
        EpilogueOperands const extras =
            TENON_TRY(epilogueOperands(layer.epilogue, inputs, Convolution::kFirstExtra, out));
        FewChannelsForm const form = formOf(layer, x.extents[1]);
        Module const& module = *TENON_TRY(moduleOf(
            device(), fewChannelsText(form, TENON_TRY(storageOf(type)), TENON_TRY(epilogueText(layer.epilogue)))));
        FewChannelsPlan made = arrange(layer, form, x, out);
        made.params.hasBias = inputs.size() > 2 && inputs[2].present ? 1 : 0;
        made.params.hasConstantWeights = isConstant(1) ? 1 : 0;
        made.code = TENON_TRY(module.function("fewChannels"));
        return std::shared_ptr<Prepared const>{std::make_shared<FewChannelsStep>(made, extras)};
    }

  private:
    //! As many blocks as fit at once go from tile to tile, their weights in shared memory.
    FewChannelsPlan arrange(
        Convolution const& layer, FewChannelsForm const& form, TensorArg const& x, TensorArg const& out) const
    {
        constexpr int64_t kBlocksOfMultiprocessor{4};
        Window const window = layer.window();
        FewChannelsPlan made;
        FewChannelsParams& params = made.params;
        params.height = static_cast<int>(x.extents[2]);
        params.width = static_cast<int>(x.extents[3]);
        params.outHeight = static_cast<int>(out.extents[2]);
        params.outWidth = static_cast<int>(out.extents[3]);
        params.padY = static_cast<int>(window.padding(0, x.extents[2]).pre);
        params.padX = static_cast<int>(window.padding(1, x.extents[3]).pre);
        params.across = (params.outWidth + FewChannelsForm::kTileColumns - 1) / FewChannelsForm::kTileColumns;
        params.down = (params.outHeight + FewChannelsForm::kTileRows - 1) / FewChannelsForm::kTileRows;
        params.tiles = static_cast<int>(x.extents[0]) * params.across * params.down;
        params.groups = (form.maps + form.mapsOfBlock() - 1) / form.mapsOfBlock();
        params.hasWideWeights = form.maps * form.channels * form.size[0] * form.size[1] % 8 == 0 ? 1 : 0;
        params.hasWideResults = form.maps % form.mapsOfThread() == 0 ? 1 : 0;
        std::ranges::copy(stridesIn(x.layout, x.extents), params.xStrides);
        int64_t const most = std::max<int64_t>(kBlocksOfMultiprocessor * device().model().multiprocessors, 1);
        int64_t const each = std::clamp<int64_t>(params.tiles, 1, std::max<int64_t>(most / params.groups, 1));
        made.grid = {.x = static_cast<unsigned>(each * params.groups), .block = 128};
        return made;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfFewChannels(Problem const& problem)
{
    constexpr char kName[]{"few channels"};
    Convolution const& layer = problem.fields<Convolution>();
    TensorType const& out = problem.output();
    std::optional<int64_t> const channels = problem.input(0).shape[1].constant();
    if (!channels || problem.input(0).dtype != out.dtype || problem.input(1).dtype != out.dtype)
        return refuse(kName, "takes one type and channels that are known");
    if (std::string const why = objectionTo(layer, *channels, out.dtype, majorOf(*problem.target)); !why.empty())
        return refuse(kName, why);
    if (std::string const why = epilogueObjection(layer.epilogue, problem, Convolution::kFirstExtra); !why.empty())
        return refuse(kName, why);
    FewChannelsForm const form = formOf(layer, *channels);
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(out)));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
        offer.inputs[0] = layout;
        for (size_t k = 1; k < 3 && k < offer.inputs.size(); ++k)
            offer.inputs[k] = Layout::kLinear;
        offer.outputs = {Layout::kChannelsLast};
        constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
        offer.cost = costOf(problem, elements * form.depth() / kFaster, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildFewChannels(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "few_channels", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kFewChannelsCandidates[]{
    {.layer = Convolution::kName, .name = "few channels", .offers = offersOfFewChannels, .build = buildFewChannels}};
constexpr CudaKernelEntry kFewChannelsKernels[]{{"few_channels", &loadLayerKernel<FewChannelsKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(FewChannels, kFewChannelsCandidates, kFewChannelsKernels);
