// Runs on streams that a test holds up (rules S2, S3, S6; seed 004): what has happened when a call returns, and
// what not.
#include "blocked_stream.h"
#include "two_profiles.h"

#include "tenon/host.h"

#include <atomic>
#include <future>
#include <thread>

namespace apitest
{

namespace
{
class HostEvent
{
  public:
    HostEvent()
    {
        EXPECT_EQ(tenonHostCreateEvent(&mHandle, 0), TENON_HOST_OK);
    }
    HostEvent(HostEvent const&) = delete;
    HostEvent& operator=(HostEvent const&) = delete;
    ~HostEvent()
    {
        EXPECT_EQ(tenonHostDestroyEvent(mHandle), TENON_HOST_OK);
    }
    bool isOver() const
    {
        return tenonHostQueryEvent(mHandle) != TENON_HOST_NOT_READY;
    }
    void wait() const
    {
        EXPECT_EQ(tenonHostSynchronizeEvent(mHandle), TENON_HOST_OK);
    }
    cudaEvent_t handle() const
    {
        return static_cast<cudaEvent_t>(mHandle);
    }

  private:
    void* mHandle{nullptr};
};
} // namespace

class StreamRules : public TwoProfiles
{
  protected:
    std::vector<float> const values = randomFloats(2 * 3 * 9 * 10, 31);
    DeviceArray<float> x{values};
    DeviceArray<float> y{2 * 4 * 9 * 10};
    BlockedStream stream;
};

TEST_F(StreamRules, S2_S3_enqueueV3ReturnsBeforeTheWorkAndMarksWhenInputsHaveBeenRead)
{
    HostEvent const consumed;
    EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
    EXPECT_FALSE(context->setInputConsumedEvent(reinterpret_cast<cudaEvent_t>(uintptr_t{0xABC0})));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "0xabc0"), 1) << logger.errors();
    ASSERT_TRUE(context->setInputConsumedEvent(consumed.handle()));
    EXPECT_EQ(context->getInputConsumedEvent(), consumed.handle());
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    stream.hold();
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
    EXPECT_FALSE(stream.isIdle());
    EXPECT_FALSE(consumed.isOver());
    stream.letGo();
    consumed.wait();
    x.write(randomFloats(values.size(), 32));
    stream.synchronize();
    expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
    EXPECT_TRUE(context->setInputConsumedEvent(nullptr));
    EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
}

TEST_F(StreamRules, workOfAStreamMayDeleteAContextWhoseRunsStandBehindIt)
{
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    stream.hold();
    auto const end = [](void* which) -> int32_t {
        static_cast<std::unique_ptr<IExecutionContext>*>(which)->reset();
        return 0;
    };
    ASSERT_EQ(tenonHostSubmit(stream.handle(), end, &context, nullptr), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
    stream.letGo();
    stream.synchronize();
    EXPECT_EQ(context, nullptr);
    expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
}

TEST_F(StreamRules, S3_enqueueV2RecordsItsOwnEvent)
{
    HostEvent const consumed;
    cudaEvent_t event = consumed.handle();
    ASSERT_TRUE(context->setOptimizationProfile(1));
    ASSERT_TRUE(context->setBindingDimensions(2, dims({1, 3, 22, 10})));
    std::vector<float> const large = randomFloats(1 * 3 * 22 * 10, 33);
    DeviceArray<float> from{large};
    DeviceArray<float> const to{1 * 4 * 22 * 10};
    void* const bindings[]{nullptr, nullptr, from.data(), to.data()};
    stream.hold();
    ASSERT_TRUE(context->enqueueV2(bindings, stream.handle(), &event)) << logger.errors();
    EXPECT_FALSE(stream.isIdle());
    EXPECT_FALSE(consumed.isOver());
    EXPECT_EQ(context->getInputConsumedEvent(), nullptr); // That of the name-based runs.
    stream.letGo();
    consumed.wait();
    from.write(randomFloats(large.size(), 34));
    stream.synchronize();
    expectNear(to.read(), convRelu.expected(large, 1, 22, 10));
    event = reinterpret_cast<cudaEvent_t>(uintptr_t{0xABC0});
    EXPECT_FALSE(context->enqueueV2(bindings, stream.handle(), &event));
}

TEST_F(StreamRules, S3_enqueueOfABatchGoesOnAndRecordsItsOwnEvent)
{
    builder->setMaxBatchSize(3);
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
    convRelu.add(*network, dims({3, 9, 10}));
    std::unique_ptr<ICudaEngine> const batched = buildEngine();
    ASSERT_NE(batched, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const run{batched->createExecutionContext()};
    for (bool const hasEvent : {true, false})
    {
        HostEvent const consumed;
        cudaEvent_t event = consumed.handle();
        x.write(values);
        void* bindings[]{x.data(), y.data()};
        stream.hold();
        ASSERT_TRUE(run->enqueue(2, bindings, stream.handle(), hasEvent ? &event : nullptr)) << logger.errors();
        EXPECT_FALSE(stream.isIdle());
        EXPECT_EQ(consumed.isOver(), !hasEvent);
        stream.letGo();
        if (hasEvent)
        {
            consumed.wait();
            x.write(randomFloats(values.size(), 35));
        }
        stream.synchronize();
        expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
        EXPECT_FALSE(run->enqueue(4, bindings, stream.handle(), nullptr));
    }
}

TEST_F(StreamRules, S6_auxiliaryStreamsAreDistinctAndNotTheDefaultOne)
{
    EXPECT_EQ(engine->getNbAuxStreams(), 0);
    BlockedStream const first;
    BlockedStream const second;
    std::vector<std::vector<cudaStream_t>> const good{{}, {first.handle()}, {first.handle(), second.handle()}};
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    for (std::vector<cudaStream_t> streams : good) // The rest is ignored.
    {
        context->setAuxStreams(streams.data(), static_cast<int32_t>(streams.size()));
        stream.hold();
        ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
        EXPECT_TRUE(first.isIdle() && second.isIdle()); // They wait for the main stream,
        stream.letGo();
        stream.synchronize(); // which waits for them.
        expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << logger.errors();
    cudaStream_t const legacy = reinterpret_cast<cudaStream_t>(uintptr_t{1});
    cudaStream_t const nobody = reinterpret_cast<cudaStream_t>(uintptr_t{0xABC0});
    for (std::vector<cudaStream_t> streams : std::vector<std::vector<cudaStream_t>>{
             {nullptr}, {legacy}, {first.handle(), first.handle()}, {first.handle(), nobody}})
        context->setAuxStreams(streams.data(), static_cast<int32_t>(streams.size()));
    context->setAuxStreams(nullptr, 2);
    context->setAuxStreams(nullptr, -1);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setAuxStreams"), 6) << logger.errors();
}

TEST_F(StreamRules, aRunOnTheDefaultStreamSpoilsCapturesOfBlockingStreamsAndABuildDoesNot)
{
    void* blocking = nullptr;
    ASSERT_EQ(tenonHostCreateStream(&blocking, 1, 0), TENON_HOST_OK);
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    ASSERT_EQ(tenonHostBeginCapture(blocking, TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    EXPECT_NE(buildEngine(), nullptr) << logger.errors();
    TenonHostStream properties{};
    EXPECT_EQ(tenonHostGetStream(blocking, &properties), TENON_HOST_OK);
    EXPECT_EQ(properties.isCapturing, 1);
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the capture is no longer valid"), 1) << logger.errors();
    EXPECT_EQ(tenonHostGetStream(blocking, &properties), TENON_HOST_OK);
    EXPECT_EQ(properties.isCapturing, 2);
    void* graph = nullptr;
    EXPECT_EQ(tenonHostEndCapture(blocking, &graph), TENON_HOST_CAPTURE_INVALIDATED);
    EXPECT_EQ(tenonHostDestroyStream(blocking), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
    stream.synchronize();
    expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
}

//! Tells when the build has done all that it tells of; ends it at its first step if it is to.
class EndOfBuild final : public IProgressMonitor
{
  public:
    explicit EndOfBuild(bool cancels)
        : mCancels{cancels}
    {
    }
    void phaseStart(char const*, char const*, int32_t) noexcept override {}
    bool stepComplete(char const*, int32_t) noexcept override
    {
        return !mCancels;
    }
    void phaseFinish(char const* phase) noexcept override
    {
        if (std::string{phase} == "Building Engine")
            mIsNear.set_value();
    }
    void wait()
    {
        mIsNear.get_future().wait();
    }

  private:
    bool mCancels;
    std::promise<void> mIsNear;
};

class AnyWriter final : public IStreamWriter
{
  public:
    explicit AnyWriter(bool refuses)
        : mRefuses{refuses}
    {
    }
    int64_t write(void const*, int64_t count) final
    {
        return mRefuses ? -1 : count;
    }

  private:
    bool mRefuses;
};

class ProfileStream : public StreamRules
{
  protected:
    //! Whether the build, with the held stream as its profile stream, succeeds. It returns after the stream was let go.
    bool build(int32_t call, bool cancels, bool refuses)
    {
        EndOfBuild end{cancels};
        config->setProgressMonitor(&end);
        config->setProfileStream(stream.handle());
        stream.hold();
        std::promise<void> hasReturned;
        std::thread opener{[&] {
            end.wait();
            // A build that does not wait returns meanwhile.
            hasReturned.get_future().wait_for(std::chrono::milliseconds{100});
            isOpen = true;
            stream.letGo();
        }};
        bool const isBuilt = callOf(call, refuses);
        EXPECT_TRUE(isOpen) << "it returned with work in the profile stream";
        EXPECT_TRUE(stream.isIdle());
        hasReturned.set_value();
        opener.join();
        isOpen = false;
        config->setProgressMonitor(nullptr);
        return isBuilt;
    }
    bool callOf(int32_t call, bool refuses)
    {
        AnyWriter writer{refuses};
        switch (call)
        {
        case 0: return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)} != nullptr;
        case 1: return std::unique_ptr<ICudaEngine>{builder->buildEngineWithConfig(*network, *config)} != nullptr;
        default: return builder->buildSerializedNetworkToStream(*network, *config, writer);
        }
    }

    std::atomic<bool> isOpen{false};
};

TEST_F(ProfileStream, G9_everyBuildCallReturnsWhenTheWorkOfTheStreamIsOver)
{
    for (int32_t call = 0; call < 3; ++call)
    {
        SCOPED_TRACE(call);
        EXPECT_TRUE(build(call, false, false)) << logger.errors();
        EXPECT_FALSE(build(call, true, false)) << "also when it fails";
    }
    EXPECT_FALSE(build(2, false, true)) << "and when the writer does";
}

TEST_F(ProfileStream, G9_thatOfTheThreadIsWaitedForToo)
{
    void* const own = reinterpret_cast<void*>(uintptr_t{2});
    std::atomic<bool> isDone{false};
    auto const late = [](void* done) -> int32_t {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        *static_cast<std::atomic<bool>*>(done) = true;
        return 0;
    };
    config->setProfileStream(static_cast<cudaStream_t>(own));
    for (int32_t call = 0; call < 3; ++call)
    {
        isDone = false;
        ASSERT_EQ(tenonHostSubmit(own, late, &isDone, nullptr), TENON_HOST_OK);
        EXPECT_TRUE(callOf(call, false)) << logger.errors();
        EXPECT_TRUE(isDone);
        EXPECT_EQ(tenonHostSynchronizeStream(own), TENON_HOST_OK);
    }
}

TEST_F(ProfileStream, G9_aFailureOfItsWorkStaysForThoseWhoseWorkItIs)
{
    auto const fail = [](void*) -> int32_t { return 7; };
    ASSERT_EQ(tenonHostSubmit(stream.handle(), fail, nullptr, nullptr), TENON_HOST_OK);
    config->setProfileStream(stream.handle());
    EXPECT_TRUE(callOf(0, false)) << logger.errors();
    EXPECT_EQ(logger.errors(), "");
    EXPECT_EQ(tenonHostSynchronizeStream(stream.handle()), TENON_HOST_FAILED);
}

TEST_F(ProfileStream, G9_capturesAreLeftAlone)
{
    config->setProfileStream(stream.handle());
    ASSERT_EQ(tenonHostBeginCapture(stream.handle(), TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    EXPECT_TRUE(callOf(0, false)) << "nothing of it runs there";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "profile stream: the caller would wait for a stream that is"), 1)
        << logger.errors();
    void* graph = nullptr;
    EXPECT_EQ(tenonHostEndCapture(stream.handle(), &graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    void* blocking = nullptr;
    ASSERT_EQ(tenonHostCreateStream(&blocking, 1, 0), TENON_HOST_OK);
    ASSERT_EQ(tenonHostBeginCapture(blocking, TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    config->setProfileStream(reinterpret_cast<cudaStream_t>(uintptr_t{1})); // The caller's thread, by its other name.
    EXPECT_TRUE(callOf(1, false)) << logger.errors();
    EXPECT_EQ(tenonHostEndCapture(blocking, &graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(blocking), TENON_HOST_OK);
}

TEST_F(StreamRules, Q2_profilesAreSwitchedWhileRunsGoOn)
{
    std::unique_ptr<IExecutionContext> const changing{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE)};
    ASSERT_TRUE(changing->setInputShape("x", dims({2, 3, 9, 10})));
    changing->setTensorAddress("x", x.data());
    changing->setTensorAddress("y", y.data());
    stream.hold();
    ASSERT_TRUE(changing->enqueueV3(stream.handle())) << logger.errors();
    ASSERT_TRUE(changing->setOptimizationProfileAsync(1, stream.handle())) << logger.errors();
    EXPECT_FALSE(changing->enqueueV3(stream.handle())); // Shapes are to be set again.
    std::vector<float> const large = randomFloats(1 * 3 * 22 * 10, 35);
    DeviceArray<float> const from{large};
    DeviceArray<float> const to{1 * 4 * 22 * 10};
    ASSERT_TRUE(changing->setInputShape("x", dims({1, 3, 22, 10})));
    changing->setTensorAddress("x", from.data());
    changing->setTensorAddress("y", to.data());
    ASSERT_TRUE(changing->enqueueV3(stream.handle())) << logger.errors();
    stream.letGo();
    stream.synchronize();
    expectNear(y.read(), convRelu.expected(values, 2, 9, 10));
    expectNear(to.read(), convRelu.expected(large, 1, 22, 10));
}

} // namespace apitest
