// MatrixMultiply: constant right operands packed while building, others packed by the team before the product.
#include "layers/matrix_multiply.h"

#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
using nvinfer1::MatrixOperation;

//! Where the matrices of a batch lie.
struct Batch
{
    std::vector<int64_t> a;      //!< Offsets in elements, one per matrix of the output.
    std::vector<int32_t> b;      //!< Which of the packed matrices.
    std::vector<int64_t> packed; //!< Offsets of the matrices of b that are packed.
};

struct Shapes
{
    int64_t rows{1};
    int64_t depth{1};
    int64_t columns{1};
    bool isTransposedA{false};
    bool isTransposedB{false};
    Batch batch;
};

//! Extents of the axes that are no matrix.
std::vector<int64_t> batchExtents(std::vector<int64_t> const& extents, MatrixOperation operation)
{
    size_t const matrix = operation == MatrixOperation::kVECTOR ? 1 : 2;
    return {extents.begin(), extents.end() - static_cast<std::ptrdiff_t>(matrix)};
}

Result<Shapes> shapesOf(MatrixMultiply const& layer, TensorArg const& a, TensorArg const& b)
{
    Shapes s;
    s.isTransposedA = layer.operation0 == MatrixOperation::kTRANSPOSE;
    // A vector on the right is one column, stored as the row of its transpose.
    s.isTransposedB = layer.operation1 != MatrixOperation::kNONE;
    auto const last = [](TensorArg const& arg, size_t i) { return arg.extents[arg.extents.size() - i]; };
    if (layer.operation0 != MatrixOperation::kVECTOR)
        s.rows = last(a, s.isTransposedA ? 1 : 2);
    s.depth = last(a, s.isTransposedA ? 2 : 1);
    if (layer.operation1 != MatrixOperation::kVECTOR)
        s.columns = last(b, s.isTransposedB ? 2 : 1);
    std::vector<int64_t> const batchA = batchExtents(a.extents, layer.operation0);
    std::vector<int64_t> const batchB = batchExtents(b.extents, layer.operation1);
    if (batchA.size() != batchB.size())
        return badArgument("its operands have different numbers of batch axes");
    std::vector<int64_t> all;
    for (size_t i = 0; i < batchA.size(); ++i)
        all.push_back(batchA[i] == 1 ? batchB[i] : batchA[i]);
    constexpr int64_t kMaxMatrices{INT32_MAX};
    if (int64_t const most = std::max(volumeOf(all), volumeOf(batchB)); most > kMaxMatrices)
        return badArgument("it works on {} matrices: {} are the most", most, kMaxMatrices);
    for (int64_t const number : matricesRead(batchA, all))
        s.batch.a.push_back(number * s.rows * s.depth);
    for (int64_t const number : matricesRead(batchB, all))
        s.batch.b.push_back(static_cast<int32_t>(number));
    for (int64_t i = 0; i < volumeOf(batchB); ++i)
        s.batch.packed.push_back(i * s.depth * s.columns);
    return s;
}

//! Matrices of a that lie one behind the other and meet one b are one matrix.
void joinRows(Shapes& s)
{
    if (s.isTransposedA || s.batch.packed.size() != 1)
        return;
    for (size_t i = 0; i < s.batch.a.size(); ++i)
        if (s.batch.a[i] != static_cast<int64_t>(i) * s.rows * s.depth)
            return;
    s.rows *= static_cast<int64_t>(s.batch.a.size());
    s.batch.a = {0};
    s.batch.b = {0};
}

//! Whether a constant of these extents can be stored packed.
bool canPack(MatrixMultiply const& layer, std::vector<int64_t> const& extents)
{
    return layer.operation1 != MatrixOperation::kVECTOR && asMatrix(extents).size() == 2;
}

Packing packingOfProduct(MatrixMultiply const& layer)
{
    return {layer.operation1 == MatrixOperation::kNONE ? Packing::Kind::kColumns : Packing::Kind::kColumnsTransposed};
}

struct LoadedProduct : LoadedLayer<MatrixMultiply>
{
    std::optional<PackedOperand> weights;

    Result<Done> load()
    {
        LoadedWeight const& weight = kernel.weight(1);
        if (weight.isConstant() && canPack(layer, weight.arg.extents))
            weights = TENON_TRY(PackedOperand::load(kernel, 1, packingOfProduct(layer)));
        return Done{};
    }
};

//! Scratch memory: packed matrices of b, what each lane's products need, and turned matrices of a.
template <typename T>
class PreparedProduct final : public HostPrepared
{
  public:
    PreparedProduct(std::shared_ptr<LoadedProduct const> loaded, Shapes shapes, GemmEpilogue epilogue, bool hasBias,
        int32_t threads)
        : mLoaded{std::move(loaded)},
          mShapes{std::move(shapes)},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias},
          mThreads{std::max(threads, 1)}
    {
        if (!mLoaded->weights)
            mPackedFloats =
                packedSize(mShapes.depth, mShapes.columns) * static_cast<int64_t>(mShapes.batch.packed.size());
        if (mShapes.isTransposedA)
            mTurnedElements = mShapes.rows * mShapes.depth * static_cast<int64_t>(mShapes.batch.a.size());
        mLaneFloats = gemmScratch<T>({mShapes.rows, mShapes.columns, mShapes.depth}, !mLoaded->weights);
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mPackedFloats + mThreads * mLaneFloats) * sizeof(float)
            + static_cast<size_t>(mTurnedElements) * sizeof(T);
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mPackedFloats + mTurnedElements > 0 ? 2 : 1;
    }
    int32_t pieces(int32_t lanes) const noexcept override
    {
        return lanes <= mThreads ? piecesOn(lanes).count : 1; // Others have no memory.
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto* const packed = static_cast<float*>(call.scratch);
        float* const scratch = packed + mPackedFloats;
        T* const turned = reinterpret_cast<T*>(scratch + mThreads * mLaneFloats);
        if (lane.stage + 1 < stages(lane.count))
        {
            if (mPackedFloats > 0)
                packB(static_cast<T const*>(call.inputs[1]), packed, lane);
            if (mTurnedElements > 0)
                turnA(static_cast<T const*>(call.inputs[0]), turned, lane);
            return Done{};
        }
        // Where lanes need memory, more of them than were prepared for have none.
        int32_t const lanes = mLaneFloats == 0 ? lane.count : std::min(lane.count, mThreads);
        if (lane.pieces > 1)
            multiply(call, packed, turned, scratch + lane.thread * mLaneFloats, lane);
        else if (lane.index < lanes)
            multiply(call, packed, turned, scratch + lane.index * mLaneFloats, Lane{lane.index, lanes});
        return Done{};
    }

  private:
    GemmSize size() const noexcept
    {
        return {mShapes.rows, mShapes.columns, mShapes.depth, mShapes.depth};
    }
    GemmPieces piecesOn(int32_t lanes) const noexcept
    {
        return kIsFloat<T> && mShapes.batch.a.size() == 1 ? piecesOf(size(), 1, lanes, rowGrain<T>()) : GemmPieces{};
    }
    void multiply(Call const& call, float const* packed, T const* turned, float* scratch, Lane const& lane) const
    {
        auto const matrices = static_cast<int64_t>(mShapes.batch.a.size());
        // Whole matrices per lane when that is even, else each matrix is shared.
        bool const isWhole =
            lane.count > 1 && matrices >= lane.count && (matrices % lane.count == 0 || matrices >= 8 * lane.count);
        auto const [first, last] = isWhole ? lane.part(matrices) : std::pair<int64_t, int64_t>{0, matrices};
        GemmShare share = shareOf(size(), isWhole ? 0 : lane.index, isWhole ? 1 : lane.count, rowGrain<T>());
        if (lane.pieces > 1)
            share = piecesOn(lane.count).piece(share, lane.piece);
        for (int64_t i = first; i < last; ++i)
        {
            Gemm<T> whole = product(call, i, packed, turned);
            BoundEpilogue<T> bound = mEpilogue.bind<T>(call);
            bound.advance(i * mShapes.rows);
            bound.putInto(whole);
            storageFunctions<T>().runGemm(whole, share, scratch);
        }
    }
    Gemm<T> product(Call const& call, int64_t i, float const* packed, T const* turned) const
    {
        auto const at = static_cast<size_t>(i);
        Gemm<T> gemm;
        gemm.rows = mShapes.rows;
        gemm.columns = mShapes.columns;
        gemm.length = mShapes.depth;
        gemm.aStride = mShapes.depth;
        gemm.a = mTurnedElements > 0 ? turned + i * mShapes.rows * mShapes.depth
                                     : static_cast<T const*>(call.inputs[0]) + mShapes.batch.a[at];
        if (mLoaded->weights)
            gemm.setPanels(mLoaded->weights->template data<T>());
        else
            gemm.b = packed + mShapes.batch.b[at] * packedSize(mShapes.depth, mShapes.columns);
        gemm.c = static_cast<T*>(call.outputs[0]) + i * mShapes.rows * mShapes.columns;
        gemm.cStride = mShapes.columns;
        gemm.alpha = mLoaded->layer.alpha;
        gemm.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
        return gemm;
    }
    void packB(T const* b, float* packed, Lane const& lane) const
    {
        int64_t const panels = panelsOf(mShapes.columns);
        auto const [first, last] = lane.part(panels * static_cast<int64_t>(mShapes.batch.packed.size()));
        int64_t const stride = mShapes.isTransposedB ? mShapes.depth : mShapes.columns;
        for (int64_t at = first; at < last;)
        {
            int64_t const matrix = at / panels;
            int64_t const panel = at - matrix * panels;
            int64_t const end = std::min(panels, panel + last - at);
            storageFunctions<T>().packColumns(b + mShapes.batch.packed[static_cast<size_t>(matrix)], stride,
                mShapes.isTransposedB, mShapes.depth, mShapes.columns, panel, end,
                packed + matrix * packedSize(mShapes.depth, mShapes.columns));
            at += end - panel;
        }
    }
    void turnA(T const* a, T* turned, Lane const& lane) const
    {
        for (size_t i = 0; i < mShapes.batch.a.size(); ++i)
        {
            auto const [first, last] = lane.part(mShapes.rows, 16);
            T* const to = turned + static_cast<int64_t>(i) * mShapes.rows * mShapes.depth + first * mShapes.depth;
            storageFunctions<T>().transposeElements(
                a + mShapes.batch.a[i] + first, mShapes.rows, mShapes.depth, last - first, to, mShapes.depth);
        }
    }

    std::shared_ptr<LoadedProduct const> mLoaded;
    Shapes mShapes;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    int32_t mThreads;
    int64_t mPackedFloats{0};
    int64_t mTurnedElements{0};
    int64_t mLaneFloats{0};
};

//! Why the layer cannot be served, whatever its operands.
std::optional<std::string> whyNot(MatrixMultiply const& layer)
{
    bool const hasVector = layer.operation0 == MatrixOperation::kVECTOR || layer.operation1 == MatrixOperation::kVECTOR;
    if (hasVector && layer.epilogue.extraInputs() > 0)
        return "a vector with an epilogue that reads a tensor";
    return std::nullopt;
}

Step stepOfProduct(StepSource<LoadedProduct> const& from)
{
    for (size_t i : {size_t{0}, size_t{1}})
        if (!isReal(from.inputs, i, Layout::kLinear))
            return badArgument("operand {} is not linear real numbers", i);
    if (!isReal(from.outputs, 0, Layout::kLinear))
        return badArgument("its output is not linear real numbers");
    MatrixMultiply const& layer = from.layer();
    if (std::optional<std::string> const why = whyNot(layer))
        return badArgument("{}", *why);
    Shapes shapes = TENON_TRY(shapesOf(layer, from.inputs[0], from.inputs[1]));
    joinRows(shapes);
    TensorArg const& out = from.outputs[0];
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        layer.epilogue, MatrixMultiply::kFirstExtra, from.inputs, out, plainAxes(out.extents.size())));
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        return Step{std::shared_ptr<Prepared const>{std::make_shared<PreparedProduct<T>>(
            from.loaded, std::move(shapes), std::move(epilogue), isPresent(from.inputs, 2), from.threads)}};
    });
}

std::variant<std::vector<Offer>, Refusal> offerProduct(Problem const& problem)
{
    auto const& layer = problem.fields<MatrixMultiply>();
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("panels", "only float32, float16 and bfloat16");
    if (std::optional<std::string> why = whyNot(layer))
        return refuse("panels", *std::move(why));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, MatrixMultiply::kFirstExtra);
    std::vector<int64_t> const a = problem.typicalExtents(problem.input(0));
    int64_t const depth =
        a.empty() ? 1 : a[a.size() - (layer.operation0 == MatrixOperation::kTRANSPOSE && a.size() > 1 ? 2 : 1)];
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, outputs * static_cast<double>(depth), bytesOf(problem));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildProduct(Problem const& problem, Offer const& offer)
{
    auto const& layer = problem.fields<MatrixMultiply>();
    KernelSpec spec{.kernel = "product", .args = encodeLayerArgs(problem, offer), .packed = {}};
    Constant const* const b = problem.constant(1);
    if (b != nullptr && canPack(layer, b->extents))
        spec.packed.push_back(TENON_TRY(packWeight(1, *b, packingOfProduct(layer))));
    return spec;
}

using ProductFile = StepFile<"product", "panels", offerProduct, stepOfProduct, buildProduct>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(MatrixMultiply, ProductFile::kCandidates, ProductFile::kKernels);
