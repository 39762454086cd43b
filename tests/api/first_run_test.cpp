// The shortest whole way: a network by calls, a plan, an engine, runs of several shapes.
#include "fixture.h"

namespace apitest
{

class FirstRun : public ApiTest
{
};

TEST_F(FirstRun, buildsSerializesReloadsAndRunsWithDynamicShapes)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr);
    runAndCompare(*context, 1, 8, 1);
    runAndCompare(*context, 4, 16, 2);
    runAndCompare(*context, 3, 9, 3);
    EXPECT_EQ(logger.errors(), "");
}

} // namespace apitest
