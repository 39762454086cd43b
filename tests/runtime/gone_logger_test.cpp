// Loggers that go with their context: failures that come later are nobody's to log.
#include "device/host/graphs.h"
#include "device/host/streams.h"
#include "device/reaper.h"
#include "runtime/fixture.h"

#include <atomic>
#include <future>

namespace tenon::test
{

namespace
{
//! Knows after its end that it was called.
class MortalLogger final : public nvinfer1::ILogger
{
  public:
    explicit MortalLogger(std::atomic<int32_t>& calls)
        : mCalls{calls}
    {
    }
    void log(Severity, nvinfer1::AsciiChar const*) noexcept override
    {
        ++mCalls;
    }

  private:
    std::atomic<int32_t>& mCalls;
};

//! A context whose runs fail, and its logger.
class Failing
{
  public:
    Failing()
    {
        ProgramBuilder builder;
        int32_t const x = builder.input("x", {6});
        builder.step("fail", {x}, {builder.output("out", builder.extentsOf(x))});
        context = contextOf(engineOf(builder.finish()));
        context->setLog(Log{new (mPlace) MortalLogger{calls}});
        EXPECT_OK(context->setInputAddress("x", mX.data()));
        EXPECT_OK(context->setOutputAddress("out", mOut.data()));
        auto made = host::createStream(host::StreamKind::kNonBlocking);
        EXPECT_OK(made);
        stream = *made;
    }
    ~Failing()
    {
        EXPECT_OK(host::destroyStream(stream));
    }
    Failing(Failing const&) = delete;

    std::unique_ptr<Context> context;
    std::atomic<int32_t> calls{0};
    void* stream{nullptr};

  private:
    alignas(MortalLogger) std::byte mPlace[sizeof(MortalLogger)];
    DeviceArray<float> mX{6};
    DeviceArray<float> mOut{6};
};
} // namespace

TEST(GoneLogger, aFailureBehindTheEndOfAContextInAStreamsWorkIsNotLogged)
{
    Failing failing;
    std::promise<void> open;
    EXPECT_OK(host::submit(failing.stream, [&]() -> Result<Done> {
        open.get_future().wait();
        return Done{};
    }));
    EXPECT_OK(failing.context->enqueue(failing.stream));
    auto const other = host::createStream(host::StreamKind::kNonBlocking);
    ASSERT_TRUE(other);
    EXPECT_OK(host::submit(*other, [&]() -> Result<Done> { // Nobody waits there, so that the run goes on.
        failing.context.reset();
        return Done{};
    }));
    EXPECT_OK(host::synchronize(*other));
    open.set_value();
    EXPECT_FALSE(host::synchronize(failing.stream)) << "the stream keeps the failure";
    awaitRetired();
    EXPECT_EQ(failing.calls, 0);
    EXPECT_OK(host::destroyStream(*other));
}

TEST(GoneLogger, aFailureOfARecordingBehindTheEndOfItsContextIsNotLogged)
{
    Failing failing;
    EXPECT_OK(host::beginCapture(failing.stream, host::CaptureMode::kThreadLocal));
    EXPECT_OK(failing.context->enqueue(failing.stream));
    auto const graph = host::endCapture(failing.stream);
    ASSERT_TRUE(graph);
    auto const executable = host::instantiateGraph(*graph);
    ASSERT_TRUE(executable);
    EXPECT_OK(host::launchGraph(*executable, failing.stream));
    EXPECT_FALSE(host::synchronize(failing.stream));
    EXPECT_EQ(failing.calls, 1);
    failing.context.reset();
    EXPECT_OK(host::launchGraph(*executable, failing.stream));
    EXPECT_FALSE(host::synchronize(failing.stream)) << "the stream keeps the failure";
    EXPECT_EQ(failing.calls, 1);
    EXPECT_OK(host::destroyExecutable(*executable));
    EXPECT_OK(host::destroyGraph(*graph));
}

} // namespace tenon::test
