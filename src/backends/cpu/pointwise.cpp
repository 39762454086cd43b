// Layers whose meaning is a pointwise expression, by the tape machine: one pass over memory, whatever the expression.
#include "backends/cpu/byte_quantization.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/tape_run.h"
#include "backends/cpu/tape_step.h"

namespace tenon::cpu
{

namespace
{
//! Any layer that is an expression.
struct LoadedExpression
{
    LayerKernel kernel;
};

Step stepOfTape(StepSource<LoadedExpression> const& from)
{
    std::optional<Expr> const body = from.kernel().layer().body(static_cast<int32_t>(from.inputs.size()));
    if (!body)
        return badArgument("layer kind {} is no expression", from.kernel().layer().name());
    if (std::optional<Step> step = byteQuantizationStep(*body, from.inputs, from.outputs[0]))
        return *std::move(step);
    return makeTapeStep(*body, from.inputs, from.outputs[0]);
}

std::variant<std::vector<Offer>, Refusal> offerTape(Problem const& problem)
{
    size_t const count = problem.node->inputs.size();
    std::optional<Expr> const body = problem.layer().body(static_cast<int32_t>(count));
    if (!body)
        return refuse("tape", "no expression");
    std::vector<TensorType const*> types;
    for (size_t i = 0; i < count; ++i)
        types.push_back(problem.hasInput(i) ? &problem.input(i) : nullptr);
    Result<Tape> const tape = makeTape(*body, types);
    if (!tape)
        return refuse("tape", tape.error().message);
    if (tape->rows > kMaxTapeRows || tape->inputs > kMaxTapeOperands)
        return refuse("tape", fmt::format("{} rows and {} operands", tape->rows, tape->inputs));
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        if (layout != Layout::kLinear && problem.output().rank() < 3)
            continue;
        Offer offer;
        for (size_t i = 0; i < count; ++i)
            offer.inputs.push_back(problem.hasInput(i) && problem.input(i).rank() >= 3 ? layout : Layout::kLinear);
        offer.outputs = {layout};
        offer.cost = costOf(problem, elements * workOf(*tape), bytesOf(problem));
        for (size_t i = 0; i < count; ++i)
            if (problem.hasInput(i) && problem.input(i) == problem.output() && problem.constant(i) == nullptr)
                offer.inPlace.emplace_back(0, static_cast<int32_t>(i));
        offers.push_back(std::move(offer));
    }
    return offers;
}

constexpr Candidate rowFor(std::string_view layer)
{
    return {.layer = layer, .name = "tape", .offers = offerTape, .build = buildPlain<"tape">};
}

constexpr Candidate kPointwiseCandidates[]{rowFor("Pointwise"), rowFor("Activation"), rowFor("Unary"),
    rowFor("ElementWise"), rowFor("Select"), rowFor("Cast"), rowFor("Scale"), rowFor("ParametricReLU"),
    rowFor("Identity")};
constexpr KernelEntry kPointwiseKernels[]{{"tape", &loadStepKernel<stepOfTape>}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Pointwise, kPointwiseCandidates, kPointwiseKernels);
