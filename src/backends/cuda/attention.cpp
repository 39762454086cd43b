// Attention by our own kernels, as a candidate: which of them take a layer.
#include "backends/cuda/attention.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <iterator>

namespace tenon::cuda
{

namespace
{
class AttentionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        return ownAttention(device(), TENON_TRY(fieldsOf<Attention>(args())), inputs, outputs[0], tactic);
    }
};

//! What a build knows of a layer's shape.
struct TypicalAttention
{
    int64_t matrices;
    int64_t rows;
    int64_t keys;
    int64_t depth;
    int64_t width;

    TypicalAttention(Problem const& problem, Attention const& layer)
    {
        std::vector<int64_t> const q = problem.typicalExtents(problem.input(0));
        auto const at = [](std::vector<int64_t> const& extents, int32_t axis) {
            return extents[static_cast<size_t>(axis)];
        };
        matrices = at(q, layer.q.axes[0]) * (layer.q.heads > 0 ? layer.q.heads : at(q, layer.q.axes[1]));
        rows = at(q, layer.q.axes[2]);
        depth = at(q, layer.q.axes[3]);
        keys = at(problem.typicalExtents(problem.input(1)), layer.k.axes[2]);
        width = at(problem.typicalExtents(problem.input(2)), layer.v.axes[3]);
    }
    //! Whether there are rows enough for all multiprocessors.
    bool isMany() const noexcept
    {
        constexpr int64_t kManyBlocks{256}; // Of 64 rows; with fewer, multiprocessors would stay idle.
        return matrices * ((rows + kGroupRows - 1) / kGroupRows) >= kManyBlocks;
    }
};

//! Tactics of warpgroups that take the layer.
std::vector<int32_t> groupTactics(Problem const& problem, Attention const& layer, TypicalAttention const& typical)
{
    constexpr int64_t kMaxShared{227 << 10};
    if (problem.output().dtype == DType::kFLOAT || majorOf(*problem.target) != kGroupMajor || layer.scale < 0.0F
        || typical.depth != typical.width || (typical.depth != 64 && typical.depth != 128))
        return {};
    std::vector<int32_t> tactics;
    int64_t const tiles = (typical.keys + kGroupKeys - 1) / kGroupKeys;
    for (int32_t i = 0; i < static_cast<int32_t>(std::size(kGroupShapes)); ++i)
    {
        GroupShape const& shape = kGroupShapes[i];
        int64_t const padded = (tiles + shape.keys - 1) / shape.keys * shape.keys;
        bool const isFilled = shape.keys == 1 || tiles > shape.keys / 2;
        if (isFilled && typical.depth <= shape.mostColumns
            && groupSharedBytes(shape, padded, static_cast<int>(typical.depth)) <= kMaxShared)
            tactics.push_back(kAttentionByGroups + i);
    }
    auto const columns = static_cast<int>(typical.depth);
    int64_t const keys = headKeys(typical.keys, columns, problem.hasInput(3));
    for (int32_t i = 0; i < static_cast<int32_t>(std::size(kHeadShapes)); ++i)
        if (headSharedBytes(kHeadShapes[i], (typical.keys + keys - 1) / keys * keys, columns) <= kMaxShared
            && typical.rows > (kHeadShapes[i].groups - 1) * int64_t{kGroupRows})
            tactics.push_back(kAttentionByHeads + i);
    return tactics;
}

//! The tactic of blocks that stay and fetch head by head: without masks, where multiprocessors have heads enough.
std::vector<int32_t> streamTactics(Problem const& problem, Attention const& layer, TypicalAttention const& typical)
{
    constexpr int64_t kFewestHeads{64};
    bool const isTaken = problem.output().dtype != DType::kFLOAT && majorOf(*problem.target) == kGroupMajor
        && layer.scale > 0.0F && layer.causal == AttentionCausal::kNone && !problem.hasInput(3)
        && typical.depth == StreamShape::kColumns && typical.width == StreamShape::kColumns
        && typical.matrices >= kFewestHeads && streamShape(typical.rows, typical.keys);
    return isTaken ? std::vector{kAttentionByStream} : std::vector<int32_t>{};
}

//! Tactics of few rows that have all keys in shared memory: those that share them out where there are enough.
std::vector<int32_t> wholeTactics(Problem const& problem, TypicalAttention const& typical)
{
    constexpr int64_t kGrain{8};
    constexpr int64_t kFewestKeys{16}; // Of a warp.
    constexpr int64_t kMaxBlocks{528}; // Four of a multiprocessor: more have time to wait for each other.
    if (problem.output().dtype == DType::kFLOAT || majorOf(*problem.target) != kGroupMajor
        || typical.depth % kGrain != 0 || typical.width % kGrain != 0)
        return {};
    std::vector<int32_t> tactics;
    for (int32_t i = 0; i < static_cast<int32_t>(std::size(kWholeWarps)); ++i)
    {
        WholeWarps const& warps = kWholeWarps[i];
        auto const shape = wholeShape(warps, typical.keys, typical.depth, typical.width);
        if (!shape || (i > 0 && typical.keys < kFewestKeys * warps.keys))
            continue;
        int64_t const blocks = typical.matrices * ((typical.rows + shape->rows() - 1) / shape->rows());
        if (blocks <= kMaxBlocks)
            tactics.push_back(kAttentionOfWhole + i);
    }
    return tactics;
}

std::variant<std::vector<Offer>, Refusal> offersOfAttention(Problem const& problem)
{
    constexpr char kName[]{"online softmax"};
    Attention const& layer = problem.fields<Attention>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type))
        return refuse(kName, fmt::format("elements of {}", nameOf(type)));
    TypicalAttention const typical{problem, layer};
    ShapeExpr const& columns = problem.input(2).shape[static_cast<size_t>(layer.v.axes[3])];
    if (!columns.isConstant() || typical.width > kMaxAttentionColumns)
        return refuse(kName, fmt::format("{} columns of v", columns.show()));
    double const products = static_cast<double>(typical.matrices) * static_cast<double>(typical.rows)
        * static_cast<double>(typical.keys) * static_cast<double>(typical.depth + typical.width);
    double const faster = type == DType::kFLOAT ? 1.0 : 50.0;
    std::vector<int32_t> tactics = groupTactics(problem, layer, typical);
    std::ranges::copy(streamTactics(problem, layer, typical), std::back_inserter(tactics));
    std::ranges::copy(wholeTactics(problem, typical), std::back_inserter(tactics));
    tactics.push_back(kAttentionOfMany);
    if (type != DType::kFLOAT)
        tactics.push_back(kAttentionOfFew);
    std::vector<Offer> offers;
    for (int32_t const tactic : tactics)
    {
        bool const isForMany = isByGroups(tactic)
            ? isForManyRows(kGroupShapes[tactic - kAttentionByGroups])
            : isByHeads(tactic) || tactic == kAttentionByStream || tactic == kAttentionOfMany;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.outputs = {Layout::kLinear};
        offer.cost = costOf(problem, products / faster, bytesOf(problem)) * (isForMany == typical.isMany() ? 1.0 : 1.5)
            * (tactic == kAttentionByStream        ? 0.4
                    : isByHeads(tactic)            ? 0.45
                    : tactic >= kAttentionByGroups ? 0.5
                                                   : 1.0);
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildAttention(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "attention");
}

constexpr Candidate kAttentionCandidates[]{
    {.layer = Attention::kName, .name = "online softmax", .offers = offersOfAttention, .build = buildAttention}};
constexpr CudaKernelEntry kAttentionKernels[]{{"attention", &loadLayerKernel<AttentionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Attention, kAttentionCandidates, kAttentionKernels);
