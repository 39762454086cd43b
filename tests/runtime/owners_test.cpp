// The owners of a context's state, each by itself: shapes, bindings, memory.
#include "runtime/fixture.h"

#include "runtime/bindings.h"
#include "runtime/context_memory.h"
#include "runtime/input_shapes.h"
#include "runtime/prepared_run.h"
#include "runtime/shape_values.h"

#include <array>
#include <cstring>

namespace tenon::test
{

namespace
{
//! A device's memory for what is allocated there, counted.
class HeldAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override
    {
        ++held;
        return deviceOfEngines().allocate(size);
    }
    bool deallocate(void* memory) noexcept override
    {
        --held;
        deviceOfEngines().release(memory);
        return true;
    }

    int32_t held{0};
};
} // namespace

TEST(InputShapes, Q3_aProfileForgetsTheShapesOfDynamicInputs)
{
    auto const engine = engineOf(pointwiseNetwork());
    InputShapes shapes{engine->state()};
    EXPECT_FALSE(shapes.areSet());
    EXPECT_OK(shapes.set(0, dimsOf({5, 4})));
    EXPECT_TRUE(shapes.isSet(0));
    EXPECT_EQ(shapes.dims()[0].d[0], 5);
    shapes.select(0);
    EXPECT_FALSE(shapes.isSet(0));
    EXPECT_EQ(shapes.dims()[0].d[0], -1);
    EXPECT_EQ(shapes.dims()[0].d[1], 4) << "what is fixed stays";
}

TEST(InputShapes, Q6_aRefusedShapeChangesNothingAndNamesSpreadExtents)
{
    auto const plan = std::make_shared<Plan>(*pointwiseNetwork());
    for (PlanIO& io : plan->io)
        if (io.isInput)
            io.dimensionNames = {"rows", ""};
    auto const engine = engineOf(plan);
    InputShapes shapes{engine->state()};
    EXPECT_OK(shapes.set(0, dimsOf({5, 4})));
    EXPECT_TRUE(shapes.areSet()) << "the other input has the extent by name";
    for (auto const& wrong : {dimsOf({5}), dimsOf({5, 3}), dimsOf({-1, 4}), dimsOf({17, 4})})
        EXPECT_FALSE(shapes.set(0, wrong));
    EXPECT_EQ(shapes.dims()[0].d[0], 5);
    EXPECT_EQ(shapes.dims()[1].d[0], 5);
}

TEST(Bindings, ownValuesCountUntilAnAddressIsSetOrTheyAreForgotten)
{
    auto const engine = engineOf(shapeNetwork());
    Bindings bindings{engine->state()};
    auto const s = static_cast<size_t>(engine->findIO("s"));
    auto const x = static_cast<size_t>(engine->findIO("x"));
    std::vector<void*> given(bindings.addresses().size(), &given);
    EXPECT_EQ(bindings.addressIn(given.data(), s), &given);
    bindings.setOwnValues(s, std::array<int64_t, 2>{3, 4});
    void* const own = bindings.addresses()[s];
    EXPECT_TRUE(bindings.hasOwnValues(s) && !bindings.hasOwnValues(x));
    EXPECT_EQ(shapeValue(engine->io(static_cast<int32_t>(s)), own, 1), 4);
    EXPECT_EQ(bindings.addressIn(given.data(), s), own) << "before what callers by index give";
    EXPECT_EQ(bindings.addressIn(given.data(), x), &given);
    OwnValues const kept = bindings.ownValues()[s]; // As a run does.
    bindings.setAddress(s, &given);
    EXPECT_FALSE(bindings.hasOwnValues(s));
    EXPECT_EQ(bindings.addressIn(nullptr, s), &given);
    EXPECT_EQ(kept->data(), own) << "runs under way have them still";
    bindings.setOwnValues(s, std::array<int64_t, 2>{1, 2});
    bindings.forgetOwnValues();
    EXPECT_EQ(bindings.addresses()[s], nullptr);
}

TEST(Bindings, aShapeOutputThatCallersByIndexLeaveOutHasSpareRoom)
{
    auto const engine = engineOf(shapeNetwork());
    Bindings bindings{engine->state()};
    std::vector<void*> const given(bindings.addresses().size(), nullptr);
    EXPECT_NE(bindings.addressIn(given.data(), static_cast<size_t>(engine->findIO("sizes"))), nullptr);
    EXPECT_EQ(bindings.addressIn(given.data(), static_cast<size_t>(engine->findIO("out"))), nullptr);
}

TEST(ContextMemory, whatRunsShareLastsWhenOtherIsTaken)
{
    HeldAllocator allocator;
    {
        auto const engine = engineOf(pointwiseNetwork(), &allocator);
        int32_t const before = allocator.held; // Weights on devices of their own memory.
        ContextMemory memory{engine->state(), MemoryStrategy::kON_PROFILE_CHANGE};
        EXPECT_OK(memory.take(1000));
        ContextMemory::Lent const running = memory.lent();
        void* const former = *memory.arena(1000, false);
        EXPECT_OK(memory.take(2000));
        EXPECT_EQ(allocator.held, before + 2);
        auto const arena = memory.arena(2000, false);
        ASSERT_TRUE(arena);
        EXPECT_NE(*arena, former);
        EXPECT_FALSE(memory.arena(2001, false));
        auto const apart = memory.arena(3000, true);
        ASSERT_TRUE(apart);
        EXPECT_NE(*apart, *arena);
        EXPECT_EQ(allocator.held, before + 3);
    }
    EXPECT_EQ(allocator.held, 0);
}

TEST(ContextMemory, theUsersIsUsedAsItWasGiven)
{
    auto const engine = engineOf(pointwiseNetwork());
    ContextMemory memory{engine->state(), MemoryStrategy::kUSER_MANAGED};
    EXPECT_FALSE(memory.arena(1, false));
    alignas(64) std::array<std::byte, 64> own{};
    memory.give(own.data(), 64);
    auto const arena = memory.arena(64, false);
    ASSERT_TRUE(arena);
    EXPECT_EQ(*arena, own.data());
    EXPECT_FALSE(memory.arena(65, false));
}

TEST(ContextMemory, ofTheHostGrowsAndIsNotTheAllocators)
{
    HeldAllocator allocator;
    auto const engine = engineOf(pointwiseNetwork(), &allocator);
    int32_t const before = allocator.held;
    ContextMemory memory{engine->state(), MemoryStrategy::kUSER_MANAGED};
    auto const small = memory.hostArena(100, false);
    ASSERT_TRUE(small);
    std::memset(*small, 1, 100);
    EXPECT_EQ(*memory.hostArena(50, false), *small);
    auto const large = memory.hostArena(5000, false);
    ASSERT_TRUE(large);
    std::memset(*large, 2, 5000);
    auto const apart = memory.hostArena(5000, true);
    ASSERT_TRUE(apart);
    EXPECT_NE(*apart, *large);
    EXPECT_TRUE(memory.takeScratch(Place::kHost, 64, nullptr));
    EXPECT_NE(memory.scratch(Place::kHost), nullptr);
    EXPECT_EQ(memory.scratch(Place::kDevice), nullptr);
    EXPECT_EQ(allocator.held, before);
}

TEST(ContextMemory, scratchGrowsAndIsDropped)
{
    auto const engine = engineOf(pointwiseNetwork());
    ContextMemory memory{engine->state(), MemoryStrategy::kSTATIC};
    auto const isNew = [&](size_t bytes) {
        auto const taken = memory.takeScratch(Place::kDevice, bytes, nullptr);
        EXPECT_OK(taken);
        return taken && *taken;
    };
    EXPECT_FALSE(isNew(0));
    EXPECT_TRUE(isNew(100));
    EXPECT_FALSE(isNew(50));
    EXPECT_TRUE(isNew(200));
    memory.dropScratch();
    EXPECT_EQ(memory.scratch(Place::kDevice), nullptr);
    EXPECT_TRUE(isNew(1));
}

TEST(Scratch, isSharedByStepsThatFollowEachOther)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3, 4});
    // From one fence to the next: streams 0, then 0 and 1, then 0 and 2.
    std::vector<int32_t> const streams{0, 0, 1, 0, 2};
    for (size_t i = 0; i < streams.size(); ++i)
    {
        bool const isLast = i + 1 == streams.size();
        int32_t const to =
            isLast ? builder.output("out", builder.extentsOf(x)) : builder.activation(builder.extentsOf(x));
        PlanStep& step = builder.step("scale", {x}, {to});
        step.args = ProgramBuilder::args(2.0F);
        step.stream = streams[i];
        step.isFence = i % 2 == 1;
    }
    auto const engine = engineOf(builder.finish());
    auto const run = prepareRun(engine->state(), {0}, {InputShapes{engine->state()}, {}});
    ASSERT_TRUE(run) << run.error().message;
    auto const place = static_cast<size_t>(Place::kDevice);
    size_t const each = (*run)->head.steps[0].prepared->scratchBytes();
    size_t const alignment = engine->state().device().alignment();
    size_t const second = (each + alignment - 1) / alignment * alignment;
    ASSERT_GT(each, 0U);
    std::vector<size_t> begins;
    for (PreparedStep const& step : (*run)->head.steps)
        begins.push_back(step.scratchBegin);
    EXPECT_EQ(begins, (std::vector<size_t>{0, 0, second, 0, second}));
    EXPECT_EQ((*run)->head.scratchBytes[place], second + each) << "what two streams need at a time, not three";
}

//! A library that needs none still looks at the address: cuBLASLt refuses one that is not aligned.
TEST(Scratch, ofNoBytesBeginsAligned)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3, 4});
    int32_t const n = builder.input("n", {5}, 1, 16, DType::kINT32);
    builder.step("scale", {x}, {builder.output("a", builder.extentsOf(x))}).args = ProgramBuilder::args(2.0F);
    PlanStep& beside = builder.step("negate", {n}, {builder.output("b", builder.extentsOf(n), DType::kINT32)});
    beside.stream = 1;
    auto const engine = engineOf(builder.finish());
    auto const run = prepareRun(engine->state(), {0}, {InputShapes{engine->state()}, {}});
    ASSERT_TRUE(run) << run.error().message;
    std::vector<PreparedStep> const& steps = (*run)->head.steps;
    size_t const alignment = engine->state().device().alignment();
    ASSERT_NE(steps[0].prepared->scratchBytes() % alignment, 0U);
    ASSERT_EQ(steps[1].prepared->scratchBytes(), 0U);
    EXPECT_EQ(steps[1].scratchBegin % alignment, 0U);
}

} // namespace tenon::test
