// Outputs whose extents depend on data, output allocators and assertions, on the CPU backend (rules C, Q7, R, S11).
#include "fixture.h"

#include "tenon/host.h"

namespace apitest
{

//! Gives memory of its own, or what it is offered when that is large enough and it was told to.
class KeepingAllocator final : public IOutputAllocator
{
  public:
    void* reallocateOutputAsync(
        char const* name, void* current, uint64_t size, uint64_t alignment, cudaStream_t stream) override
    {
        calls.emplace_back("reallocate " + std::string{name});
        offered = current;
        streams.push_back(stream);
        sizes.push_back(size);
        EXPECT_EQ(alignment & (alignment - 1), 0U);
        if (throws)
            throw std::runtime_error{"the pool is closed"};
        if (refuses)
            return nullptr;
        if (takesOffer)
            return current;
        memory = std::make_unique<DeviceArray<int32_t>>((size + 3) / 4);
        return memory->data();
    }
    void notifyShape(char const* name, Dims const& shape) noexcept override
    {
        calls.emplace_back("notify " + std::string{name});
        told = shape;
    }

    bool refuses{false};
    bool throws{false};
    bool takesOffer{false};
    std::vector<std::string> calls;
    std::vector<uint64_t> sizes;
    std::vector<cudaStream_t> streams;
    void* offered{nullptr};
    std::unique_ptr<DeviceArray<int32_t>> memory;
    Dims told{-1, {}};
};

//! Asks its context everything in both of its calls, and tries to change it.
class AskingAllocator final : public IOutputAllocator
{
  public:
    explicit AskingAllocator(IExecutionContext& context)
        : mContext{context}
    {
    }
    void* reallocateOutputAsync(char const* name, void*, uint64_t size, uint64_t, cudaStream_t) override
    {
        ask(name);
        bytes = size;
        // More than was asked for, so that a run that writes too much is seen.
        memory = std::make_unique<DeviceArray<uint8_t>>(std::vector<uint8_t>(size + 4096, 0xAB));
        return memory->data();
    }
    void notifyShape(char const* name, Dims const& shape) noexcept override
    {
        ask(name);
        told = shape;
    }

    uint64_t bytes{0};
    std::unique_ptr<DeviceArray<uint8_t>> memory;
    Dims told{-1, {}};

  private:
    void ask(char const* name)
    {
        mContext.getTensorShape(name);
        mContext.getTensorShape("x");
        mContext.getTensorStrides(name);
        EXPECT_GT(mContext.getMaxOutputSize(name), 0);
        EXPECT_EQ(mContext.inferShapes(0, nullptr), 0);
        EXPECT_GT(mContext.updateDeviceMemorySizeForShapes(), 0U);
        EXPECT_FALSE(mContext.enqueueV3(nullptr));
        EXPECT_FALSE(mContext.setOptimizationProfileAsync(0, nullptr));
        EXPECT_FALSE(mContext.setOutputAllocator(name, nullptr));
        EXPECT_FALSE(mContext.setTemporaryStorageAllocator(nullptr));
    }
    IExecutionContext& mContext;
};

//! positions [2, found] = where relu(x − 0.5) is not zero, for x [n ≤ 6, 5].
class DataDependent : public ApiTest
{
  protected:
    void SetUp() override
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 5}));
        ITensor* half = network->addConstant(dims({1, 1}), weights(bias))->getOutput(0);
        ITensor* less = network->addElementWise(*x, *half, ElementWiseOperation::kSUB)->getOutput(0);
        ITensor* some = network->addActivation(*less, ActivationType::kRELU)->getOutput(0);
        ITensor* found = network->addNonZero(*some)->getOutput(0);
        found->setName("positions");
        network->markOutput(*found);
        addProfile({1, 5}, {3, 5}, {6, 5});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_NE(context, nullptr);
    }
    //! Sets x to n rows of random values; gives the positions that the rule wants, row by row of the result (E10).
    std::vector<int32_t> setInput(int64_t n, uint32_t seed)
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(n * 5), seed);
        input = std::make_unique<DeviceArray<float>>(values);
        EXPECT_TRUE(context->setInputShape("x", dims({n, 5})));
        EXPECT_TRUE(context->setInputTensorAddress("x", input->data()));
        std::vector<int32_t> rows;
        std::vector<int32_t> columns;
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i] > 0.5F)
            {
                rows.push_back(static_cast<int32_t>(i / 5));
                columns.push_back(static_cast<int32_t>(i % 5));
            }
        rows.insert(rows.end(), columns.begin(), columns.end());
        return rows;
    }

    std::vector<float> bias{0.5F};
    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
    std::unique_ptr<DeviceArray<float>> input;
    KeepingAllocator allocator;
};

TEST_F(DataDependent, Q7_Q17_theExtentStaysUnknownAndHasABound)
{
    EXPECT_EQ(extents(engine->getTensorShape("positions")), (std::vector<int64_t>{2, -1}));
    setInput(4, 1);
    EXPECT_EQ(context->inferShapes(0, nullptr), 0);
    EXPECT_EQ(extents(context->getTensorShape("positions")), (std::vector<int64_t>{2, -1}));
    EXPECT_GE(context->getMaxOutputSize("positions"), static_cast<int64_t>(2 * 20 * sizeof(int32_t)));
    context->setOutputAllocator("positions", &allocator);
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("positions")), (std::vector<int64_t>{2, -1})); // Also after a run.
}

TEST_F(DataDependent, R2_allocatorsBelongToOutputs)
{
    EXPECT_FALSE(context->setOutputAllocator("nobody", &allocator));
    EXPECT_FALSE(context->setOutputAllocator("x", &allocator));
    EXPECT_EQ(context->getOutputAllocator("x"), nullptr);
    EXPECT_EQ(context->getOutputAllocator("nobody"), nullptr);
    EXPECT_TRUE(context->setOutputAllocator("positions", &allocator));
    EXPECT_EQ(context->getOutputAllocator("positions"), &allocator);
    EXPECT_TRUE(context->setOutputAllocator("positions", nullptr));
    EXPECT_EQ(context->getOutputAllocator("positions"), nullptr);
}

TEST_F(DataDependent, R3_R10_theAllocatorIsAskedForTheSizeThenToldTheShape)
{
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    for (uint32_t seed = 1; seed <= 4; ++seed)
    {
        allocator.calls.clear();
        std::vector<int32_t> const want = setInput(1 + seed, seed);
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(allocator.calls, (std::vector<std::string>{"reallocate positions", "notify positions"}));
        EXPECT_EQ(extents(allocator.told), (std::vector<int64_t>{2, static_cast<int64_t>(want.size() / 2)}));
        EXPECT_GE(allocator.sizes.back(), want.size() * sizeof(int32_t));
        EXPECT_EQ(allocator.memory->read(want.size()), want);
    }
}

TEST_F(DataDependent, R3_R7_theAllocatorIsHandedTheStreamOfTheRun)
{
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    void* own = nullptr;
    ASSERT_EQ(tenonHostCreateStream(&own, 0, 0), TENON_HOST_OK);
    std::vector<cudaStream_t> given;
    for (cudaStream_t const each : {static_cast<cudaStream_t>(own), cudaStream_t{nullptr}, stream()})
    {
        given.push_back(each);
        std::vector<int32_t> const want = setInput(4, 2);
        ASSERT_TRUE(context->enqueueV3(each)) << logger.errors();
        ASSERT_EQ(tenonHostSynchronizeStream(each), TENON_HOST_OK);
        EXPECT_EQ(allocator.streams, given);
        EXPECT_EQ(allocator.memory->read(want.size()), want);
    }
    EXPECT_EQ(tenonHostDestroyStream(own), TENON_HOST_OK);
}

TEST_F(DataDependent, R3_theAllocatorMayAskItsContextAndCannotTakeAnythingFromTheRun)
{
    network.reset(builder->createNetworkV2(0));
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1}));
    ITensor* found = network->addNonZero(*x)->getOutput(0);
    found->setName("positions");
    ITensor* after = network->addUnary(*network->addCast(*found, DataType::kFLOAT)->getOutput(0), UnaryOperation::kNEG)
                         ->getOutput(0);
    after->setName("negated");
    network->markOutput(*found);
    network->markOutput(*after);
    config.reset(builder->createBuilderConfig());
    addProfile({1}, {100}, {1000});
    engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    context.reset(engine->createExecutionContext());
    AskingAllocator first{*context};
    AskingAllocator second{*context};
    ASSERT_TRUE(context->setOutputAllocator("positions", &first));
    ASSERT_TRUE(context->setOutputAllocator("negated", &second));
    ASSERT_TRUE(context->setInputShape("x", dims({1000})));
    for (int32_t const place : {77, 500})
    {
        std::vector<float> some(1000, 0.0F);
        some[3] = 2.5F;
        some[static_cast<size_t>(place)] = -1.5F;
        DeviceArray<float> const from{some};
        ASSERT_TRUE(context->setInputTensorAddress("x", from.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(extents(first.told), (std::vector<int64_t>{1, 2}));
        EXPECT_EQ(extents(second.told), (std::vector<int64_t>{1, 2}));
        std::vector<uint8_t> const written = second.memory->read();
        ASSERT_EQ(second.bytes, 2 * sizeof(float));
        float values[2]{};
        std::memcpy(values, written.data(), sizeof(values));
        EXPECT_EQ(values[0], -3.0F);
        EXPECT_EQ(values[1], static_cast<float>(-place));
        EXPECT_EQ(std::count(written.begin() + sizeof(values), written.end(), 0xAB), 4096);
    }
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "the context is running"), 8) << logger.errors();
}

TEST_F(DataDependent, R4_sizesArePositiveEvenWhenNothingIsFound)
{
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    DeviceArray<float> const low{std::vector<float>(10, -2.5F)};
    ASSERT_TRUE(context->setInputShape("x", dims({2, 5})));
    context->setInputTensorAddress("x", low.data());
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(allocator.told), (std::vector<int64_t>{2, 0}));
    EXPECT_GT(allocator.sizes.back(), 0U);
    EXPECT_EQ(allocator.offered, nullptr); // No address was set.
    allocator.refuses = true;
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'positions' gave no 1 bytes"), 1) << "what it was asked for";
}

TEST_F(DataDependent, R5_R6_aPresetAddressIsOfferedAndMayBeTaken)
{
    DeviceArray<int32_t> const preset{60};
    ASSERT_TRUE(context->setOutputTensorAddress("positions", preset.data()));
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    allocator.takesOffer = true;
    std::vector<int32_t> const want = setInput(5, 9);
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(allocator.offered, preset.data());
    EXPECT_EQ(preset.read(want.size()), want);
}

TEST_F(DataDependent, R5_nullFromTheAllocatorFailsTheRunWithoutWriting)
{
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    DeviceArray<int32_t> const preset{60};
    std::vector<int32_t> const before = preset.read();
    ASSERT_TRUE(context->setOutputTensorAddress("positions", preset.data()));
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    allocator.refuses = true;
    std::vector<int32_t> const want = setInput(4, 3);
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_ALLOCATION);
    EXPECT_EQ(preset.read(), before);
    EXPECT_EQ(allocator.calls, std::vector<std::string>{"reallocate positions"}); // No shape is told.
    allocator.refuses = false;
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors(); // Usable afterwards.
    EXPECT_EQ(allocator.memory->read(want.size()), want);
    context->setErrorRecorder(nullptr);
}

TEST_F(DataDependent, R5_anExceptionOfTheAllocatorIsTheReason)
{
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    setInput(4, 3);
    allocator.throws = true;
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_NE(logger.errors().find("'positions'"), std::string::npos) << logger.errors();
    EXPECT_NE(logger.errors().find("exception: the pool is closed"), std::string::npos) << logger.errors();
    allocator.throws = false;
    EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors();
}

TEST_F(DataDependent, R5_eachRunWritesWhereItsAllocatorOrItsAddressSays)
{
    DeviceArray<int32_t> preset{60};
    ASSERT_TRUE(context->setOutputTensorAddress("positions", preset.data()));
    uint32_t seed{60};
    auto const expectWritten = [&](DeviceArray<int32_t> const& to, std::vector<int32_t> const& want) {
        ASSERT_NE(&to, nullptr);
        EXPECT_EQ(to.read(want.size()), want) << "seed " << seed;
    };
    for (int round = 0; round < 2; ++round)
    {
        context->setOutputAllocator("positions", nullptr);
        std::vector<int32_t> want = setInput(4, ++seed);
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        expectWritten(preset, want);
        context->setOutputAllocator("positions", &allocator);
        std::vector<int32_t> const before = preset.read();
        want = setInput(4, ++seed);
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        expectWritten(*allocator.memory, want);
        EXPECT_EQ(preset.read(), before);
        want = setInput(4, ++seed);
        void* const bindings[]{input->data(), preset.data()};
        ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
        expectWritten(preset, want);
        want = setInput(4, ++seed);
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        expectWritten(*allocator.memory, want);
    }
}

TEST_F(DataDependent, R8_withoutAllocatorAndAddressTheRunFails)
{
    setInput(3, 4);
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'positions' has neither address nor allocator"), 1);
}

TEST_F(DataDependent, R8_anAddressAloneHoldsTheUpperBound)
{
    std::vector<int32_t> const want = setInput(6, 7);
    auto const bytes = static_cast<size_t>(context->getMaxOutputSize("positions"));
    ASSERT_GE(bytes, 2 * 30 * sizeof(int32_t));
    DeviceArray<int32_t> const bound{bytes / sizeof(int32_t)};
    ASSERT_TRUE(context->setOutputTensorAddress("positions", bound.data()));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(bound.read(want.size()), want);
}

TEST_F(DataDependent, R1_executeV2IgnoresAllocators)
{
    std::vector<int32_t> const want = setInput(6, 8);
    ASSERT_TRUE(context->setOutputAllocator("positions", &allocator));
    DeviceArray<int32_t> const bound{60};
    void* const bindings[]{input->data(), bound.data()};
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    EXPECT_TRUE(allocator.calls.empty());
    EXPECT_EQ(bound.read(want.size()), want);
}

//! An allocator that has only the older call, which the newer one falls back to (rule R7).
class OldAllocator final : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        memory = std::make_unique<DeviceArray<float>>((size + 3) / 4);
        return memory->data();
    }
    void notifyShape(char const*, Dims const& shape) noexcept override
    {
        told = shape;
    }
    std::unique_ptr<DeviceArray<float>> memory;
    Dims told{-1, {}};
};

TEST_F(ApiTest, R7_R10_outputsOfKnownShapeAskTheirAllocatorToo)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    KeepingAllocator keeping;
    OldAllocator allocator;
    std::vector<float> const values = randomFloats(2 * 3 * 9 * 10, 3);
    DeviceArray<float> const x{values};
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    context->setInputTensorAddress("x", x.data());
    context->setOutputAllocator("y", &allocator);
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(allocator.told), (std::vector<int64_t>{2, 4, 9, 10}));
    expectNear(allocator.memory->read(2 * 4 * 9 * 10), convRelu.expected(values, 2, 9, 10));
    void* own = nullptr;
    ASSERT_EQ(tenonHostCreateStream(&own, 0, 0), TENON_HOST_OK);
    context->setOutputAllocator("y", &keeping);
    ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(own))) << logger.errors();
    EXPECT_EQ(keeping.streams, std::vector<cudaStream_t>{static_cast<cudaStream_t>(own)});
    EXPECT_EQ(tenonHostSynchronizeStream(own), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(own), TENON_HOST_OK);
}

//! y = exp(x), asserted: the first extent of x is `wanted` at least.
class Assertions : public ApiTest
{
  protected:
    void add(int64_t const& wanted)
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 2}));
        ITensor* shape = network->addShape(*x)->getOutput(0);
        ITensor* first = network->addSlice(*shape, dims({0}), dims({1}), dims({1}))->getOutput(0);
        ITensor* bound = network->addConstant(dims({1}), Weights{DataType::kINT64, &wanted, 1})->getOutput(0);
        ITensor* holds = network->addElementWise(*first, *bound, ElementWiseOperation::kGREATER)->getOutput(0);
        IAssertionLayer* assertion = network->addAssertion(*holds, "there must be more rows");
        ASSERT_NE(assertion, nullptr) << logger.errors();
        EXPECT_STREQ(assertion->getMessage(), "there must be more rows");
        EXPECT_EQ(assertion->getNbOutputs(), 0);
        ITensor* y = network->addUnary(*x, UnaryOperation::kEXP)->getOutput(0);
        y->setName("y");
        network->markOutput(*y);
        addProfile({1, 2}, {3, 2}, {6, 2});
    }
};

TEST_F(Assertions, S11_aFailingAssertionFailsTheRunWithItsMessageAndTheContextStaysUsable)
{
    int64_t const wanted{2};
    add(wanted);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    std::vector<float> const values = randomFloats(12, 6);
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{12};
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", y.data());
    for (int64_t const rows : {2, 3, 1, 6})
    {
        recorder.clear();
        ASSERT_TRUE(context->setInputShape("x", dims({rows, 2})));
        EXPECT_EQ(context->enqueueV3(nullptr), rows > wanted) << rows; // On others the failure is told later.
        EXPECT_EQ(recorder.getNbErrors(), rows > wanted ? 0 : 1);
        if (rows > wanted)
        {
            std::vector<float> want(values.begin(), values.begin() + 2 * rows);
            for (float& value : want)
                value = std::exp(value);
            expectNear(y.read(static_cast<size_t>(2 * rows)), want);
            continue;
        }
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_EXECUTION); // Rule B8.
        EXPECT_NE(std::string{recorder.getErrorDesc(0)}.find("there must be more rows"), std::string::npos)
            << recorder.getErrorDesc(0);
    }
    context->setErrorRecorder(nullptr);
}

TEST_F(Assertions, S11_outputsOfAFailedRunAreNoOlderResults)
{
    if (tenon::test::isGuarded())
        GTEST_SKIP() << "only memory of the host is overwritten";
    int64_t const wanted{2};
    add(wanted);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{randomFloats(12, 6)};
    std::vector<float> const before = randomFloats(12, 7);
    DeviceArray<float> y{before};
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", y.data());
    EXPECT_FALSE(context->enqueueV3(stream())) << "no shape is set";
    EXPECT_EQ(y.read(), before) << "refused before its first step";
    void* bindings[]{x.data(), y.data()};
    context->setInputShape("x", dims({2, 2}));
    for (bool const isV3 : {true, false})
    {
        y.write(before);
        EXPECT_FALSE(isV3 ? context->enqueueV3(nullptr) : context->executeV2(bindings));
        std::vector<float> const after = y.read();
        for (size_t i = 0; i < 4; ++i)
            EXPECT_TRUE(std::isnan(after[i])) << after[i];
        EXPECT_TRUE(std::equal(after.begin() + 4, after.end(), before.begin() + 4)) << "beyond the output";
    }
}

TEST_F(Assertions, E21_whatNeverHoldsIsRejectedByTheBuild)
{
    int64_t const wanted{100}; // The profile ends at 6 rows.
    add(wanted);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_NE(logger.errors().find("there must be more rows"), std::string::npos) << logger.errors();
}

} // namespace apitest
