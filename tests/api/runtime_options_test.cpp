// Rules O3, O5, O8, O10 to O12, Q24 and DLA: what runtime, engine and their configurations hold, and what they refuse.
#include "fixture.h"

#include "tenon/tenon.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>

namespace apitest
{
namespace
{
class RuntimeOptions : public ApiTest
{
  protected:
    KeepingRecorder recorder;

    void SetUp() override
    {
        runtime->setErrorRecorder(&recorder);
    }
    void TearDown() override
    {
        runtime.reset();
        EXPECT_EQ(recorder.references, 0);
    }
    std::unique_ptr<ICudaEngine> staticEngine()
    {
        convRelu.add(*network, dims({1, 3, 8, 10}));
        return buildEngine();
    }
};

TEST_F(RuntimeOptions, O5_temporaryFiles)
{
    auto const bit = [](TempfileControlFlag flag) { return 1U << static_cast<uint32_t>(flag); };
    uint32_t const both =
        bit(TempfileControlFlag::kALLOW_IN_MEMORY_FILES) | bit(TempfileControlFlag::kALLOW_TEMPORARY_FILES);
    EXPECT_EQ(runtime->getTempfileControlFlags(), both);
    runtime->setTempfileControlFlags(bit(TempfileControlFlag::kALLOW_TEMPORARY_FILES));
    EXPECT_EQ(runtime->getTempfileControlFlags(), bit(TempfileControlFlag::kALLOW_TEMPORARY_FILES));
    EXPECT_EQ(runtime->getTemporaryDirectory(), nullptr);
    std::string folder{"/tmp/elsewhere"};
    runtime->setTemporaryDirectory(folder.c_str());
    folder = "overwritten";
    EXPECT_STREQ(runtime->getTemporaryDirectory(), "/tmp/elsewhere"); // Copied.
    runtime->setTemporaryDirectory(nullptr);
    EXPECT_EQ(runtime->getTemporaryDirectory(), nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 0);
}

TEST_F(RuntimeOptions, B8_thereAreNoDlaCores)
{
    EXPECT_EQ(runtime->getNbDLACores(), 0);
    EXPECT_EQ(builder->getNbDLACores(), 0);
    EXPECT_EQ(builder->getMaxDLABatchSize(), 0);
    EXPECT_EQ(recorder.getNbErrors(), 0);
    runtime->setDLACore(1);
    ASSERT_EQ(recorder.getNbErrors(), 1);
    EXPECT_EQ(recorder.last(), ErrorCode::kUNSUPPORTED_STATE);
    EXPECT_NE(std::string{recorder.getErrorDesc(0)}.find("setDLACore: there is no DLA core 1"), std::string::npos);
    EXPECT_EQ(runtime->getDLACore(), -1); // None.
    KeepingRecorder ofBuilder;
    builder->setErrorRecorder(&ofBuilder);
    convRelu.add(*network, dims({1, 3, 8, 10}));
    for (int32_t i = 0; i < network->getNbLayers(); ++i)
        EXPECT_FALSE(config->canRunOnDLA(network->getLayer(i)));
    EXPECT_FALSE(config->canRunOnDLA(nullptr));
    EXPECT_EQ(config->getDLACore(), -1);
    config->setDLACore(0);
    ASSERT_EQ(ofBuilder.getNbErrors(), 1);
    EXPECT_EQ(ofBuilder.last(), ErrorCode::kUNSUPPORTED_STATE);
    EXPECT_NE(std::string{ofBuilder.getErrorDesc(0)}.find("setDLACore: there is no DLA core 0"), std::string::npos);
    EXPECT_EQ(config->getDLACore(), -1);
    builder->setErrorRecorder(nullptr);
}

TEST_F(RuntimeOptions, O4_codeOfTheHostIsNotAllowedUntilItIs)
{
    EXPECT_FALSE(runtime->getEngineHostCodeAllowed());
    for (bool const allowed : {true, false})
    {
        runtime->setEngineHostCodeAllowed(allowed);
        EXPECT_EQ(runtime->getEngineHostCodeAllowed(), allowed);
    }
    EXPECT_EQ(recorder.getNbErrors(), 0);
}

TEST_F(RuntimeOptions, O8_flagsOfASerialization)
{
    std::unique_ptr<ICudaEngine> const engine = staticEngine();
    std::unique_ptr<ISerializationConfig> const serialization{engine->createSerializationConfig()};
    EXPECT_EQ(serialization->getFlags(), 0U);
    EXPECT_TRUE(serialization->setFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
    EXPECT_TRUE(serialization->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
    EXPECT_TRUE(serialization->getFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
    EXPECT_TRUE(serialization->setFlags(1U << static_cast<uint32_t>(SerializationFlag::kEXCLUDE_WEIGHTS))); // Replaces.
    EXPECT_FALSE(serialization->getFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
    EXPECT_TRUE(serialization->getFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
    EXPECT_FALSE(serialization->setFlags(1U << 9));
    EXPECT_TRUE(serialization->getFlag(SerializationFlag::kEXCLUDE_WEIGHTS)); // Nothing has changed.
    int32_t const before = recorder.getNbErrors();
    EXPECT_EQ(engine->serializeWithConfig(*serialization), nullptr); // It was not built to be refitted.
    EXPECT_EQ(recorder.getNbErrors(), before + 1);
    EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_CONFIG);
    EXPECT_NE(logger.errors().find("serializeWithConfig: kEXCLUDE_WEIGHTS is for engines"), std::string::npos);
    EXPECT_TRUE(serialization->clearFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
    EXPECT_EQ(serialization->getFlags(), 0U);
    std::unique_ptr<IHostMemory> const plain{engine->serialize()};
    for (SerializationFlag const flag : {SerializationFlag::kEXCLUDE_LEAN_RUNTIME, SerializationFlag::kINCLUDE_REFIT})
    {
        EXPECT_TRUE(serialization->setFlags(1U << static_cast<uint32_t>(flag)));
        std::unique_ptr<IHostMemory> const same{engine->serializeWithConfig(*serialization)};
        ASSERT_NE(same, nullptr) << logger.errors(); // Plans hold no lean runtime, and nothing was taken out.
        ASSERT_EQ(same->size(), plain->size());
        EXPECT_EQ(std::memcmp(same->data(), plain->data(), plain->size()), 0);
    }
}

namespace
{
double processorSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

//! With more lanes than CPUs none spins.
bool hasOneCpu()
{
    nlohmann::json const all = nlohmann::json::parse(tenon::take(tenonDevices()));
    for (nlohmann::json const& device : all.at("devices"))
        if (device.at("name") == "cpu")
            return device.at("threads") == 1;
    return false;
}
} // namespace

TEST_F(RuntimeOptions, aContextSpinsForAsLongAsItsRuntimeConfigSays)
{
    convRelu.add(*network, dims({1, 3, 512, 256})); // Runs that last until the other lane is there.
    runtime->setMaxThreads(2);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    DeviceArray<float> const x{randomFloats(3 * 512 * 256, 1)};
    DeviceArray<float> const y{4 * 512 * 256};
    std::unique_ptr<IRuntimeConfig> const chosen{engine->createRuntimeConfig()};
    EXPECT_EQ(tenonGetSpin(chosen.get()), -1);
    // Threads that spun in vain before do so again after 64 times at the latest, and get little of a busy machine.
    auto const secondsBehindARun = [&](int64_t microseconds, double enough) {
        EXPECT_EQ(tenonSetSpin(chosen.get(), microseconds), 1);
        EXPECT_EQ(tenonGetSpin(chosen.get()), microseconds);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext(chosen.get())};
        EXPECT_EQ(tenonSetSpin(chosen.get(), 77), 1); // For later contexts only.
        EXPECT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
        EXPECT_TRUE(runToEnd(*context));
        double most{-1.0};
        for (int32_t i = 0; i < 200 && most < enough; ++i)
        {
            EXPECT_TRUE(runToEnd(*context));
            double const before = processorSeconds();
            std::this_thread::sleep_for(std::chrono::milliseconds{400});
            most = std::max(most, processorSeconds() - before);
        }
        return most;
    };
    EXPECT_LT(secondsBehindARun(0, 0.0), 0.01) << "the other lane sleeps";
    double const enough = hasOneCpu() ? 0.0 : 0.03;
    EXPECT_GE(secondsBehindARun(5'000'000, enough), enough) << "or spins on, for a tenth of that time";
    recorder.clear();
    EXPECT_EQ(tenonSetSpin(chosen.get(), -2), 0);
    EXPECT_EQ(tenonGetSpin(chosen.get()), 77);
    ASSERT_EQ(recorder.getNbErrors(), 1);
    EXPECT_NE(std::string{recorder.getErrorDesc(0)}.find("-2 microseconds"), std::string::npos);
}

TEST_F(RuntimeOptions, Q24_aContextHasTheRuntimeConfigThatItWasMadeWith)
{
    std::unique_ptr<ICudaEngine> const engine = staticEngine();
    std::unique_ptr<IExecutionContext> const plain{engine->createExecutionContext()};
    EXPECT_EQ(plain->getRuntimeConfig(), nullptr);
    std::unique_ptr<IRuntimeConfig> const chosen{engine->createRuntimeConfig()};
    EXPECT_EQ(chosen->getExecutionContextAllocationStrategy(), ExecutionContextAllocationStrategy::kSTATIC);
    chosen->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kUSER_MANAGED);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext(chosen.get())};
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(context->getRuntimeConfig(), chosen.get());
    for (int32_t const unknown : {9, 3, -1})
    {
        recorder.clear();
        chosen->setExecutionContextAllocationStrategy(static_cast<ExecutionContextAllocationStrategy>(unknown));
        ASSERT_EQ(recorder.getNbErrors(), 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
        EXPECT_NE(std::string{recorder.getErrorDesc(0)}.find(std::to_string(unknown)), std::string::npos);
        EXPECT_EQ(chosen->getExecutionContextAllocationStrategy(), ExecutionContextAllocationStrategy::kUSER_MANAGED);
    }
    EXPECT_EQ(engine->createExecutionContext(static_cast<ExecutionContextAllocationStrategy>(9)), nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 2);
    EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
}

TEST_F(RuntimeOptions, P9_engineStatistics)
{
    std::unique_ptr<ICudaEngine> const engine = staticEngine();
    EXPECT_GE(
        engine->getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE), static_cast<int64_t>((4 * 27 + 4) * sizeof(float)));
    EXPECT_EQ(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), -1);
}

//! Gives memory of its own and remembers whose it is.
class CountingAllocator final : public IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags) noexcept override
    {
        EXPECT_GT(size, 0U);
        EXPECT_EQ(alignment & (alignment - 1), 0U);
        if (left-- <= 0)
            return nullptr;
        void* const memory = tenon::test::deviceUnderTest().allocate(size);
        live[memory] = size;
        ++given;
        return memory;
    }
    bool deallocate(void* memory) noexcept override
    {
        if (memory == nullptr)
            return true;
        EXPECT_EQ(live.erase(memory), 1U);
        tenon::test::deviceUnderTest().release(memory);
        return true;
    }
    std::map<void*, uint64_t> live;
    int32_t given{0};
    int32_t left{INT32_MAX};
};

TEST_F(RuntimeOptions, O10_O11_O12_theRuntimesAllocatorServesEngineAndContextAndItsNullIsAFailedAllocation)
{
    CountingAllocator allocator;
    runtime->setGpuAllocator(&allocator);
    // softmax(x)·x: an activation that needs memory.
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({8, 8}));
    ISoftMaxLayer* soft = network->addSoftMax(*x);
    soft->setAxes(2);
    ITensor* y = network->addMatrixMultiply(*soft->getOutput(0), MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                     ->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        EXPECT_EQ(engine->getErrorRecorder(), &recorder); // O10.
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        EXPECT_EQ(context->getErrorRecorder(), &recorder);
        EXPECT_GT(allocator.given, 0);
        DeviceArray<float> const in{randomFloats(64, 5)};
        DeviceArray<float> const out{64};
        context->setTensorAddress("x", in.data());
        context->setTensorAddress("y", out.data());
        EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors();
        allocator.left = 0;
        int32_t const before = recorder.getNbErrors();
        EXPECT_EQ(engine->createExecutionContext(), nullptr);
        EXPECT_EQ(recorder.getNbErrors(), before + 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_ALLOCATION);
        EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors(); // What has its memory works on.
        tenon::test::deviceUnderTest().synchronize();
    }
    EXPECT_TRUE(allocator.live.empty());
}

//! A reader of 10.0 over some bytes, which gives at most `piece` at a time.
class Reader final : public IStreamReader
{
  public:
    Reader(void const* data, size_t size, size_t piece)
        : mData{static_cast<uint8_t const*>(data)},
          mSize{size},
          mPiece{piece}
    {
    }
    int64_t read(void* to, int64_t count) override
    {
        if (answer != 0)
            return answer;
        size_t const taken = std::min({static_cast<size_t>(count), mSize - at, mPiece});
        std::memcpy(to, mData + at, taken);
        at += taken;
        return static_cast<int64_t>(taken);
    }
    size_t at{0};
    int64_t answer{0}; //!< Instead of reading.

  private:
    uint8_t const* mData;
    size_t mSize;
    size_t mPiece;
};

TEST_F(RuntimeOptions, O3_readersOfTheFirstGeneration)
{
    std::unique_ptr<ICudaEngine> const engine = staticEngine();
    std::unique_ptr<IHostMemory> const plan{engine->serialize()};
    std::vector<uint8_t> longer(plan->size() + 64, 0x77);
    std::memcpy(longer.data(), plan->data(), plan->size());
    for (size_t const piece : {size_t{13}, size_t{4096}, SIZE_MAX})
    {
        Reader reader{longer.data(), longer.size(), piece};
        std::unique_ptr<ICudaEngine> const loaded{runtime->deserializeCudaEngine(reader)};
        ASSERT_NE(loaded, nullptr) << logger.errors();
        EXPECT_EQ(reader.at, plan->size()); // What stands behind the plan is not ours.
        std::unique_ptr<IExecutionContext> const context{loaded->createExecutionContext()};
        runAndCompare(*context, 1, 8, 3);
    }
    Reader half{longer.data(), plan->size() / 2, SIZE_MAX};
    EXPECT_EQ(runtime->deserializeCudaEngine(half), nullptr);
    Reader none{longer.data(), 5, SIZE_MAX};
    EXPECT_EQ(runtime->deserializeCudaEngine(none), nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 2);
    for (int64_t const answer : {int64_t{-1}, INT64_MAX})
    {
        Reader broken{longer.data(), longer.size(), SIZE_MAX};
        broken.answer = answer;
        EXPECT_EQ(runtime->deserializeCudaEngine(broken), nullptr);
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_EXECUTION);
    }
    EXPECT_EQ(recorder.getNbErrors(), 4);
}

} // namespace
} // namespace apitest
