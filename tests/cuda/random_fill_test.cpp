// Random fills on a GPU draw what the host's do: by position, layer and run, which the GPU counts, so that graphs draw
// others each time.
#include "backends/rows.h"
#include "cuda/fake_device.h"
#include "layers/fill.h"
#include "planner/graph_options.h"
#include "planner/plan_outputs.h"

#include <algorithm>

namespace tenon::test
{

namespace
{
//! Two fills, of which each draws numbers of its own.
std::shared_ptr<Plan const> planOfFills(std::string_view backend)
{
    using nvinfer1::FillOperation;
    Graph graph;
    for (FillOperation const operation : {FillOperation::kRANDOM_UNIFORM, FillOperation::kRANDOM_NORMAL})
    {
        Fill const layer{.dimensions = {2, {3, 700}}, .operation = operation, .alpha = -1.0, .beta = 2.0};
        std::string const name = operation == FillOperation::kRANDOM_NORMAL ? "normal" : "uniform";
        Result<NodeId> const node = graph.addNode(makeLayer(layer), name, {});
        EXPECT_TRUE(node) << (node ? "" : node.error().message);
        graph.markOutput(graph.node(*node).outputs[0], name + " numbers");
    }
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, backend, &BackendEntry::name);
    Result<Plan> plan = makePlan(graph, entry.backend(), entry.target(0), optionsFor(graph));
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    Result<Bytes> bytes = plan ? writePlan(*plan) : Result<Bytes>{plan.error()};
    return bytes ? readBack(*std::move(bytes)) : nullptr;
}
} // namespace

TEST(RandomFillsOnGpus, eachRunDrawsWhatTheHostDraws)
{
    std::shared_ptr<Plan const> const here = planOfFills("cpu");
    std::shared_ptr<Plan const> const there = planOfFills("cuda");
    ASSERT_NE(here, nullptr);
    ASSERT_NE(there, nullptr);
    for (PlanStep const& step : there->programs.front().steps)
        EXPECT_EQ(step.place, Place::kDevice) << step.name;
    for (int32_t const runs : {1, 2, 5}) // One by one, recorded, and as a graph that comes again.
    {
        SCOPED_TRACE(runs);
        expectSame(outputsOf(there, fake(), runs), outputsOf(here, cpuWithKernels(), runs), 1e-5);
    }
    EXPECT_NE(outputsOf(there, fake(), 2)[0].reals, outputsOf(there, fake(), 3)[0].reals);
}

} // namespace tenon::test
