// Runs: results, addresses, data-dependent outputs, memory, observers, failures.
#include "runtime/fixture.h"
#include "runtime/lru_cache.h"

#include <bit>

namespace tenon::test
{

namespace
{
//! Runs pointwiseNetwork for n rows and compares with plain arithmetic.
void runPointwise(Context& context, int64_t n, uint32_t seed)
{
    auto const count = static_cast<size_t>(4 * n);
    auto const xs = randomFloats(count, seed);
    auto const ys = randomFloats(count, seed + 1);
    DeviceArray<float> const x{xs};
    DeviceArray<float> const y{ys};
    DeviceArray<float> const out{count};
    EXPECT_OK(context.setInputShape("x", dimsOf({n, 4})));
    EXPECT_OK(context.setInputShape("y", dimsOf({n, 4})));
    EXPECT_OK(context.setInputAddress("x", x.data()));
    EXPECT_OK(context.setInputAddress("y", y.data()));
    EXPECT_OK(context.setOutputAddress("out", out.data()));
    EXPECT_OK(context.enqueue(deviceUnderTest().stream()));
    auto const results = out.read();
    for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(results[i], (xs[i] * 3.0F + ys[i]) * 0.5F) << i;
    EXPECT_EQ(x.read(), xs) << "inputs are never written";
}
} // namespace

TEST(Run, resultsAtManyShapesWithViewsAndInPlaceSteps)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    for (int64_t const n : {5, 16, 1, 5, 7, 16, 2})
        runPointwise(*context, n, static_cast<uint32_t>(n));
}

TEST(Run, goingBackToASeenShapePreparesNothing)
{
    auto const engine = engineOf(pointwiseNetwork());
    auto const context = contextOf(engine);
    runPointwise(*context, 5, 1);
    runPointwise(*context, 9, 2);
    int64_t const prepared = ToyDevice::prepareCount();
    for (int i = 0; i < 10; ++i)
        runPointwise(*context, i % 2 == 0 ? 5 : 9, 3);
    runPointwise(*contextOf(engine), 9, 4); // Contexts share what is prepared.
    EXPECT_EQ(ToyDevice::prepareCount(), prepared);
    EXPECT_EQ(engine->preparedRuns(), 2U);
}

TEST(Run, aThousandShapesInTurnArePreparedOnce)
{
    auto const engine = engineOf(pointwiseNetwork());
    auto const context = contextOf(engine);
    auto const all = [&] {
        for (int64_t n = 1; n <= 16; ++n)
            for (int32_t threads = 1; threads <= 64; ++threads)
            {
                context->setThreads(threads);
                runPointwise(*context, n, static_cast<uint32_t>(n));
            }
    };
    all();
    int64_t const prepared = ToyDevice::prepareCount();
    all();
    EXPECT_EQ(ToyDevice::prepareCount(), prepared);
    EXPECT_EQ(engine->preparedRuns(), 16U * 64U);
}

TEST(Run, theMemoryOfSeenShapesIsBounded)
{
    EngineOptions options;
    options.preparedBytes = size_t{64} << 10;
    auto const engine = engineWith(options, pointwiseNetwork());
    auto const context = contextOf(engine);
    for (int32_t threads = 1; threads <= 200; ++threads)
    {
        context->setThreads(threads);
        runPointwise(*context, 3, 1);
    }
    EXPECT_GT(engine->preparedRuns(), 1U);
    EXPECT_LT(engine->preparedRuns(), 50U);
}

TEST(LruCache, keepsWhatWasUsedLastWithinItsBytes)
{
    LruCache<int> cache{100};
    auto const put = [&](int64_t key, size_t bytes) {
        return *cache.insert({key}, std::make_shared<int const>(static_cast<int>(key)), bytes);
    };
    EXPECT_EQ(put(1, 40), 1);
    EXPECT_EQ(put(2, 40), 2);
    EXPECT_EQ(*cache.insert({1}, std::make_shared<int const>(7), 40), 1); // It stood already.
    int64_t const first[]{1};
    EXPECT_EQ(*cache.find(first), 1);
    EXPECT_EQ(put(3, 40), 3); // 2 goes: it was used before 1.
    int64_t const second[]{2};
    EXPECT_EQ(cache.find(second), nullptr);
    EXPECT_NE(cache.find(first), nullptr);
    EXPECT_EQ(*cache.latest(), 1);
    EXPECT_EQ(put(4, 1000), 4); // Larger than all: it stays alone.
    EXPECT_EQ(cache.size(), 1U);
}

TEST(Run, weightsAreUsedInPlace)
{
    auto const context = contextOf(engineOf(staticNetwork()));
    auto const xs = randomFloats(6, 11);
    float const weight[]{1.5F, -2.0F, 3.25F, 4.0F, 5.5F, -6.0F};
    DeviceArray<float> const x{xs};
    DeviceArray<float> const out{6};
    void* const bindings[]{x.data(), out.data()};
    EXPECT_OK(context->execute(bindings));
    auto const results = out.read();
    for (size_t i = 0; i < 6; ++i)
        EXPECT_EQ(results[i], (xs[i] + xs[i] + weight[i]) * 2.0F);
}

TEST(Run, S1_missingAddressesAndShapesAreRefused)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    DeviceArray<float> const memory{randomFloats(64, 5)};
    DeviceArray<float> const out{64};
    auto const fails = [&](char const* cause) {
        auto const done = context->enqueue(nullptr);
        ASSERT_FALSE(done);
        EXPECT_NE(done.error().message.find(cause), std::string::npos) << done.error().message;
    };
    fails("shape of input 'x'");
    EXPECT_OK(context->setInputShape("x", dimsOf({4, 4})));
    fails("address of input 'x'");
    EXPECT_OK(context->setTensorAddress("x", memory.data()));
    fails("address of input 'y'");
    EXPECT_OK(context->setTensorAddress("y", memory.data()));
    fails("output 'out'");
    EXPECT_OK(context->setTensorAddress("out", out.data()));
    EXPECT_OK(context->enqueue(nullptr));
}

TEST(Run, S1_anInputThatNothingReadsNeedsNoAddress)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3});
    builder.input("unused", {5});
    auto const extents = builder.extentsOf(x);
    builder.step("scale", {x}, {builder.output("out", extents)}).args = ProgramBuilder::args(3.0F);
    auto const context = contextOf(engineOf(builder.finish()));
    DeviceArray<float> const memory{randomFloats(3, 5)};
    DeviceArray<float> const out{3};
    EXPECT_OK(context->setTensorAddress("x", memory.data()));
    EXPECT_OK(context->setTensorAddress("out", out.data()));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_EQ(out.read()[0], memory.read()[0] * 3.0F);
}

TEST(Run, S1_anInputOfNoElementsNeedsNoAddress)
{
    auto plan = pointwiseNetwork();
    for (PlanProfileInput& input : plan->profiles[0].inputs)
        input.min.d[0] = 0;
    auto const context = contextOf(engineOf(plan));
    DeviceArray<float> const out{4};
    EXPECT_OK(context->setTensorAddress("out", out.data()));
    EXPECT_OK(context->setInputShape("x", dimsOf({0, 4})));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_OK(context->setInputShape("x", dimsOf({1, 4})));
    auto const refused = context->enqueue(nullptr);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("address of input 'x'"), std::string::npos) << refused.error().message;
}

TEST(Run, S7_executeTakesPointersInIndexOrder)
{
    auto const engine = engineOf(pointwiseNetwork());
    auto const context = contextOf(engine);
    auto const xs = randomFloats(8, 21);
    auto const ys = randomFloats(8, 22);
    DeviceArray<float> const x{xs};
    DeviceArray<float> const y{ys};
    DeviceArray<float> const out{8};
    EXPECT_OK(context->setInputShape("x", dimsOf({2, 4})));
    std::vector<void*> bindings(3);
    bindings[static_cast<size_t>(engine->findIO("out"))] = out.data();
    bindings[static_cast<size_t>(engine->findIO("x"))] = x.data();
    bindings[static_cast<size_t>(engine->findIO("y"))] = y.data();
    EXPECT_OK(context->execute(bindings.data()));
    EXPECT_EQ(out.read()[7], (xs[7] * 3.0F + ys[7]) * 0.5F);
    EXPECT_FALSE(context->execute(nullptr));
    bindings[1] = nullptr;
    EXPECT_FALSE(context->execute(bindings.data()));
    EXPECT_EQ(context->tensorAddress("x"), nullptr) << "addresses of the tensor-name API are untouched";
}

TEST(Run, Q15_shapeValuesAreReadWhenTheRunStarts)
{
    auto const context = contextOf(engineOf(shapeNetwork()));
    int64_t s[]{2, 3};
    auto const xs = randomFloats(12, 31);
    DeviceArray<float> const x{xs};
    DeviceArray<int64_t> const sizes{2};
    DeviceArray<float> const out{12};
    EXPECT_OK(context->setInputAddress("s", s));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("sizes", sizes.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    EXPECT_OK(context->setInputShape("x", dimsOf({6})));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_EQ(sizes.read(), std::vector<int64_t>({6, 5}));
    s[0] = 4;
    EXPECT_FALSE(context->enqueue(nullptr)) << "x has 6 elements, not 12";
    EXPECT_OK(context->setInputShape("x", dimsOf({12})));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_EQ(sizes.read(), std::vector<int64_t>({12, 7}));
    EXPECT_EQ(out.read()[11], xs[11] * 2.0F);
}

TEST(Run, R3_R4_R10_allocatorsGetTrueSizesAndShapes)
{
    auto const engine = engineOf(nonZeroNetwork());
    auto const context = contextOf(engine);
    for (uint32_t const seed : {41U, 42U, 43U, 41U})
    {
        auto const xs = halfZeros(13, seed);
        auto const expected = positionsOf(xs);
        DeviceArray<float> const x{xs};
        GrowingOutput indices;
        GrowingOutput negated;
        GrowingOutput doubled;
        EXPECT_OK(context->setInputShape("x", dimsOf({13})));
        EXPECT_OK(context->setInputAddress("x", x.data()));
        EXPECT_OK(context->setOutputAllocator("indices", &indices));
        EXPECT_OK(context->setOutputAllocator("negated", &negated));
        EXPECT_OK(context->setOutputAllocator("doubled", &doubled));
        EXPECT_OK(context->enqueue(nullptr));
        EXPECT_EQ(indices.calls, std::vector<std::string>({"reallocate indices", "notify indices"}));
        EXPECT_EQ(indices.lastSize, expected.size() * 4);
        EXPECT_EQ(indices.read<int32_t>(), expected);
        auto back = negated.read<int32_t>();
        for (int32_t& value : back)
            value = -value;
        EXPECT_EQ(back, expected);
        EXPECT_EQ(doubled.read<float>()[12], xs[12] * 2.0F) << "a fixed-size output with an allocator";
        EXPECT_TRUE(doubled.shape == std::vector<int64_t>({13}));
    }
}

TEST(Run, R4_emptyResultsAskForAPositiveSize)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    DeviceArray<float> const x{std::vector<float>(5, 0.0F)};
    DeviceArray<float> const doubled{5};
    GrowingOutput indices;
    GrowingOutput negated;
    EXPECT_OK(context->setInputShape("x", dimsOf({5})));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("doubled", doubled.data()));
    EXPECT_OK(context->setOutputAllocator("indices", &indices));
    EXPECT_OK(context->setOutputAllocator("negated", &negated));
    EXPECT_OK(context->enqueue(nullptr));
    EXPECT_GT(indices.lastSize, 0U);
    EXPECT_TRUE(indices.shape == std::vector<int64_t>({0}));
}

TEST(Run, R5_R6_allocatorThatRefusesMakesTheRunFail)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    DeviceArray<float> const x{halfZeros(8, 51)};
    DeviceArray<int32_t> const preset{8};
    DeviceArray<int32_t> const negated{8};
    DeviceArray<float> const doubled{8};
    auto const before = preset.read();
    GrowingOutput indices;
    indices.refuse = true;
    EXPECT_OK(context->setInputShape("x", dimsOf({8})));
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setOutputAddress("indices", preset.data()));
    EXPECT_OK(context->setOutputAddress("negated", negated.data()));
    EXPECT_OK(context->setOutputAddress("doubled", doubled.data()));
    EXPECT_OK(context->setOutputAllocator("indices", &indices));
    auto const done = context->enqueue(nullptr);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kFAILED_ALLOCATION);
    EXPECT_EQ(indices.lastCurrent, preset.data()) << "the preset buffer is offered";
    EXPECT_EQ(preset.read(), before) << "and not written";
}

TEST(Run, R8_upperBoundsServeWithoutAllocators)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    for (uint32_t const seed : {61U, 62U, 63U})
    {
        auto const xs = halfZeros(16, seed);
        auto const expected = positionsOf(xs);
        DeviceArray<float> const x{xs};
        DeviceArray<int32_t> const indices{16};
        DeviceArray<int32_t> const negated{16};
        DeviceArray<float> const doubled{16};
        EXPECT_OK(context->setInputShape("x", dimsOf({16})));
        EXPECT_LE(*context->maxOutputSize("indices"), 16 * 4);
        void* const bindings[]{x.data(), indices.data(), negated.data(), doubled.data()};
        EXPECT_OK(context->execute(bindings));
        EXPECT_EQ(indices.read(expected.size()), expected);
        EXPECT_EQ(negated.read(1)[0], -expected[0]);
        EXPECT_EQ(doubled.read()[15], xs[15] * 2.0F);
    }
}

TEST(Run, Q19_Q20_userManagedMemory)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()), MemoryStrategy::kUSER_MANAGED);
    EXPECT_FALSE(context->updateDeviceMemorySizeForShapes()) << "shapes are missing";
    EXPECT_OK(context->setInputShape("x", dimsOf({6, 4})));
    DeviceArray<float> const x{randomFloats(24, 71)};
    DeviceArray<float> const out{24};
    void* const bindings[]{x.data(), x.data(), out.data()};
    EXPECT_FALSE(context->execute(bindings)) << "no memory yet";
    int64_t const bytes = *context->updateDeviceMemorySizeForShapes();
    ASSERT_GT(bytes, 0);
    DeviceArray<char> const memory{static_cast<size_t>(bytes)};
    EXPECT_OK(context->setDeviceMemory(memory.data(), bytes - 1));
    EXPECT_FALSE(context->execute(bindings)) << "one byte short";
    EXPECT_OK(context->setDeviceMemory(memory.data(), bytes));
    EXPECT_OK(context->execute(bindings));
    EXPECT_EQ(out.read()[3], (x.read()[3] * 3.0F + x.read()[3]) * 0.5F);
    EXPECT_FALSE(contextOf(engineOf(pointwiseNetwork()))->setDeviceMemory(memory.data(), bytes));
}

//! The device says how memory of the user's must lie; what lies so is enough for all steps.
TEST(Run, Q20_userManagedMemoryIsAlignedAsTheDeviceSays)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()), MemoryStrategy::kUSER_MANAGED);
    size_t const needed = context->engine().device().userAlignment();
    ASSERT_TRUE(std::has_single_bit(needed));
    EXPECT_LE(needed, context->engine().device().alignment());
    EXPECT_OK(context->setInputShape("x", dimsOf({6, 4})));
    int64_t const bytes = *context->updateDeviceMemorySizeForShapes();
    DeviceArray<char> const memory{static_cast<size_t>(bytes) + 2 * needed};
    char* const aligned = memory.data() + (needed - reinterpret_cast<uintptr_t>(memory.data()) % needed) % needed;
    for (size_t given = 1; given < needed; given *= 2)
    {
        auto const refused = context->setDeviceMemory(aligned + given, bytes);
        ASSERT_FALSE(refused) << given;
        std::string const& said = refused.error().message;
        EXPECT_NE(said.find(" is aligned to " + std::to_string(given) + " bytes; "), std::string::npos) << said;
        EXPECT_NE(said.find(" needs " + std::to_string(needed)), std::string::npos) << said;
    }
    DeviceArray<float> const x{randomFloats(24, 73)};
    DeviceArray<float> const out{24};
    void* const bindings[]{x.data(), x.data(), out.data()};
    EXPECT_FALSE(context->execute(bindings)) << "nothing refused is used";
    EXPECT_OK(context->setDeviceMemory(aligned + needed, bytes));
    EXPECT_OK(context->execute(bindings));
    EXPECT_EQ(out.read()[5], (x.read()[5] * 3.0F + x.read()[5]) * 0.5F);
}

TEST(Run, Q21_staticTakesTheMostOverProfilesAndOnChangeTheSelected)
{
    auto plan = pointwiseNetwork();
    plan->profiles.push_back(plan->profiles[0]);
    for (PlanProfileInput& input : plan->profiles[1].inputs)
        input.max.d[0] = 256;
    auto const engine = engineOf(plan);
    int64_t const small = *engine->deviceMemorySize(0);
    int64_t const large = *engine->deviceMemorySize(1);
    ASSERT_LT(small, large);
    int64_t const before = toyDevice().liveBytes;
    {
        auto const fixed = contextOf(engine, MemoryStrategy::kSTATIC);
        EXPECT_EQ(toyDevice().liveBytes - before, large);
    }
    EXPECT_EQ(toyDevice().liveBytes, before);
    auto const changing = contextOf(engine, MemoryStrategy::kON_PROFILE_CHANGE);
    EXPECT_EQ(toyDevice().liveBytes - before, small);
    EXPECT_OK(changing->setProfile(1));
    EXPECT_EQ(toyDevice().liveBytes - before, large);
}

namespace
{
class CountingAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t const size, uint64_t const alignment, nvinfer1::AllocatorFlags const) noexcept override
    {
        ++calls;
        wasOdd = wasOdd || size == 0 || (alignment & (alignment - 1)) != 0;
        if (refuse)
            return nullptr;
        live += 1;
        return deviceOfEngines().allocate(size);
    }
    bool deallocate(void* const memory) noexcept override
    {
        live -= 1;
        deviceOfEngines().release(memory);
        return true;
    }

    bool refuse{false};
    bool wasOdd{false};
    int calls{0};
    int live{0};
};
} // namespace

TEST(Run, O11_theUsersAllocatorServes)
{
    CountingAllocator allocator;
    {
        auto const engine = engineOf(pointwiseNetwork(), &allocator);
        auto const context = contextOf(engine);
        runPointwise(*context, 4, 81);
        EXPECT_GT(allocator.calls, 0);
        EXPECT_FALSE(allocator.wasOdd);
        allocator.refuse = true;
        auto const refused = Context::create(engine, MemoryStrategy::kSTATIC);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kFAILED_ALLOCATION);
    }
    EXPECT_EQ(allocator.live, 0);
}

TEST(Run, S9_temporaryMemoryIsGivenBackWhenTheRunEnds)
{
    CountingAllocator temporary;
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    runPointwise(*context, 4, 82);
    EXPECT_OK(context->setTemporaryAllocator(&temporary));
    for (uint32_t seed : {83U, 84U})
    {
        int const before = temporary.calls;
        runPointwise(*context, 4, seed);
        EXPECT_GT(temporary.calls, before);
        EXPECT_EQ(temporary.live, 0);
    }
    EXPECT_OK(context->setTemporaryAllocator(nullptr));
    int const before = temporary.calls;
    runPointwise(*context, 4, 85);
    EXPECT_EQ(temporary.calls, before);
}

TEST(Run, failuresNameTheLayer)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3});
    auto const extents = builder.extentsOf(x);
    builder.step("fail", {x}, {builder.output("out", extents)}).name = "conv3 + relu3";
    auto const context = contextOf(engineOf(builder.finish()));
    DeviceArray<float> const memory{randomFloats(3, 5)};
    DeviceArray<float> const out{3};
    void* const bindings[]{memory.data(), out.data()};
    auto const done = context->execute(bindings);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("[layer 'conv3 + relu3']"), std::string::npos) << done.error().message;
}

//! Its memory is nothing that outputs could overlap.
TEST(Run, failuresLookAtNoInputThatTheProgramDoesNotRead)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3});
    builder.input("unused", {3});
    auto const extents = builder.extentsOf(x);
    builder.step("fail", {x}, {builder.output("out", extents)}).name = "last";
    std::shared_ptr<Plan> const plan = builder.finish();
    for (PlanTensor& tensor : plan->programs[0].tensors)
        if (tensor.kind == PlanTensorKind::kIO && plan->io[static_cast<size_t>(tensor.index)].name == "unused")
        {
            tensor.kind = PlanTensorKind::kActivation;
            tensor.index = -1;
        }
    auto const context = contextOf(engineOf(plan));
    DeviceArray<float> const memory{randomFloats(3, 5)};
    DeviceArray<float> const out{3};
    void* const bindings[]{memory.data(), memory.data(), out.data()};
    auto const done = context->execute(bindings);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("[layer 'last']"), std::string::npos) << done.error().message;
}

TEST(Run, observersSeeEveryStepWithItsInputsIntact)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    auto const xs = halfZeros(10, 91);
    auto const expected = positionsOf(xs);
    DeviceArray<float> const x{xs};
    DeviceArray<int32_t> const indices{10};
    DeviceArray<int32_t> const negated{10};
    DeviceArray<float> const doubled{10};
    EXPECT_OK(context->setInputShape("x", dimsOf({10})));
    EXPECT_OK(context->setTensorAddress("x", x.data()));
    EXPECT_OK(context->setTensorAddress("indices", indices.data()));
    EXPECT_OK(context->setTensorAddress("negated", negated.data()));
    EXPECT_OK(context->setTensorAddress("doubled", doubled.data()));
    std::vector<int32_t> steps;
    Observer const observer = [&](ObservedStep const& seen) {
        steps.push_back(seen.index);
        if (seen.step->kernel == "nonzero")
        {
            EXPECT_EQ(seen.outputs[0].extents[0], static_cast<int64_t>(expected.size()));
        }
        if (seen.step->kernel == "negate")
        {
            EXPECT_EQ(seen.inputs[0].extents[0], static_cast<int64_t>(expected.size()));
            int32_t values[2]{}; // The second element of input and output.
            deviceUnderTest().copyOut(&values[0], static_cast<int32_t const*>(seen.inputData[0]) + 1, sizeof(int32_t));
            deviceUnderTest().copyOut(&values[1], static_cast<int32_t const*>(seen.outputData[0]) + 1, sizeof(int32_t));
            EXPECT_EQ(values[0], -values[1]);
        }
        return true;
    };
    EXPECT_OK(context->runObserved(observer, true));
    EXPECT_EQ(steps, std::vector<int32_t>({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(indices.read(expected.size()), expected);
    Observer const stops = [&](ObservedStep const& seen) { return seen.index < 2; };
    EXPECT_FALSE(context->runObserved(stops));
}

} // namespace tenon::test
