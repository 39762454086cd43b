// Group I: the registry of plugins.
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include "NvInferPlugin.h"
#include "tenon/plugin.h"

#include <barrier>
#include <cstring>
#include <thread>

namespace plugintest
{
namespace
{

class Registry : public apitest::ApiTest
{
  protected:
    IPluginRegistry& global = *getPluginRegistry();
    CircPadCreatorV3 creator;
    CircPadCreator<CircPadV2DynamicExt> older;

    void SetUp() override
    {
        ASSERT_TRUE(global.registerCreator(creator, ""));
        ASSERT_TRUE(global.registerCreator(older, "tests"));
    }
    void TearDown() override
    {
        global.deregisterCreator(creator);
        global.deregisterCreator(older);
    }
    bool lists(IPluginRegistry& registry, IPluginCreatorInterface const& wanted, bool recursive = false)
    {
        int32_t count{-1};
        auto* const* all = recursive ? registry.getAllCreatorsRecursive(&count) : registry.getAllCreators(&count);
        return std::find(all, all + count, &wanted) != all + count;
    }
};

TEST_F(Registry, I1_identityIsNameVersionNamespaceAndTheFirstStays)
{
    CircPadCreatorV3 twin;
    EXPECT_FALSE(global.registerCreator(twin, ""));
    EXPECT_EQ(global.getCreator("CircPadV3", "1", ""), &creator);
    EXPECT_TRUE(global.registerCreator(twin, "elsewhere"));
    EXPECT_EQ(global.getCreator("CircPadV3", "1", "elsewhere"), &twin);
    EXPECT_TRUE(global.deregisterCreator(twin));
}

TEST_F(Registry, I2_lookupsOfUnknownAndOfNewerCreatorsGiveNull)
{
    EXPECT_EQ(global.getCreator("CircPadV3", "2", ""), nullptr);
    EXPECT_EQ(global.getCreator("CircPadV3", "1", "other"), nullptr);
    EXPECT_EQ(global.getPluginCreator("CircPadV3", "1", ""), nullptr) << "it is no V1 creator";
    EXPECT_EQ(global.getPluginCreator("CircPadV2DynamicExt", "1", "tests"), &older);
    EXPECT_STREQ(older.getPluginNamespace(), "tests");
}

TEST_F(Registry, I3_onlyWhatIsRegisteredCanBeDeregistered)
{
    EXPECT_TRUE(global.deregisterCreator(static_cast<IPluginCreatorInterface const&>(older)));
    EXPECT_FALSE(global.deregisterCreator(older));
    EXPECT_EQ(global.getPluginCreator("CircPadV2DynamicExt", "1", "tests"), nullptr);
    EXPECT_TRUE(global.registerCreator(older, "tests"));
}

TEST_F(Registry, I6_I7_builderAndRuntimeHaveRegistriesOfTheirOwn)
{
    CircPadCreator<CircPadV2Ext> local;
    for (IPluginRegistry* own : {&builder->getPluginRegistry(), &runtime->getPluginRegistry()})
    {
        ASSERT_NE(own, &global);
        EXPECT_TRUE(own->isParentSearchEnabled());
        ASSERT_TRUE(own->registerCreator(static_cast<IPluginCreatorInterface&>(local), ""));
        EXPECT_EQ(own->getCreator("CircPadV2Ext", "1", ""), &local);
        EXPECT_EQ(global.getCreator("CircPadV2Ext", "1", ""), nullptr);
        EXPECT_EQ(own->getCreator("CircPadV3", "1", ""), &creator) << "the parent is asked, too";
        EXPECT_FALSE(lists(*own, creator));
        EXPECT_TRUE(lists(*own, creator, true));
        EXPECT_TRUE(lists(*own, local, true));
        own->setParentSearchEnabled(false);
        EXPECT_FALSE(own->isParentSearchEnabled());
        EXPECT_EQ(own->getCreator("CircPadV3", "1", ""), nullptr);
        EXPECT_FALSE(lists(*own, creator, true));
        own->setParentSearchEnabled(true);
        EXPECT_TRUE(own->deregisterCreator(static_cast<IPluginCreatorInterface const&>(local)));
    }
}

//! A resource that counts what happens to it and its clones.
class CountedResource final : public IPluginResource
{
  public:
    explicit CountedResource(std::map<std::string, int32_t>& log, bool isClone = false)
        : mLog{log},
          mIsClone{isClone}
    {
    }
    ~CountedResource() override
    {
        ++mLog[mIsClone ? "clone deleted" : "original deleted"];
    }
    int32_t release() noexcept override
    {
        ++mLog[mIsClone ? "clone released" : "original released"];
        return 0;
    }
    IPluginResource* clone() noexcept override
    {
        ++mLog["cloned"];
        return new CountedResource{mLog, true};
    }

  private:
    std::map<std::string, int32_t>& mLog;
    bool mIsClone;
};

TEST_F(Registry, I8_I9_I10_resourcesAreClonedOnceAndReleasedByTheLastUser)
{
    std::map<std::string, int32_t> log;
    auto original = std::make_unique<CountedResource>(log);
    IPluginResource* const shared = global.acquirePluginResource("key", original.get());
    ASSERT_NE(shared, nullptr);
    EXPECT_NE(shared, original.get());
    EXPECT_EQ(global.acquirePluginResource("key", original.get()), shared);
    EXPECT_EQ(log["cloned"], 1);
    original.reset();
    EXPECT_EQ(log["original released"], 0);
    EXPECT_EQ(global.releasePluginResource("key"), 0);
    EXPECT_EQ(log["clone released"], 0) << "one user is left";
    std::unique_ptr<IPluginResource> const copy{shared->clone()};
    EXPECT_EQ(global.releasePluginResource("key"), 0);
    EXPECT_EQ(log["clone released"], 1);
    EXPECT_EQ(log["clone deleted"], 1);
    EXPECT_NE(global.releasePluginResource("key"), 0);
    EXPECT_EQ(global.acquirePluginResource(nullptr, copy.get()), nullptr);
    EXPECT_EQ(global.acquirePluginResource("other", nullptr), nullptr);
    EXPECT_NE(global.releasePluginResource("other"), 0) << "a refused key is not counted";
}

TEST_F(Registry, I11_onlyTheStandardCapabilityHasARegistry)
{
    EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSTANDARD), &global);
    EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSAFETY), nullptr);
    EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kDLA_STANDALONE), nullptr);
}

TEST_F(Registry, I4_librariesThatCannotBeOpenedGiveNullWithTheReason)
{
    EXPECT_EQ(runtime->getPluginRegistry().loadLibrary("/no/such/library.so"), nullptr);
    EXPECT_NE(logger.errors().find("/no/such/library.so"), std::string::npos) << logger.errors();
    EXPECT_EQ(runtime->getPluginRegistry().loadLibrary(nullptr), nullptr);
    runtime->getPluginRegistry().deregisterLibrary(&creator);
    EXPECT_NE(logger.errors().find("is not the handle"), std::string::npos) << logger.errors();
}

//! What was handed out stays as it is, and questions alone make nothing new.
TEST_F(Registry, listsStayWhileOthersAskAndRegister)
{
    CircPadCreator<CircPadV2Ext> other;
    IPluginRegistry& own = builder->getPluginRegistry();
    auto const check = [&](auto&& ask) {
        int32_t count{-1};
        auto* const* const first = ask(count);
        std::vector<IPluginCreatorInterface const*> const before(first, first + count);
        EXPECT_EQ(ask(count), first);
        ASSERT_TRUE(global.registerCreator(other, ""));
        auto* const* const longer = ask(count);
        EXPECT_EQ(count, static_cast<int32_t>(before.size()) + 1);
        EXPECT_EQ(longer[count - 1], &other);
        EXPECT_TRUE(std::equal(before.begin(), before.end(), first));
        ASSERT_TRUE(global.deregisterCreator(other));
        EXPECT_EQ(ask(count), first) << "the same creators as before";
        EXPECT_EQ(longer[before.size()], &other);
    };
    check([&](int32_t& count) { return global.getAllCreators(&count); });
    check([&](int32_t& count) { return own.getAllCreatorsRecursive(&count); });
    check([&](int32_t& count) { return global.getPluginCreatorList(&count); });
}

//! Runs under ThreadSanitizer, too (make sanitize-threads).
TEST_F(Registry, threadsMayAskAndRegisterAtOnce)
{
    constexpr int32_t kThreads{4};
    std::barrier together{kThreads};
    auto const walk = [&] {
        together.arrive_and_wait();
        for (int32_t i = 0; i < 20000; ++i)
        {
            int32_t count{-1};
            auto* const* const all = global.getAllCreatorsRecursive(&count);
            EXPECT_EQ(std::count(all, all + count, &creator), 1);
            auto* const* const here = global.getAllCreators(&count);
            EXPECT_EQ(std::count(here, here + count, &creator), 1);
            auto* const* const olderOnes = global.getPluginCreatorList(&count);
            EXPECT_EQ(std::count(olderOnes, olderOnes + count, &older), 1);
        }
    };
    std::vector<std::thread> threads;
    for (int32_t i = 1; i < kThreads; ++i)
        threads.emplace_back(walk);
    CircPadCreator<CircPadV2Ext> other;
    together.arrive_and_wait();
    for (int32_t i = 0; i < 20000; ++i)
    {
        EXPECT_TRUE(global.registerCreator(other, ""));
        EXPECT_TRUE(global.deregisterCreator(other));
    }
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(Registry, missingPluginsAreToldUnderTheNamesThatAreRegistered)
{
    CircPadCreatorV3 twin;
    ASSERT_TRUE(global.registerCreator(twin, "elsewhere")); // It says that its namespace is "".
    auto const why = [&](IPluginRegistry* in, char const* type, char const* version, char const* nameSpace) {
        std::unique_ptr<char, decltype(&tenonFree)> const text{
            tenonMissingPlugin(in, type, version, nameSpace), &tenonFree};
        return std::string{text == nullptr ? "" : text.get()};
    };
    for (IPluginRegistry* in : {&global, &builder->getPluginRegistry()})
    {
        EXPECT_NE(why(in, "CircPadV3", "2", "elsewhere")
                      .find("no creator of plugin 'CircPadV3' version '2' namespace 'elsewhere' is registered; the "
                            "closest is 'CircPadV3' version '1' namespace 'elsewhere'; registered besides: "),
            std::string::npos)
            << why(in, "CircPadV3", "2", "elsewhere");
        EXPECT_EQ(why(in, "CircPadV3", "1", "elsewhere"), "");
        std::string const unlike = why(in, "NothingOfTheKind", "1", "");
        EXPECT_NE(unlike.find(" that are has a name like it"), std::string::npos) << unlike;
        EXPECT_LT(unlike.size(), 160U) << unlike;
    }
    EXPECT_EQ(why(nullptr, "CircPadV3", "2", ""), "");
    EXPECT_EQ(why(&global, nullptr, "2", ""), "");
    EXPECT_EQ(why(&global, "CircPadV3", nullptr, ""), "");
    EXPECT_EQ(why(&global, "CircPadV3", "2", nullptr), "");
    EXPECT_TRUE(global.deregisterCreator(twin));
}

//! Missing creators: all at once, with what comes closest.
TEST_F(Registry, O_missingPluginsAreNamedTogetherAndTheRuntimeStaysUsable)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, apitest::dims({1, 2, 5, 7}));
    ITensor* inputs[]{x};
    CircPadV3 first;
    auto* second = new CircPadV2DynamicExt;
    second->setPluginNamespace("tests");
    IPluginV3Layer* one = network->addPluginV3(inputs, 1, nullptr, 0, first);
    inputs[0] = one->getOutput(0);
    IPluginV2Layer* two = network->addPluginV2(inputs, 1, *second);
    second->destroy();
    network->markOutput(*two->getOutput(0));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    global.deregisterCreator(creator);
    global.deregisterCreator(older);
    CircPadCreatorV3 near;
    ASSERT_TRUE(global.registerCreator(near, "nearby"));
    std::vector<std::unique_ptr<CircPadCreator<CircPadV2>>> others;
    for (int32_t i = 0; i < 12; ++i)
        ASSERT_TRUE(global.registerCreator(
            *others.emplace_back(std::make_unique<CircPadCreator<CircPadV2>>()), ("far" + std::to_string(i)).c_str()));
    int32_t all{0};
    global.getAllCreators(&all);
    EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    std::string const message = logger.errors();
    EXPECT_NE(message.find("'CircPadV3' version '1' namespace ''"), std::string::npos) << message;
    EXPECT_NE(message.find("'CircPadV2DynamicExt' version '1' namespace 'tests'"), std::string::npos) << message;
    EXPECT_NE(
        message.find(
            "the closest is 'CircPadV3' version '1' namespace 'nearby'; registered besides: 'CircPadV2' version '1' "
            "namespace 'far"),
        std::string::npos)
        << message;
    EXPECT_NE(message.find(" and " + std::to_string(all - 3) + " more"), std::string::npos) << "named are three\n"
                                                                                            << message;
    for (auto const& each : others)
        ASSERT_TRUE(global.deregisterCreator(*each));
    ASSERT_TRUE(global.deregisterCreator(near));
    ASSERT_TRUE(global.registerCreator(creator, ""));
    ASSERT_TRUE(global.registerCreator(older, "tests"));
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    EXPECT_NE(engine, nullptr) << logger.errors();
}

} // namespace
} // namespace plugintest
