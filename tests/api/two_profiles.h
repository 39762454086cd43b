// TwoProfiles: an engine with two profiles and a context of it, for tests of bindings, streams and switches.
#pragma once

#include "fixture.h"

namespace apitest
{

//! y = relu(conv(x)) with two profiles: heights 8 to 16 and 20 to 24.
class TwoProfiles : public ApiTest
{
  protected:
    void SetUp() override
    {
        convRelu.add(*network, dims({-1, 3, -1, 10}));
        addProfile({1, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
        addProfile({1, 3, 20, 10}, {1, 3, 20, 10}, {2, 3, 24, 10});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_NE(context, nullptr);
    }

    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
};

} // namespace apitest
