// WeightOnlyProduct: few rows meet the weights as they are read, for many rows a lane makes floats of some panels
// first.
#include "layers/weight_only_product.h"

#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/weight_packing.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
Packing packingOfScales(WeightOnlyProduct const& layer)
{
    return {layer.isTransposed ? Packing::Kind::kColumnsTransposed : Packing::Kind::kColumns};
}

struct LoadedWeightOnly : LoadedLayer<WeightOnlyProduct>
{
    FewBitsOperand weights;
    PackedOperand scales;
    bool isInt4{false};

    Result<Done> load()
    {
        isInt4 = kernel.weight(1).arg.dtype == DType::kINT4;
        weights = TENON_TRY(FewBitsOperand::load(kernel, 1, {isInt4, layer.isTransposed}));
        scales = TENON_TRY(PackedOperand::load(kernel, 2, packingOfScales(layer)));
        return Done{};
    }
};

struct WeightOnlyShapes
{
    int64_t rows;
    int64_t depth;
    int64_t columns;
    int64_t block;
};

class PreparedWeightOnly final : public HostPrepared
{
  public:
    PreparedWeightOnly(std::shared_ptr<LoadedWeightOnly const> loaded, WeightOnlyShapes const& shapes,
        GemmEpilogue epilogue, bool hasBias, int32_t threads)
        : mLoaded{std::move(loaded)},
          mShapes{shapes},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias}
    {
        if (shapes.rows > kMaxWeightOnlyRows)
            mMemory = {std::max(threads, 1), widenedFloats() + gemmScratch<float>(sizeOfPart())};
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return mMemory.bytes();
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        Gemm<float> gemm;
        gemm.rows = mShapes.rows;
        gemm.columns = mShapes.columns;
        gemm.length = mShapes.depth;
        gemm.aStride = mShapes.depth;
        gemm.a = static_cast<float const*>(call.inputs[0]);
        gemm.c = static_cast<float*>(call.outputs[0]);
        gemm.cStride = mShapes.columns;
        gemm.alpha = mLoaded->layer.alpha;
        gemm.bias = mHasBias ? static_cast<float const*>(call.inputs[3]) : nullptr;
        BoundEpilogue<float> const bound = mEpilogue.bind<float>(call);
        bound.putInto(gemm);
        WeightOnly const product{
            &gemm, mLoaded->isInt4, mShapes.block, mLoaded->weights.data(), mLoaded->scales.data<float>()};
        int64_t const panels = panelsOf(mShapes.columns);
        if (mShapes.rows <= kMaxWeightOnlyRows)
        {
            auto const [first, last] = lane.part(panels, 4);
            isaFunctions().runWeightOnly(product, first, last);
            return Done{};
        }
        if (std::optional<Lane> const mine = mMemory.withMemory(lane))
        {
            auto const [first, last] = mine->part(panels, panelsAtOnce());
            multiplyWidened(product, bound, first, last, mMemory.of(*mine, call.scratch));
        }
        return Done{};
    }

  private:
    GemmSize sizeOfPart() const
    {
        return {mShapes.rows, panelsAtOnce() * kPanel, mShapes.depth};
    }
    int64_t widenedFloats() const
    {
        return panelsAtOnce() * kPanel * mShapes.depth;
    }
    //! Panels whose floats stay in the second cache.
    int64_t panelsAtOnce() const
    {
        constexpr int64_t kFloats{int64_t{128} << 10};
        int64_t const fitting = kFloats / kPanel / std::max<int64_t>(mShapes.depth, 1);
        return fitting >= kMaxTileVectors ? kMaxTileVectors : std::max<int64_t>(fitting, 1);
    }
    void multiplyWidened(
        WeightOnly const& product, BoundEpilogue<float> const& whole, int64_t first, int64_t last, float* floats) const
    {
        for (int64_t panel = first; panel < last;)
        {
            int64_t const count = std::min(panelsAtOnce(), last - panel);
            int64_t const column = panel * kPanel;
            isaFunctions().widenWeights(product, panel, panel + count, floats);
            BoundEpilogue<float> part = whole;
            part.advanceColumns(column);
            Gemm<float> gemm = *product.product;
            part.putInto(gemm);
            gemm.b = floats;
            gemm.columns = std::min(count * kPanel, mShapes.columns - column);
            gemm.c += column;
            gemm.bias = gemm.bias == nullptr ? nullptr : gemm.bias + column;
            storageFunctions<float>().runGemm(gemm, {0, gemm.rows, 0, count}, floats + widenedFloats());
            panel += count;
        }
    }

    std::shared_ptr<LoadedWeightOnly const> mLoaded;
    WeightOnlyShapes mShapes;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    LaneMemory mMemory;
};

Step stepOfWeightOnly(StepSource<LoadedWeightOnly> const& from)
{
    if (!from.areAllIn(Layout::kLinear) || from.inputs[0].dtype != DType::kFLOAT)
        return badArgument("the kernel of WeightOnlyProduct takes row-major float32");
    WeightOnlyProduct const& layer = from.layer();
    TensorArg const& out = from.outputs[0];
    size_t const ofDepth = layer.isTransposed ? 1 : 0;
    int64_t const depth = from.inputs[1].extents[ofDepth];
    int64_t const block = depth / from.inputs[2].extents[ofDepth];
    if (block < 1 || block % 8 != 0)
        return badArgument("its blocks have {} weights, which are no whole eights", block);
    int64_t const columns = out.extents.back();
    WeightOnlyShapes const shapes{columns == 0 ? 0 : volumeOf(out.extents) / columns, depth, columns, block};
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        layer.epilogue, WeightOnlyProduct::kFirstExtra, from.inputs, out, plainAxes(out.extents.size())));
    return std::shared_ptr<Prepared const>{std::make_shared<PreparedWeightOnly const>(
        from.loaded, shapes, std::move(epilogue), isPresent(from.inputs, 3), from.threads)};
}

std::variant<std::vector<Offer>, Refusal> offerWeightOnly(Problem const& problem)
{
    constexpr std::string_view kWeightOnly{"few-bits"};
    auto const& layer = problem.fields<WeightOnlyProduct>();
    Constant const* const weights = problem.constant(1);
    Constant const* const scales = problem.constant(2);
    if (problem.input(0).dtype != DType::kFLOAT)
        return refuse(kWeightOnly, "only float32");
    if (weights == nullptr || scales == nullptr)
        return refuse(kWeightOnly, "weights or scales are no constants");
    size_t const ofDepth = layer.isTransposed ? 1 : 0;
    if (weights->extents[ofDepth] < 1 || weights->extents[ofDepth] / scales->extents[ofDepth] % 8 != 0)
        return refuse(kWeightOnly, "a scale belongs to no whole eights of weights");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, WeightOnlyProduct::kFirstExtra);
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, outputs * static_cast<double>(weights->extents[ofDepth]), bytesOf(problem));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildWeightOnly(Problem const& problem, Offer const& offer)
{
    auto const& layer = problem.fields<WeightOnlyProduct>();
    KernelSpec spec{.kernel = "weight_only_product", .args = encodeLayerArgs(problem, offer), .packed = {}};
    Constant const& weights = *problem.constant(1);
    spec.packed.push_back(TENON_TRY(packFewBits(1, weights, {weights.dtype == DType::kINT4, layer.isTransposed})));
    spec.packed.push_back(TENON_TRY(packWeight(2, *problem.constant(2), packingOfScales(layer))));
    return spec;
}

using WeightOnlyFile = StepFile<"weight_only_product", "few-bits", offerWeightOnly, stepOfWeightOnly, buildWeightOnly>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(WeightOnlyProduct, WeightOnlyFile::kCandidates, WeightOnlyFile::kKernels);
