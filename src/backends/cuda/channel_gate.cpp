// Gates of channels (squeeze and excite) in one kernel: a cluster of blocks per image, whose number is a tactic.
#include "backends/cuda/channel_gate_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr std::array<int, 4> kGateParts{1, 2, 4, 8}; //!< Eight blocks are what every GPU with clusters takes.
constexpr int64_t kGatePack{8};
constexpr int64_t kMaxGateChannels{4096};
constexpr int32_t kMajorWithClusters{9};

int64_t roundedUp(int64_t count, int64_t to)
{
    return (count + to - 1) / to * to;
}

class ChannelGateStep final : public CudaPrepared
{
  public:
    ChannelGateStep(ChannelGateParams const& params, Grid const& grid, void* code)
        : mParams{params},
          mGrid{grid},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr uintptr_t kPiece{16};
        void const* const* const in = at.call.inputs;
        ChannelGateParams params = mParams;
        params.x = in[0];
        params.w1 = in[ChannelGate::kFirstKernel];
        params.w2 = in[ChannelGate::kSecondKernel];
        params.b1 = params.hasBias1 != 0 ? in[ChannelGate::kFirstBias] : nullptr;
        params.b2 = params.hasBias2 != 0 ? in[ChannelGate::kSecondBias] : nullptr;
        params.y = at.call.outputs[0];
        auto const isOdd = [](void const* address) { return reinterpret_cast<uintptr_t>(address) % kPiece != 0; };
        if (isOdd(params.x) || isOdd(params.w1) || isOdd(params.w2))
            params.isWide = params.isStaged = 0;
        return launchKernel(at, mCode, mGrid, params);
    }

  private:
    ChannelGateParams mParams;
    Grid mGrid;
    void* mCode;
};

class ChannelGateKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ChannelGate const layer = TENON_TRY(fieldsOf<ChannelGate>(args()));
        size_t const at = TENON_TRY(positionOf(TENON_TRY(chosenTactic()), kGateParts.size(), "a gate of channels"));
        ChannelGateForm form{.parts = kGateParts[at], .type = {}};
        if (device().model().major < kMajorWithClusters)
            form.parts = 1;
        TENON_TRY(check(inputs, outputs[0]));
        form.type = TENON_TRY(storageOf(outputs[0].dtype));
        ChannelGateParams params = arranged(form, inputs, outputs[0]);
        unsigned const shared = stage(params);
        Module const& module = *TENON_TRY(moduleOf(device(), TENON_TRY(channelGateText(form, layer))));
        void* const code = TENON_TRY(module.function("channelGate"));
        // Of all steps that have the same text.
        TENON_TRY(allowShared(device(), code, static_cast<unsigned>(device().model().sharedBytes)));
        Grid const grid{.x = static_cast<unsigned>(params.clusters * form.parts),
            .block = ChannelGateForm::kThreads,
            .sharedBytes = shared};
        return std::shared_ptr<Prepared const>{std::make_shared<ChannelGateStep>(params, grid, code)};
    }

  private:
    static Result<Done> check(std::span<TensorArg const> inputs, TensorArg const& out)
    {
        bool fits = inputs[0].layout == Layout::kChannelsLast && blockOf(out.layout) == 1
            && isSmall(volumeOf(inputs[0].extents)) && (out.dtype == DType::kHALF || out.dtype == DType::kBF16);
        for (size_t i = 0; i < inputs.size(); ++i)
            fits = fits && (!inputs[i].present || (inputs[i].dtype == out.dtype && blockOf(inputs[i].layout) == 1));
        int64_t const most =
            std::max({inputs[0].extents[1], inputs[ChannelGate::kFirstKernel].extents[0], out.extents[1]});
        return fits && most <= kMaxGateChannels
            ? Result<Done>{Done{}}
            : badArgument("a gate of channels takes images channels last of one type of 16 bits, and up to {} channels",
                kMaxGateChannels);
    }
    //! Slices have whole lines of the cache; what is left of the parts shares pixels out.
    ChannelGateParams arranged(
        ChannelGateForm const& form, std::span<TensorArg const> inputs, TensorArg const& out) const
    {
        TensorArg const& x = inputs[0];
        auto const number = [](int64_t value) { return static_cast<int>(value); };
        auto const has = [&](int32_t i) {
            return static_cast<size_t>(i) < inputs.size() && inputs[static_cast<size_t>(i)].present ? 1 : 0;
        };
        constexpr int64_t kLine{8};
        int64_t const channels = x.extents[1];
        int64_t const packs = (channels + kGatePack - 1) / kGatePack;
        ChannelGateParams params{};
        params.images = number(x.extents[0]);
        params.clusters =
            params.images; // Fewer, which keep the kernels from image to image, have not run on a GPU yet.
        params.pixels = number(volumeOf({x.extents.begin() + 2, x.extents.end()}));
        params.channels = number(channels);
        params.hidden = number(inputs[ChannelGate::kFirstKernel].extents[0]);
        params.maps = number(out.extents[1]);
        params.slices = 1;
        while (params.slices < form.parts && packs / (2 * params.slices) >= kLine)
            params.slices *= 2;
        params.channelsOfSlice = number((packs + params.slices - 1) / params.slices * kGatePack);
        params.mapsOfPart = number(roundedUp((params.maps + form.parts - 1) / form.parts, kGatePack));
        params.hasBias1 = has(ChannelGate::kFirstBias);
        params.hasBias2 = has(ChannelGate::kSecondBias);
        params.isWide = channels % kGatePack == 0 ? 1 : 0;
        params.hasConstantWeights = isConstant(ChannelGate::kFirstKernel) && isConstant(ChannelGate::kSecondKernel)
                && (params.hasBias1 == 0 || isConstant(ChannelGate::kFirstBias))
                && (params.hasBias2 == 0 || isConstant(ChannelGate::kSecondBias))
            ? 1
            : 0;
        constexpr int64_t kAlign{4};
        params.meansAt = ChannelGateForm::kThreads * number(kGatePack);
        params.partAt = params.meansAt + params.channelsOfSlice;
        params.biasAt = params.partAt + number(roundedUp(params.hidden, kAlign));
        params.hiddenAt = params.biasAt + number(roundedUp(params.hidden, kAlign));
        params.weightsAt = params.hiddenAt + number(roundedUp(params.hidden, kAlign));
        return params;
    }
    //! Bytes of shared memory, with what is read of the kernels where that is little.
    unsigned stage(ChannelGateParams& params) const
    {
        constexpr int64_t kMaxStaged{64 << 10};
        constexpr int64_t kBytes{2};
        int64_t const bytes = params.weightsAt * static_cast<int64_t>(sizeof(float));
        int64_t const weights =
            roundedUp(kBytes * params.hidden * (static_cast<int64_t>(params.channelsOfSlice) + params.mapsOfPart), 16);
        bool const isStaged =
            params.isWide != 0 && weights <= kMaxStaged && bytes + weights <= device().model().sharedBytes;
        params.isStaged = isStaged ? 1 : 0;
        return static_cast<unsigned>(isStaged ? bytes + weights : bytes);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfChannelGate(Problem const& problem)
{
    constexpr char kName[]{"channel gate"};
    DType const type = problem.output().dtype;
    if (type != DType::kHALF && type != DType::kBF16)
        return refuse(kName, "takes float16 and bfloat16");
    int32_t const major = majorOf(*problem.target);
    std::vector<int64_t> const x = problem.typicalExtents(problem.input(0));
    std::vector<Offer> offers;
    for (size_t i = 0; i < (major < kMajorWithClusters ? 1 : kGateParts.size()); ++i)
    {
        constexpr int64_t kMultiprocessors{132}; // About what GPUs with clusters have.
        int64_t const blocks = x[0] * kGateParts[i];
        double const idle = std::max(1.0, static_cast<double>(kMultiprocessors) / static_cast<double>(blocks));
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = Layout::kChannelsLast;
        offer.outputs = {Layout::kChannelsLast};
        offer.cost = costOf(problem, 0.0, bytesOf(problem) * idle) + 0.01 * static_cast<double>(i); // Unless timed.
        offer.tactic = static_cast<int64_t>(i);
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildChannelGate(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "channel_gate");
}

constexpr Candidate kGateCandidates[]{
    {.layer = ChannelGate::kName, .name = "channel gate", .offers = offersOfChannelGate, .build = buildChannelGate}};
constexpr CudaKernelEntry kGateKernels[]{{"channel_gate", &loadLayerKernel<ChannelGateKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ChannelGate, kGateCandidates, kGateKernels);
