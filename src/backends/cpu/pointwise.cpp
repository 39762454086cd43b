// Layers whose meaning is a pointwise expression, by the tape machine: one pass over memory, whatever the expression.
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu
{

namespace
{
//! Below this many elements one lane does all: a second one would wait longer than it works.
constexpr int64_t kFewElements{2048};

//! Axes of the output from the slowest to the fastest in memory.
std::vector<size_t> memoryAxes(Layout layout, size_t rank)
{
    std::vector<size_t> axes;
    for (size_t i = 0; i < rank; ++i)
        if (i != 1 || layout == Layout::kLinear || rank < 3)
            axes.push_back(i);
    if (axes.size() < rank)
        axes.push_back(1);
    return axes;
}

//! Strides of an operand along the output's axes in memory order; those of rank 0 do not move.
std::vector<int64_t> operandStrides(TensorArg const& operand, TensorArg const& out, std::vector<size_t> const& axes)
{
    std::vector<int64_t> strides(axes.size(), 0);
    if (operand.extents.size() != out.extents.size())
        return strides;
    std::vector<int64_t> const own = stridesIn(operand.layout, operand.extents);
    for (size_t i = 0; i < axes.size(); ++i)
        strides[i] = operand.extents[axes[i]] == 1 ? 0 : own[axes[i]];
    return strides;
}

//! Axes over which every operand moves evenly become one.
void mergeAxes(std::vector<int64_t>& extents, std::vector<std::vector<int64_t>>& strides)
{
    for (size_t i = 0; i < extents.size();)
        if (extents[i] == 1 && extents.size() > 1)
        {
            extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
            for (auto& own : strides)
                own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
        }
        else
            ++i;
    for (size_t i = extents.size(); i-- > 1;)
    {
        bool const isEven = std::all_of(strides.begin(), strides.end(),
            [&](std::vector<int64_t> const& own) { return own[i - 1] == own[i] * extents[i]; });
        if (!isEven)
            continue;
        extents[i - 1] *= extents[i];
        extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto& own : strides)
        {
            own[i - 1] = own[i];
            own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

TapeAccess accessOf(std::vector<int64_t> const& strides, std::vector<int64_t> const& extents)
{
    if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; }))
        return TapeAccess::kOne;
    bool isSame{true};
    int64_t dense{1};
    for (size_t i = strides.size(); i-- > 0;)
    {
        isSame = isSame && (strides[i] == dense || extents[i] == 1);
        dense *= extents[i];
    }
    if (isSame)
        return TapeAccess::kSame;
    bool const isInnerOnly = std::all_of(strides.begin(), strides.end() - 1, [](int64_t s) { return s == 0; });
    return isInnerOnly && extents.back() <= kLongestPeriod ? TapeAccess::kPeriodic : TapeAccess::kStrided;
}

Result<std::shared_ptr<Tape const>> tapeFor(Layer const& layer, std::span<TensorArg const> inputs)
{
    std::optional<Expr> const body = layer.body(static_cast<int32_t>(inputs.size()));
    if (!body)
        return badArgument("layer kind {} is no expression", layer.name());
    std::vector<TensorType> types;
    for (TensorArg const& input : inputs)
        types.push_back({input.dtype, shapeOf(input.extents)});
    std::vector<TensorType const*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i)
        pointers.push_back(inputs[i].present ? &types[i] : nullptr);
    Result<Tape> tape = makeTape(*body, pointers);
    if (!tape)
        return std::move(tape).error();
    if (tape->rows > kMaxTapeRows || tape->inputs > kMaxTapeOperands)
        return badArgument("its expression needs {} rows and {} operands", tape->rows, tape->inputs);
    return std::make_shared<Tape const>(*std::move(tape));
}

Result<Done> arrange(TapeRun& run, std::span<TensorArg const> inputs, TensorArg const& out)
{
    std::vector<size_t> const axes = memoryAxes(out.layout, out.extents.size());
    std::vector<int64_t> extents;
    for (size_t const axis : axes)
        extents.push_back(out.extents[axis]);
    std::vector<std::vector<int64_t>> strides;
    for (TensorArg const& input : inputs)
    {
        if (input.present && blockOf(input.layout) != 1)
            return badArgument("an input is {}", nameOf(input.layout));
        strides.push_back(input.present ? operandStrides(input, out, axes) : std::vector<int64_t>(axes.size(), 0));
    }
    std::vector<int64_t> dense(extents.size(), 1); // The output moves as an operand does.
    for (size_t i = extents.size(); i-- > 1;)
        dense[i - 1] = dense[i] * extents[i];
    strides.push_back(dense);
    mergeAxes(extents, strides);
    if (extents.size() > kMaxTapeAxes)
        return badArgument("its operands broadcast along {} axes", extents.size());
    run.axes = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), run.extents);
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        TapeOperand& operand = run.operands[i];
        if (!inputs[i].present)
            continue;
        operand.data = &run; // Any address that is not null: present. Runs put in their own.
        operand.type = inputs[i].dtype;
        operand.access = accessOf(strides[i], extents);
        std::copy(strides[i].begin(), strides[i].end(), operand.strides);
    }
    return Done{};
}

//! Any layer that is an expression.
struct LoadedExpression
{
    LayerKernel kernel;
};

Step stepOfTape(StepSource<LoadedExpression> const& from)
{
    TensorArg const& out = from.outputs[0];
    if (blockOf(out.layout) != 1)
        return badArgument("its output is {}", nameOf(out.layout));
    std::shared_ptr<Tape const> const tape = TENON_TRY(tapeFor(from.kernel().layer(), from.inputs));
    TapeRun form;
    form.steps = tape->steps.data();
    form.stepCount = static_cast<int64_t>(tape->steps.size());
    form.inputs = tape->inputs;
    form.rows = tape->rows;
    form.result = tape->result;
    form.outType = out.dtype;
    TENON_TRY(arrange(form, from.inputs, out));
    int64_t const elements = volumeOf(out.extents);
    return teamStep([tape, form, elements](Call const& call, Lane const& lane) { // The form points at the tape's steps.
        std::pair<int64_t, int64_t> part{0, lane.index == 0 ? elements : 0};
        if (elements > kFewElements)
            part = lane.part(elements, kTapeLength);
        if (part.first >= part.second)
            return;
        TapeRun run = form;
        for (int32_t i = 0; i < run.inputs; ++i)
            run.operands[i].data = form.operands[i].data == nullptr ? nullptr : call.inputs[i];
        run.out = call.outputs[0];
        isaFunctions().runTape(run, part.first, part.second);
    });
}

//! Rough work of an expression per element, in multiplications.
double workOf(Tape const& tape)
{
    double work{1.0};
    for (TapeStep const& step : tape.steps)
        switch (step.op)
        {
        case TapeOp::kFunction: work += functionWork(step.function); break;
        case TapeOp::kDiv: work += 12.0; break;
        case TapeOp::kPow: work += 400.0; break;
        default: work += 4.0; break;
        }
    return work;
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
