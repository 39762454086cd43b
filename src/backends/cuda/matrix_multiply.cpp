// MatrixMultiply by tiles in shared memory: for every type of real numbers, transposes and batches, without a library.
#include "backends/cuda/matrix_multiply.h"
#include "backends/cuda/kernel_text.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::MatrixOperation;

constexpr int64_t kTile{64}; //!< Rows and columns of the result that one block makes.

TENON_DEVICE_STRUCT(ProductParams, unsigned const* stop; void const* a; void const* b; void const* bias; void* c;
                    long long rows; long long columns; long long depth; long long aRow; long long aDepth;
                    long long bDepth; long long bColumn; float alpha; int hasBias; int axes;
                    unsigned long long extents[8]; long long aBatch[8]; long long bBatch[8];);

//! 256 threads, each with 4 by 4 results; both operands pass through shared memory 16 deep.
constexpr char kProductKernel[]{R"(
TENON_KERNEL(product, ProductParams)
{
    __shared__ float as[16][64 + 4];
    __shared__ float bs[16][64 + 4];
    u64 left = blockIdx.z;
    i64 aAt = 0;
    i64 bAt = 0;
    for (int axis = p.axes - 1; axis >= 0; --axis)
    {
        i64 const x = (i64)takeAxis(left, p.extents[axis], 0);
        aAt += x * p.aBatch[axis];
        bAt += x * p.bBatch[axis];
    }
    i64 const row0 = (i64)blockIdx.y * 64;
    i64 const column0 = (i64)blockIdx.x * 64;
    Stored const* const a = (Stored const*)p.a + aAt;
    Stored const* const b = (Stored const*)p.b + bAt;
    int const t = (int)threadIdx.x;
    int const ty = t / 16;
    int const tx = t % 16;
    float sum[4][4] = {};
    for (i64 k0 = 0; k0 < p.depth; k0 += 16)
    {
        for (int i = t; i < 16 * 64; i += 256)
        {
            int const ka = p.aDepth == 1 ? i % 16 : i / 64;
            int const ra = p.aDepth == 1 ? i / 16 : i % 64;
            bool const isInA = row0 + ra < p.rows && k0 + ka < p.depth;
            as[ka][ra] = isInA ? widen(a[(row0 + ra) * p.aRow + (k0 + ka) * p.aDepth]) : 0.0f;
            int const kb = p.bDepth == 1 ? i % 16 : i / 64;
            int const cb = p.bDepth == 1 ? i / 16 : i % 64;
            bool const isInB = column0 + cb < p.columns && k0 + kb < p.depth;
            bs[kb][cb] = isInB ? widen(b[(k0 + kb) * p.bDepth + (column0 + cb) * p.bColumn]) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] = fmaf(as[k][ty + 16 * i], bs[k][tx + 16 * j], sum[i][j]);
        __syncthreads();
    }
    Stored* const c = (Stored*)p.c + (i64)blockIdx.z * p.rows * p.columns;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
        {
            i64 const row = row0 + ty + 16 * i;
            i64 const column = column0 + tx + 16 * j;
            if (row >= p.rows || column >= p.columns)
                continue;
            float const bias = p.hasBias ? widen(((Stored const*)p.bias)[column]) : 0.0f;
            put(c[row * p.columns + column], sum[i][j] * p.alpha + bias);
        }
}
)"};

//! Extents and strides of the axes in front of the matrices.
struct Batches
{
    std::vector<int64_t> extents;
    std::vector<int64_t> strides;
};

Batches batchesOf(TensorArg const& arg, MatrixOperation operation)
{
    size_t const matrix = operation == MatrixOperation::kVECTOR ? 1 : 2;
    Batches batches;
    batches.extents.assign(arg.extents.begin(), arg.extents.end() - static_cast<std::ptrdiff_t>(matrix));
    batches.strides = broadcastStrides(arg.extents);
    batches.strides.resize(batches.extents.size());
    return batches;
}

ProductParams paramsOf(ProductShape const& shape, float alpha)
{
    ProductParams params{};
    params.alpha = alpha;
    params.rows = shape.rows;
    params.columns = shape.columns;
    params.depth = shape.depth;
    params.aRow = shape.isTurnedA ? 1 : shape.depth;
    params.aDepth = shape.isTurnedA ? shape.rows : 1;
    params.bColumn = shape.isTurnedB ? shape.depth : 1;
    params.bDepth = shape.isTurnedB ? 1 : shape.columns;
    params.axes = static_cast<int>(shape.extents.size());
    for (size_t i = 0; i < shape.extents.size(); ++i)
    {
        params.extents[i] = static_cast<uint64_t>(shape.extents[i]);
        params.aBatch[i] = shape.aBatch[i];
        params.bBatch[i] = shape.bBatch[i];
    }
    return params;
}

class ProductKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        MatrixMultiply const layer = TENON_TRY(fieldsOf<MatrixMultiply>(args()));
        ProductShape const shape = TENON_TRY(productShape(layer, inputs, outputs));
        auto tiles = TENON_TRY(tiledProduct(device(), outputs[0].dtype, shape, layer.alpha));
        return withRest(device(), std::move(tiles), {layer.epilogue}, inputs, outputs[0]);
    }
};
} // namespace

Result<ProductShape> productShape(
    MatrixMultiply const& layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    if (inputs.size() < 2 || inputs[0].dtype != outputs[0].dtype || inputs[1].dtype != outputs[0].dtype
        || !kRealTypes.has(outputs[0].dtype))
        return badArgument("the product kernel takes matrices of one type of real numbers");
    for (TensorArg const& arg : inputs)
        if (arg.present && arg.layout != Layout::kLinear)
            return badArgument("the product kernel takes row-major matrices");
    TensorArg const& a = inputs[0];
    TensorArg const& b = inputs[1];
    auto const last = [](TensorArg const& arg, size_t i) { return arg.extents[arg.extents.size() - i]; };
    ProductShape shape;
    shape.isTurnedA = layer.operation0 == MatrixOperation::kTRANSPOSE;
    shape.isTurnedB = layer.operation1 == MatrixOperation::kTRANSPOSE;
    shape.hasBias = inputs.size() > 2 && inputs[2].present;
    shape.depth = last(a, shape.isTurnedA ? 2 : 1);
    shape.rows = layer.operation0 == MatrixOperation::kVECTOR ? 1 : last(a, shape.isTurnedA ? 1 : 2);
    shape.columns = layer.operation1 == MatrixOperation::kVECTOR ? 1 : last(b, shape.isTurnedB ? 2 : 1);
    Batches const batchA = batchesOf(a, layer.operation0);
    Batches const batchB = batchesOf(b, layer.operation1);
    if (batchA.extents.size() != batchB.extents.size() || batchA.extents.size() > kMaxAxes)
        return badArgument("its operands have {} and {} batch axes", batchA.extents.size(), batchB.extents.size());
    for (size_t i = 0; i < batchA.extents.size(); ++i)
        shape.extents.push_back(batchA.extents[i] == 1 ? batchB.extents[i] : batchA.extents[i]);
    shape.aBatch = batchA.strides;
    shape.bBatch = batchB.strides;
    return shape;
}

Result<std::shared_ptr<Prepared const>> tiledProduct(
    CudaDevice const& device, DType type, ProductShape const& shape, float alpha)
{
    ProductParams params = paramsOf(shape, alpha);
    params.hasBias = shape.hasBias ? 1 : 0;
    constexpr int64_t kMaxGrid{65535};
    int64_t const tilesDown = (params.rows + kTile - 1) / kTile;
    int64_t const batch = volumeOf(shape.extents);
    if (tilesDown > kMaxGrid || batch > kMaxGrid)
        return badArgument("{} matrices of {} rows are more than its grid holds", batch, params.rows);
    Grid const grid{.x = static_cast<unsigned>((params.columns + kTile - 1) / kTile),
        .y = static_cast<unsigned>(tilesDown),
        .z = static_cast<unsigned>(batch),
        .block = 256};
    Module const& module = *TENON_TRY(moduleOf(device,
        wholeText(std::string{kProductParamsText} + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(type)))
            + kProductKernel)));
    return std::shared_ptr<Prepared const>{
        std::make_shared<ProductStep<ProductParams>>(params, grid, TENON_TRY(module.function("product")))};
}

std::string productRefusal(Problem const& problem)
{
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type) || problem.input(0).dtype != type || problem.input(1).dtype != type)
        return "takes one type of real numbers";
    if (int32_t const rank = problem.input(0).rank(); rank > static_cast<int32_t>(kMaxAxes))
        return fmt::format("rank {}", rank);
    return epilogueObjection(problem.fields<MatrixMultiply>().epilogue, problem, kFirstExtra);
}

std::string plainProductRefusal(Problem const& problem)
{
    MatrixMultiply const& layer = problem.fields<MatrixMultiply>();
    if (std::string reason = productRefusal(problem); !reason.empty())
        return reason;
    bool const isPlain = layer.operation0 == MatrixOperation::kNONE && layer.operation1 != MatrixOperation::kVECTOR;
    return isPlain ? "" : "takes rows that lie behind each other, and matrices";
}

double productWork(Problem const& problem)
{
    bool const isTurnedA = problem.fields<MatrixMultiply>().operation0 == MatrixOperation::kTRANSPOSE;
    std::vector<int64_t> const a = problem.typicalExtents(problem.input(0));
    auto const results = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return results * static_cast<double>(a[a.size() - (isTurnedA ? 2 : 1)]);
}

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfProduct(Problem const& problem)
{
    if (std::string reason = productRefusal(problem); !reason.empty())
        return refuse("tiles", std::move(reason));
    constexpr double kMaxResults{1e6 * 65535};
    if (static_cast<double>(volumeOf(problem.typicalExtents(problem.output()))) > kMaxResults)
        return refuse("tiles", "more matrices than its grid holds");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, productWork(problem), bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildProduct(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "product", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kProductCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "tiles", .offers = offersOfProduct, .build = buildProduct}};
constexpr CudaKernelEntry kProductKernels[]{{"product", &loadLayerKernel<ProductKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(MatrixMultiply, kProductCandidates, kProductKernels);
