// The portable graph is portable in fact: plans of the CPU are read back, and planned again for another device, where
// they compute the same.
#include "api/build/plan_again.h"
#include "backends/ref/ref.h"
#include "ir/text.h"
#include "layers/attention.h"
#include "layers/layer_table.h"
#include "layers/matrix_multiply.h"
#include "planner/fake_backend.h"
#include "planner/graph_options.h"
#include "planner/plan_outputs.h"
#include "planner/read_graph.h"
#include "support/cpu_networks.h"
#include "support/layer_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
constexpr std::string_view kOneLayer{"input %x : float32[N=1..8,4]\n%y = Unary(%x) {Operation=0}\noutput %y\n"};

DeviceChoice choiceOf(BackendEntry const& entry)
{
    return {&entry, 0, &entry.device(0), "the test says so"};
}

Result<LayerPtr> layerOf(PlanNode const& node)
{
    return loadLayer(node.layer, node.fields);
}

std::string graphText(Graph const& graph)
{
    return print(graph, {.types = true, .names = false});
}
} // namespace

TEST(ReadGraph, givesBackWhatThePlanWasMadeOf)
{
    Result<Graph> const graph = parseGraph(R"(
input %x : float32[N=1..8,S=2..16,4]
input %z : float32[N,S,4]
const %w : float32[1,4,6] = random(1)
const %k : float32[6,6,1,1] = random(2)
const %zero : int64[3] = 0
%s = Shape(%x)
%y = Slice(%z, %zero, %s)
%m = MatrixMultiply(%y, %w) {epilogue={steps=[{kind=2}]}}
%r = Shuffle(%m) {ReshapeDimensions=(0,0,6,1), SecondTranspose=[0,2,1,3,4,5,6,7]}
%c = Convolution(%r, %k) {NbOutputMaps=6, KernelSizeNd=(1,1)}
%i = NonZero(%c)
output %c
output %i
output %s
output %w
)",
        parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    Result<Plan> const plan = makePlan(*graph, entryOf("cpu").backend(), entryOf("cpu").target(0), optionsFor(*graph));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(std::ranges::any_of(plan->weights, [](PlanWeight const& weight) { return !weight.packing.empty(); }))
        << "nothing is packed: there is nothing to unpack";
    Result<Graph> const read = readGraph(*plan, {layerOf, entryOf("cpu").unpack});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(graphText(*read), graphText(*graph));
}

TEST(ReadGraph, refusesPackingsThatNobodyUndoes)
{
    Result<Plan> const plan = planOfText(R"(
input %x : float32[1,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
output %a
)",
        fakeBackend(), fakeTarget());
    ASSERT_TRUE(plan) << plan.error().message;
    Result<Graph> const none = readGraph(*plan, {layerOf, nullptr});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("'fake packing'"), std::string::npos) << none.error().message;
    Result<Graph> const others = readGraph(*plan, {layerOf, entryOf("cpu").unpack});
    ASSERT_FALSE(others);
    EXPECT_NE(others.error().message.find("weight 'w'"), std::string::npos) << others.error().message;
}

TEST(ReadGraph, refusesGraphsThatDoNotGiveTheOutputs)
{
    Result<Plan> plan = planOfText(kOneLayer, fakeBackend(), fakeTarget());
    ASSERT_TRUE(plan);
    plan->io.back().dims.d[1] = 5;
    Result<Graph> const read = readGraph(*plan, {layerOf, nullptr});
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("output 'y'"), std::string::npos) << read.error().message;
}

//! Plans of the CPU use all that it fuses; `ref` has kernels of its own for none of it.
class PlanAgain : public testing::TestWithParam<std::tuple<CpuCase, DType>>
{
};

//! Between them these networks use every kernel: none falls back to the reference, whatever their numbers are stored
//! as.
TEST_P(PlanAgain, beginsWithKernelsOfTheCpuAlone)
{
    auto const [network, type] = GetParam();
    std::shared_ptr<Plan const> const plan = readBack(planOf(network, type));
    ASSERT_FALSE(plan->programs.front().steps.empty());
    for (PlanStep const& step : plan->programs.front().steps)
        EXPECT_NE(step.candidate, "reference") << step.kernel;
}

TEST_P(PlanAgain, computesTheSameOnAnotherDevice)
{
    auto const [network, type] = GetParam();
    std::shared_ptr<Plan const> const plan = readBack(planOf(network, type));
    Result<Plan> again = api::planAgain(*plan, choiceOf(entryOf("ref")), nullptr, Log{});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->programs.front().device, "ref");
    for (PlanNode const& node : again->graph.nodes)
    {
        EXPECT_TRUE(node.layer != "Attention" && node.layer != "Pointwise") << node.name;
        Result<LayerPtr> const layer = loadLayer(node.layer, node.fields);
        ASSERT_TRUE(layer);
        auto const* const product = as<MatrixMultiply>(**layer);
        EXPECT_TRUE(product == nullptr || product->epilogue.empty()) << node.name;
    }
    Result<Bytes> const written = writePlan(*again);
    ASSERT_TRUE(written) << written.error().message;
    expectSame(outputsOf(std::make_shared<Plan const>(*std::move(again)), entryOf("ref").device(0)),
        outputsOf(plan, entryOf("cpu").device(0)), toleranceOf(type));
}

INSTANTIATE_TEST_SUITE_P(OfTheCpu, PlanAgain,
    testing::Combine(testing::ValuesIn(cpuCases().begin(), cpuCases().end()),
        testing::Values(DType::kFLOAT, DType::kHALF, DType::kBF16)),
    [](testing::TestParamInfo<std::tuple<CpuCase, DType>> const& info) {
        return fmt::format("{}_{}", std::get<0>(info.param).name, nameOf(std::get<1>(info.param)));
    });

TEST(PlanAgain, leavesFusionsThatTheDeviceTakes)
{
    std::shared_ptr<Plan const> const stored =
        readBack(planOf(*std::ranges::find(cpuCases(), "attention", &CpuCase::name)));
    Result<Plan> const again = api::planAgain(*stored, choiceOf(entryOf("cpu")), nullptr, Log{});
    ASSERT_TRUE(again) << again.error().message;
    auto const layersOf = [](Plan const& plan) {
        std::vector<std::string> layers;
        for (PlanNode const& node : plan.graph.nodes)
            layers.push_back(node.layer);
        return layers;
    };
    EXPECT_EQ(layersOf(*again), layersOf(*stored));
    EXPECT_TRUE(std::ranges::count(layersOf(*again), Attention::kName) > 0);
}

TEST(PlanAgain, leavesTheCodeOfOtherDevicesBehind)
{
    Result<Plan> plan = planOfText(kOneLayer, entryOf("cpu").backend(), entryOf("cpu").target(0));
    ASSERT_TRUE(plan);
    uint8_t const code[]{1, 2, 3};
    plan->code.push_back({.name = "cubin", .target = "sm_90", .bytes = sizeof(code), .data = code});
    Result<Plan> const again = api::planAgain(*plan, choiceOf(entryOf("ref")), nullptr, Log{});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->code.empty()) << "who loads it would need permission for what nothing runs";
}

} // namespace tenon::test
