// Convolution whose windows lie side by side, as at the entry of vision transformers: windows become rows of a matrix
// by one copy, and a product by cuBLASLt gives all maps of a pixel side by side.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/strided_copy.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kPatchAlignment{256};

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

class PatchStep final : public CudaPrepared
{
  public:
    PatchStep(
        std::shared_ptr<Prepared const> copy, std::shared_ptr<Prepared const> product, size_t bytes, size_t inputs)
        : mCopy{std::move(copy)},
          mProduct{std::move(product)},
          mBytes{(bytes + kPatchAlignment - 1) / kPatchAlignment * kPatchAlignment},
          mInputs{inputs}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mProduct->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        void* patches = at.call.scratch;
        Call const copy{.inputs = at.call.inputs, .outputs = &patches};
        TENON_TRY(cudaPrepared(*mCopy).launch(at.with(copy)));
        std::array<void const*, kMaxOperands> inputs{};
        std::copy_n(at.call.inputs, mInputs, inputs.begin());
        inputs[0] = patches;
        Call const product{.inputs = inputs.data(),
            .outputs = at.call.outputs,
            .scratch = static_cast<char*>(at.call.scratch) + mBytes};
        return cudaPrepared(*mProduct).launch(at.with(product));
    }

  private:
    std::shared_ptr<Prepared const> mCopy;
    std::shared_ptr<Prepared const> mProduct;
    size_t mBytes;
    size_t mInputs;
};

class PatchConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        if (std::string const why = objectionTo(layer.window, layer.groups); !why.empty())
            return badArgument("a convolution of patches {}", why);
        if (x.layout != Layout::kLinear || out.layout != Layout::kChannelsLast || layer.isTransposed
            || layer.isChannelsLast || inputs.size() > kMaxOperands)
            return badArgument("a convolution of patches takes a row-major image, and gives channels last");
        int64_t const depth = x.extents[1] * volumeOf(layer.window.size);
        StepProduct const product = productOf(layer, out, depth);
        auto const bytes = static_cast<size_t>(tenon::bytesOf(x.dtype, product.shape.rows * depth));
        auto copy = TENON_TRY(stridedCopies(device(), static_cast<int32_t>(tenon::bytesOf(x.dtype, 1)),
            {patchesOf(layer.window, x.extents, out.extents)}));
        auto whole = TENON_TRY(libraryProduct(device(), product, inputs, out, tactic));
        return std::shared_ptr<Prepared const>{
            std::make_shared<PatchStep>(std::move(copy), std::move(whole), bytes, inputs.size())};
    }
};

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
    std::vector<Offer> offers = libraryOffers(problem, Layout::kLinear, convolutionWork(problem, false));
    for (Offer& offer : offers)
    {
        offer.outputs = {Layout::kChannelsLast};
        putExtraLayouts(offer, problem, Layout::kChannelsLast);
    }
    return offers;
}

Result<KernelSpec> buildPatches(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "patch_convolution");
}

constexpr Candidate kPatchCandidates[]{
    {.layer = Convolution::kName, .name = "patches", .offers = offersOfPatches, .build = buildPatches}};
constexpr CudaKernelEntry kPatchKernels[]{{"patch_convolution", &loadPackableKernel<PatchConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(PatchConvolution, kPatchCandidates, kPatchKernels);
