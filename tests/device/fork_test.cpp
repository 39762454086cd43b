// A process that forks while streams work: the child's streams start anew.
#include "device/gate.h"
#include "device/host/events.h"
#include "device/host/graphs.h"
#include "device/host/stream_table.h"
#include "support/forks.h"

#include <sys/wait.h>
#include <unistd.h>

namespace tenon::test
{

namespace
{
constexpr unsigned kPatience{120}; //!< Seconds, far beyond what a child needs.

//! Runs it in a child; the exit status, or −1 when the child did not end in time.
template <typename Body>
int statusOfChild(Body body)
{
    pid_t const child = fork();
    if (child == 0)
    {
        alarm(kPatience);
        _exit(body());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, aStreamUsedInAChildStartsANewThread)
{
    TENON_SKIP_FORK;
    OwnStream const idle;
    OwnStream const busy;
    OwnStream const unused;
    void* const event = *host::createEvent(true);
    Gate gate;
    ASSERT_TRUE(host::submit(idle, [] { return Result<Done>{Done{}}; }));
    ASSERT_TRUE(host::submit(handleOf(2), [] { return Result<Done>{Done{}}; }));
    ASSERT_TRUE(host::synchronize(idle));
    ASSERT_TRUE(host::submit(busy, gate.work()));
    ASSERT_TRUE(host::recordEvent(event, busy));
    gate.awaitGuest();

    int const status = statusOfChild([&] {
        if (!host::synchronizeAll() || !host::synchronizeEvent(event))
            return 1; // The parent's work is not waited for.
        for (void* const stream :
            {static_cast<void*>(idle), static_cast<void*>(busy), static_cast<void*>(unused), handleOf(2)})
        {
            bool ran = false;
            auto const work = [&]() -> Result<Done> {
                ran = true;
                return Done{};
            };
            if (!host::submit(stream, work) || !host::recordEvent(event, stream) || !host::synchronize(stream) || !ran)
                return 2;
            if (!*host::isDone(event))
                return 3;
        }
        return host::startNow(nullptr) && host::destroyStream(busy) ? 42 : 4;
    });
    EXPECT_EQ(status, 42);
    EXPECT_FALSE(*host::isIdle(busy)) << "the parent's work goes on";
    gate.open();
    EXPECT_TRUE(host::synchronize(busy));
    EXPECT_TRUE(host::destroyEvent(event));
}

//! A graph of one step.
void* executableOf(host::Work step)
{
    OwnStream const stream;
    EXPECT_TRUE(host::beginCapture(stream, host::CaptureMode::kRelaxed));
    EXPECT_TRUE(host::submit(stream, std::move(step)));
    void* const graph = *host::endCapture(stream);
    void* const executable = *host::instantiateGraph(graph);
    EXPECT_TRUE(host::destroyGraph(graph));
    return executable;
}

TEST(Fork, aChildWaitsForNoLaunchAndNoDestroyedStreamOfItsParents)
{
    TENON_SKIP_FORK;
    OwnStream const stream;
    Gate gate;
    std::atomic<bool> isParents{true};
    size_t const streams = host::streamTable().all().size();
    void* const executable = executableOf([&]() -> Result<Done> {
        if (isParents)
            gate.pass();
        return Done{};
    });
    void* const destroyed = *host::createStream(host::StreamKind::kNonBlocking);
    ASSERT_TRUE(host::launchGraph(executable, destroyed));
    gate.awaitGuest();
    ASSERT_TRUE(host::destroyStream(destroyed));
    EXPECT_EQ(statusOfChild([&] {
        isParents = false;
        if (!host::synchronizeAll() || host::streamTable().all().size() != streams)
            return 1;
        if (!host::launchGraph(executable, stream) || !host::synchronize(stream))
            return 2;
        return host::launchGraph(executable, nullptr) && host::destroyExecutable(executable) ? 42 : 3;
    }),
        42);
    gate.open();
    EXPECT_TRUE(host::synchronizeAll());
    EXPECT_TRUE(host::destroyExecutable(executable));
}

TEST(Fork, forksBetweenLaunches)
{
    TENON_SKIP_FORK;
    OwnStream const stream;
    void* const executable = executableOf([] { return Result<Done>{Done{}}; });
    std::atomic<bool> stop{false};
    std::thread launching{[&] {
        while (!stop)
        {
            EXPECT_TRUE(host::launchGraph(executable, stream));
            void* const brief = *host::createStream(host::StreamKind::kNonBlocking);
            EXPECT_TRUE(host::launchGraph(executable, brief));
            EXPECT_TRUE(host::destroyStream(brief));
            EXPECT_TRUE(host::synchronize(stream)); // Each has a thread until its work is done.
        }
    }};
    for (int i = 0; i < 20; ++i)
    {
        EXPECT_EQ(statusOfChild([&] {
            if (!host::launchGraph(executable, stream) || !host::synchronizeAll())
                return 1;
            return host::destroyStream(stream) ? 42 : 2;
        }),
            42);
    }
    stop = true;
    launching.join();
    EXPECT_TRUE(host::synchronizeAll());
    EXPECT_TRUE(host::destroyExecutable(executable));
}

TEST(Fork, forksBetweenSubmits)
{
    TENON_SKIP_FORK;
    OwnStream const stream;
    std::atomic<bool> stop{false};
    std::thread submitting{[&] {
        while (!stop)
            EXPECT_TRUE(host::submit(stream, [] { return Result<Done>{Done{}}; }));
    }};
    for (int i = 0; i < 20; ++i)
    {
        EXPECT_EQ(statusOfChild([&] {
            if (!host::submit(stream, [] { return Result<Done>{Done{}}; }) || !host::synchronize(stream))
                return 1;
            return host::destroyStream(stream) ? 42 : 2;
        }),
            42);
    }
    stop = true;
    submitting.join();
    EXPECT_TRUE(host::synchronize(stream));
}
} // namespace

} // namespace tenon::test
