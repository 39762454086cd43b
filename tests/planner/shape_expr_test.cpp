// Shape expressions across fork(): a child does not depend on what other threads of its parent were in the middle of.
#include "ir/shape_expr.h"
#include "support/forks.h"

#include <atomic>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tenon::test
{

namespace
{
constexpr unsigned kPatience{60}; //!< Seconds: a child that waits for a lock for ever ends by then.

//! Makes an expression that is not there yet, and drops it.
void touch(int64_t number)
{
    ShapeExpr const sum = ShapeExpr::symbol(0) * ShapeExpr{number + 2} + ShapeExpr{number};
    EXPECT_FALSE(sum.isConstant());
}

TEST(ShapeExprs, aChildOfForkFindsTheTableOfExpressionsWholeAndFree)
{
    TENON_SKIP_FORK;
    std::atomic<bool> isOver{false};
    std::vector<std::thread> busy;
    for (int64_t t = 0; t < 3; ++t)
        busy.emplace_back([&isOver, t] {
            for (int64_t i = 0; !isOver; ++i)
                touch(t * 1'000'000 + i % 1000);
        });
    int status{0};
    for (int32_t round = 0; round < 300 && status == 0; ++round)
    {
        pid_t const child = fork();
        if (child == 0)
        {
            alarm(kPatience);
            for (int64_t i = 0; i < 10; ++i)
                touch(10'000'000 + i);
            _exit(0);
        }
        ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    isOver = true;
    for (std::thread& each : busy)
        each.join();
    EXPECT_EQ(status, 0) << "the child hung";
}

} // namespace

} // namespace tenon::test
