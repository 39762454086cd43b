// The planner on small graphs: layouts, views, outputs, shape values, weights, memory, determinism.
#include "planner/planner.h"

#include "ir/text.h"
#include "layers/debug_tensor.h"
#include "layers/element_wise.h"
#include "layers/unary.h"
#include "planner/fake_backend.h"
#include "planner/graph_options.h"
#include "support/layer_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>

namespace tenon::test
{

namespace
{
Plan planOf(std::string_view text)
{
    Result<Plan> plan = planOfText(text, fakeBackend(), fakeTarget());
    EXPECT_TRUE(plan) << plan.error().message;
    Result<Done> const sound = checkPlan(*plan);
    EXPECT_TRUE(sound) << sound.error().message;
    return *std::move(plan);
}

int64_t countOf(Plan const& plan, std::string_view kernel)
{
    auto const& steps = plan.programs.front().steps;
    return std::count_if(steps.begin(), steps.end(), [&](PlanStep const& step) { return step.kernel == kernel; });
}

PlanTensor const& tensorOf(Plan const& plan, int32_t index)
{
    return plan.programs.front().tensors.at(static_cast<size_t>(index));
}
} // namespace

TEST(Planner, keepsALayoutAcrossAChainAndReordersAtItsEndsOnly)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,16,32,32]
const %w : float32[16,16,1,1] = random(1)
const %v : float32[16,16,1,1] = random(2)
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Unary(%a) {Operation=0}
%c = Activation(%b) {ActivationType=1}
%d = ElementWise(%c, %a) {Operation=0}
%e = Convolution(%d, %v) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%f = Unary(%e) {Operation=0}
output %f
)");
    EXPECT_EQ(countOf(plan, "reorder"), 2);
    EXPECT_EQ(plan.programs.front().steps.front().kernel, "reorder");
    int32_t channelsLast{0};
    for (PlanStep const& step : plan.programs.front().steps)
        channelsLast += tensorOf(plan, step.outputs[0]).layout == Layout::kChannelsLast ? 1 : 0;
    EXPECT_EQ(channelsLast, 7);
}

TEST(Planner, T8_debugTensorsAreHandedOverRowMajorRightBehindTheirProducers)
{
    Result<Graph> graph = parseGraph(R"(
input %x : float32[N=1..8,16,32,32]
const %w : float32[16,16,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Convolution(%a, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%c = Convolution(%b, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
output %c
)",
        parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    ValueId const c = graph->outputs().front().value;
    ValueId const b = graph->producerOf(c)->input(0);
    ValueId const a = graph->producerOf(b)->input(0);
    for (ValueId const value : {b, a, graph->inputs().front()}) // Behind all layers, in any order.
        ASSERT_TRUE(graph->addNode(makeLayer(DebugTensor{graph->value(value).name}), "debug", {value}));
    Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), optionsFor(*graph));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(checkPlan(*plan));
    std::vector<std::string> order;
    for (PlanStep const& step : plan->programs.front().steps)
        if (step.kernel != "reorder")
            order.push_back(step.name == "debug" ? "debug " + tensorOf(*plan, step.inputs.at(0)).name : "layer");
    ASSERT_EQ(order.size(), 6U);
    std::string const nameA = "debug " + graph->value(a).name;
    std::string const nameB = "debug " + graph->value(b).name;
    auto const at = [&](std::string const& what) {
        return std::find(order.begin(), order.end(), what) - order.begin();
    };
    EXPECT_EQ(at("debug x"), 0);
    EXPECT_EQ(at(nameA), 2);
    EXPECT_EQ(at(nameB), 4);
    for (PlanStep const& step : plan->programs.front().steps)
        EXPECT_TRUE(step.name != "debug" || tensorOf(*plan, step.inputs[0]).layout == Layout::kLinear);
}

TEST(Planner, writesAnOutputBehindViewsInPlace)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,4,6]
%a = Unary(%x) {Operation=0}
%b = Shuffle(%a) {ReshapeDimensions=(0,24)}
output %b
)");
    ASSERT_EQ(plan.programs.front().steps.size(), 1U);
    PlanTensor const& written = tensorOf(plan, plan.programs.front().steps[0].outputs[0]);
    EXPECT_EQ(written.kind, PlanTensorKind::kView);
    EXPECT_EQ(tensorOf(plan, written.index).kind, PlanTensorKind::kIO);
}

TEST(Planner, copiesViewsOfInputsAndConstantsThatAreOutputs)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,4,6]
const %c : float32[3] = [1,2,3]
%b = Shuffle(%x) {ReshapeDimensions=(0,24)}
output %b
output %c
)");
    EXPECT_EQ(countOf(plan, "reorder"), 2);
    EXPECT_EQ(plan.programs.front().steps.size(), 2U);
}

TEST(Planner, givesOneValueToTwoOutputs)
{
    Result<Graph> graph = parseGraph("input %x : float32[2,3]\n%a = Unary(%x) {Operation=0}\noutput %a\n", parseLayer);
    ASSERT_TRUE(graph);
    graph->markOutput(graph->outputs().front().value, "again");
    Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), optionsFor(*graph));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(checkPlan(*plan));
    EXPECT_EQ(plan->programs.front().steps.size(), 2U);
}

TEST(Planner, runsNoShapeArithmeticAndWritesValuesOnlyWhereTheyAreRead)
{
    std::string_view const head = R"(
input %x : float32[N=1..8,4]
const %zero : int64[2] = 0
%s = Shape(%x)
)";
    // The kernel of Slice gets starts and sizes when it is prepared.
    Plan const sliced = planOf(std::string{head} + "%y = Slice(%x, %zero, %s)\noutput %y\n");
    ASSERT_EQ(sliced.programs.front().steps.size(), 1U);
    PlanStep const& step = sliced.programs.front().steps[0];
    EXPECT_EQ(tensorOf(sliced, step.inputs[1]).kind, PlanTensorKind::kValues);
    EXPECT_EQ(tensorOf(sliced, step.inputs[2]).kind, PlanTensorKind::kValues);
    EXPECT_EQ(sliced.graph.nodes.size(), 2U) << "the portable graph keeps the shape layer";
    // Arithmetic on data reads it from memory.
    Plan const output = planOf(std::string{head} + "output %s\n");
    ASSERT_EQ(output.programs.front().steps.size(), 1U);
    EXPECT_EQ(output.programs.front().steps[0].kernel, "shape_values");
}

TEST(Planner, storesEachWeightOncePerForm)
{
    Plan const plan = planOf(R"(
input %x : float32[1,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%b = Convolution(%a, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
output %b
)");
    ASSERT_EQ(plan.weights.size(), 1U);
    EXPECT_EQ(plan.weights[0].packing, "fake packing");
    for (PlanNode const& node : plan.graph.nodes)
        EXPECT_EQ(plan.graph.values.at(static_cast<size_t>(node.inputs[1])).weight, 0);
}

TEST(Planner, worksInPlaceOnlyWhereNothingIsReadLater)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,64]
%a = Unary(%x) {Operation=0}
%b = Unary(%a) {Operation=1}
%c = Unary(%b) {Operation=0}
%d = ElementWise(%c, %b) {Operation=0}
%e = Unary(%d) {Operation=0}
output %e
)");
    auto const& steps = plan.programs.front().steps;
    ASSERT_EQ(steps.size(), 5U);
    EXPECT_TRUE(steps[0].inPlace.empty()) << "the input is the user's";
    EXPECT_FALSE(steps[1].inPlace.empty());
    EXPECT_TRUE(steps[2].inPlace.empty()) << "%b is read again";
    EXPECT_FALSE(steps[3].inPlace.empty());
    EXPECT_TRUE(steps[4].inPlace.empty()) << "the output is the user's";
    EXPECT_EQ(plan.memoryPerProfile.at(0), 2 * 8 * 64 * 4);
}

static_assert(isUnreadIn(0x80000001U, 0) && isUnreadIn(0x80000001U, 31) && !isUnreadIn(0x80000001U, 1));
static_assert(!isUnreadIn(0x80000001U, 32) && !isUnreadIn(0x80000001U, 63) && !isUnreadIn(~0U, 4000));

TEST(Planner, readsInputsBeyondTheThirtySecond)
{
    std::string text;
    std::string operands;
    for (int32_t i = 0; i < 40; ++i)
    {
        text += "input %x" + std::to_string(i) + " : float32[3,4]\n";
        text += "%a" + std::to_string(i) + " = Unary(%x" + std::to_string(i) + ") {Operation=0}\n";
        operands += (i == 0 ? "%a" : ", %a") + std::to_string(i);
    }
    Plan const plan = planOf(text + "%y = Concatenation(" + operands + ") {Axis=0}\noutput %y\n");
    auto const& steps = plan.programs.front().steps;
    auto const isConcatenation = [](PlanStep const& step) { return step.inputs.size() == 40; };
    auto const step = std::find_if(steps.begin(), steps.end(), isConcatenation);
    ASSERT_NE(step, steps.end());
    EXPECT_EQ(steps.size(), 40U); // Nobody reads what the first of them would make.
    EXPECT_EQ(step->inputs[0], -1);
    for (size_t i = 1; i < 40; ++i)
        EXPECT_GE(step->inputs[i], 0) << i;
}

TEST(Planner, tellsExtentsThatDependOnData)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,4]
%i = NonZero(%x)
%y = Cast(%i) {ToType=0}
output %y
)");
    Program const& program = plan.programs.front();
    ASSERT_EQ(program.steps.front().produces.size(), 1U);
    PlanSymbol const& symbol = program.symbols.at(static_cast<size_t>(program.steps.front().produces[0]));
    EXPECT_EQ(symbol.kind, PlanSymbolKind::kData);
    EXPECT_EQ(symbol.source, 0);
    EXPECT_EQ(symbol.max, 32);
}

TEST(Planner, givesReasonsForWhatItDoes)
{
    Plan const plan = planOf(R"(
input %x : float32[N=1..8,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%b = SoftMax(%a) {Axes=2}
output %b
)");
    auto const has = [&](std::string_view kind, std::string_view part) {
        return std::any_of(plan.decisions.begin(), plan.decisions.end(), [&](PlanDecision const& decision) {
            return decision.kind == kind && decision.text.find(part) != std::string::npos;
        });
    };
    EXPECT_TRUE(has("refuse", "it never does"));
    EXPECT_TRUE(has("reorder", "linear"));
    EXPECT_TRUE(has("tactic", "conv"));
}

TEST(Planner, givesTheSamePlanTwice)
{
    std::string_view const text = R"(
input %x : float32[N=1..8,16,32,32]
const %w : float32[16,16,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Unary(%a) {Operation=0}
%c = ElementWise(%a, %b) {Operation=0}
%d = Shuffle(%c) {ReshapeDimensions=(0,-1)}
output %d
)";
    Result<Bytes> const first = writePlan(planOf(text));
    Result<Bytes> const second = writePlan(planOf(text));
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_EQ(*first, *second);
}

TEST(Planner, givesTheSamePlanForAnyNumberOfThreads)
{
    std::string text{"input %x : float32[1,4,8,8]\n"};
    for (int32_t i = 0; i < 40; ++i)
        text += fmt::format("const %w{0} : float32[4,4,1,1] = random({0})\n"
                            "%c{0} = Convolution({1}, %w{0}) {{NbOutputMaps=4, KernelSizeNd=(1,1)}}\n",
            i, i == 0 ? "%x" : fmt::format("%c{}", i - 1));
    Result<Graph> const graph = parseGraph(text + "output %c39\n", parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    std::vector<Bytes> plans;
    for (int32_t const threads : {1, 2, 7})
    {
        PlanOptions options = optionsFor(*graph);
        options.threads = threads;
        Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), std::move(options));
        ASSERT_TRUE(plan) << plan.error().message;
        plans.push_back(*writePlan(*plan));
    }
    EXPECT_EQ(plans[0], plans[1]);
    EXPECT_EQ(plans[0], plans[2]);
}

namespace
{
constexpr std::string_view kTwoConvolutionsWithAChainBetween{R"(
input %x : float32[1,16,32,32]
const %w : float32[16,16,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Unary(%a) {Operation=0}
%c = Unary(%b) {Operation=0}
%d = Convolution(%c, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
output %d
)"};

Result<Plan> planFor(Target const& target, Backend const& backend, std::string_view text)
{
    Result<Graph> graph = parseGraph(text, parseLayer);
    EXPECT_TRUE(graph) << graph.error().message;
    return makePlan(*graph, backend, target, optionsFor(*graph));
}
} // namespace

TEST(Planner, weighsReordersByTheTargetsCosts)
{
    Target target = fakeTarget();
    Result<Plan> plan = planFor(target, fakeBackend(), kTwoConvolutionsWithAChainBetween);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->programs.front().device, "fake");
    EXPECT_EQ(countOf(*plan, "reorder"), 2) << "into the fast layout and out of it";
    target.reorder.startMicroseconds = 1e6;
    plan = planFor(target, fakeBackend(), kTwoConvolutionsWithAChainBetween);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(countOf(*plan, "reorder"), 0) << "where a copy costs more than the slow kernels";
}

TEST(Planner, movesChainsToLayoutsOfTheTargetOnly)
{
    // Convolutions start in the fast layout; the chain between them gains by following only as a whole.
    Target target = fakeTarget();
    target.layouts = {Layout::kLinear};
    Result<Plan> const plan = planFor(target, fakeBackend(), kTwoConvolutionsWithAChainBetween);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(countOf(*plan, "reorder"), 4);
}

TEST(Planner, alignsTheArenaAsTheTargetSays)
{
    std::string_view const text{"input %x : float32[3]\n%a = Unary(%x) {Operation=0}\n%b = SoftMax(%a) {Axes=1}\n"
                                "%c = SoftMax(%b) {Axes=1}\noutput %c\n"};
    Target target = fakeTarget();
    for (int64_t const alignment : {64, 256})
    {
        target.limits.alignment = alignment;
        Result<Plan> const plan = planFor(target, fakeBackend(), text);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->memoryPerProfile.front(), 2 * alignment);
    }
}

namespace
{
std::variant<std::vector<Offer>, Refusal> offerOnOneArchitecture(Problem const& problem)
{
    if (problem.target->architecture != "new")
        return refuse("picky", "made for the new ones, not for " + problem.target->architecture);
    return std::vector{Offer{.candidate = {}, .inputs = {Layout::kLinear}, .outputs = {Layout::kLinear}}};
}

Result<KernelSpec> buildForTarget(Problem const& problem, Offer const&)
{
    return KernelSpec{.kernel = "for " + problem.target->architecture, .args = {}, .packed = {}};
}
} // namespace

TEST(Planner, tellsCandidatesTheTarget)
{
    Backend const backend{"fake", {Candidate{"Unary", "picky", offerOnOneArchitecture, buildForTarget}}};
    std::string_view const text{"input %x : float32[3]\n%a = Unary(%x) {Operation=0}\noutput %a\n"};
    Target target = fakeTarget();
    target.architecture = "new";
    Result<Plan> plan = planFor(target, backend, text);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->programs.front().steps.front().kernel, "for new");
    target.architecture = "old";
    plan = planFor(target, backend, text);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("not for old"), std::string::npos) << plan.error().message;
}

namespace
{
//! Two bytes of code: the operation's, and one more.
Result<KernelSpec> compile(Problem const& problem, Offer const&)
{
    auto const operation = static_cast<uint8_t>(problem.fields<Unary>().operation);
    return KernelSpec{.kernel = "compiled",
        .args = {},
        .packed = {},
        .code = MadeCode{.name = "unary",
            .form = CodeForm::kDeviceBinary,
            .target = problem.target->architecture,
            .bytes = std::make_shared<Bytes const>(Bytes{operation, 7})}};
}

Result<KernelSpec> takePluginsCode(Problem const& problem, Offer const&)
{
    return KernelSpec{.kernel = "compiled",
        .args = {},
        .packed = {},
        .code = static_cast<int32_t>(problem.fields<Unary>().operation)};
}

std::variant<std::vector<Offer>, Refusal> offerLinear(Problem const&)
{
    return std::vector{Offer{.candidate = {}, .inputs = {Layout::kLinear}, .outputs = {Layout::kLinear}}};
}

constexpr std::string_view kThreeUnaries{R"(
input %x : float32[3]
%a = Unary(%x) {Operation=2}
%b = Unary(%a) {Operation=1}
%c = Unary(%b) {Operation=2}
output %c
)"};

PlanCode codeOfPlugin(std::string name, Bytes const& bytes)
{
    return {.name = std::move(name), .target = "x86-64", .sha256 = sha256(bytes), .bytes = 1, .data = bytes.data()};
}
} // namespace

TEST(Planner, storesTheCodeOfKernelsOnceBehindThatOfCustomLayers)
{
    Result<Graph> const graph = parseGraph(kThreeUnaries, parseLayer);
    ASSERT_TRUE(graph);
    Bytes const own{42};
    PlanOptions options = optionsFor(*graph);
    options.code = {codeOfPlugin("plugin", own)};
    Target target = fakeTarget();
    target.architecture = "fake 9";
    Result<Plan> const plan = makePlan(
        *graph, Backend{"fake", {Candidate{"Unary", "compiled", offerLinear, compile}}}, target, std::move(options));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_TRUE(checkPlan(*plan));
    ASSERT_EQ(plan->code.size(), 3U);
    EXPECT_EQ(plan->code[0].name, "plugin");
    EXPECT_EQ(plan->code[0].form, CodeForm::kHostObject);
    std::vector<int32_t> positions;
    for (PlanStep const& step : plan->programs.front().steps)
        positions.push_back(step.code);
    EXPECT_EQ(positions, (std::vector<int32_t>{1, 2, 1}));
    for (size_t const i : {1U, 2U})
    {
        PlanCode const& code = plan->code[i];
        EXPECT_EQ(code.form, CodeForm::kDeviceBinary);
        EXPECT_EQ(code.target, "fake 9");
        ByteView const bytes{static_cast<uint8_t const*>(code.data), code.bytes};
        EXPECT_EQ((Bytes{bytes.begin(), bytes.end()}), (Bytes{static_cast<uint8_t>(i == 1 ? 2 : 1), 7}));
        EXPECT_EQ(code.sha256, sha256(bytes));
    }
}

TEST(Planner, stepsNameTheCodeThatACustomLayerBrought)
{
    Result<Graph> const graph = parseGraph(kThreeUnaries, parseLayer);
    ASSERT_TRUE(graph);
    Backend const backend{"fake", {Candidate{"Unary", "compiled", offerLinear, takePluginsCode}}};
    Bytes const own{42};
    PlanOptions options = optionsFor(*graph);
    options.code.assign(3, codeOfPlugin("plugin", own));
    Result<Plan> const plan = makePlan(*graph, backend, fakeTarget(), options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->programs.front().steps[1].code, 1);
    options.code.pop_back(); // Operation 2 now asks for what is not there.
    Result<Plan> const refused = makePlan(*graph, backend, fakeTarget(), options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("code 2 of 2"), std::string::npos) << refused.error().message;
}

TEST(Planner, namesALayerThatNothingRuns)
{
    Result<Graph> const graph =
        parseGraph("input %x : float32[2,3]\n%a = SoftMax(%x) {Axes=2}\noutput %a\n", parseLayer);
    ASSERT_TRUE(graph);
    Result<Plan> const plan = makePlan(*graph, Backend{"empty", {}}, fakeTarget(), optionsFor(*graph));
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("'a'"), std::string::npos);
    EXPECT_NE(plan.error().message.find("SoftMax"), std::string::npos);
}

TEST(Planner, stopsWhenTheMonitorSaysSo)
{
    class Impatient final : public Progress
    {
      public:
        void phaseStart(std::string const&, std::string const&, int32_t) override
        {
            ++open;
        }
        bool stepComplete(std::string const&, int32_t) override
        {
            return false;
        }
        void phaseFinish(std::string const&) override
        {
            --open;
        }
        int32_t open{0};
    };
    Result<Graph> const graph =
        parseGraph("input %x : float32[2,3]\n%a = Unary(%x) {Operation=0}\noutput %a\n", parseLayer);
    ASSERT_TRUE(graph);
    Impatient progress;
    PlanOptions options = optionsFor(*graph);
    options.progress = &progress;
    EXPECT_FALSE(makePlan(*graph, fakeBackend(), fakeTarget(), std::move(options)));
    EXPECT_EQ(progress.open, 0) << "each phase that began has ended";
}

namespace
{
using Answer = std::variant<std::vector<Offer>, Refusal>;

Answer tooLarge(Problem const&)
{
    throw std::length_error{"a vector too large"};
}

Answer plainOffer(Problem const& problem)
{
    std::vector<Layout> const inputs(problem.node->inputs.size(), Layout::kLinear);
    return std::vector{Offer{.candidate = {}, .inputs = inputs, .outputs = {Layout::kLinear}}};
}

Result<KernelSpec> failToBuild(Problem const&, Offer const&)
{
    throw std::bad_alloc{};
}

//! A layer that tells two values and shows only the second as an extent.
struct TwoSizes
{
    static constexpr std::string_view kName{"TwoSizes"};
    int32_t unused{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Unused", &TwoSizes::unused)};
    }
    Result<TensorType> infer(Inputs const& in) const
    {
        in.dataExtent(0, in.type(0).shape[0]);
        return TensorType{DType::kINT32, {in.dataExtent(1, in.type(0).shape[0] * ShapeExpr{2})}};
    }
};
} // namespace

TEST(Planner, namesTheLayerWhereMemoryRunsOut)
{
    Result<Graph> const graph =
        parseGraph("input %x : float32[2,3]\n%big = Unary(%x) {Operation=0}\noutput %big\n", parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    for (auto const& [candidate, code] :
        {std::pair{Candidate{"Unary", "offers", tooLarge, failToBuild}, ErrorCode::kINTERNAL_ERROR},
            std::pair{Candidate{"Unary", "builds", plainOffer, failToBuild}, ErrorCode::kFAILED_ALLOCATION}})
    {
        Result<Plan> const plan = makePlan(*graph, Backend{"broken", {candidate}}, fakeTarget(), optionsFor(*graph));
        ASSERT_FALSE(plan);
        std::string const& message = plan.error().message;
        EXPECT_EQ(message.find("[layer 'big']"), 0U) << message;
        EXPECT_EQ(message.rfind("[layer 'big']"), 0U) << message;
        EXPECT_EQ(plan.error().code, code);
        bool const ranOut = code == ErrorCode::kFAILED_ALLOCATION;
        EXPECT_EQ(message.find("is tensor 'big', float32[2,3]") != std::string::npos, ranOut) << message;
    }
}

//! Packing constants is what planning allocates most for.
TEST(Planner, namesTheLargestConstantWhereMemoryRunsOut)
{
    Result<Graph> const graph = parseGraph(R"(
input %c : bool[700,3]
const %small : float32[1,3] = random(1)
const %large : float32[700,3] = random(2)
%pick = Select(%c, %small, %large)
output %pick
)",
        parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    Result<Plan> const plan = makePlan(*graph,
        Backend{"broken", {Candidate{"Select", "builds", plainOffer, failToBuild}}}, fakeTarget(), optionsFor(*graph));
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("tensor 'large', float32[700,3], 8400 bytes"), std::string::npos)
        << plan.error().message;
}

namespace
{
std::atomic<int32_t> gInside{0};
std::atomic<bool> gMet{false};

//! Returns when another thread builds, too, or after ten seconds.
Result<KernelSpec> meetAnother(Problem const&, Offer const&)
{
    ++gInside;
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!gMet && std::chrono::steady_clock::now() < end)
        if (gInside > 1)
            gMet = true;
    --gInside;
    return KernelSpec{.kernel = "fake", .args = {}, .packed = {}};
}

//! The later a layer stands, the sooner it fails.
Result<KernelSpec> failEarlier(Problem const& problem, Offer const&)
{
    if (problem.node->name == "a")
        return KernelSpec{.kernel = "fake", .args = {}, .packed = {}};
    std::this_thread::sleep_for(std::chrono::milliseconds{problem.node->name == "b" ? 50 : 0});
    return badArgument("{} cannot be built", problem.node->name);
}

constexpr std::string_view kChain{R"(
input %x : float32[2,3]
%a = Unary(%x) {Operation=0}
%b = Unary(%a) {Operation=0}
%c = Unary(%b) {Operation=0}
%d = Unary(%c) {Operation=0}
output %d
)"};
} // namespace

TEST(Planner, buildsKernelsSideBySide)
{
    Result<Graph> const graph = parseGraph(kChain, parseLayer);
    ASSERT_TRUE(graph);
    PlanOptions options = optionsFor(*graph);
    options.threads = 2;
    ASSERT_TRUE(makePlan(
        *graph, Backend{"slow", {{"Unary", "slow", plainOffer, meetAnother}}}, fakeTarget(), std::move(options)));
    EXPECT_TRUE(gMet);
}

TEST(Planner, tellsTheFirstOfSeveralErrors)
{
    Result<Graph> const graph = parseGraph(kChain, parseLayer);
    ASSERT_TRUE(graph);
    PlanOptions options = optionsFor(*graph);
    options.threads = 4;
    Result<Plan> const plan = makePlan(
        *graph, Backend{"broken", {{"Unary", "broken", plainOffer, failEarlier}}}, fakeTarget(), std::move(options));
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "[layer 'b']: b cannot be built");
}

TEST(Planner, stopsWhileOtherThreadsBuild)
{
    //! Says no to the second kernel, on the thread that planned.
    class Second final : public Progress
    {
      public:
        void phaseStart(std::string const& phase, std::string const&, int32_t) override
        {
            isBuilding = phase == "Building kernels";
        }
        bool stepComplete(std::string const&, int32_t step) override
        {
            threads.insert(std::this_thread::get_id());
            return !isBuilding || step < 1;
        }
        void phaseFinish(std::string const&) override {}

        bool isBuilding{false};
        std::set<std::thread::id> threads;
    };
    Result<Graph> const graph = parseGraph(kChain, parseLayer);
    ASSERT_TRUE(graph);
    Second progress;
    PlanOptions options = optionsFor(*graph);
    options.threads = 3;
    options.progress = &progress;
    Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), std::move(options));
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, cancelled().message);
    EXPECT_EQ(progress.threads, std::set{std::this_thread::get_id()});
}

TEST(Planner, tellsAllValuesUpToTheOneThatIsNeeded)
{
    Result<Graph> graph = parseGraph("input %x : float32[N=1..8,4]\n", parseLayer);
    ASSERT_TRUE(graph);
    Result<NodeId> const node = graph->addNode(makeLayer(TwoSizes{}), "two", {graph->inputs().front()});
    ASSERT_TRUE(node) << node.error().message;
    graph->markOutput(graph->node(*node).output(), "y");
    Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), optionsFor(*graph));
    ASSERT_TRUE(plan) << plan.error().message;
    Result<Done> const sound = checkPlan(*plan);
    EXPECT_TRUE(sound) << sound.error().message;
    Program const& program = plan->programs.front();
    auto const step = std::find_if(
        program.steps.begin(), program.steps.end(), [](PlanStep const& each) { return each.name == "two"; });
    ASSERT_NE(step, program.steps.end());
    ASSERT_EQ(step->produces.size(), 2U);
    EXPECT_EQ(program.symbols.at(static_cast<size_t>(step->produces[0])).max, 8);
    EXPECT_EQ(program.symbols.at(static_cast<size_t>(step->produces[1])).max, 16);
}

TEST(Planner, keepsConstantsApartWhoseHashesAreEqual)
{
    // Found by reducing the lattice of powers of the prime of FNV-1a.
    uint8_t const first[]{0x07, 0x10, 0xf3, 0x1b, 0xf5, 0x08, 0x80, 0x55, 0x0e, 0x3d, 0x1b, 0xf7};
    uint8_t const second[]{0x06, 0xe8, 0x73, 0x71, 0x6d, 0x06, 0xf6, 0xd5, 0x14, 0x06, 0x1a, 0xe0};
    ASSERT_EQ(hashBytes(first), hashBytes(second));
    Graph graph;
    ValueId const x = graph.addInput("x", {DType::kINT32, {3}});
    LayerPtr const add = makeLayer(ElementWise{});
    for (auto const* data : {first, second, first})
    {
        std::string const name = fmt::format("y{}", graph.outputs().size());
        ValueId const constant = graph.addConstant("c" + name, makeConstant(DType::kINT32, {3}, data));
        Result<NodeId> const node = graph.addNode(add, name, {x, constant});
        ASSERT_TRUE(node) << node.error().message;
        graph.markOutput(graph.node(*node).output(), name);
    }
    Result<Plan> const plan = makePlan(graph, fakeBackend(), fakeTarget(), optionsFor(graph));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->weights.size(), 2U) << "equal contents are stored once, others apart";
    EXPECT_EQ(std::memcmp(plan->weights[0].data, first, sizeof first), 0);
    EXPECT_EQ(std::memcmp(plan->weights[1].data, second, sizeof second), 0);
}

TEST(Planner, writesEachPartOfAnExtentOnce)
{
    // Each extent reads the one before twice: written out, the last would have 2^30 parts.
    constexpr int32_t kLayers{30};
    std::string text{"input %c0 : float32[1,1,N=8..64]\n"};
    for (int32_t i = 0; i < kLayers; ++i)
        text += fmt::format("%p{0} = Pooling(%c{0}) {{WindowSizeNd=(2), StrideNd=(2)}}\n"
                            "%c{1} = Concatenation(%c{0}, %p{0}) {{Axis=2}}\n",
            i, i + 1);
    Plan const plan = planOf(text + fmt::format("output %c{}\n", kLayers));
    Program const& program = plan.programs.front();
    EXPECT_EQ(program.steps.size(), 2U * kLayers);
    EXPECT_LT(program.shapes.size(), 50U * kLayers);
}

TEST(Planner, givesTheSamePlanWhateverWasMadeBefore)
{
    std::string_view const text = R"(
input %x : float32[N=1..8,4,M=2..64]
%a = Shuffle(%x) {ReshapeDimensions=(-1,4)}
%b = Pooling(%x) {WindowSizeNd=(2), StrideNd=(2)}
%c = Concatenation(%b, %x) {Axis=2}
output %a
output %c
)";
    auto const bytes = [&] {
        Result<Graph> const graph = parseGraph(text, parseLayer);
        EXPECT_TRUE(graph) << graph.error().message;
        Result<Plan> const plan = makePlan(*graph, fakeBackend(), fakeTarget(), optionsFor(*graph));
        EXPECT_TRUE(plan) << plan.error().message;
        return *writePlan(*plan);
    };
    Bytes const first = bytes();
    std::vector<ShapeExpr> kept; // Parts of the plan's expressions, made in another order and kept alive.
    for (int32_t id : {1, 0})
        for (int64_t divisor : {5, 2, 3})
            kept.push_back(floorDiv(ShapeExpr::symbol(id) - ShapeExpr{divisor}, divisor) * ShapeExpr::symbol(1 - id));
    EXPECT_EQ(bytes(), first);
}

} // namespace tenon::test
