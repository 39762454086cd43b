// The runner: rules that throw, and large graphs.
#include "layers/element_wise.h"
#include "layers/shuffle.h"
#include "layers/unary.h"
#include "passes/rewrite.h"
#include "passes/rule.h"
#include "passes/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <stdexcept>

namespace tenon::test
{

namespace
{
NodeId add(Graph& graph, LayerPtr layer, std::string name, std::vector<ValueId> inputs)
{
    Result<NodeId> const node = graph.addNode(std::move(layer), std::move(name), std::move(inputs));
    EXPECT_TRUE(bool{node});
    return *node;
}

//! Unary layers "node 0"…, each of the one before.
Graph chain(int32_t count)
{
    Graph graph;
    ValueId value = graph.addInput("x", {DType::kFLOAT, shapeOf({4})});
    for (int32_t i = 0; i < count; ++i)
        value = graph.node(add(graph, makeLayer(Unary{}), "node " + std::to_string(i), {value})).output();
    graph.markOutput(value, "y");
    return graph;
}

//! The sum of `count` equal Unary layers.
Graph sumOfEqual(int32_t count)
{
    Graph graph;
    ValueId const x = graph.addInput("x", {DType::kFLOAT, shapeOf({4})});
    ValueId sum = x;
    for (int32_t i = 0; i < count; ++i)
    {
        ValueId const value = graph.node(add(graph, makeLayer(Unary{}), "node " + std::to_string(i), {x})).output();
        sum = graph.node(add(graph, makeLayer(ElementWise{}), "sum " + std::to_string(i), {sum, value})).output();
    }
    graph.markOutput(sum, "y");
    return graph;
}

//! Reshapes "turn 0"…, each of the one before: the last one says it all.
Graph turns(int32_t count)
{
    Graph graph;
    ValueId value = graph.addInput("x", {DType::kFLOAT, shapeOf({2, 3, 4})});
    for (int32_t i = 0; i < count; ++i)
    {
        Shuffle turn;
        turn.reshapeDimensions = i % 2 == 0 ? nvinfer1::Dims{1, {24}} : nvinfer1::Dims{2, {6, 4}};
        value = graph.node(add(graph, makeLayer(turn), "turn " + std::to_string(i), {value})).output();
    }
    graph.markOutput(value, "y");
    return graph;
}

//! What the processor has worked for this thread: not the clock's, on which other programs take part.
double secondsWorked()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

//! The least of three: caches that others have emptied cost, too.
double secondsToMerge(Graph (*make)(int32_t), int32_t count, size_t left)
{
    double least{1e9};
    for (int32_t i = 0; i < 3; ++i)
    {
        Graph graph = make(count);
        double const start = secondsWorked();
        Result<Done> const done = optimizeWith(graph, "merge-equal-nodes");
        least = std::min(least, secondsWorked() - start);
        EXPECT_TRUE(bool{done});
        EXPECT_EQ(graph.order().size(), left);
    }
    return least;
}

constexpr int32_t kFew{1'250};
constexpr int32_t kMany{16 * kFew};
constexpr double kMaxTimes{80}; //!< 16 times the layers: 16 and what larger memory costs, if not 256 times the time.

Rewrite throwing(Graph const&, Node const& node)
{
    if (node.name != "node 2")
        return skip();
    throw std::out_of_range{"position 7"};
}

Rewrite starving(Graph const&, Node const&)
{
    throw std::bad_alloc{};
}
} // namespace

TEST(Runner, aRuleThatThrowsIsNamedWithItsLayer)
{
    Graph graph = chain(4);
    Rule const rule{"bad-rule", RuleKind::kFold, "Throws.", throwing};
    Result<Done> const done = optimizeWith(graph, rule);
    ASSERT_FALSE(bool{done});
    EXPECT_EQ(done.error().code, ErrorCode::kINTERNAL_ERROR);
    EXPECT_EQ(done.error().message, "[layer 'node 2'] rule 'bad-rule' failed: position 7");
}

TEST(Runner, lackOfMemoryIsNotARulesFault)
{
    Graph graph = chain(2);
    Rule const rule{"starving", RuleKind::kFold, "Has no memory.", starving};
    EXPECT_THROW(static_cast<void>(optimizeWith(graph, rule)), std::bad_alloc);
}

TEST(Runner, equalNodesAreMergedInTimeLinearInTheirNumber)
{
    double const few = secondsToMerge(sumOfEqual, kFew, kFew + 1);
    EXPECT_LT(secondsToMerge(sumOfEqual, kMany, kMany + 1), kMaxTimes * few);
}

TEST(Runner, unequalNodesAreToldApartInTimeLinearInTheirNumber)
{
    double const few = secondsToMerge(chain, kFew, kFew);
    EXPECT_LT(secondsToMerge(chain, kMany, kMany), kMaxTimes * few);
}

//! The least of three.
double secondsToOptimize(Graph (*make)(int32_t), int32_t count, size_t most, std::vector<std::string> disabled = {})
{
    double least{1e9};
    for (int32_t i = 0; i < 3; ++i)
    {
        Graph graph = make(count);
        OptimizeOptions options;
        options.limits = generousLimits();
        options.disabled = disabled;
        options.verify = false;
        double const start = secondsWorked();
        Result<Done> const done = optimize(graph, options);
        least = std::min(least, secondsWorked() - start);
        EXPECT_TRUE(bool{done});
        EXPECT_LE(graph.order().size(), most);
    }
    return least;
}

TEST(Runner, fusingAChainTakesAFewTimesWhatTheOtherRulesTake)
{
    constexpr int32_t kLayers{480};
    constexpr double kMaxOfOthers{40};
    double const others = secondsToOptimize(chain, kLayers, kLayers, {"fuse-pointwise"});
    EXPECT_LT(secondsToOptimize(chain, kLayers, kLayers / 40), kMaxOfOthers * others);
}

TEST(Runner, layersThatBecomeOneCarryTheirOriginsInTimeThatDoesNotExplode)
{
    constexpr int32_t kTurns{90};
    double const few = secondsToOptimize(turns, kTurns, 1);
    EXPECT_LT(secondsToOptimize(turns, 16 * kTurns, 1), 300 * few) << "comparing all with all: 4096 times";
}

TEST(Runner, namesOfWhatBecameOneEndWhereTheyGrowLong)
{
    Graph graph = turns(1000);
    OptimizeOptions options;
    ASSERT_TRUE(bool{optimize(graph, options)});
    ASSERT_EQ(graph.order().size(), 1U);
    Node const& node = graph.node(*graph.order().begin());
    EXPECT_TRUE(node.name.starts_with("turn 0 + turn 1 + ")) << node.name;
    EXPECT_TRUE(node.name.ends_with(" + \u2026")) << node.name;
    EXPECT_LT(node.name.size(), 1100U);
    EXPECT_EQ(node.origins.names().size(), 1000U);
}

TEST(Runner, whatFollowsEqualNodesIsMergedInTheSameWalk)
{
    Graph graph = parsed(R"(
input %x : float32[N,4]
const %a : float32[1,4] = 2
const %b : float32[1,4] = 2
%c = ElementWise(%x, %a) {Operation=1}
%d = ElementWise(%x, %b) {Operation=1}
%e = Unary(%c) {Operation=3}
%f = Unary(%d) {Operation=3}
%g = Unary(%d) {Operation=4}
%y = ElementWise(%e, %f) {Operation=0}
%z = ElementWise(%y, %g) {Operation=0}
output %z
)");
    OptimizeOptions once;
    once.maxPatches = 1;
    ASSERT_TRUE(bool{optimizeWith(graph, "merge-equal-nodes", once)});
    EXPECT_EQ(graph.order().size(), 5U);
}

} // namespace tenon::test
