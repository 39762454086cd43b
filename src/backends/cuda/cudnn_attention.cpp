// Attention by cuDNN's graphs: without masks, as one operation of the library's. Where it has nothing for a shape, our
// own kernels do it.
#include "backends/cuda/cudnn_attention.h"
#include "backends/cuda/cublas_product.h"

namespace tenon::cuda
{

namespace
{
CudnnTensor dnnOperand(DType type, AttentionOperand const& operand)
{
    return {.type = dnnTypeOf(type),
        .extents = {operand.extents, operand.extents + 4},
        .strides = {operand.strides, operand.strides + 4}};
}

Result<std::shared_ptr<Prepared const>> dnnAttention(CudaDevice const& device, Attention const& layer,
    AttentionOperands const& operands, DType type, int32_t position, std::shared_ptr<Prepared const> ours)
{
    if (!operands.areEven() || operands.k.extents[2] == 0)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "cuDNN takes rows of whole pieces of 16 bytes");
    CudnnApi const& api = *TENON_TRY(cudnn());
    Current const current{device};
    CudnnPlanner const planner = TENON_TRY(cudnnPlanner(api, device));
    CudnnMachine const machine{.handle = planner.get()};
    DescribedLayer described = TENON_TRY(describeAttention(api, machine, operands, type, layer.scale));
    return cudnnStep(device, machine, std::move(described), position, std::move(ours));
}

class DnnAttentionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Attention const layer = TENON_TRY(fieldsOf<Attention>(args()));
        int32_t const tactic = TENON_TRY(chosenTactic());
        TENON_TRY(positionOf(tactic, kSlowDnnTactics, "attention by cuDNN"));
        auto ours = TENON_TRY(ownAttention(device(), layer, inputs, outputs[0], 0));
        DType const type = outputs[0].dtype;
        bool const isMasked = inputs.size() > 3 && inputs[3].present;
        if (isMasked || layer.causal != AttentionCausal::kNone || (type != DType::kHALF && type != DType::kBF16))
            return ours;
        AttentionOperands const operands{layer, inputs, outputs[0]};
        if (auto made = dnnAttention(device(), layer, operands, type, tactic, ours))
            return made;
        return ours;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDnnAttention(Problem const& problem)
{
    constexpr char kName[]{"cudnn"};
    constexpr int64_t kMaxColumns{128};
    Attention const& layer = problem.fields<Attention>();
    DType const type = problem.output().dtype;
    if (type != DType::kHALF && type != DType::kBF16)
        return refuse(kName, "takes float16 and bfloat16");
    if (layer.causal != AttentionCausal::kNone || problem.node->inputs.size() > 3)
        return refuse(kName, "takes attention without masks");
    std::vector<int64_t> const q = problem.typicalExtents(problem.input(0));
    std::vector<int64_t> const v = problem.typicalExtents(problem.input(2));
    auto const at = [](std::vector<int64_t> const& extents, int32_t axis) {
        return extents[static_cast<size_t>(axis)];
    };
    int64_t const depth = at(q, layer.q.axes[3]);
    int64_t const width = at(v, layer.v.axes[3]);
    bool const isTurned =
        layer.q.axes[3] != 3 || layer.k.axes[3] != 3 || layer.v.axes[3] != 3 || layer.outputAxes[3] != 3;
    if (isTurned || depth % 8 != 0 || width % 8 != 0 || depth > kMaxColumns || width > kMaxColumns)
        return refuse(
            kName, fmt::format("{} and {} columns{}", depth, width, isTurned ? " that do not lie side by side" : ""));
    if (auto const library = cudnn(); !library)
        return refuse(kName, library.error().message);
    double const products = static_cast<double>(volumeOf(q))
        * static_cast<double>(at(problem.typicalExtents(problem.input(1)), layer.k.axes[2]))
        * (1.0 + static_cast<double>(width) / static_cast<double>(depth));
    return libraryOffers(problem, Layout::kLinear, products, kSlowDnnTactics);
}

Result<KernelSpec> buildDnnAttention(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "cudnn_attention");
}

constexpr Candidate kDnnAttentionCandidates[]{
    {.layer = Attention::kName, .name = "cudnn", .offers = offersOfDnnAttention, .build = buildDnnAttention}};
constexpr CudaKernelEntry kDnnAttentionKernels[]{{"cudnn_attention", &loadLayerKernel<DnnAttentionKernel>}};
} // namespace

Result<DescribedLayer> describeAttention(
    CudnnApi const& api, CudnnMachine const& machine, AttentionOperands const& operands, DType type, float scale)
{
    CudnnGraph graph{api};
    std::vector<CudnnBinding> bindings;
    auto const add = [&](AttentionOperand const& operand, int32_t input) -> Result<int64_t> {
        int64_t const id = TENON_TRY(graph.addTensor(dnnOperand(type, operand)));
        bindings.push_back({.id = id, .input = input, .offset = operand.offset * movableBytes(type)});
        return id;
    };
    int64_t const q = TENON_TRY(add(operands.q, 0));
    int64_t const k = TENON_TRY(add(operands.k, 1));
    int64_t const v = TENON_TRY(add(operands.v, 2));
    int64_t const out = TENON_TRY(add(operands.out, CudnnBinding::kOutput));
    int64_t const factor = TENON_TRY(graph.addTensor(
        {.type = dnn::kDataFloat, .extents = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .isByValue = true}));
    bindings.push_back({.id = factor, .input = CudnnBinding::kNumber, .number = scale});
    TENON_TRY(graph.addAttention({q, k, v, factor, out}));
    CudnnObject made = TENON_TRY(graph.finish(machine));
    return DescribedLayer{std::move(made), std::move(bindings)};
}

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CudnnAttention, kDnnAttentionCandidates, kDnnAttentionKernels);
