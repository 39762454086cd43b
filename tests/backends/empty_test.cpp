// Layers whose outputs have no element though their operands count 2^40 rows or matrices: neither memory nor time goes
// by that count.
#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "layers/matrix_multiply.h"
#include "layers/slice.h"
#include "layers/soft_max.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
constexpr int64_t kMany{int64_t{1} << 20};

//! One layer on empty operands, by every offer of a backend.
class Empty
{
  public:
    Empty(LayerPtr layer, std::vector<std::vector<int64_t>> const& inputs)
    {
        std::vector<ValueId> values;
        for (size_t i = 0; i < inputs.size(); ++i)
            values.push_back(mGraph.addInput("input" + std::to_string(i), {DType::kFLOAT, shapeOf(inputs[i])}));
        Result<NodeId> node = mGraph.addNode(std::move(layer), "layer", values);
        EXPECT_TRUE(node) << (node ? "" : node.error().message);
        mNode = node ? *node : kNone;
    }

    void runOn(Backend const& backend, Device& device, std::string_view candidate) const
    {
        ASSERT_NE(mNode, kNone);
        Target const target = cpuTarget();
        Problem const problem{&mGraph, &mGraph.node(mNode), {}, &target};
        bool isFound{false};
        for (Offer const& offer : backend.offers(problem).accepted)
        {
            isFound = isFound || offer.candidate == candidate;
            if (!offer.isView)
                runOffer(backend, device, problem, offer);
        }
        EXPECT_TRUE(isFound) << candidate;
    }

  private:
    std::vector<TensorArg> argsOf(std::vector<ValueId> const& values, std::vector<Layout> const& layouts) const
    {
        std::vector<TensorArg> args;
        for (size_t i = 0; i < values.size(); ++i)
        {
            TensorType const& type = mGraph.typeOf(values[i]);
            args.push_back({type.dtype, layouts[i], *staticExtents(type.shape)});
        }
        return args;
    }
    void runOffer(Backend const& backend, Device& device, Problem const& problem, Offer const& offer) const
    {
        SCOPED_TRACE(offer.candidate);
        Result<KernelSpec> const spec = backend.build(problem, offer);
        ASSERT_TRUE(spec) << spec.error().message;
        std::vector<TensorArg> const inputs = argsOf(problem.node->inputs, offer.inputs);
        std::vector<TensorArg> const outputs = argsOf(problem.node->outputs, offer.outputs);
        KernelSource source{.kernel = spec->kernel, .args = spec->args, .weights = {}, .outputs = outputs.size()};
        source.weights.resize(inputs.size());
        Result<std::unique_ptr<Kernel>> const kernel = device.load(source);
        ASSERT_TRUE(kernel) << kernel.error().message;
        auto const prepared = (*kernel)->prepare(inputs, outputs, 2);
        ASSERT_TRUE(prepared) << prepared.error().message;
        EXPECT_LT((*prepared)->scratchBytes(), size_t{1} << 20);
        uint64_t memory[8]{};
        std::vector<void const*> const from(inputs.size(), memory);
        std::vector<void*> const to(outputs.size(), memory);
        std::vector<uint8_t> scratch((*prepared)->scratchBytes() + 1);
        Launch const launch{prepared->get(), {from.data(), to.data(), scratch.data()}, 0, from.size(), to.size()};
        RunFailure failure;
        auto const done = device.run({&launch, 1}, {}, failure);
        EXPECT_TRUE(done) << done.error().message;
    }

    Graph mGraph;
    NodeId mNode{kNone};
};

void expectNothingToDo(LayerPtr layer, std::vector<std::vector<int64_t>> const& inputs, std::string_view candidate)
{
    Empty const empty{std::move(layer), inputs};
    {
        SCOPED_TRACE("cpu");
        empty.runOn(cpuBackend(), cpuDevice(), candidate);
    }
    SCOPED_TRACE("ref");
    empty.runOn(refBackend(), refDevice(), "reference");
}

//! Matrices are numbered with 32 bits: more of them are refused before there is a table of them.
TEST(EmptyOutputs, productsOfTooManyMatricesAreRefused)
{
    constexpr int64_t kTooMany{(int64_t{1} << 31) + 1};
    std::vector<int64_t> const extents{kTooMany, 1, 1};
    Graph graph;
    ValueId const a = graph.addInput("a", {DType::kFLOAT, shapeOf({2, 1, 1})});
    Result<NodeId> const node = graph.addNode(makeLayer(MatrixMultiply{}), "product", {a, a});
    ASSERT_TRUE(node) << node.error().message;
    Target const target = cpuTarget();
    Problem const problem{&graph, &graph.node(*node), {}, &target};
    for (Offer const& offer : cpuBackend().offers(problem).accepted)
    {
        if (offer.candidate != "panels")
            continue;
        Result<KernelSpec> const spec = cpuBackend().build(problem, offer);
        ASSERT_TRUE(spec) << spec.error().message;
        KernelSource source{.kernel = spec->kernel, .args = spec->args, .weights = {}, .outputs = 1};
        source.weights.resize(2);
        auto const kernel = cpuDevice().load(source);
        ASSERT_TRUE(kernel) << kernel.error().message;
        TensorArg const arg{DType::kFLOAT, Layout::kLinear, extents};
        std::vector<TensorArg> const inputs{arg, arg};
        auto const prepared = (*kernel)->prepare(inputs, {&arg, 1}, 2);
        ASSERT_FALSE(prepared);
        EXPECT_NE(prepared.error().message.find("2147483649 matrices"), std::string::npos) << prepared.error().message;
        return;
    }
    FAIL() << "no offer";
}

TEST(EmptyOutputs, productsOfManyEmptyMatrices)
{
    expectNothingToDo(makeLayer(MatrixMultiply{}), {{kMany, kMany, 0, 3}, {kMany, kMany, 3, 4}}, "panels");
    expectNothingToDo(makeLayer(MatrixMultiply{}), {{kMany, kMany, 2, 3}, {kMany, kMany, 3, 0}}, "panels");
    expectNothingToDo(makeLayer(MatrixMultiply{}), {{kMany, kMany, 0, 2, 3}, {1, 1, 1, 3, 4}}, "panels");
    MatrixMultiply turned;
    turned.operation0 = nvinfer1::MatrixOperation::kTRANSPOSE;
    turned.operation1 = nvinfer1::MatrixOperation::kTRANSPOSE;
    expectNothingToDo(makeLayer(turned), {{kMany, kMany, 3, 0}, {kMany, kMany, 4, 3}}, "panels");
}

TEST(EmptyOutputs, samplesOfManyEmptyRows)
{
    Slice clamped;
    clamped.mode = nvinfer1::SampleMode::kCLAMP;
    clamped.start = {2, {0, 0}};
    clamped.size = {2, {kMany * kMany, 0}};
    clamped.stride = {2, {1, 1}};
    expectNothingToDo(makeLayer(clamped), {{kMany, 3}}, "sampled");
}

TEST(EmptyOutputs, rowsWithoutElements)
{
    SoftMax softMax;
    softMax.axes = 4;
    expectNothingToDo(makeLayer(softMax), {{kMany, kMany, 0}}, "rows");
}

} // namespace

} // namespace tenon::test
