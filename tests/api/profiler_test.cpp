// Rules T1 to T4 and S12: times of layers, the verbosity of traces, debug_sync.
#include "fixture.h"

#include "tenon/host.h"

#include <chrono>
#include <future>
#include <set>
#include <thread>

namespace apitest
{
namespace
{
class KeepingProfiler final : public IProfiler
{
  public:
    void reportLayerTime(char const* layer, float milliseconds) noexcept override
    {
        reports.emplace_back(layer, milliseconds);
    }
    float total() const
    {
        float sum{0.0F};
        for (auto const& [name, time] : reports)
            sum += time;
        return sum;
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (auto const& [name, time] : reports)
            all.push_back(name);
        return all;
    }

    std::vector<std::pair<std::string, float>> reports;
};

class Profiled : public ApiTest
{
  protected:
    static constexpr int64_t kChannels{48};
    static constexpr int64_t kSize{48};
    KeepingProfiler profiler;
    std::vector<float> kernel = randomFloats(kChannels * kChannels * 9, 3);
    DeviceArray<float> x{randomFloats(kChannels * kSize * kSize, 4)};
    DeviceArray<float> y{kChannels * kSize * kSize};

    //! Work of several milliseconds: eight convolutions with activations.
    std::unique_ptr<ICudaEngine> engineWithWork()
    {
        for (float& weight : kernel)
            weight *= 0.05F;
        ITensor* at = network->addInput("x", DataType::kFLOAT, dims({1, kChannels, kSize, kSize}));
        for (int32_t i = 0; i < 8; ++i)
        {
            IConvolutionLayer* conv = network->addConvolutionNd(*at, kChannels, dims({3, 3}), weights(kernel), {});
            conv->setPaddingNd(dims({1, 1}));
            conv->setName(("conv" + std::to_string(i)).c_str());
            at = network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
        }
        at->setName("y");
        network->markOutput(*at);
        return buildEngine();
    }
    std::unique_ptr<IExecutionContext> contextOf(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> context{engine.createExecutionContext()};
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        return context;
    }
};

TEST_F(Profiled, T1_eachLayerIsReportedOncePerRunAndTheTimesAddUpToTheTotal)
{
    ASSERT_TRUE(runtime->setMaxThreads(1)); // With many, this work would be little beside what a run does otherwise.
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    ASSERT_TRUE(context->enqueueV3(stream())); // What only a first run does is none of a layer's time.
    EXPECT_TRUE(context->getEnqueueEmitsProfile());
    context->setProfiler(&profiler);
    EXPECT_EQ(context->getProfiler(), &profiler);
    // The rest is what a run does beside its layers; other programs take part of some runs, the guarded device of each.
    double const wanted = tenon::test::isGuarded() ? 0.2 : 0.6;
    double share{0.0};
    for (int32_t run = 0; run < 5 || (run < 200 && share <= wanted); ++run)
    {
        profiler.reports.clear();
        auto const start = std::chrono::steady_clock::now();
        ASSERT_TRUE(context->enqueueV3(stream()));
        std::chrono::duration<double, std::milli> const wall = std::chrono::steady_clock::now() - start;
        // It has synchronized: all is there when the call returns.
        ASSERT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
        std::vector<std::string> const names = profiler.names();
        EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
        for (auto const& [name, time] : profiler.reports)
            EXPECT_GE(time, 0.0F) << name;
        EXPECT_LE(profiler.total(), wall.count() * 1.001 + 0.01);
        share = std::max(share, profiler.total() / wall.count());
    }
    EXPECT_GT(share, wanted);
    context->setProfiler(nullptr);
    profiler.reports.clear();
    ASSERT_TRUE(context->enqueueV3(stream()));
    EXPECT_TRUE(profiler.reports.empty());
}

TEST_F(Profiled, T1_executeV2ReportsToo)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    void* bindings[]{x.data(), y.data()};
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
}

TEST_F(Profiled, T2_withoutEmittingTimesWaitForReportToProfiler)
{
    KeepingRecorder recorder; // First: the context's end waits for a run that has told its times and is not over yet.
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setErrorRecorder(&recorder);
    EXPECT_FALSE(context->reportToProfiler()); // No profiler.
    EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_STATE);
    context->setProfiler(&profiler);
    context->setEnqueueEmitsProfile(false);
    EXPECT_FALSE(context->getEnqueueEmitsProfile());
    EXPECT_FALSE(context->reportToProfiler()); // No run.
    EXPECT_EQ(recorder.getNbErrors(), 2);
    auto const start = std::chrono::steady_clock::now();
    ASSERT_TRUE(context->enqueueV3(stream()));
    tenon::test::deviceUnderTest().synchronize();
    std::chrono::duration<double, std::milli> const wall = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(profiler.reports.empty());
    EXPECT_TRUE(context->reportToProfiler());
    ASSERT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
    EXPECT_GT(profiler.total(), 0.0F);
    EXPECT_LE(profiler.total(), wall.count() * 1.001 + 0.01);
    EXPECT_TRUE(context->enqueueV3(stream())); // A second launch, a second report.
    EXPECT_TRUE(context->reportToProfiler());
    EXPECT_EQ(profiler.reports.size(), 2U * static_cast<size_t>(engine->getNbLayers()));
    EXPECT_EQ(recorder.getNbErrors(), 2);
    context->setErrorRecorder(nullptr);
}

//! A stream that stands still until it is opened.
class HeldStream
{
  public:
    HeldStream()
    {
        EXPECT_EQ(tenonHostCreateStream(&mHandle, 0, 0), TENON_HOST_OK);
        auto const hold = [](void* gate) {
            static_cast<std::shared_future<void>*>(gate)->wait();
            return int32_t{0};
        };
        EXPECT_EQ(tenonHostSubmit(mHandle, hold, &mGate, nullptr), TENON_HOST_OK);
    }
    ~HeldStream()
    {
        open();
        tenonHostSynchronizeStream(mHandle); // What it holds is a member.
        EXPECT_EQ(tenonHostDestroyStream(mHandle), TENON_HOST_OK);
    }
    HeldStream(HeldStream const&) = delete;
    HeldStream& operator=(HeldStream const&) = delete;
    void open()
    {
        if (!mIsOpen)
            mOpener.set_value();
        mIsOpen = true;
    }
    cudaStream_t handle() const
    {
        return static_cast<cudaStream_t>(mHandle);
    }

  private:
    void* mHandle{nullptr};
    std::promise<void> mOpener;
    std::shared_future<void> mGate{mOpener.get_future().share()};
    bool mIsOpen{false};
};

TEST_F(Profiled, T2_aProfilerThatIsToldLaterLeavesEnqueueAsynchronous)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    context->setEnqueueEmitsProfile(false);
    HeldStream held;
    ASSERT_TRUE(context->enqueueV3(held.handle())) << logger.errors(); // Returns though nothing can run.
    std::thread opener{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        held.open();
    }};
    EXPECT_TRUE(context->reportToProfiler()); // Waits for the run.
    opener.join();
    EXPECT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
    EXPECT_GT(profiler.total(), 0.0F);
}

TEST_F(Profiled, T2_aRunThatIsRefusedLeavesTheTimesOfTheRunBefore)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    context->setEnqueueEmitsProfile(false);
    ASSERT_TRUE(context->enqueueV3(stream()));
    char const* const input = engine->getIOTensorName(0);
    void const* const address = context->getTensorAddress(input);
    ASSERT_TRUE(context->setTensorAddress(input, nullptr));
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_TRUE(context->reportToProfiler()) << logger.errors();
    EXPECT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
    ASSERT_TRUE(context->setTensorAddress(input, const_cast<void*>(address)));
}

TEST_F(Profiled, T1_onAnyStreamEnqueueSynchronizesAndReports)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    HeldStream held;
    std::thread opener{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        held.open();
    }};
    ASSERT_TRUE(context->enqueueV3(held.handle())) << logger.errors();
    EXPECT_EQ(profiler.reports.size(), static_cast<size_t>(engine->getNbLayers()));
    opener.join();
}

TEST_F(Profiled, T2_aCapturedRunIsReportedAfterEachLaunchAndNotWhileItIsCaptured)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    auto const layers = static_cast<size_t>(engine->getNbLayers());
    for (bool const emits : {false, true})
    {
        profiler.reports.clear();
        HeldStream stream;
        stream.open();
        std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
        ASSERT_TRUE(context->enqueueV3(stream.handle())); // Memory and kernels are ready from here on.
        ASSERT_EQ(tenonHostSynchronizeStream(stream.handle()), TENON_HOST_OK);
        context->setProfiler(&profiler);
        context->setEnqueueEmitsProfile(emits);
        ASSERT_EQ(tenonHostBeginCapture(stream.handle(), TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
        ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
        EXPECT_FALSE(context->reportToProfiler()); // In capture mode.
        void* graph{nullptr};
        ASSERT_EQ(tenonHostEndCapture(stream.handle(), &graph), TENON_HOST_OK);
        EXPECT_FALSE(context->reportToProfiler()); // Nothing has run.
        EXPECT_TRUE(profiler.reports.empty());
        void* executable{nullptr};
        ASSERT_EQ(tenonHostInstantiateGraph(&executable, graph), TENON_HOST_OK);
        for (size_t launches = 1; launches <= 2; ++launches)
        {
            ASSERT_EQ(tenonHostLaunchGraph(executable, stream.handle()), TENON_HOST_OK);
            ASSERT_EQ(tenonHostSynchronizeStream(stream.handle()), TENON_HOST_OK);
            EXPECT_TRUE(context->reportToProfiler()) << logger.errors();
            EXPECT_EQ(profiler.reports.size(), launches * layers);
        }
        EXPECT_EQ(tenonHostDestroyExecutable(executable), TENON_HOST_OK);
        EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    }
}

TEST_F(Profiled, T2_whileEmittingReportToProfilerDoesNothingAndSucceeds)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    ASSERT_TRUE(context->enqueueV3(stream()));
    size_t const reported = profiler.reports.size();
    EXPECT_TRUE(context->reportToProfiler());
    EXPECT_EQ(profiler.reports.size(), reported);
}

TEST_F(Profiled, T3_namesAreThoseOfTheInspectorOrNumbersWhereThePlanTellsNothing)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    context->setProfiler(&profiler);
    ASSERT_TRUE(context->enqueueV3(stream()));
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    for (int32_t i = 0; i < engine->getNbLayers(); ++i)
        EXPECT_EQ(profiler.names().at(static_cast<size_t>(i)),
            inspector->getLayerInformation(i, LayerInformationFormat::kONELINE));
    profiler.reports.clear();
    config->setProfilingVerbosity(ProfilingVerbosity::kNONE);
    std::unique_ptr<ICudaEngine> const silent = buildEngine();
    std::unique_ptr<IExecutionContext> const other = contextOf(*silent);
    other->setProfiler(&profiler);
    ASSERT_TRUE(other->enqueueV3(stream()));
    ASSERT_EQ(profiler.reports.size(), static_cast<size_t>(silent->getNbLayers()));
    for (size_t i = 0; i < profiler.reports.size(); ++i)
        EXPECT_EQ(profiler.names()[i], std::to_string(i));
}

TEST_F(Profiled, T4_nvtxVerbosityIsThatOfTheBuildAndMayNotExceedIt)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::vector<ProfilingVerbosity> const rising{
        ProfilingVerbosity::kNONE, ProfilingVerbosity::kLAYER_NAMES_ONLY, ProfilingVerbosity::kDETAILED};
    for (size_t built = 0; built < rising.size(); ++built)
    {
        config->setProfilingVerbosity(rising[built]);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        KeepingRecorder recorder;
        context->setErrorRecorder(&recorder);
        EXPECT_EQ(context->getNvtxVerbosity(), rising[built]);
        for (size_t wanted = 0; wanted < rising.size(); ++wanted)
        {
            ProfilingVerbosity const before = context->getNvtxVerbosity();
            EXPECT_EQ(context->setNvtxVerbosity(rising[wanted]), wanted <= built);
            EXPECT_EQ(context->getNvtxVerbosity(), wanted <= built ? rising[wanted] : before);
        }
        EXPECT_FALSE(context->setNvtxVerbosity(static_cast<ProfilingVerbosity>(7)));
        EXPECT_EQ(recorder.getNbErrors(), static_cast<int32_t>(rising.size() - built));
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
        EXPECT_EQ(engine->getProfilingVerbosity(), rising[built]); // The engine tells what it told before.
        context->setErrorRecorder(nullptr);
    }
}

TEST_F(Profiled, S12_debugSyncLogsEachLayerOfExecuteV2Only)
{
    std::unique_ptr<ICudaEngine> const engine = engineWithWork();
    std::unique_ptr<IExecutionContext> const context = contextOf(*engine);
    void* bindings[]{x.data(), y.data()};
    EXPECT_FALSE(context->getDebugSync());
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(logger.count(ILogger::Severity::kINFO, "ran in"), 0);
    context->setDebugSync(true);
    EXPECT_TRUE(context->getDebugSync());
    ASSERT_TRUE(context->enqueueV3(stream()));
    ASSERT_TRUE(context->enqueueV2(bindings, stream(), nullptr));
    tenon::test::deviceUnderTest().synchronize();
    EXPECT_EQ(logger.count(ILogger::Severity::kINFO, "ran in"), 0);
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(logger.count(ILogger::Severity::kINFO, "ran in"), engine->getNbLayers());
    EXPECT_EQ(logger.count(ILogger::Severity::kINFO, "conv3"), 1);
}

TEST_F(Profiled, S10_persistentCacheLimitIsNoneUntilSet)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_EQ(context->getPersistentCacheLimit(), 0U);
    context->setPersistentCacheLimit(size_t{1} << 20);
    EXPECT_EQ(context->getPersistentCacheLimit(), size_t{1} << 20);
    std::unique_ptr<IExecutionContext> const other{engine->createExecutionContext()};
    EXPECT_EQ(other->getPersistentCacheLimit(), 0U); // It is the context's.
}

} // namespace
} // namespace apitest
