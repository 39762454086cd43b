// Forked children: an engine that ran on several threads before the fork runs on several threads in the child, too.
#include "fixture.h"
#include "support/forks.h"

#include "tenon/host.h"

#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace apitest
{

namespace
{
constexpr unsigned kPatience{120}; //!< Seconds, far beyond what a run needs.

//! Exit status of a child that does this; killed by a signal: 128 and its number.
template <typename Work>
int inChild(Work const& work)
{
    pid_t const child = fork();
    if (child == 0)
    {
        alarm(kPatience); // A run that hangs ends the child, not the test.
        work();
        _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status{0};
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
} // namespace

class Forked : public ApiTest
{
  protected:
    void SetUp() override
    {
        TENON_SKIP_FORK;
        ASSERT_TRUE(runtime->setMaxThreads(2));
        engine = dynamicEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        runAndCompare(*context, 4, 16, 1);
    }

    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
};

TEST_F(Forked, runsInAChildAndInItsChild)
{
    for (uint32_t round = 0; round < 3; ++round)
    {
        EXPECT_EQ(inChild([&] {
            for (uint32_t i = 0; i < 5; ++i)
                runAndCompare(*context, 4, 12, 10 + i);
            EXPECT_EQ(inChild([&] { runAndCompare(*context, 2, 16, 20); }), 0);
            runAndCompare(*context, 3, 16, 21);
        }),
            0);
        runAndCompare(*context, 4, 16, 30 + round);
    }
}

TEST_F(Forked, otherThreadsOfAChildRunAsWell)
{
    EXPECT_EQ(inChild([&] {
        std::unique_ptr<IExecutionContext> const own{engine->createExecutionContext()};
        std::thread other{[&] { runAndCompare(*own, 4, 16, 40); }};
        runAndCompare(*context, 4, 16, 41);
        other.join();
    }),
        0);
}

TEST_F(Forked, aChildDoesNotWaitForRunsThatGoOnInTheParent)
{
    void* held{nullptr};
    ASSERT_EQ(tenonHostCreateStream(&held, 0, 0), TENON_HOST_OK);
    std::promise<void> gate;
    std::shared_future<void> const opened = gate.get_future().share();
    auto const wait = [](void* until) -> int32_t {
        static_cast<std::shared_future<void>*>(until)->wait();
        return 0;
    };
    auto until = opened;
    ASSERT_EQ(tenonHostSubmit(held, wait, &until, nullptr), TENON_HOST_OK);
    DeviceArray<float> const x{randomFloats(1 * 3 * 8 * 10, 60)};
    DeviceArray<float> const y{1 * 4 * 8 * 10};
    std::unique_ptr<IExecutionContext> waiting{engine->createExecutionContext()};
    ASSERT_TRUE(waiting->setInputShape("x", dims({1, 3, 8, 10})));
    ASSERT_TRUE(waiting->setTensorAddress("x", x.data()));
    ASSERT_TRUE(waiting->setTensorAddress("y", y.data()));
    ASSERT_TRUE(waiting->enqueueV3(static_cast<cudaStream_t>(held))) << logger.errors();
    EXPECT_EQ(inChild([&] {
        runAndCompare(*waiting, 4, 12, 61);
        waiting.reset();
        runAndCompare(*context, 4, 12, 62);
    }),
        0);
    gate.set_value();
    EXPECT_EQ(tenonHostSynchronizeStream(held), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(held), TENON_HOST_OK);
    runAndCompare(*waiting, 4, 12, 63);
}

TEST_F(Forked, aChildThatEndsInOrderDoesNotWait)
{
    EXPECT_EXIT(
        {
            alarm(kPatience);
            runAndCompare(*context, 4, 16, 50);
            std::exit(HasFailure() ? 1 : 7);
        },
        ::testing::ExitedWithCode(7), "");
}

} // namespace apitest
