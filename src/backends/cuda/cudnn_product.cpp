// MatrixMultiply by cuDNN where its epilogue is more than cuBLASLt's kernels do: the exact GELU, SiLU and others in the
// same kernel. Where the library has nothing for a shape, cuBLASLt does it, with a kernel behind it.
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/cudnn_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
CudnnTensor dnnMatrices(DType type, std::vector<int64_t> extents, std::vector<int64_t> strides)
{
    return {.type = dnnTypeOf(type), .extents = std::move(extents), .strides = std::move(strides)};
}

//! None: no graph describes it.
std::optional<CudnnLayer> dnnProduct(
    StepProduct const& product, std::span<TensorArg const> inputs, TensorArg const& out)
{
    LtShape const made = ltShapeOf(product.shape);
    ProductShape const& shape = made.matrices;
    int64_t const rows = shape.rows;
    int64_t const columns = shape.columns;
    int64_t const depth = shape.depth;
    if (product.alpha != 1.0F || depth == 0 || made.calls.size() != 1)
        return std::nullopt;
    //! Matrices that repeat are a batch of one.
    auto const batch = [&](size_t operand) { return made.strides[operand] == 0 ? 1 : made.batch; };
    auto const stride = [&](size_t operand, int64_t alone) {
        return made.strides[operand] == 0 ? alone : made.strides[operand];
    };
    CudnnLayer layer{.a = dnnMatrices(out.dtype, {batch(0), rows, depth},
                         {stride(0, rows * depth), shape.isTurnedA ? 1 : depth, shape.isTurnedA ? rows : 1}),
        .b = dnnMatrices(out.dtype, {batch(1), depth, columns},
            {stride(1, depth * columns), shape.isTurnedB ? 1 : columns, shape.isTurnedB ? depth : 1}),
        .out = dnnMatrices(out.dtype, {made.batch, rows, columns}, {rows * columns, columns, 1}),
        .convolution = {},
        .bias = {},
        .extras = {},
        .epilogue = product.epilogue};
    if (shape.hasBias)
        layer.bias = dnnMatrices(out.dtype, {1, 1, columns}, {columns, columns, 1});
    for (size_t i = kFirstExtra; i < inputs.size(); ++i)
    {
        bool const isLikeOut = inputs[i].present && inputs[i].extents == out.extents && inputs[i].layout == out.layout;
        layer.extras.push_back(isLikeOut ? std::optional{layer.out} : std::nullopt);
    }
    return layer;
}

class DnnProductKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        TENON_TRY(positionOf(tactic, 2 * kDnnTactics, "a product by cuDNN"));
        StepProduct const product = TENON_TRY(matrixProduct(args(), inputs, outputs));
        auto otherwise = TENON_TRY(libraryProduct(device(), product, inputs, outputs[0], {}));
        std::optional<CudnnLayer> const described = dnnProduct(product, inputs, outputs[0]);
        if (!described)
            return otherwise;
        CudnnPart const part = cudnnParts(*described).front();
        auto made = cudnnStep(device(), *described, part, tactic, otherwise, inputs, outputs[0]);
        if (!made)
            return otherwise;
        return made;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDnnProduct(Problem const& problem)
{
    constexpr char kName[]{"cudnn"};
    MatrixMultiply const& layer = problem.fields<MatrixMultiply>();
    if (std::string reason = productRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    bool const isForOthers = std::ranges::all_of(layer.epilogue.steps, [](EpilogueStep const& step) {
        return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kRelu
            || step.kind == EpilogueKind::kGeluTanh;
    });
    if (isForOthers || layer.alpha != 1.0F)
        return refuse(
            kName, "takes products with an epilogue that cuBLASLt's kernels do not have, and without a factor");
    if (auto const library = cudnn(); !library)
        return refuse(kName, library.error().message);
    std::vector<Offer> offers = cudnnOffers(problem, Layout::kLinear, productWork(problem), layer.epilogue);
    // All of the library's kernels for such graphs round operands of float32, whatever it says of them.
    if (problem.output().dtype == DType::kFLOAT)
        std::erase_if(offers, [](Offer const& offer) { return offer.tactic < kDnnTactics; });
    if (offers.empty())
        return refuse(kName, "it would round float32 operands to TF32, which this build does not allow");
    return offers;
}

Result<KernelSpec> buildDnnProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "cudnn_product");
}

constexpr Candidate kDnnProductCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "cudnn", .offers = offersOfDnnProduct, .build = buildDnnProduct}};
constexpr CudaKernelEntry kDnnProductKernels[]{{"cudnn_product", &loadLayerKernel<DnnProductKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CudnnProduct, kDnnProductCandidates, kDnnProductKernels);
