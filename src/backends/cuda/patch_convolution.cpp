// Convolution whose windows lie side by side, as at the entry of vision transformers: windows become rows of a matrix
// by one copy, which rounds an image of float32, and a product gives all maps of a pixel side by side.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/patch_rows.h"
#include "backends/cuda/strided_copy.h"
#include "layers/image_convolution.h"

#include <numeric>

namespace tenon::cuda
{

namespace
{
//! Empty: each element of the input is in one window at most, and none is beyond its edges, whatever its extents are.
std::string objectionTo(Window const& window, int64_t groups)
{
    if (groups != 1 || volumeOf(window.size) < 2)
        return "takes windows of several elements without groups";
    if (window.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN)
        return "takes outputs that are rounded down: others may have windows that reach beyond the input";
    for (size_t axis = 0; axis < window.rank(); ++axis)
        if (window.stride[axis] != window.size[axis] || window.dilation[axis] != 1 || window.pre[axis] != 0
            || window.post[axis] > 0)
            return "takes windows that lie side by side, without padding";
    return "";
}

//! The copy of a row-major image to rows of windows, each as a map's filter lies.
CopyPart patchesOf(Window const& window, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    size_t const rank = window.rank();
    std::vector<int64_t> const from = stridesIn(Layout::kLinear, in);
    CopyPart part;
    int64_t to = in[1] * volumeOf(window.size);
    for (size_t axis = rank; axis-- > 0; to *= out[2 + axis])
        part.axes.insert(part.axes.begin(), {out[2 + axis], from[2 + axis] * window.stride[axis], to});
    part.axes.insert(part.axes.begin(), {in[0], from[0], to});
    to = 1;
    auto const inside = static_cast<std::ptrdiff_t>(part.axes.size());
    for (size_t axis = rank; axis-- > 0; to *= window.size[axis])
        part.axes.insert(part.axes.begin() + inside, {window.size[axis], from[2 + axis], to});
    part.axes.insert(part.axes.begin() + inside, {in[1], from[1], to});
    return part;
}

//! A copy and a product of what it has written.
Result<std::shared_ptr<Prepared const>> convolvedPatches(CudaDevice const& device, ConvolutionShape const& layer,
    PatchTerms const& terms, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    TensorArg const& x = inputs[0];
    if (std::string const why = objectionTo(layer.window, layer.groups); !why.empty())
        return badArgument("a convolution of patches {}", why);
    if (x.layout != Layout::kLinear || out.layout != Layout::kChannelsLast || layer.isTransposed || layer.isChannelsLast
        || inputs.size() > kMaxOperands)
        return badArgument("a convolution of patches takes a row-major image, and gives channels last");
    int64_t const depth = x.extents[1] * volumeOf(layer.window.size);
    StepProduct const product = productOf(layer, out, depth);
    std::vector<int64_t> const& size = layer.window.size;
    std::shared_ptr<Prepared const> copy;
    if (size.size() == 2)
        copy = TENON_TRY(patchRows(device, {size[0], size[1], out.extents[2], out.extents[3]}, x, out.dtype));
    if (copy == nullptr && x.dtype != out.dtype)
        return badArgument("a convolution of patches rounds images whose windows are {} elements wide", kPatchPiece);
    if (copy == nullptr)
        copy = TENON_TRY(stridedCopies(device, static_cast<int32_t>(tenon::bytesOf(x.dtype, 1)),
            {patchesOf(layer.window, x.extents, out.extents)}));
    std::vector<TensorArg> operands{inputs.begin(), inputs.end()};
    operands[0].dtype = out.dtype;
    auto const bytes = static_cast<size_t>(tenon::bytesOf(out.dtype, product.shape.rows * depth));
    auto whole = TENON_TRY(patchProduct(device, product, terms, operands, out, tactic));
    std::vector<int32_t> positions(inputs.size());
    std::iota(positions.begin(), positions.end(), 0);
    return patchStep(std::move(copy), std::move(whole), bytes, std::move(positions));
}

class PatchConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        PatchTerms const terms{.isFilterConstant = isConstant(1), .areOthersConstant = !layer.hasBias || isConstant(2)};
        return convolvedPatches(device(), layer, terms, inputs, outputs[0], TENON_TRY(chosenTactic()));
    }
};

//! The same of images that it rounds.
class ImagePatchesKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ImageConvolution const layer = TENON_TRY(fieldsOf<ImageConvolution>(args()));
        if (layer.isPooled() || inputs[1].dtype != outputs[0].dtype || inputs[1].layout != Layout::kLinear)
            return badArgument("a convolution of patches has no pooling, and weights of its result's type");
        ConvolutionShape const shape{.window = layer.product.window(),
            .groups = layer.product.nbGroups,
            .hasBias = inputs.size() > 2 && inputs[2].present,
            .epilogue = layer.product.epilogue};
        PatchTerms const terms{.isFilterConstant = isConstant(1), .areOthersConstant = !shape.hasBias || isConstant(2)};
        return convolvedPatches(device(), shape, terms, inputs, outputs[0], TENON_TRY(chosenTactic()));
    }
};

ProductShape typicalProduct(Problem const& problem, Convolution const& layer)
{
    ConvolutionShape const shape{.window = layer.window(), .hasBias = problem.hasInput(2), .epilogue = {}};
    TensorArg const out{problem.output().dtype, Layout::kChannelsLast, problem.typicalExtents(problem.output())};
    int64_t const channels = problem.typicalExtents(problem.input(0))[1];
    return productOf(shape, out, channels * volumeOf(shape.window.size)).shape;
}

std::variant<std::vector<Offer>, Refusal> offersOfPatches(Problem const& problem)
{
    constexpr char kName[]{"patches"};
    Convolution const& layer = problem.fields<Convolution>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return refuse(kName, std::move(reason));
    if (std::string reason = objectionTo(layer.window(), layer.nbGroups); !reason.empty())
        return refuse(kName, std::move(reason));
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    std::vector<Offer> offers = patchOffers(problem, typicalProduct(problem, layer), Layout::kChannelsLast);
    for (Offer& offer : offers)
        putExtraLayouts(offer, problem, Layout::kChannelsLast);
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfImagePatches(Problem const& problem)
{
    constexpr char kName[]{"patches"};
    ImageConvolution const& layer = problem.fields<ImageConvolution>();
    Window const window = layer.product.window();
    DType const type = problem.output().dtype;
    if (layer.isPooled() || window.rank() != 2 || window.size[1] % kPatchPiece != 0
        || layer.product.epilogue.extraInputs() != 0)
        return refuse(kName, fmt::format("takes windows as wide as a multiple of {}, and no pooling", kPatchPiece));
    if (std::string reason = objectionTo(window, layer.product.nbGroups); !reason.empty())
        return refuse(kName, std::move(reason));
    if ((type != DType::kHALF && type != DType::kBF16) || problem.input(1).dtype != type)
        return refuse(kName, "takes weights of 16 bits, of the result's type");
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    return patchOffers(problem, typicalProduct(problem, layer.product), Layout::kChannelsLast);
}

Result<KernelSpec> buildImagePatches(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "image_patches");
}

Result<KernelSpec> buildPatches(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "patch_convolution");
}

constexpr Candidate kPatchCandidates[]{
    {.layer = Convolution::kName, .name = "patches", .offers = offersOfPatches, .build = buildPatches},
    {.layer = ImageConvolution::kName, .name = "patches", .offers = offersOfImagePatches, .build = buildImagePatches}};
constexpr CudaKernelEntry kPatchKernels[]{{"patch_convolution", &loadPackableKernel<PatchConvolutionKernel>},
    {"image_patches", &loadLayerKernel<ImagePatchesKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(PatchConvolution, kPatchCandidates, kPatchKernels);
