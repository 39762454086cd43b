// How many copies of a plugin there are: one for the network, one for the engine, one for each context (decided).
#include "plugins/flexible_test.h"
#include "plugins/hooked.h"

namespace plugintest
{
namespace
{

using ClonesOfV2 = HookedTest<HookedDynamic>;
using ClonesOfV3 = FlexibleTest<Flexible>;

TEST_F(ClonesOfV2, J6_J13_areOneForTheNetworkOneForTheEngineAndOnePerContext)
{
    Journal& journal = Journal::get();
    ASSERT_NE(add(dims({-1, 4})), nullptr);
    EXPECT_EQ(journal.count("clone"), 1) << "the network's";
    addProfile({1, 4}, {2, 4}, {3, 4});
    addProfile({1, 4}, {4, 4}, {6, 4});
    journal.clear();
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(journal.count("clone"), 1) << "the one that is configured and stored, for all profiles";
    EXPECT_EQ(journal.count("initialize"), 1);
    journal.clear();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(journal.count("clone"), 0) << "the engine works with what the creator made";
    std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
    EXPECT_EQ(journal.count("clone"), 1);
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(journal.count("clone"), 2);
    EXPECT_EQ(journal.count("initialize"), 1) << "the engine's object alone";
}

TEST_F(ClonesOfV3, L6_L7_areOneForTheNetworkAndOneForTheBuild)
{
    Journal& journal = Journal::get();
    registerCreator();
    ASSERT_NE(addTo(dims({-1, 4})), nullptr);
    EXPECT_EQ(journal.count("clone"), 1) << "the network's";
    addProfile({1, 4}, {2, 4}, {3, 4});
    journal.clear();
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(journal.count("clone"), 1);
    journal.clear();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(journal.count("clone"), 0) << "attachToContext gives whole objects";
    EXPECT_EQ(journal.count("attachToContext"), 2);
    EXPECT_EQ(journal.count("getFieldsToSerialize"), 0) << "an engine is asked only when it is stored again";
}

} // namespace
} // namespace plugintest
