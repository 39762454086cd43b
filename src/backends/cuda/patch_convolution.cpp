// Convolution whose windows lie side by side, as at the entry of vision transformers: windows become rows of a matrix
// by one copy, which rounds an image of float32, and a product by cuBLASLt gives all maps of a pixel side by side.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/matrix_text.h"
#include "backends/cuda/strided_copy.h"
#include "backends/cuda/width_step.h"
#include "layers/image_convolution.h"

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

TENON_DEVICE_STRUCT(PatchRowsParams, unsigned const* stop; void const* x; void* y; unsigned long long count; int across;
                    int down; int height; int width; int isWide;);

//! Eight neighbours of a row of a window at a time, in the order of the matrix.
constexpr char kPatchRowsText[]{R"(
constexpr unsigned kRow = PIECES * 8, kWindow = CHANNELS * WINDOW_Y * PIECES;
TENON_KERNEL(patchRows, PatchRowsParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        unsigned const inside = (unsigned)(item % kWindow), window = (unsigned)(item / kWindow);
        unsigned const row = inside / PIECES % WINDOW_Y, channel = inside / (PIECES * WINDOW_Y);
        unsigned const across = window % p.across, down = window / p.across % p.down;
        i64 const image = (i64)(window / p.across / p.down) * CHANNELS + channel;
        Source const* const from = (Source const*)p.x + (image * p.height + down * WINDOW_Y + row) * p.width
            + across * kRow + inside % PIECES * 8;
        Pack<Source, 8> pixels;
        if (p.isWide)
            for (int i = 0; i < 8; i += AT_ONCE)
                *(Pack<Source, AT_ONCE>*)(pixels.v + i) = *(Pack<Source, AT_ONCE> const*)(from + i);
        else
            for (int i = 0; i < 8; ++i)
                pixels.v[i] = from[i];
        Pack<Stored, 8> to;
        for (int i = 0; i < 8; ++i)
            put(to.v[i], widen(pixels.v[i]));
        ((Pack<Stored, 8>*)p.y)[item] = to;
    }
}
)"};
constexpr int64_t kPatchPiece{8};

//! Rows of windows in the type of the result, which is of 16 bits; null where windows are no whole pieces, or there are
//! more of them than the kernel counts.
Result<std::shared_ptr<Prepared const>> patchRows(
    CudaDevice const& device, Window const& window, TensorArg const& x, TensorArg const& out)
{
    int64_t const windows = out.extents[0] * volumeOf({out.extents.begin() + 2, out.extents.end()});
    bool const isTaken = window.rank() == 2 && window.size[1] % kPatchPiece == 0 && isSmall(windows)
        && (out.dtype == DType::kHALF || out.dtype == DType::kBF16)
        && (x.dtype == out.dtype || x.dtype == DType::kFLOAT);
    if (!isTaken)
        return std::shared_ptr<Prepared const>{};
    int64_t const atOnce = elementsAtOnce(tenon::bytesOf(x.dtype, 1));
    PatchRowsParams params{};
    params.count = static_cast<uint64_t>(windows * x.extents[1] * volumeOf(window.size) / kPatchPiece);
    params.across = static_cast<int>(out.extents[3]);
    params.down = static_cast<int>(out.extents[2]);
    params.height = static_cast<int>(x.extents[2]);
    params.width = static_cast<int>(x.extents[3]);
    params.isWide = x.extents[3] % atOnce == 0 ? 1 : 0;
    std::string const text = functionsFor(std::array{x.dtype, out.dtype}) + kPatchRowsParamsText
        + fmt::format("typedef {} Source;\ntypedef {} Stored;\nconstexpr unsigned CHANNELS = {}, WINDOW_Y = {}, "
                      "PIECES = {};\nconstexpr int AT_ONCE = {};\n",
            TENON_TRY(storageOf(x.dtype)), TENON_TRY(storageOf(out.dtype)), x.extents[1], window.size[0],
            window.size[1] / kPatchPiece, atOnce)
        + kPatchRowsText;
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(text)));
    return widthStep(params, TENON_TRY(module.function("patchRows")), [](PatchRowsParams& own, Call const& call) {
        own.x = call.inputs[0];
        own.y = call.outputs[0];
        own.isWide = reinterpret_cast<uintptr_t>(own.x) % static_cast<uintptr_t>(kWideBytes) == 0 ? own.isWide : 0;
    });
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

//! A copy and a product of what it has written.
Result<std::shared_ptr<Prepared const>> patchStep(CudaDevice const& device, ConvolutionShape const& layer,
    std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    TensorArg const& x = inputs[0];
    if (std::string const why = objectionTo(layer.window, layer.groups); !why.empty())
        return badArgument("a convolution of patches {}", why);
    if (x.layout != Layout::kLinear || out.layout != Layout::kChannelsLast || layer.isTransposed || layer.isChannelsLast
        || inputs.size() > kMaxOperands)
        return badArgument("a convolution of patches takes a row-major image, and gives channels last");
    int64_t const depth = x.extents[1] * volumeOf(layer.window.size);
    StepProduct const product = productOf(layer, out, depth);
    auto copy = TENON_TRY(patchRows(device, layer.window, x, out));
    if (copy == nullptr && x.dtype != out.dtype)
        return badArgument("a convolution of patches rounds images whose windows are {} elements wide", kPatchPiece);
    if (copy == nullptr)
        copy = TENON_TRY(stridedCopies(device, static_cast<int32_t>(tenon::bytesOf(x.dtype, 1)),
            {patchesOf(layer.window, x.extents, out.extents)}));
    std::vector<TensorArg> operands{inputs.begin(), inputs.end()};
    operands[0].dtype = out.dtype;
    auto const bytes = static_cast<size_t>(tenon::bytesOf(out.dtype, product.shape.rows * depth));
    auto whole = TENON_TRY(libraryProduct(device, product, operands, out, tactic));
    return std::shared_ptr<Prepared const>{
        std::make_shared<PatchStep>(std::move(copy), std::move(whole), bytes, inputs.size())};
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
        return patchStep(device(), layer, inputs, outputs[0], TENON_TRY(chosenTactic()));
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
        return patchStep(device(), shape, inputs, outputs[0], TENON_TRY(chosenTactic()));
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
    double const products = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())))
        * static_cast<double>(volumeOf(window.size)) * static_cast<double>(problem.typicalExtents(problem.input(0))[1]);
    std::vector<Offer> offers = libraryOffers(problem, Layout::kLinear, products);
    for (Offer& offer : offers)
        offer.outputs = {Layout::kChannelsLast};
    return offers;
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
