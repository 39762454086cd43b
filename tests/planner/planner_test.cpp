// The planner on small graphs: layouts, views, outputs, shape values, weights, memory, determinism.
#include "planner/planner.h"

#include "ir/text.h"
#include "layers/layer_text.h"
#include "planner/fake_backend.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
nvinfer1::Dims64 dimsOf(TensorType const& type, SymbolTable const& symbols, int32_t point)
{
    nvinfer1::Dims64 dims{};
    dims.nbDims = type.rank();
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        ShapeExpr const& extent = type.shape[static_cast<size_t>(i)];
        Range const range = extent.range(symbols);
        bool const isStatic = extent.isConstant();
        dims.d[i] = isStatic ? *extent.constant()
            : point < 0      ? -1
            : point == 0     ? range.min
            : point == 1     ? (range.min + range.max) / 2
                             : range.max;
    }
    return dims;
}

//! I/O and one profile from the ranges of the symbols.
PlanOptions optionsFor(Graph const& graph)
{
    PlanOptions options;
    options.networkName = "net";
    PlanProfile profile;
    for (ValueId const input : graph.inputs())
    {
        TensorType const& type = graph.typeOf(input);
        profile.inputs.push_back({static_cast<int32_t>(options.io.size()), dimsOf(type, graph.symbols(), 0),
            dimsOf(type, graph.symbols(), 1), dimsOf(type, graph.symbols(), 2)});
        options.io.push_back(
            {.name = graph.value(input).name, .dtype = type.dtype, .dims = dimsOf(type, graph.symbols(), -1)});
    }
    for (GraphOutput const& output : graph.outputs())
    {
        TensorType const& type = graph.typeOf(output.value);
        options.io.push_back(
            {.name = output.name, .isInput = false, .dtype = type.dtype, .dims = dimsOf(type, graph.symbols(), -1)});
    }
    options.profiles.push_back(std::move(profile));
    return options;
}

Plan planOf(std::string_view text)
{
    Result<Graph> graph = parseGraph(text, parseLayer);
    EXPECT_TRUE(graph) << graph.error().message;
    Result<Plan> plan = makePlan(*graph, fakeBackend(), optionsFor(*graph));
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
    Result<Plan> const plan = makePlan(*graph, fakeBackend(), optionsFor(*graph));
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

TEST(Planner, namesALayerThatNothingRuns)
{
    Result<Graph> const graph =
        parseGraph("input %x : float32[2,3]\n%a = SoftMax(%x) {Axes=2}\noutput %a\n", parseLayer);
    ASSERT_TRUE(graph);
    Result<Plan> const plan = makePlan(*graph, Backend{"empty", {}}, optionsFor(*graph));
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
    EXPECT_FALSE(makePlan(*graph, fakeBackend(), std::move(options)));
    EXPECT_EQ(progress.open, 0) << "each phase that began has ended";
}

} // namespace tenon::test
