// Convolution and deconvolution by cuDNN, channels last: tensor cores for float16 and bfloat16, with bias, activation
// and residual in the same kernel. Where the library has nothing for a shape, our own kernel does it.
#include "backends/cuda/cudnn_convolution.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! With two spatial axes at least: the library knows no fewer.
std::vector<int64_t> withHeight(std::vector<int64_t> axes, size_t rank, int64_t height)
{
    if (rank == 1)
        axes.insert(axes.end() - 1, height);
    return axes;
}

CudnnTensor dnnTensor(TensorArg const& arg, Layout layout)
{
    std::vector<int64_t> extents = withHeight(arg.extents, arg.extents.size() - 2, 1);
    std::vector<int64_t> strides = stridesIn(layout, extents);
    return {.type = dnnTypeOf(arg.dtype), .extents = std::move(extents), .strides = std::move(strides)};
}

//! Of a convolution; of a deconvolution those of the convolution whose gradient it is.
CudnnConvolution dnnConvolution(ConvolutionShape const& shape, std::vector<int64_t> const& in)
{
    Window const& window = shape.window;
    size_t const rank = window.rank();
    CudnnConvolution made{.isTransposed = shape.isTransposed, .stride = {}, .dilation = {}, .pre = {}, .post = {}};
    for (size_t axis = 0; axis < rank; ++axis)
    {
        WindowPadding const padding =
            shape.isTransposed ? window.transposedPadding(axis) : window.padding(axis, in[2 + axis]);
        made.pre.push_back(padding.pre);
        made.post.push_back(std::max<int64_t>(padding.post, 0)); // Less adds to the output, whose extent says so.
    }
    made.stride = withHeight(window.stride, rank, 1);
    made.dilation = withHeight(window.dilation, rank, 1);
    made.pre = withHeight(std::move(made.pre), rank, 0);
    made.post = withHeight(std::move(made.post), rank, 0);
    return made;
}

//! Whether paddings are some that the library's kernels hold: with 2^30 one read illegal addresses on an H200.
bool isPaddedForDnn(Window const& window)
{
    constexpr int64_t kMaxPadding{1 << 15};
    auto const isSmall = [](int64_t padding) { return padding <= kMaxPadding; };
    return std::ranges::all_of(window.pre, isSmall) && std::ranges::all_of(window.post, isSmall);
}

class DnnConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        TENON_TRY(positionOf(tactic, 2 * kDnnTactics, "a convolution by cuDNN"));
        ConvolutionShape const shape = TENON_TRY(convolutionShape(inputs, outputs));
        auto ours = TENON_TRY(directConvolution(device(), shape, inputs, outputs[0]));
        bool const isChannelsLast = shape.isChannelsLast || !dependsOnOrder(inputs[1].extents);
        if (inputs[0].layout != Layout::kChannelsLast || outputs[0].layout != Layout::kChannelsLast || !isChannelsLast
            || !isPaddedForDnn(shape.window))
            return ours; // A filter that was packed for another device, say.
        CudnnLayer const layer = cudnnConvolution(shape, inputs, outputs[0]);
        for (CudnnPart const& part : cudnnParts(layer))
            if (auto made = cudnnStep(device(), layer, part, tactic, ours, inputs, outputs[0]))
                return *std::move(made);
        return ours;
    }
};

template <typename L>
std::variant<std::vector<Offer>, Refusal> offersOfDnn(Problem const& problem)
{
    constexpr char kName[]{"cudnn"};
    constexpr bool kIsTransposed{std::is_same_v<L, Deconvolution>};
    L const& layer = problem.fields<L>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return refuse(kName, std::move(reason));
    if (!isPaddedForDnn(layer.window()))
        return refuse(kName, "takes paddings of up to 32768");
    if (auto const library = cudnn(); !library)
        return refuse(kName, library.error().message);
    // Its kernels for many groups leave most of the chip idle.
    double const slower = layer.nbGroups > 1 ? 10.0 : 1.0;
    return cudnnOffers(
        problem, Layout::kChannelsLast, slower * convolutionWork(problem, kIsTransposed), layer.epilogue);
}

Result<KernelSpec> buildDnn(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "cudnn_convolution", TENON_TRY(packedFilter(problem)));
}

constexpr Candidate kDnnCandidates[]{
    {.layer = Convolution::kName, .name = "cudnn", .offers = offersOfDnn<Convolution>, .build = buildDnn},
    {.layer = Deconvolution::kName, .name = "cudnn", .offers = offersOfDnn<Deconvolution>, .build = buildDnn}};
constexpr CudaKernelEntry kDnnKernels[]{{"cudnn_convolution", &loadPackableKernel<DnnConvolutionKernel>}};
} // namespace

constexpr int64_t kPack{8}; //!< Channels.

CudnnLayer cudnnConvolution(ConvolutionShape const& shape, std::span<TensorArg const> inputs, TensorArg const& out)
{
    CudnnLayer layer{.a = dnnTensor(inputs[0], Layout::kChannelsLast),
        .b = dnnTensor(inputs[1], Layout::kChannelsLast),
        .out = dnnTensor(out, Layout::kChannelsLast),
        .convolution = dnnConvolution(shape, inputs[0].extents),
        .bias = {},
        .extras = {},
        .epilogue = shape.epilogue};
    if (shape.hasBias)
    {
        TensorArg bias = inputs[2];
        bias.extents.assign(out.extents.size(), 1);
        bias.extents[1] = out.extents[1];
        layer.bias = dnnTensor(bias, Layout::kChannelsLast);
    }
    for (size_t i = kFirstExtra; i < inputs.size(); ++i)
    {
        // Only what lies as the output does, in whole packs: on an H200 plans with operands that are spread over the
        // output, or of 35 channels, gave wrong numbers (benchmarks/results/2026-11-24-cuda-libraries.md).
        TensorArg const& extra = inputs[i];
        bool const isReadable = extra.present && extra.layout == Layout::kChannelsLast && extra.extents == out.extents
            && out.extents[1] % kPack == 0;
        layer.extras.push_back(isReadable ? std::optional{dnnTensor(extra, extra.layout)} : std::nullopt);
    }
    return layer;
}

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CudnnConvolution, kDnnCandidates, kDnnKernels);
