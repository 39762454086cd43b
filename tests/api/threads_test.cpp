// What several threads may do at once: report (rule B6), build, load and run. Runs under ThreadSanitizer, too
// (make sanitize-threads).
#include "fixture.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

namespace apitest
{

using Clock = std::chrono::steady_clock;

//! Runs `work(i)` in four threads at once.
template <typename Work>
void inFourThreads(Work const& work)
{
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i)
        threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads)
        thread.join();
}

class Threads : public ApiTest
{
};

TEST_F(Threads, B6_severalThreadsMayReportAtOnce)
{
    KeepingRecorder recorder{150};
    builder->setErrorRecorder(&recorder);
    inFourThreads([&](uint32_t) {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        for (int32_t k = 0; k < 50; ++k)
            EXPECT_EQ(own->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    });
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "addInput"), 200);
    EXPECT_EQ(recorder.getNbErrors(), 150);
    EXPECT_TRUE(recorder.hasOverflowed());
    builder->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.references, 0);
}

//! The most threads that the process has while the object lives.
class ThreadCount
{
  public:
    static int32_t now()
    {
        namespace fs = std::filesystem;
        return static_cast<int32_t>(std::distance(fs::directory_iterator{"/proc/self/task"}, fs::directory_iterator{}));
    }
    //! Its own thread is not counted.
    int32_t most()
    {
        mIsOver = true;
        mWatch.join();
        return mMost - 1;
    }

  private:
    int32_t mMost{0};
    std::atomic<bool> mIsOver{false};
    std::thread mWatch{[this] {
        while (!mIsOver)
            mMost = std::max(mMost, now());
    }};
};

TEST_F(Threads, B9_aBuildOfOneThreadWritesItsPlanByThatOne)
{
    if (tenon::test::isUnderTest("cuda"))
        GTEST_SKIP() << "drivers and compilers have threads of their own";
    constexpr int64_t kRows{1024};
    constexpr int64_t kColumns{32 * 1024};
    std::vector<float> values(kRows * kColumns); // 128 MiB, which several threads would share.
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 1013) / 1024.0F;
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({1, kRows}));
    IConstantLayer* const weights = network->addConstant(
        dims({kRows, kColumns}), Weights{DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())});
    network->markOutput(
        *network->addMatrixMultiply(*x, MatrixOperation::kNONE, *weights->getOutput(0), MatrixOperation::kNONE)
             ->getOutput(0));
    ASSERT_TRUE(builder->setMaxThreads(1));
    int32_t const before = ThreadCount::now();
    ThreadCount count;
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_LE(count.most(), before);
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_GT(plan->size(), values.size() * sizeof(float));
}

//! Holds a lock while it calls back into the library, as a logger that itself makes objects would.
class ReentrantRecorder final : public IErrorRecorder
{
  public:
    explicit ReentrantRecorder(INetworkDefinition& network)
        : mNetwork{network}
    {
    }
    int32_t getNbErrors() const noexcept override
    {
        return mCalls;
    }
    ErrorCode getErrorCode(int32_t) const noexcept override
    {
        return ErrorCode::kUNSPECIFIED_ERROR;
    }
    ErrorDesc getErrorDesc(int32_t) const noexcept override
    {
        return "";
    }
    bool hasOverflowed() const noexcept override
    {
        return true;
    }
    void clear() noexcept override {}
    bool reportError(ErrorCode, ErrorDesc) noexcept override
    {
        // A lock held by the library around this call would never be given to the second report.
        if (++mCalls == 1)
            mNetwork.addInput(nullptr, DataType::kFLOAT, dims({1}));
        return true;
    }
    RefCount incRefCount() noexcept override
    {
        return ++mReferences;
    }
    RefCount decRefCount() noexcept override
    {
        return --mReferences;
    }

  private:
    INetworkDefinition& mNetwork;
    std::atomic<int32_t> mCalls{0};
    std::atomic<int32_t> mReferences{0};
};

TEST_F(Threads, B6_noLockIsHeldAroundACallOfTheRecorder)
{
    ReentrantRecorder recorder{*network};
    network->setErrorRecorder(&recorder);
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 2);
    network->setErrorRecorder(nullptr);
}

TEST_F(Threads, B2_recordersAndSettingsMayChangeWhileOthersLoadAndAsk)
{
    std::unique_ptr<INetworkDefinition> const empty{builder->createNetworkV2(0)};
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::vector<KeepingRecorder> recorders(2);
    std::atomic<bool> isOver{false};
    std::thread setting{[&] {
        for (int32_t i = 0; !isOver; ++i)
        {
            IErrorRecorder* const recorder = i % 3 == 2 ? nullptr : &recorders[static_cast<size_t>(i % 3)];
            engine->setErrorRecorder(recorder);
            runtime->setErrorRecorder(recorder);
            builder->setErrorRecorder(recorder);
            getPluginRegistry()->setErrorRecorder(recorder);
            runtime->setMaxThreads(1 + i % 2);
            builder->setMaxThreads(1 + i % 2);
        }
    }};
    auto const haveBothHeard = [&] {
        return std::ranges::all_of(recorders, [](KeepingRecorder const& each) { return each.getNbErrors() > 0; });
    };
    inFourThreads([&](uint32_t) {
        for (int32_t k = 0; k < 50 || (k < 20'000 && !haveBothHeard()); ++k)
        {
            EXPECT_EQ(engine->getTensorShape("no such tensor").nbDims, -1);
            EXPECT_EQ(runtime->deserializeCudaEngine("no plan", 7), nullptr);
            EXPECT_EQ(builder->buildSerializedNetwork(*empty, *config), nullptr);
            EXPECT_EQ(getPluginRegistry()->getCreator("none", "1", ""), nullptr);
            std::unique_ptr<IExecutionContext> const own{engine->createExecutionContext()};
            EXPECT_FALSE(own->setInputShape("no such tensor", dims({1})));
        }
    });
    isOver = true;
    setting.join();
    engine->setErrorRecorder(nullptr);
    runtime->setErrorRecorder(nullptr);
    builder->setErrorRecorder(nullptr);
    getPluginRegistry()->setErrorRecorder(nullptr);
    for (KeepingRecorder const& each : recorders)
    {
        EXPECT_GT(each.getNbErrors(), 0);
        EXPECT_EQ(each.references, 0);
    }
}

//! Hears of runs on any thread.
class CountingWatcher final : public IProfiler, public IDebugListener
{
  public:
    void reportLayerTime(char const*, float) noexcept override
    {
        ++times;
    }
    bool processDebugTensor(
        void const*, TensorLocation, DataType, Dims const&, char const*, cudaStream_t) noexcept override
    {
        ++tensors;
        return true;
    }
    std::atomic<int32_t> times{0};
    std::atomic<int32_t> tensors{0};
};

TEST_F(Threads, B2_whoWatchesAContextMayChangeWhileAnotherThreadRunsIt)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    ASSERT_TRUE(network->markDebug(*network->getLayer(0)->getOutput(0)));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const values = randomFloats(3 * 8 * 10, 5);
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{4 * 8 * 10};
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    std::vector<KeepingRecorder> recorders(2);
    std::vector<CountingWatcher> watchers(2);
    auto const haveAllHeard = [&] {
        return std::ranges::all_of(recorders, [](KeepingRecorder const& each) { return each.getNbErrors() > 0; })
            && std::ranges::all_of(
                watchers, [](CountingWatcher const& each) { return each.times > 0 && each.tensors > 0; });
    };
    std::atomic<bool> isOver{false};
    std::thread setting{[&] {
        for (int32_t i = 0; !isOver; ++i)
        {
            auto const chosen = static_cast<size_t>(i % 3);
            context->setErrorRecorder(chosen == 2 ? nullptr : &recorders[chosen]);
            context->setProfiler(chosen == 2 ? nullptr : &watchers[chosen]);
            context->setDebugListener(chosen == 2 ? nullptr : &watchers[chosen]);
            context->setAllTensorsDebugState(i % 4 != 0);
            context->setEnqueueEmitsProfile(i % 5 != 0);
            context->setDebugSync(i % 2 == 0);
            context->setNvtxVerbosity(i % 2 == 0 ? ProfilingVerbosity::kNONE : ProfilingVerbosity::kLAYER_NAMES_ONLY);
            context->setName(i % 2 == 0 ? "a name that is too long to stand in the object itself" : "a");
            context->reportToProfiler();
        }
    }};
    std::thread asking{[&] {
        while (!isOver)
        {
            EXPECT_EQ(context->getTensorShape("no such tensor").nbDims, -1);
            EXPECT_FALSE(context->setInputShape("no such tensor", dims({1})));
            context->getProfiler();
            context->getDebugListener();
            context->getErrorRecorder();
        }
    }};
    auto const patience = Clock::now() + std::chrono::minutes{1}; // Of a busy machine.
    for (int32_t k = 0; !HasFailure() && (k < 200 || (!haveAllHeard() && Clock::now() < patience)); ++k)
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
    isOver = true;
    setting.join();
    asking.join();
    expectNear(y.read(), convRelu.expected(values, 1, 8, 10));
    EXPECT_TRUE(haveAllHeard());
    context->setErrorRecorder(nullptr);
    for (KeepingRecorder const& each : recorders)
        EXPECT_EQ(each.references, 0);
}

//! Makes an error of its own out of the first one that it is told.
class ReentrantLogger final : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const*) noexcept override
    {
        // A lock held by the library around this call would never be given to what follows.
        if (severity == Severity::kERROR && ++errors == 1)
        {
            network->addInput(nullptr, DataType::kFLOAT, dims({1}));
            std::unique_ptr<INetworkDefinition> const other{network->getBuilder().createNetworkV2(0)};
            EXPECT_NE(other, nullptr);
        }
    }
    INetworkDefinition* network{nullptr};
    std::atomic<int32_t> errors{0};
};

TEST_F(Threads, B6_noLockIsHeldAroundACallOfTheLogger)
{
    ReentrantLogger own;
    std::unique_ptr<IBuilder> const maker{createInferBuilder(own)};
    std::unique_ptr<INetworkDefinition> const made{maker->createNetworkV2(0)};
    std::unique_ptr<IBuilderConfig> const options{maker->createBuilderConfig()};
    own.network = made.get();
    EXPECT_EQ(made->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    EXPECT_EQ(own.errors, 2);
    own.errors = 0;
    EXPECT_EQ(maker->buildSerializedNetwork(*made, *options), nullptr) << "it has no output";
    EXPECT_EQ(own.errors, 2);
}

TEST_F(Threads, B6_networksOfOneBuilderAreBuiltAtOnce)
{
    KeepingRecorder recorder;
    builder->setErrorRecorder(&recorder);
    inFourThreads([&](uint32_t i) {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        std::unique_ptr<IBuilderConfig> const options{builder->createBuilderConfig()};
        EXPECT_EQ(builder->buildSerializedNetwork(*own, *options), nullptr); // No output yet: an error from each.
        convRelu.add(*own, dims({1, 3, 8, 10}));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*own, *options)};
        ASSERT_NE(plan, nullptr) << logger.errors();
        std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        runAndCompare(*context, 1, 8, 40 + i);
    });
    EXPECT_EQ(recorder.getNbErrors(), 4);
    builder->setErrorRecorder(nullptr);
}

TEST_F(Threads, S5_contextsOfOneEngineRunConcurrently)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    inFourThreads([&](uint32_t i) {
        std::unique_ptr<IExecutionContext> const own{engine->createExecutionContext()};
        for (uint32_t k = 0; k < 10; ++k)
            runAndCompare(*own, 1 + (i + k) % 4, 8 + (3 * i + k) % 9, 100 * i + k);
    });
}

TEST_F(Threads, O5_theTemporaryDirectoryIsSetWhileOthersLoad)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr);
    inFourThreads([&](uint32_t i) {
        for (int32_t k = 0; k < 20; ++k)
        {
            if (i == 0)
            {
                runtime->setTemporaryDirectory(k % 3 == 0 ? nullptr : k % 3 == 1 ? "/tmp" : "/var/tmp");
                runtime->setTempfileControlFlags(1U << (k % 2));
                continue;
            }
            char const* const folder = runtime->getTemporaryDirectory();
            std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
            EXPECT_NE(engine, nullptr);
            // The name that was told stays readable.
            EXPECT_TRUE(folder == nullptr || std::string{folder}.ends_with("/tmp")) << folder;
        }
    });
}

} // namespace apitest
