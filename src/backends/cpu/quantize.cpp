// Quantize and Dequantize by the tape machine: channels and blocks are axes of their own, along which the scale
// broadcasts. Floats that become int8 and int8 that become floats by one scale, or one per line, need no machine.
#include "layers/quantize.h"
#include "layers/dequantize.h"

#include "backends/cpu/byte_quantization.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/tape_step.h"

#include <algorithm>

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
        if (layout != Layout::kLinear && (x.rank() < 3 || isBlocked || problem.constant(0) != nullptr))
            continue; // Constants lie as they are stored.
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = costOf(problem, elements * workOf(*tape), bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

//! Where each line of contiguous elements has one scale of its own: how many lines have scales before they start again,
//! and how long they are.
struct Lines
{
    int64_t scales{0};
    int64_t length{0};
};

template <typename L>
std::optional<Lines> linesOf(ScaleView const& view, TensorArg const& x, TensorArg const& scale, TensorArg const& out)
{
    DType const real = std::is_same_v<L, Quantize> ? x.dtype : out.dtype;
    DType const number = std::is_same_v<L, Quantize> ? out.dtype : x.dtype;
    if (real != DType::kFLOAT || number != DType::kINT8 || scale.dtype != DType::kFLOAT
        || view.x.size() != view.scale.size() || x.layout != Layout::kLinear)
        return std::nullopt;
    Lines lines{1, 1};
    size_t axis = view.x.size();
    while (axis > 0 && view.scale[axis - 1] == 1)
        lines.length *= view.x[--axis];
    while (axis > 0 && view.scale[axis - 1] == view.x[axis - 1])
        lines.scales *= view.x[--axis];
    bool const isRest = std::all_of(view.scale.begin(), view.scale.begin() + static_cast<std::ptrdiff_t>(axis),
        [](int64_t extent) { return extent == 1; });
    constexpr int64_t kShort{16}; // Lines of few elements are better off in rows of the tape machine.
    return isRest && lines.length >= kShort ? std::optional{lines} : std::nullopt;
}

template <typename L>
Step stepByLines(Lines lines, int64_t elements, int32_t zeroPoint)
{
    return sharedStep({elements / lines.length, 1}, [lines, zeroPoint](Call const& call, int64_t first, int64_t last) {
        for (int64_t line = first; line < last; ++line)
        {
            ByteNumbers const numbers{.scale = static_cast<float const*>(call.inputs[1])[line % lines.scales],
                .zeroPoint = static_cast<float>(zeroPoint)};
            int64_t const at = line * lines.length;
            if constexpr (std::is_same_v<L, Quantize>)
                int8Functions().quantizeNumbers(static_cast<float const*>(call.inputs[0]) + at, numbers,
                    static_cast<int8_t*>(call.outputs[0]) + at, lines.length);
            else
                int8Functions().dequantizeNumbers(static_cast<int8_t const*>(call.inputs[0]) + at, numbers,
                    static_cast<float*>(call.outputs[0]) + at, lines.length);
        }
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
    if (std::optional<Step> step = byteQuantizationStep(expressionOf(from.layer()), from.inputs.first(2), out))
        return *std::move(step);
    if (std::optional<Lines> const lines = linesOf<L>(view, operands[0], operands[1], out))
        return stepByLines<L>(*lines, volumeOf(out.extents), from.layer().zeroPoint);
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
