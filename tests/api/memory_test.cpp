// Memory of engines and contexts: allocators, strategies, what users manage (rules O10–O12, Q19–Q21, Q24, S9, S10, V5).
#include "fixture.h"

#include "tenon/host.h"

#include <map>
#include <set>

namespace apitest
{

//! Gives memory with the asked alignment and checks how it is asked.
class CheckedAllocator : public IGpuAllocator
{
  public:
    ~CheckedAllocator() override
    {
        EXPECT_TRUE(live.empty()) << "not everything was given back";
    }
    void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags) noexcept override
    {
        EXPECT_EQ(alignment & (alignment - 1), 0U); // 0 or a power of two.
        EXPECT_NE(size, 0U);
        ++calls;
        if (refuses)
            return nullptr;
        void* const memory = tenon::test::deviceUnderTest().allocate(size);
        live[memory] = size;
        most = std::max(most, bytes());
        return memory;
    }
    bool deallocate(void* memory) noexcept override
    {
        if (memory == nullptr)
            return true; // May happen.
        EXPECT_EQ(live.erase(memory), 1U);
        tenon::test::deviceUnderTest().release(memory);
        return true;
    }
    uint64_t bytes() const
    {
        uint64_t sum{0};
        for (auto const& [memory, size] : live)
            sum += size;
        return sum;
    }

    bool refuses{false};
    int32_t calls{0};
    uint64_t most{0};
    std::map<void*, uint64_t> live;
};

//! Has the asynchronous calls alone.
class AsyncAllocator final : public IGpuAsyncAllocator
{
  public:
    void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags, cudaStream_t stream) noexcept override
    {
        streams.insert(stream);
        return plain.allocate(size, alignment, flags);
    }
    bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override
    {
        streams.insert(stream);
        return plain.deallocate(memory);
    }
    CheckedAllocator plain;
    std::set<cudaStream_t> streams; //!< That it was handed since a test cleared them.
};

//! y = a·(a·(…)): as many products, each of which keeps an activation. Two profiles: 1 to 8 rows, and 1 to 64.
class MemoryRules : public ApiTest
{
  protected:
    void SetUp() override
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 16}));
        ITensor* matrix = network->addConstant(dims({16, 16}), weights(numbers))->getOutput(0);
        ITensor* value = x;
        for (int32_t i = 0; i < 3; ++i)
        {
            value = network->addMatrixMultiply(*value, MatrixOperation::kNONE, *matrix, MatrixOperation::kNONE)
                        ->getOutput(0);
            ISoftMaxLayer* soft = network->addSoftMax(*value);
            soft->setAxes(2);
            value = soft->getOutput(0);
        }
        value->setName("y");
        network->markOutput(*value);
        addProfile({1, 16}, {4, 16}, {8, 16});
        addProfile({1, 16}, {32, 16}, {64, 16});
        plan.reset(builder->buildSerializedNetwork(*network, *config));
        ASSERT_NE(plan, nullptr) << logger.errors();
        reference = engineFrom(*runtime);
    }
    std::unique_ptr<ICudaEngine> engineFrom(IRuntime& from) const
    {
        return std::unique_ptr<ICudaEngine>{from.deserializeCudaEngine(plan->data(), plan->size())};
    }
    //! Runs and compares with a context that has its own memory.
    void runRows(IExecutionContext& context, int64_t rows, uint32_t seed)
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(rows * 16), seed);
        expectNear(outputOf(context, values), outputOf(*referenceContext(), values));
    }
    std::vector<float> outputOf(IExecutionContext& context, std::vector<float> const& values)
    {
        auto const rows = static_cast<int64_t>(values.size() / 16);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{values.size()};
        EXPECT_TRUE(context.setInputShape("x", dims({rows, 16}))) << logger.errors();
        context.setInputTensorAddress("x", x.data());
        context.setOutputTensorAddress("y", y.data());
        EXPECT_TRUE(context.enqueueV3(stream())) << logger.errors();
        return y.read();
    }
    std::unique_ptr<IExecutionContext> referenceContext()
    {
        std::unique_ptr<IExecutionContext> made{reference->createExecutionContext()};
        EXPECT_TRUE(made->setOptimizationProfileAsync(1, nullptr));
        return made;
    }

    std::vector<float> const numbers = randomFloats(16 * 16, 12);
    std::unique_ptr<IHostMemory> plan;
    std::unique_ptr<ICudaEngine> reference;
};

TEST_F(MemoryRules, V5_theSizeIsTheMostOverProfilesAndEachHasItsOwn)
{
    int64_t const small = reference->getDeviceMemorySizeForProfileV2(0);
    int64_t const large = reference->getDeviceMemorySizeForProfileV2(1);
    EXPECT_GT(small, 0);
    EXPECT_LT(small, large);
    EXPECT_EQ(reference->getDeviceMemorySizeV2(), large);
    EXPECT_EQ(static_cast<int64_t>(reference->getDeviceMemorySize()), large);
    EXPECT_EQ(static_cast<int64_t>(reference->getDeviceMemorySizeForProfile(0)), small);
    for (int32_t const profile : {-1, 2})
        EXPECT_EQ(reference->getDeviceMemorySizeForProfileV2(profile), 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "does not exist"), 2) << logger.errors();
}

TEST_F(MemoryRules, V5_theLargestProfileCountsWhereverItStands)
{
    config.reset(builder->createBuilderConfig());
    addProfile({1, 16}, {4, 16}, {8, 16});
    addProfile({1, 16}, {32, 16}, {64, 16});
    addProfile({1, 16}, {8, 16}, {16, 16});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<int64_t> sizes;
    for (int32_t profile = 0; profile < 3; ++profile)
        sizes.push_back(engine->getDeviceMemorySizeForProfileV2(profile));
    EXPECT_LT(sizes[0], sizes[2]);
    EXPECT_LT(sizes[2], sizes[1]);
    EXPECT_EQ(engine->getDeviceMemorySizeV2(), sizes[1]);
    // What a profile promises suffices for each of its shapes (rule Q19).
    std::unique_ptr<IExecutionContext> const context{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED)};
    for (int32_t const profile : {0, 1, 2})
    {
        ASSERT_TRUE(context->setOptimizationProfileAsync(profile, nullptr));
        Dims const most = engine->getProfileShape("x", profile, OptProfileSelector::kMAX);
        ASSERT_TRUE(context->setInputShape("x", most)) << logger.errors();
        EXPECT_EQ(
            static_cast<int64_t>(context->updateDeviceMemorySizeForShapes()), sizes[static_cast<size_t>(profile)]);
    }
}

TEST_F(MemoryRules, O10_O11_theRuntimesAllocatorServesEnginesAndContexts)
{
    CheckedAllocator allocator;
    runtime->setGpuAllocator(&allocator);
    std::unique_ptr<ICudaEngine> engine = engineFrom(*runtime);
    ASSERT_NE(engine, nullptr);
    runtime->setGpuAllocator(nullptr); // The engine keeps the one it was made with.
    {
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        ASSERT_NE(context, nullptr);
        EXPECT_GE(allocator.bytes(), static_cast<uint64_t>(engine->getDeviceMemorySizeV2()));
        ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
        runRows(*context, 37, 1);
        EXPECT_GT(allocator.calls, 0);
        allocator.refuses = true;
        KeepingRecorder recorder;
        engine->setErrorRecorder(&recorder);
        EXPECT_EQ(engine->createExecutionContext(), nullptr);
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_ALLOCATION);
        runRows(*context, 37, 2); // Another context is not harmed.
        engine->setErrorRecorder(nullptr);
    }
    engine.reset();
    EXPECT_TRUE(allocator.live.empty());
}

TEST_F(MemoryRules, O10_theBuildersAllocatorServesTheEnginesThatItMakes)
{
    CheckedAllocator allocator;
    builder->setGpuAllocator(&allocator);
    std::unique_ptr<ICudaEngine> const engine{builder->buildEngineWithConfig(*network, *config)};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_GE(allocator.bytes(), static_cast<uint64_t>(engine->getDeviceMemorySizeV2()));
    runRows(*context, 8, 3);
}

TEST_F(MemoryRules, O10_theRecorderOfARuntimeReachesEnginesAndContexts)
{
    KeepingRecorder recorder;
    runtime->setErrorRecorder(&recorder);
    {
        std::unique_ptr<ICudaEngine> const engine = engineFrom(*runtime);
        EXPECT_EQ(engine->getErrorRecorder(), &recorder);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        EXPECT_EQ(context->getErrorRecorder(), &recorder);
        EXPECT_FALSE(context->setInputShape("x", dims({99, 16})));
        EXPECT_EQ(recorder.getNbErrors(), 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
        KeepingRecorder own;
        context->setErrorRecorder(&own);
        EXPECT_FALSE(context->enqueueV3(stream()));
        EXPECT_EQ(own.getNbErrors(), 1);
        EXPECT_EQ(recorder.getNbErrors(), 1);
        context->setErrorRecorder(nullptr);
    }
    runtime->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.references, 0);
}

TEST_F(MemoryRules, O11_asynchronousAllocatorsServeToo)
{
    AsyncAllocator allocator;
    runtime->setGpuAllocator(&allocator);
    std::unique_ptr<ICudaEngine> const engine = engineFrom(*runtime);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << logger.errors();
    EXPECT_GT(allocator.plain.calls, 0);
    runRows(*context, 5, 4);
    runtime->setGpuAllocator(nullptr);
}

TEST_F(MemoryRules, O12_reallocateIsNotReliedOn)
{
    class Refusing final : public CheckedAllocator
    {
      public:
        void* reallocate(void*, uint64_t, uint64_t) noexcept override
        {
            return nullptr; // Not supported: the old block stays as it is.
        }
    } allocator;
    runtime->setGpuAllocator(&allocator);
    std::unique_ptr<ICudaEngine> const engine = engineFrom(*runtime);
    std::unique_ptr<IExecutionContext> const context{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE)};
    runRows(*context, 8, 5);
    ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr)); // More memory.
    runRows(*context, 64, 6);
    runtime->setGpuAllocator(nullptr);
}

TEST_F(MemoryRules, Q21_staticHasTheMostAndOnProfileChangeWhatTheProfileNeeds)
{
    CheckedAllocator allocator;
    runtime->setGpuAllocator(&allocator);
    std::unique_ptr<ICudaEngine> const engine = engineFrom(*runtime);
    uint64_t const before = allocator.bytes();
    auto const small = static_cast<uint64_t>(engine->getDeviceMemorySizeForProfileV2(0));
    auto const large = static_cast<uint64_t>(engine->getDeviceMemorySizeForProfileV2(1));
    {
        std::unique_ptr<IExecutionContext> const fixed{engine->createExecutionContext()};
        EXPECT_EQ(allocator.bytes() - before, large);
    }
    EXPECT_EQ(allocator.bytes(), before);
    std::unique_ptr<IExecutionContext> const changing{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE)};
    EXPECT_EQ(allocator.bytes() - before, small);
    runRows(*changing, 8, 7);
    ASSERT_TRUE(changing->setOptimizationProfileAsync(1, nullptr));
    EXPECT_GE(allocator.bytes() - before, large);
    runRows(*changing, 64, 8);
    allocator.refuses = true;
    EXPECT_FALSE(changing->setOptimizationProfileAsync(0, nullptr)); // No memory: nothing has changed.
    EXPECT_EQ(changing->getOptimizationProfile(), 1);
    runRows(*changing, 33, 9);
    runtime->setGpuAllocator(nullptr);
}

TEST_F(MemoryRules, Q19_theSizeForShapesIsWhatTheyNeedAndAtMostTheProfiles)
{
    std::unique_ptr<IExecutionContext> const context{
        reference->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED)};
    ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
    EXPECT_EQ(context->updateDeviceMemorySizeForShapes(), 0U); // The shapes are missing.
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the shape of input 'x' is not set"), 1) << logger.errors();
    size_t last{0};
    for (int64_t const rows : {1, 16, 64})
    {
        ASSERT_TRUE(context->setInputShape("x", dims({rows, 16})));
        size_t const bytes = context->updateDeviceMemorySizeForShapes();
        EXPECT_GE(bytes, last);
        EXPECT_LE(bytes, static_cast<size_t>(reference->getDeviceMemorySizeForProfileV2(1)));
        last = bytes;
    }
    EXPECT_GT(last, 0U);
}

TEST_F(MemoryRules, Q20_runsNeedTheMemoryThatUsersManage)
{
    for (bool const deprecated : {false, true})
    {
        std::unique_ptr<IExecutionContext> const context{deprecated
                ? reference->createExecutionContextWithoutDeviceMemory()
                : reference->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED)};
        ASSERT_NE(context, nullptr);
        ASSERT_TRUE(context->setInputShape("x", dims({8, 16})));
        DeviceArray<float> const x{randomFloats(8 * 16, 11)};
        DeviceArray<float> const y{8 * 16};
        context->setInputTensorAddress("x", x.data());
        context->setOutputTensorAddress("y", y.data());
        EXPECT_FALSE(context->enqueueV3(stream()));
        auto const bytes = static_cast<int64_t>(context->updateDeviceMemorySizeForShapes());
        DeviceArray<char> const memory{static_cast<size_t>(reference->getDeviceMemorySizeV2())};
        context->setDeviceMemoryV2(memory.data(), bytes - 1);
        EXPECT_FALSE(context->enqueueV3(stream()));
        context->setDeviceMemoryV2(memory.data(), -5); // Of a size that overflowed.
        EXPECT_FALSE(context->enqueueV3(stream()));
        context->setDeviceMemoryV2(memory.data(), bytes);
        EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors();
        context->setDeviceMemory(nullptr);
        EXPECT_FALSE(context->enqueueV3(stream()));
        context->setDeviceMemory(memory.data()); // As many bytes as the engine may need at most.
        runRows(*context, 5, 12);
    }
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "set them with setDeviceMemoryV2"), 8) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "-5 bytes of device memory"), 2) << logger.errors();
}

TEST_F(ApiTest, Q20_noMemoryIsNeededWhereTheSizeIsZero)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({5}));
    ITensor* y = network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_EQ(engine->getDeviceMemorySizeV2(), 0);
    std::unique_ptr<IExecutionContext> const context{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED)};
    context->setDeviceMemoryV2(nullptr, 0);
    DeviceArray<float> const from{randomFloats(5, 13)};
    DeviceArray<float> const to{5};
    void* const bindings[]{from.data(), to.data()};
    EXPECT_TRUE(context->executeV2(bindings)) << logger.errors();
    EXPECT_EQ(to.read()[4], -from.read()[4]);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << logger.errors();
}

TEST_F(MemoryRules, Q24_theRuntimeConfigIsNullWithoutOne)
{
    std::unique_ptr<IExecutionContext> const plain{reference->createExecutionContext()};
    EXPECT_EQ(plain->getRuntimeConfig(), nullptr);
    std::unique_ptr<IRuntimeConfig> const chosen{reference->createRuntimeConfig()};
    chosen->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kUSER_MANAGED);
    std::unique_ptr<IExecutionContext> const context{reference->createExecutionContext(chosen.get())};
    EXPECT_EQ(context->getRuntimeConfig(), chosen.get());
    EXPECT_GT(reference->getDeviceMemorySizeV2(), 0);
    ASSERT_TRUE(context->setInputShape("x", dims({1, 16})));
    DeviceArray<float> const x{16};
    DeviceArray<float> const y{16};
    void* const bindings[]{x.data(), y.data()};
    EXPECT_FALSE(context->executeV2(bindings)); // Its strategy is in force.
}

TEST_F(MemoryRules, S9_theTemporaryAllocatorServesWithinRunsOnly)
{
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
    ITensor* const in = network->addInput("x", DataType::kFLOAT, dims({8, 16})); // The product packs one of its sides.
    network->markOutput(
        *network->addMatrixMultiply(*in, MatrixOperation::kNONE, *in, MatrixOperation::kTRANSPOSE)->getOutput(0));
    network->getOutput(0)->setName("y");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    CheckedAllocator allocator;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_EQ(context->getTemporaryStorageAllocator(), nullptr);
    EXPECT_TRUE(context->setTemporaryStorageAllocator(&allocator));
    EXPECT_EQ(context->getTemporaryStorageAllocator(), &allocator);
    DeviceArray<float> const y{64};
    auto const run = [&](uint32_t seed) {
        std::vector<float> const values = randomFloats(128, seed);
        DeviceArray<float> const x{values};
        context->setInputTensorAddress("x", x.data());
        context->setOutputTensorAddress("y", y.data());
        EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors();
        std::vector<float> want(64);
        for (size_t i = 0; i < 64; ++i)
            for (size_t k = 0; k < 16; ++k)
                want[i] += values[i / 8 * 16 + k] * values[i % 8 * 16 + k];
        expectNear(y.read(), want);
    };
    for (uint32_t const seed : {21U, 22U})
    {
        int32_t const before = allocator.calls;
        run(seed);
        EXPECT_GT(allocator.calls, before) << "asked anew by each run";
        EXPECT_TRUE(allocator.live.empty());
    }
    allocator.refuses = true;
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the allocator of the user gave none"), 1) << logger.errors();
    EXPECT_TRUE(context->setTemporaryStorageAllocator(nullptr));
    int32_t const calls = allocator.calls;
    run(23);
    EXPECT_EQ(allocator.calls, calls);
    AsyncAllocator async;
    EXPECT_TRUE(context->setTemporaryStorageAllocator(&async));
    void* own = nullptr;
    ASSERT_EQ(tenonHostCreateStream(&own, 0, 0), TENON_HOST_OK);
    DeviceArray<float> const x{randomFloats(128, 24)};
    context->setInputTensorAddress("x", x.data());
    for (cudaStream_t const each : {static_cast<cudaStream_t>(own), cudaStream_t{nullptr}})
    {
        async.streams.clear();
        EXPECT_TRUE(context->enqueueV3(each)) << logger.errors();
        EXPECT_EQ(async.streams, std::set<cudaStream_t>{each}) << "that of the run";
    }
    EXPECT_EQ(tenonHostSynchronizeStream(own), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(own), TENON_HOST_OK);
    EXPECT_TRUE(context->setTemporaryStorageAllocator(nullptr));
}

TEST_F(MemoryRules, S10_noCacheIsKeptByDefault)
{
    std::unique_ptr<IExecutionContext> const context{reference->createExecutionContext()};
    EXPECT_EQ(context->getPersistentCacheLimit(), 0U);
    context->setPersistentCacheLimit(4096);
    EXPECT_EQ(context->getPersistentCacheLimit(), 4096U);
    runRows(*context, 8, 24); // There is no such cache on CPUs: it changes nothing.
}

} // namespace apitest
