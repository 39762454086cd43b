// First convolutions, of images with up to four channels, by the tensor cores: the image is read in its own type, and a
// pooling behind is made of what lies in shared memory.
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/image_tiles_text.h"
#include "backends/cuda/matrix_text.h"
#include "layers/image_convolution.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr uintptr_t kImageAlignment{16};
constexpr int64_t kMaxImageChannels{4};
constexpr int kMajorOfWarpgroups{9};
constexpr int kMajorOfHalves{8}; // Matrix units for both types of halves, and maxima of pairs.

//! As an ImageConvolution, whatever the layer is.
Result<ImageConvolution> imageConvolutionOf(LayerArgs const& args)
{
    if (args.layer == Convolution::kName)
        return ImageConvolution{.product = TENON_TRY(fieldsOf<Convolution>(args)), .pooling = {}};
    return fieldsOf<ImageConvolution>(args);
}

//! Without types and epilogue.
ImageTilesForm imageFormOf(ImageConvolution const& layer, int64_t channels)
{
    ImageTilesForm form;
    form.channels = static_cast<int>(channels);
    form.maps = static_cast<int>(layer.product.nbOutputMaps);
    Window const window = layer.product.window();
    for (size_t axis = 0; axis < 2; ++axis)
    {
        form.size[axis] = static_cast<int>(window.size[axis]);
        form.stride[axis] = static_cast<int>(window.stride[axis]);
        if (!layer.isPooled())
            continue;
        form.poolSize[axis] = static_cast<int>(layer.pooling.window().size[axis]);
        form.poolStride[axis] = static_cast<int>(layer.pooling.window().stride[axis]);
    }
    return form;
}

//! Empty: the kernel takes it.
std::string imageObjection(ImageConvolution const& layer, int64_t channels, DType type, int32_t major)
{
    constexpr int64_t kMaxSize{8};
    constexpr int64_t kMaxStride{4};
    constexpr int64_t kMaxPool{4};
    constexpr int kMaxSteps{16}; // Whose weights fit into registers.
    Window const window = layer.product.window();
    if (layer.product.nbGroups != 1 || channels < 1 || channels > kMaxImageChannels || window.rank() != 2)
        return "takes images of up to four channels";
    if ((type != DType::kHALF && type != DType::kBF16) || major < kMajorOfHalves)
        return fmt::format("the GPU's matrix units do not take {}", nameOf(type));
    if (layer.product.epilogue.extraInputs() != 0)
        return "its epilogue takes other tensors";
    if (window.stride[1] % 2 != 0)
        return "takes windows an even number of columns apart";
    for (size_t axis = 0; axis < 2; ++axis)
        if (window.dilation[axis] != 1 || window.size[axis] > kMaxSize || window.stride[axis] > kMaxStride)
            return "takes small windows without dilation";
    if (imageFormOf(layer, channels).steps() > kMaxSteps)
        return "weights of its window do not fit into registers";
    if (!layer.isPooled())
        return "";
    Window const pool = layer.pooling.window();
    bool const isSmallPool = std::ranges::all_of(pool.size, [](int64_t size) { return size <= kMaxPool; })
        && std::ranges::all_of(pool.stride, [](int64_t stride) { return stride <= kMaxPool; });
    return isSmallPool ? "" : "takes pools of small windows";
}

class ImageTilesStep final : public CudaPrepared
{
  public:
    ImageTilesStep(ImageTilesParams const& params, Grid const& grid, void* code)
        : mParams{params},
          mGrid{grid},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        ImageTilesParams params = mParams;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        if (reinterpret_cast<uintptr_t>(params.y) % kImageAlignment != 0)
            params.hasWideResults = 0;
        return launchKernel(at, mCode, mGrid, params);
    }

  private:
    ImageTilesParams mParams;
    Grid mGrid;
    void* mCode;
};

class ImageTilesKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        ImageConvolution const layer = TENON_TRY(imageConvolutionOf(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        if (std::string const why = imageObjection(layer, x.extents[1], out.dtype, device().model().major);
            !why.empty())
            return badArgument("the kernel for first convolutions {}", why);
        bool const fits = (x.dtype == out.dtype || x.dtype == DType::kFLOAT) && inputs[1].dtype == out.dtype
            && inputs[1].layout == Layout::kLinear && blockOf(x.layout) == 1 && out.layout == Layout::kChannelsLast;
        if (!fits)
            return badArgument("the kernel for first convolutions gives channels-last order in its weights' type");
        ImageTilesForm form = imageFormOf(layer, x.extents[1]);
        form.source = TENON_TRY(storageOf(x.dtype));
        form.type = TENON_TRY(storageOf(out.dtype));
        form.epilogue = TENON_TRY(epilogueExpression(layer.product.epilogue));
        form.isByWarpgroup = device().model().major == kMajorOfWarpgroups && form.stride[1] == 2;
        Products const products = productsOf(layer, x.extents);
        if (int64_t const largest = largestOf(form, products, x, out); !isSmall(largest))
            return badArgument("{} elements of an image, or tiles of all, are more than the kernel counts", largest);
        Module const& module = *TENON_TRY(moduleOf(device(), imageTilesText(form)));
        void* const code = TENON_TRY(module.function("imageTiles"));
        TENON_TRY(allowShared(device(), code, static_cast<unsigned>(form.sharedBytes())));
        ImageTilesParams params = paramsOf(form, products, x, out);
        bool const hasBias = inputs.size() > 2 && inputs[2].present;
        params.hasBias = hasBias ? 1 : 0;
        params.hasConstantWeights = isConstant(1) && (!hasBias || isConstant(2)) ? 1 : 0;
        return std::shared_ptr<Prepared const>{std::make_shared<ImageTilesStep>(params, gridOf(params, form), code)};
    }

  private:
    //! What the convolution gives, and is pooled.
    struct Products
    {
        int64_t extents[2];
        int64_t padding[2];     //!< Of the image.
        int64_t poolPadding[2]; //!< Of the products.
    };
    static Products productsOf(ImageConvolution const& layer, std::vector<int64_t> const& x)
    {
        Products products{};
        Window const window = layer.product.window();
        for (size_t axis = 0; axis < 2; ++axis)
        {
            products.extents[axis] = window.outputExtent(axis, ShapeExpr{x[axis + 2]}).constant().value_or(0);
            products.padding[axis] = window.padding(axis, x[axis + 2]).pre;
            if (layer.isPooled())
                products.poolPadding[axis] = layer.pooling.window().padding(axis, products.extents[axis]).pre;
        }
        return products;
    }
    //! How many of `each` cover an extent.
    static int64_t shareOf(int64_t extent, int each)
    {
        return (extent + each - 1) / each;
    }
    //! What is counted in 32 bits: elements of one image, and tiles of all.
    static int64_t largestOf(
        ImageTilesForm const& form, Products const& products, TensorArg const& x, TensorArg const& out)
    {
        int64_t const images = x.extents[0];
        int64_t const tiles =
            shareOf(out.extents[2], form.resultsOfTile(0)) * shareOf(out.extents[3], form.resultsOfTile(1));
        return std::max({volumeOf(x.extents) / images, volumeOf(out.extents) / images,
            out.extents[1] * products.extents[0] * products.extents[1], images * tiles});
    }
    static ImageTilesParams paramsOf(
        ImageTilesForm const& form, Products const& products, TensorArg const& x, TensorArg const& out)
    {
        constexpr int kPiece{8};
        auto const small = [](int64_t value) { return static_cast<int>(value); };
        ImageTilesParams params{};
        params.height = small(x.extents[2]);
        params.width = small(x.extents[3]);
        params.productHeight = small(products.extents[0]);
        params.productWidth = small(products.extents[1]);
        params.outHeight = small(out.extents[2]);
        params.outWidth = small(out.extents[3]);
        params.padY = small(products.padding[0]);
        params.padX = small(products.padding[1]);
        params.poolPadY = small(products.poolPadding[0]);
        params.poolPadX = small(products.poolPadding[1]);
        params.across = small(shareOf(out.extents[3], form.resultsOfTile(1)));
        params.down = small(shareOf(out.extents[2], form.resultsOfTile(0)));
        params.tiles = small(x.extents[0]) * params.across * params.down;
        params.groups = small(shareOf(form.maps, form.mapsOfBlock()));
        params.hasWideResults = form.maps % kPiece == 0 ? 1 : 0;
        std::ranges::transform(stridesIn(x.layout, x.extents), params.xStrides, small);
        return params;
    }
    //! As many blocks as fit at once go from tile to tile, their weights in registers.
    Grid gridOf(ImageTilesParams const& params, ImageTilesForm const& form) const
    {
        int64_t const most = int64_t{form.blocksOfMultiprocessor()} * device().model().multiprocessors;
        int64_t const each = std::clamp<int64_t>(params.tiles, 1, std::max<int64_t>(most / params.groups, 1));
        return {.x = static_cast<unsigned>(each * params.groups),
            .block = ImageTilesForm::kThreads,
            .sharedBytes = static_cast<unsigned>(form.sharedBytes())};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfImageTiles(Problem const& problem, ImageConvolution const& layer)
{
    constexpr char kName[]{"image tiles"};
    TensorType const& out = problem.output();
    std::optional<int64_t> const channels = problem.input(0).shape[1].constant();
    if (!channels || problem.input(1).dtype != out.dtype)
        return refuse(kName, "takes channels that are known, and weights of the result's type");
    if (problem.input(0).dtype != out.dtype && problem.input(0).dtype != DType::kFLOAT)
        return refuse(kName, "takes images in float32 or in the result's type");
    if (std::string const why = imageObjection(layer, *channels, out.dtype, majorOf(*problem.target)); !why.empty())
        return refuse(kName, why);
    if (Result<std::string> const text = epilogueExpression(layer.product.epilogue); !text)
        return refuse(kName, text.error().message);
    ImageTilesForm const form = imageFormOf(layer, *channels);
    int64_t const each = int64_t{form.poolStride[0]} * form.poolStride[1] * form.steps() * 16;
    auto const work = static_cast<double>(volumeOf(problem.typicalExtents(out)) * each);
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {Layout::kChannelsLast};
        constexpr double kFaster{80.0}; // Than a tenth of the plain peak.
        offer.cost = costOf(problem, work / kFaster, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfImages(Problem const& problem)
{
    return offersOfImageTiles(problem, problem.fields<ImageConvolution>());
}

std::variant<std::vector<Offer>, Refusal> offersOfFirstConvolution(Problem const& problem)
{
    return offersOfImageTiles(problem, {.product = problem.fields<Convolution>(), .pooling = {}});
}

Result<KernelSpec> buildImageTiles(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "image_tiles", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kImageCandidates[]{
    {.layer = ImageConvolution::kName, .name = "image tiles", .offers = offersOfImages, .build = buildImageTiles},
    {.layer = Convolution::kName, .name = "image tiles", .offers = offersOfFirstConvolution, .build = buildImageTiles}};
constexpr CudaKernelEntry kImageKernels[]{{"image_tiles", &loadLayerKernel<ImageTilesKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(ImageTiles, kImageCandidates, kImageKernels);
