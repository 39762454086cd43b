// Quantize and Dequantize by the tape machine: channels and blocks are axes of their own, along which the scale
// broadcasts. Floats that become int8 by one scale, as the inputs of quantized networks do, need no machine.
#include "layers/quantize.h"
#include "layers/dequantize.h"

#include "backends/cpu/int8_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/tape_step.h"

namespace tenon::cpu
{

namespace
{
template <typename L>
Expr expressionOf(L const& layer)
{
    Expr const x = Expr::input(0);
    Expr const scale = Expr::input(1);
    if constexpr (std::is_same_v<L, Quantize>)
        return quantizedExpr(x, scale, layer.toType, layer.zeroPoint);
    else
        return dequantizedExpr(x, scale, layer.toType, layer.zeroPoint);
}

template <typename L>
std::variant<std::vector<Offer>, Refusal> offersOfQuantization(Problem const& problem)
{
    TensorType const scale{problem.input(1).dtype, {}}; // It broadcasts once there are extents.
    Result<Tape> const tape = makeTape(expressionOf(problem.fields<L>()), {&problem.input(0), &scale});
    if (!tape)
        return refuse("tape", tape.error().message);
    if (problem.hasInput(2) && problem.constant(2) == nullptr)
        return refuse("tape", "the zero point is known only when it runs");
    TensorType const& x = problem.input(0);
    bool const isBlocked = problem.input(1).rank() > 1;
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(x)));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        if (layout != Layout::kLinear && (x.rank() < 3 || isBlocked))
            continue;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = costOf(problem, elements * workOf(*tape), bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

template <typename L>
bool isByOneScale(TensorArg const& x, TensorArg const& scale, TensorArg const& out)
{
    return std::is_same_v<L, Quantize> && out.dtype == DType::kINT8 && x.dtype == DType::kFLOAT
        && scale.dtype == DType::kFLOAT && volumeOf(scale.extents) == 1;
}

Step stepByOneScale(int64_t elements, int32_t zeroPoint)
{
    constexpr int64_t kCacheLine{64};
    return sharedStep({elements, kCacheLine}, [zeroPoint](Call const& call, int64_t first, int64_t last) {
        int8Functions().quantizeNumbers(static_cast<float const*>(call.inputs[0]) + first,
            *static_cast<float const*>(call.inputs[1]), zeroPoint, static_cast<int8_t*>(call.outputs[0]) + first,
            last - first);
    });
}

template <typename L>
Step stepOfQuantization(StepOf<L> const& from)
{
    TensorArg operands[]{from.inputs[0], from.inputs[1]};
    TensorArg out = from.outputs[0];
    ScaleView const view = viewOf(from.inputs[0].extents, from.inputs[1].extents, from.layer().use());
    if (out.layout != from.inputs[0].layout || from.inputs[1].layout != Layout::kLinear
        || (out.layout != Layout::kLinear && view.x.size() != out.extents.size()))
        return badArgument("operands of {} do not lie as its kernel takes them", L::kName);
    if (isByOneScale<L>(operands[0], operands[1], out))
        return stepByOneScale(volumeOf(out.extents), from.layer().zeroPoint);
    operands[0].extents = view.x;
    operands[1].extents = view.scale;
    out.extents = view.x;
    return makeTapeStep(expressionOf(from.layer()), operands, out);
}

constexpr Candidate kQuantizationCandidates[]{
    {Quantize::kName, "tape", offersOfQuantization<Quantize>, buildPlain<"quantize">},
    {Dequantize::kName, "tape", offersOfQuantization<Dequantize>, buildPlain<"dequantize">}};
constexpr KernelEntry kQuantizationKernels[]{{"quantize", &loadStepKernel<&stepOfQuantization<Quantize>>},
    {"dequantize", &loadStepKernel<&stepOfQuantization<Dequantize>>}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Quantization, kQuantizationCandidates, kQuantizationKernels);
