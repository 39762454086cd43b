// Attention: by the tensor cores for float16 and bfloat16 where columns lie one behind the other, else a warp per row.
#include "layers/attention.h"
#include "backends/cuda/attention_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/matrix_text.h"

#include <algorithm>
#include <numbers>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kMostMatrixColumns{128};
constexpr int64_t kMostPlainColumns{32 * kPlainColumns};
constexpr int64_t kAttentionAlignment{16};

//! An operand by its roles: batch, head, row, column.
struct AttentionOperand
{
    int64_t extents[4]{};
    int64_t strides[4]{};
    int64_t offset{0}; //!< Of the first head, in elements.

    AttentionOperand(AttentionView const& view, std::vector<int64_t> const& tensor)
    {
        std::vector<int64_t> const all = stridesIn(Layout::kLinear, tensor);
        for (size_t i = 0; i < 4; ++i)
        {
            auto const axis = static_cast<size_t>(view.axes[i]);
            extents[i] = tensor[axis];
            strides[i] = all[axis];
        }
        if (view.heads > 0)
            extents[1] = view.heads;
        offset = view.firstHead * strides[1];
    }
    //! Rows of whole pieces of eight elements.
    bool isEven() const noexcept
    {
        return extents[3] % 8 == 0 && strides[3] == 1 && strides[0] % 8 == 0 && strides[1] % 8 == 0
            && strides[2] % 8 == 0;
    }
};

struct AttentionPlan
{
    AttentionParams params{};
    int64_t offsets[3]{}; //!< Of q, k and v, in bytes.
    Grid grid;
    void* code{nullptr};
};

class AttentionStep final : public CudaPrepared
{
  public:
    explicit AttentionStep(AttentionPlan plan)
        : mPlan{plan}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        auto const begin = [&](size_t i) { return static_cast<char const*>(at.call.inputs[i]) + mPlan.offsets[i]; };
        AttentionParams params = mPlan.params;
        params.q = begin(0);
        params.k = begin(1);
        params.v = begin(2);
        params.mask = params.mask != nullptr ? at.call.inputs[3] : nullptr;
        params.out = at.call.outputs[0];
        uintptr_t all = reinterpret_cast<uintptr_t>(params.out);
        for (void const* const each : {params.q, params.k, params.v})
            all |= reinterpret_cast<uintptr_t>(each);
        params.isWide = params.isWide != 0 && all % kAttentionAlignment == 0 ? 1 : 0;
        return launchKernel(at, mPlan.code, mPlan.grid, params);
    }

  private:
    AttentionPlan mPlan;
};

struct AttentionOperands
{
    AttentionOperand q;
    AttentionOperand k;
    AttentionOperand v;
    AttentionOperand out;

    AttentionOperands(Attention const& layer, std::span<TensorArg const> inputs, TensorArg const& output)
        : q{layer.q, inputs[0].extents},
          k{layer.k, inputs[1].extents},
          v{layer.v, inputs[2].extents},
          out{AttentionView{.axes = layer.outputAxes}, output.extents}
    {
    }
    bool fitsMatrix(DType type, CudaModel const& model) const noexcept
    {
        bool const isBfloat = type == DType::kBF16;
        return (type == DType::kHALF || isBfloat) && hasMatrixUnits(model.major, isBfloat)
            && std::max(q.extents[3], v.extents[3]) <= kMostMatrixColumns;
    }
};

AttentionParams attentionParams(
    Attention const& layer, AttentionOperands const& operands, std::span<TensorArg const> inputs)
{
    constexpr int64_t kAll{int64_t{1} << 60};
    AttentionParams params{};
    params.batches = operands.q.extents[0];
    params.heads = operands.q.extents[1];
    params.share = params.heads / operands.k.extents[1];
    params.rows = operands.q.extents[2];
    params.keys = operands.k.extents[2];
    params.depth = static_cast<int>(operands.q.extents[3]);
    params.width = static_cast<int>(operands.v.extents[3]);
    params.maskedRowsAreZero = layer.maskedRowsAreZero ? 1 : 0;
    params.reach = layer.causal == AttentionCausal::kNone ? kAll
        : layer.causal == AttentionCausal::kUpperLeft     ? 0
                                                          : params.keys - params.rows;
    params.scale = layer.scale;
    std::ranges::copy(operands.q.strides, params.qStrides);
    std::ranges::copy(operands.k.strides, params.kStrides);
    std::ranges::copy(operands.v.strides, params.vStrides);
    std::ranges::copy(operands.out.strides, params.outStrides);
    if (inputs.size() > 3 && inputs[3].present)
    {
        params.mask = &params; // There is one; the address is the call's.
        std::vector<int64_t> const strides = stridesIn(Layout::kLinear, inputs[3].extents);
        for (size_t i = 0; i < 4; ++i)
            params.maskStrides[i] = inputs[3].extents[i] == 1 ? 0 : strides[i];
    }
    params.isWide = operands.q.isEven() && operands.k.isEven() && operands.v.isEven() && operands.out.isEven() ? 1 : 0;
    return params;
}

struct AttentionChoices
{
    int32_t tactic{0}; //!< 0: for many rows, 1: for few.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &AttentionChoices::tactic)};
    }
};

class AttentionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Attention const layer = TENON_TRY(fieldsOf<Attention>(args()));
        DType const type = outputs[0].dtype;
        for (TensorArg const& arg : inputs)
            if (arg.present && arg.layout != Layout::kLinear)
                return badArgument("the attention kernels take row-major tensors");
        AttentionOperands const operands{layer, inputs, outputs[0]};
        if (!kRealTypes.has(type) || outputs[0].layout != Layout::kLinear || operands.v.extents[3] > kMostPlainColumns
            || !isSmall(operands.q.extents[3]))
            return badArgument("the attention kernels take real numbers and up to {} columns", kMostPlainColumns);
        std::string const mask =
            inputs.size() > 3 && inputs[3].present ? TENON_TRY(storageOf(inputs[3].dtype)) : std::string{};
        AttentionPlan made;
        made.params = attentionParams(layer, operands, inputs);
        int64_t const elementBytes = movableBytes(type);
        made.offsets[0] = operands.q.offset * elementBytes;
        made.offsets[1] = operands.k.offset * elementBytes;
        made.offsets[2] = operands.v.offset * elementBytes;
        if (operands.fitsMatrix(type, device().model()))
            TENON_TRY(planMatrix(made, TENON_TRY(storageOf(type)), mask));
        else
            TENON_TRY(planPlain(made, TENON_TRY(storageOf(type)), mask));
        return std::shared_ptr<Prepared const>{std::make_shared<AttentionStep>(made)};
    }

  private:
    Result<Done> planMatrix(AttentionPlan& plan, std::string const& stored, std::string const& mask) const
    {
        auto const padded = [](int columns) { return (columns + 15) / 16 * 16; };
        AttentionChoices const choices = TENON_TRY(choicesOf<AttentionChoices>(args()));
        AttentionParams& params = plan.params;
        int const depth = padded(params.depth);
        int const width = padded(params.width);
        Module const& module = *TENON_TRY(moduleOf(device(), matrixAttentionText(stored, mask, depth, width)));
        AttentionKernels const kernels = matrixAttentionKernels(depth, width);
        bool const isForFew = choices.tactic == 1;
        plan.code = TENON_TRY(module.function(isForFew ? kernels.fewRows : kernels.manyRows));
        int64_t const rows = isForFew ? kernels.rowsOfFew : 64;
        params.tiles = static_cast<int>((params.rows + rows - 1) / rows);
        params.scale *= std::numbers::log2e_v<float>;
        return launchOver(plan, params.batches * params.heads * params.tiles);
    }
    Result<Done> planPlain(AttentionPlan& plan, std::string const& stored, std::string const& mask) const
    {
        constexpr int64_t kRowsOfBlock{4};
        Module const& module = *TENON_TRY(moduleOf(device(), plainAttentionText(stored, mask)));
        plan.code = TENON_TRY(module.function("plain"));
        int64_t const rows = plan.params.batches * plan.params.heads * plan.params.rows;
        return launchOver(plan, (rows + kRowsOfBlock - 1) / kRowsOfBlock);
    }
    static Result<Done> launchOver(AttentionPlan& plan, int64_t blocks)
    {
        if (!isSmall(blocks))
            return badArgument("{} rows are more than a grid holds", blocks);
        plan.grid = {.x = static_cast<unsigned>(blocks), .block = 128};
        return Done{};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfAttention(Problem const& problem)
{
    constexpr char kName[]{"online softmax"};
    Attention const& layer = problem.fields<Attention>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type))
        return refuse(kName, fmt::format("elements of {}", nameOf(type)));
    std::vector<int64_t> const q = problem.typicalExtents(problem.input(0));
    std::vector<int64_t> const v = problem.typicalExtents(problem.input(2));
    int64_t const width = v[static_cast<size_t>(layer.v.axes[3])];
    ShapeExpr const& columns = problem.input(2).shape[static_cast<size_t>(layer.v.axes[3])];
    if (!columns.isConstant() || width > kMostPlainColumns)
        return refuse(kName, fmt::format("{} columns of v", columns.show()));
    int64_t const rows = q[static_cast<size_t>(layer.q.axes[2])];
    int64_t const keys = problem.typicalExtents(problem.input(1))[static_cast<size_t>(layer.k.axes[2])];
    int64_t const heads = layer.q.heads > 0 ? layer.q.heads : q[static_cast<size_t>(layer.q.axes[1])];
    int64_t const matrices = q[static_cast<size_t>(layer.q.axes[0])] * heads;
    double const products = static_cast<double>(matrices) * static_cast<double>(rows) * static_cast<double>(keys)
        * static_cast<double>(q[static_cast<size_t>(layer.q.axes[3])] + width);
    double const faster = type == DType::kFLOAT ? 1.0 : 50.0;
    constexpr int64_t kManyBlocks{256}; // Of 64 rows; with fewer, multiprocessors would stay idle.
    bool const isMany = matrices * ((rows + 63) / 64) >= kManyBlocks;
    std::vector<Offer> offers;
    for (int64_t tactic = 0; tactic < (type == DType::kFLOAT ? 1 : 2); ++tactic)
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.outputs = {Layout::kLinear};
        offer.cost = costOf(problem, products / faster, bytesOf(problem)) * ((tactic == 0) == isMany ? 1.0 : 1.5);
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildAttention(Problem const& problem, Offer const& offer)
{
    AttentionChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "attention", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

constexpr Candidate kAttentionCandidates[]{
    {.layer = Attention::kName, .name = "online softmax", .offers = offersOfAttention, .build = buildAttention}};
constexpr CudaKernelEntry kAttentionKernels[]{{"attention", &loadLayerKernel<AttentionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Attention, kAttentionCandidates, kAttentionKernels);
