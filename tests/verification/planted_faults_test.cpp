// Planted faults: one wrong thing in the program of a real plan, and verification names the layer that it is in.
#include "api/run/cuda_engine.h"
#include "backend/layer_args.h"
#include "inspect/verification.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"
#include "support/cpu_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace tenon::test
{

namespace
{
CpuCase const& caseOf(std::string_view name)
{
    for (CpuCase const& one : cpuCases())
        if (one.name == name)
            return one;
    throw std::runtime_error("no such network");
}

//! A plan of the CPU device, taken apart, changed, put together and verified.
class PlantedFault : public testing::Test
{
  protected:
    void take(std::string_view network)
    {
        auto blob = std::make_shared<Bytes const>(planOf(caseOf(network)));
        Result<Plan> read = readPlan(*blob, blob);
        ASSERT_TRUE(read) << read.error().message;
        plan = *std::move(read);
    }

    //! The step that computes the layer of this name.
    PlanStep& stepOf(std::string const& layer)
    {
        for (PlanStep& step : plan.programs.at(0).steps)
            if (step.graphNode >= 0 && originsOf(step).contains(layer))
                return step;
        throw std::runtime_error("no step computes " + layer);
    }

    //! Changes the fields of the step's layer in its kernel's arguments alone: the graph keeps the true ones.
    template <typename L, typename Change>
    void change(std::string const& layer, Change&& change)
    {
        PlanStep& step = stepOf(layer);
        LayerArgs args = *decodeLayerArgs(step.args);
        L fields = *fieldsOf<L>(args);
        change(fields);
        args.fields = stored(fields);
        step.args = encodeLayerArgs(args);
    }

    void verify()
    {
        Result<Bytes> const blob = writePlan(plan);
        ASSERT_TRUE(blob) << blob.error().message;
        std::unique_ptr<nvinfer1::IRuntime> const runtime = cpuRuntime(messages);
        std::unique_ptr<nvinfer1::ICudaEngine> const engine{
            runtime->deserializeCudaEngine((*blob).data(), (*blob).size())};
        ASSERT_NE(engine, nullptr) << messages.errors;
        api::CudaEngine const& own = api::CudaEngine::of(*engine);
        Result<inspect::VerifyReport> verified =
            inspect::verifyEngine(own.sharedEngine(), *own.device().backend, {}, {});
        ASSERT_TRUE(verified) << verified.error().message;
        report = *std::move(verified);
        ASSERT_EQ(report.steps.size(), plan.programs.at(0).steps.size());
        for (inspect::VerifiedStep const& step : report.steps)
            EXPECT_TRUE(step.why.empty()) << step.name << " was not compared: " << step.why;
    }

    void expectAllRight()
    {
        verify();
        for (inspect::VerifiedStep const& step : report.steps)
            EXPECT_TRUE(step.ok) << step.name << " is off by " << step.worst << " tolerances";
        EXPECT_FALSE(report.first);
    }

    //! This layer's step is wrong and no other.
    void expectBlamed(std::string const& layer)
    {
        verify();
        auto const guilty = static_cast<size_t>(&stepOf(layer) - plan.programs.at(0).steps.data());
        for (size_t i = 0; i < report.steps.size(); ++i)
            EXPECT_EQ(report.steps[i].ok, i != guilty) << report.steps[i].name << ", worst " << report.steps[i].worst;
        ASSERT_TRUE(report.first);
        EXPECT_EQ(report.first->step, static_cast<int32_t>(guilty));
        EXPECT_NE(report.first->layer.find(layer), std::string::npos) << report.first->layer;
    }

    Plan plan;
    inspect::VerifyReport report;
    KeptMessages messages;

  private:
    std::set<std::string> originsOf(PlanStep const& step) const
    {
        auto const& origins = plan.graph.nodes.at(static_cast<size_t>(step.graphNode)).origins;
        return {origins.begin(), origins.end()};
    }
};

void setWindow(Convolution& layer, int64_t stride, int64_t before, int64_t after)
{
    layer.stride.nbDims = layer.prePadding.nbDims = layer.postPadding.nbDims = 2;
    for (int32_t axis = 0; axis < 2; ++axis)
    {
        layer.stride.d[axis] = stride;
        layer.prePadding.d[axis] = before;
        layer.postPadding.d[axis] = after;
    }
}
} // namespace

TEST_F(PlantedFault, unchangedPlansPassInEveryStep)
{
    for (CpuCase const& one : cpuCases())
    {
        SCOPED_TRACE(one.name);
        take(one.name);
        expectAllRight();
    }
}

TEST_F(PlantedFault, aWrongEpilogueOfAConvolution)
{
    take("convolutions");
    change<Convolution>("second", [](Convolution& layer) {
        ASSERT_EQ(layer.epilogue.steps.size(), 1U);
        ASSERT_EQ(layer.epilogue.steps[0].kind, EpilogueKind::kRelu);
        layer.epilogue.steps[0].kind = EpilogueKind::kTanh;
    });
    expectBlamed("second");
}

TEST_F(PlantedFault, aMissingActivationBehindAResidual)
{
    take("convolutions");
    change<Convolution>("third", [](Convolution& layer) {
        ASSERT_EQ(layer.epilogue.steps.size(), 2U);
        ASSERT_EQ(layer.epilogue.steps[0].kind, EpilogueKind::kAdd);
        layer.epilogue.steps.pop_back();
    });
    expectBlamed("third");
}

TEST_F(PlantedFault, aWrongEpilogueOfAProduct)
{
    take("products");
    change<MatrixMultiply>("wide", [](MatrixMultiply& layer) {
        auto const at = std::ranges::find(layer.epilogue.steps, EpilogueKind::kGeluErf, &EpilogueStep::kind);
        ASSERT_NE(at, layer.epilogue.steps.end());
        at->kind = EpilogueKind::kSilu;
    });
    expectBlamed("wide");
}

TEST_F(PlantedFault, aWrongStrideThatGivesTheSameExtents)
{
    take("convolutions");
    // 9 x 10 pixels by 2 are 5 x 5; by 3, with four more of padding, they are too.
    change<Convolution>("fourth", [](Convolution& layer) { setWindow(layer, 3, 2, 2); });
    expectBlamed("fourth");
}

TEST_F(PlantedFault, aWeightSwappedForOneOfTheSameExtents)
{
    take("convolutions");
    PlanStep& step = stepOf("third");
    ASSERT_NE(step.inputs[1], stepOf("second").inputs[1]);
    step.inputs[1] = stepOf("second").inputs[1];
    expectBlamed("third");
}

TEST_F(PlantedFault, aMatrixSwappedForOneOfTheSameExtents)
{
    take("products");
    PlanStep& step = stepOf("last");
    ASSERT_NE(step.inputs[1], stepOf("wide").inputs[1]);
    step.inputs[1] = stepOf("wide").inputs[1];
    expectBlamed("last");
}

} // namespace tenon::test
