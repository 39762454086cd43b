// Mutated plans: each is refused with a reason or loads and runs; nothing else. Run under AddressSanitizer.
//
// TENON_FUZZ_PLANS sets the number of mutations (12,000), TENON_FUZZ_SEED the first seed.
#include "fuzz/plan_mutator.h"
#include "fuzz/tally.h"
#include "plan/check.h"
#include "runtime/context.h"
#include "support/device.h"
#include "support/random_program.h"
#include "support/toy_device.h"
#include "support/toy_networks.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! Has every plugin that a plan may name; no step of the toy device uses one.
class EveryPlugin final : public PluginSource
{
  public:
    std::string whatIsMissing(PluginName const&) const override
    {
        return {};
    }
};

//! Runs a plan that loaded, within limits that keep the test small.
class PlanRunner
{
  public:
    bool run(std::shared_ptr<Plan const> plan)
    {
        EngineOptions options;
        options.device = &mDevice;
        options.plugins = &mPlugins;
        auto engine = Engine::create(std::move(plan), options);
        if (!engine)
            return false;
        auto created = Context::create(*engine, MemoryStrategy::kUSER_MANAGED);
        if (!created)
            return false;
        Context& context = **created;
        if (!setInputs(**engine, context))
            return false;
        auto const bytes = context.updateDeviceMemorySizeForShapes();
        if (!bytes || *bytes > kLimit)
            return false;
        DeviceArray<char> const memory{static_cast<size_t>(*bytes)};
        if (!context.setDeviceMemory(memory.data(), *bytes))
            return false;
        for (int32_t i = (*engine)->inputCount(); i < (*engine)->ioCount(); ++i)
        {
            char const* const name = (*engine)->io(i).name.c_str();
            auto const size = context.maxOutputSize(name);
            if (!size || *size > kLimit || !give(context, name, static_cast<size_t>(*size)))
                return false;
        }
        return static_cast<bool>(context.enqueue(nullptr));
    }

  private:
    static constexpr int64_t kLimit{1 << 22};

    bool setInputs(Engine const& engine, Context& context)
    {
        for (int32_t i = 0; i < engine.inputCount(); ++i)
        {
            PlanIO const& io = engine.io(i);
            auto const dims = engine.profileShape(io.name.c_str(), 0, nvinfer1::OptProfileSelector::kOPT);
            if (!dims || !context.setInputShape(io.name.c_str(), *dims))
                return false;
            int64_t const bytes = bytesOf(io.dtype, Layout::kLinear, {dims->d, static_cast<size_t>(dims->nbDims)});
            if (bytes < 0 || bytes > kLimit || !give(context, io.name.c_str(), static_cast<size_t>(bytes)))
                return false;
        }
        return true;
    }
    //! Exactly as many bytes as needed, so that AddressSanitizer sees one too many.
    bool give(Context& context, char const* name, size_t bytes)
    {
        mMemory.push_back(std::make_unique<DeviceArray<char>>(bytes));
        return static_cast<bool>(context.setTensorAddress(name, mMemory.back()->data()));
    }

    ToyDevice mDevice;
    EveryPlugin mPlugins;
    std::vector<std::unique_ptr<DeviceArray<char>>> mMemory;
};

void tryPlan(Bytes blob, Tally& tally)
{
    auto const owner = std::make_shared<Bytes>(std::move(blob));
    auto plan = readPlan(*owner, owner);
    ++tally.mutations;
    if (!plan)
    {
        EXPECT_FALSE(plan.error().message.empty());
        tally.pastSchema += isOuterDamage(plan.error().message) ? 0 : 1;
        return;
    }
    ++tally.pastSchema;
    ++tally.loaded;
    tally.ran += PlanRunner{}.run(std::make_shared<Plan const>(*std::move(plan))) ? 1 : 0;
}

std::shared_ptr<Plan> seedPlan(uint64_t index)
{
    switch (index % 8)
    {
    case 0: return pointwiseNetwork();
    case 1: return nonZeroNetwork();
    case 2: return shapeNetwork();
    case 3: return staticNetwork();
    default: return randomPlan(static_cast<uint32_t>(index));
    }
}
} // namespace

TEST(PlanFuzz, seedsLoadAndRun)
{
    for (uint64_t i = 0; i < 40; ++i)
    {
        Tally tally;
        auto const plan = seedPlan(i);
        tryPlan(writeUncheckedPlan(*plan), tally);
        EXPECT_EQ(tally.loaded, 1U) << i;
        bool const hasShapeInput = plan->io[0].isShape; // Junk values are outside its profile.
        EXPECT_EQ(tally.ran, hasShapeInput ? 0U : 1U) << i;
    }
}

TEST(PlanFuzz, O1_mutatedPlansAreRefusedOrRun)
{
    uint64_t const count = numberFrom("TENON_FUZZ_PLANS", 12000);
    uint64_t const first = numberFrom("TENON_FUZZ_SEED", 0);
    Tally tally;
    for (uint64_t i = first; i < first + count; ++i)
    {
        PlanMutator mutator{static_cast<uint32_t>(i)};
        auto const plan = seedPlan(i);
        uint64_t const how = i % 10;
        if (how >= 6)
            mutator.changeFields(*plan);
        Bytes blob = writeUncheckedPlan(*plan);
        if (how < 4)
            mutator.damage(blob);
        else if (how < 6)
            mutator.rewriteWords(blob);
        tally.resealed += how < 4 ? 0 : 1;
        tryPlan(std::move(blob), tally);
    }
    tally.print();
    EXPECT_GE(tally.resealed * 2, tally.mutations);
    EXPECT_GE(tally.pastSchema * 3, tally.mutations) << "at least a third must get past the schema verifier";
    EXPECT_GT(tally.loaded * 50, tally.mutations) << "some must load, or nothing is tested behind the reader";
    EXPECT_GT(tally.ran, 0U);
}

} // namespace tenon::test
