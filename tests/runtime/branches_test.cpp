// Steps of several streams: every order that the fences leave gives the results of the list's own.
#include "plan/regions.h"
#include "planner/in_place.h"
#include "planner/streams.h"
#include "runtime/fixture.h"
#include "support/random_program.h"

#include <algorithm>
#include <map>

namespace tenon::test
{

namespace
{
//! Runs steps between two fences in the opposite order of their streams, as no device that is right may mind.
GuardedDevice& turnedDevice()
{
    static GuardedDevice device{toyDevice()};
    return device;
}

using Outputs = std::map<std::string, std::vector<float>>;

//! Outputs of known size, by name, in memory of that device.
Outputs outputsOf(Device& device, std::shared_ptr<Plan const> const& plan, int64_t rows)
{
    EngineOptions options;
    options.device = &device;
    auto const engine = Engine::create(plan, options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    auto const context = contextOf(*engine);
    std::map<std::string, void*> memory;
    auto const bytes = static_cast<size_t>(rows) * 3 * sizeof(float);
    for (size_t i = 0; i < plan->io.size(); ++i)
    {
        PlanIO const& io = plan->io[i];
        void* const at = memory[io.name] = device.allocate(bytes);
        if (io.isInput)
        {
            std::vector<float> const values = randomFloats(static_cast<size_t>(rows) * 3, static_cast<uint32_t>(i));
            EXPECT_OK(device.copyFromHost(at, values.data(), bytes, kApartStream));
            EXPECT_OK(context->setInputShape(io.name.c_str(), dimsOf({rows, 3})));
        }
        EXPECT_OK(context->setTensorAddress(io.name.c_str(), at));
    }
    EXPECT_OK(context->enqueue(nullptr));
    Outputs outputs;
    for (PlanIO const& io : plan->io)
        if (!io.isInput && io.dtype == DType::kFLOAT)
        {
            std::vector<float>& values = outputs[io.name];
            values.resize(static_cast<size_t>(rows) * 3);
            EXPECT_OK(device.copyToHost(values.data(), memory[io.name], bytes, kApartStream));
        }
    for (auto const& [name, at] : memory)
        device.release(at);
    return outputs;
}
} // namespace

TEST(Branches, S6_anyOrderBetweenFencesGivesTheSameResults)
{
    int32_t split{0};
    for (uint32_t seed = 0; seed < 150; ++seed)
    {
        auto const plain = randomPlan(seed);
        auto const spread = randomPlan(seed);
        plain->plugins.clear();
        spread->plugins.clear();
        Program& program = spread->programs.front();
        std::mt19937 random{seed};
        for (PlanStep& step : program.steps)
        {
            step.cost = static_cast<float>(random() % 100);
            if (step.kernel != "nonzero")
                step.inPlace = {{0, 0}};
        }
        planner::assignStreams(program, 1 + static_cast<int32_t>(seed % 3));
        planner::settleInPlace(program);
        split += std::ranges::any_of(regionsOf(program), &Region::isSplit) ? 1 : 0;
        Outputs const wanted = outputsOf(toyDevice(), plain, 5);
        EXPECT_EQ(outputsOf(turnedDevice(), spread, 5), wanted) << seed;
        EXPECT_EQ(outputsOf(toyDevice(), spread, 5), wanted) << seed;
    }
    EXPECT_GT(split, 20);
}

TEST(Branches, S6_anEngineTellsItsAuxiliaryStreams)
{
    for (int32_t const stream : {0, 2})
    {
        auto const plan = std::make_shared<Plan>(*pointwiseNetwork());
        plan->programs.front().steps.front().stream = stream;
        plan->programs.front().steps[1].isFence = true;
        EXPECT_EQ(engineOf(plan)->auxStreams(), stream);
    }
}

} // namespace tenon::test
