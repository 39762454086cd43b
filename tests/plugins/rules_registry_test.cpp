// Group I and rule A8: limits of names, local registries in use, resources.
#include "plugins/hooked.h"

#include "NvInferPlugin.h"

#include <atomic>
#include <thread>

namespace plugintest
{
namespace
{

using apitest::dims;

//! A creator of pads whose names a test chooses.
class NamedCreator final : public CircPadCreatorV3
{
  public:
    std::string name{"Named"};
    std::string version{"1"};
    std::string nameSpace;
    AsciiChar const* getPluginName() const noexcept override
    {
        return name.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return version.c_str();
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return nameSpace.c_str();
    }
};

class Creators : public apitest::ApiTest
{
  protected:
    IPluginRegistry& local = builder->getPluginRegistry();
    NamedCreator creator;
    int32_t count()
    {
        int32_t found{-1};
        local.getAllCreators(&found);
        return found;
    }
};

TEST_F(Creators, A8_namesOf1023BytesAreTheLongest)
{
    std::string const longest(1023, 'n');
    std::string const tooLong(1024, 'n');
    for (std::string NamedCreator::*const member :
        {&NamedCreator::name, &NamedCreator::version, &NamedCreator::nameSpace})
    {
        creator = NamedCreator{};
        creator.*member = tooLong;
        EXPECT_FALSE(local.registerCreator(creator, ""));
        EXPECT_EQ(count(), 0);
        creator.*member = longest;
        EXPECT_TRUE(local.registerCreator(creator, ""));
        EXPECT_TRUE(local.deregisterCreator(creator));
    }
    EXPECT_FALSE(local.registerCreator(creator, tooLong.c_str()));
    EXPECT_TRUE(local.registerCreator(creator, longest.c_str()));
    EXPECT_EQ(local.getCreator("Named", "1", longest.c_str()), &creator);
    EXPECT_TRUE(local.deregisterCreator(creator));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "1024 bytes: at most 1023 are allowed"), 4) << logger.errors();
}

TEST_F(Creators, A8_pluginsWithLongerNamesAreNotAdded)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 2, 5, 7}));
    CircPadV3 newer;
    newer.nameSpace.assign(1024, 's');
    EXPECT_EQ(network->addPluginV3(&x, 1, nullptr, 0, newer), nullptr);
    newer.nameSpace.assign(1023, 's');
    EXPECT_NE(network->addPluginV3(&x, 1, nullptr, 0, newer), nullptr) << logger.errors();
    CircPadV2DynamicExt older;
    older.setPluginNamespace(std::string(1024, 's').c_str());
    EXPECT_EQ(network->addPluginV2(&x, 1, older), nullptr);
    older.setPluginNamespace("");
    EXPECT_NE(network->addPluginV2(&x, 1, older), nullptr);
    EXPECT_EQ(network->getNbLayers(), 2);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has 1024 bytes"), 2) << logger.errors();
    network.reset();
}

TEST_F(Creators, I1_versionsAndNamespacesTellCreatorsApart)
{
    NamedCreator second;
    second.version = "2";
    NamedCreator other;
    ASSERT_TRUE(local.registerCreator(creator, ""));
    EXPECT_TRUE(local.registerCreator(second, ""));
    EXPECT_TRUE(local.registerCreator(other, "elsewhere"));
    EXPECT_FALSE(local.registerCreator(other, "")) << "the first stays";
    EXPECT_EQ(local.getCreator("Named", "1", ""), &creator);
    EXPECT_EQ(local.getCreator("Named", "2", ""), &second);
    EXPECT_EQ(local.getCreator("Named", "1", "elsewhere"), &other);
    EXPECT_EQ(count(), 3);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'Named' version '1' namespace '' is registered already"), 1);
}

TEST_F(Creators, I2_nullNamesFindNothing)
{
    ASSERT_TRUE(local.registerCreator(creator, ""));
    EXPECT_EQ(local.getCreator(nullptr, "1", ""), nullptr);
    EXPECT_EQ(local.getCreator("Named", nullptr, ""), nullptr);
    EXPECT_EQ(local.getCreator("Named", "1", nullptr), &creator) << "a null namespace is the empty one";
}

TEST_F(Creators, I3_aCreatorBelongsToTheRegistryItWasGivenTo)
{
    ASSERT_TRUE(local.registerCreator(creator, ""));
    EXPECT_FALSE(getPluginRegistry()->deregisterCreator(creator));
    EXPECT_FALSE(runtime->getPluginRegistry().deregisterCreator(creator));
    EXPECT_TRUE(local.deregisterCreator(creator));
    EXPECT_FALSE(local.deregisterCreator(creator));
    EXPECT_EQ(count(), 0);
}

//! Plans of a pad, loaded by a runtime whose registries a test arranges.
class LocalRegistries : public apitest::ApiTest
{
  protected:
    IPluginRegistry& global = *getPluginRegistry();
    IPluginRegistry& own = runtime->getPluginRegistry();
    CircPadCreatorV3 globalCreator;
    std::unique_ptr<IHostMemory> plan;

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(global.registerCreator(globalCreator, ""));
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 2, 5, 7}));
        CircPadV3 plugin;
        network->markOutput(*network->addPluginV3(&x, 1, nullptr, 0, plugin)->getOutput(0));
        plan.reset(builder->buildSerializedNetwork(*network, *config));
        ASSERT_NE(plan, nullptr) << logger.errors();
    }
    void TearDown() override
    {
        global.deregisterCreator(globalCreator);
    }
    std::unique_ptr<ICudaEngine> load()
    {
        return std::unique_ptr<ICudaEngine>{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    }
};

//! Counts what it makes.
class CountingCreator final : public CircPadCreatorV3
{
  public:
    int32_t made{0};
    IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        ++made;
        return CircPadCreatorV3::createPlugin(name, fields, phase);
    }
};

TEST_F(LocalRegistries, I6_O9_theRegistryOfTheRuntimeComesBeforeThatOfTheProcess)
{
    CountingCreator mine;
    ASSERT_TRUE(own.registerCreator(mine, ""));
    EXPECT_NE(load(), nullptr);
    EXPECT_EQ(mine.made, 1);
    EXPECT_TRUE(own.deregisterCreator(mine));
    EXPECT_NE(load(), nullptr) << "and the parent's serves where it has none";
    EXPECT_EQ(mine.made, 1);
}

TEST_F(LocalRegistries, I6_withoutParentSearchTheProcessIsNotAsked)
{
    own.setParentSearchEnabled(false);
    EXPECT_EQ(load(), nullptr);
    EXPECT_NE(logger.errors().find("'CircPadV3' version '1' namespace ''"), std::string::npos) << logger.errors();
    CountingCreator mine;
    ASSERT_TRUE(own.registerCreator(mine, ""));
    EXPECT_NE(load(), nullptr);
    EXPECT_EQ(mine.made, 1);
    EXPECT_TRUE(own.deregisterCreator(mine));
    own.setParentSearchEnabled(true);
    EXPECT_NE(load(), nullptr);
}

TEST_F(LocalRegistries, I6_runtimesDoNotShareTheirs)
{
    CountingCreator mine;
    ASSERT_TRUE(own.registerCreator(mine, ""));
    std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> const engine{other->deserializeCudaEngine(plan->data(), plan->size())};
    EXPECT_NE(engine, nullptr);
    EXPECT_EQ(mine.made, 0);
    EXPECT_TRUE(own.deregisterCreator(mine));
}

//! The call has no name in the public class: the object behind it is asked.
class Behind : public IRuntime
{
  public:
    static void setParent(IRuntime& runtime, IPluginRegistry* parent)
    {
        (runtime.*(&Behind::mImpl))->setPluginRegistryParent(parent);
    }
};

TEST_F(LocalRegistries, I6_theParentOfARuntimesRegistryCanBeAnother)
{
    CountingCreator mine;
    auto other = std::unique_ptr<IRuntime>{createInferRuntime(logger)};
    ASSERT_TRUE(other->getPluginRegistry().registerCreator(mine, ""));
    Behind::setParent(*runtime, &other->getPluginRegistry());
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), &mine) << "the new parent comes before that of the process";
    EXPECT_NE(load(), nullptr) << logger.errors();
    EXPECT_EQ(mine.made, 1);
    EXPECT_TRUE(other->getPluginRegistry().deregisterCreator(mine));
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), &globalCreator) << "the parent's parent is asked, too";
    ASSERT_TRUE(other->getPluginRegistry().registerCreator(mine, ""));
    other.reset();
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), &mine) << "a parent is kept by those that ask it";
    own.setParentSearchEnabled(false);
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), nullptr);
    own.setParentSearchEnabled(true);
    Behind::setParent(*runtime, nullptr);
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), nullptr) << "no parent, not even that of the process";
    Behind::setParent(*runtime, &global);
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), &globalCreator);
    EXPECT_EQ(logger.errors(), "");
}

TEST_F(LocalRegistries, I6_aParentThatWouldBeAskedInACircleOrIsUnknownIsRefused)
{
    std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
    Behind::setParent(*runtime, &own);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setPluginRegistryParent"), 1) << logger.errors();
    Behind::setParent(*runtime, &other->getPluginRegistry());
    Behind::setParent(*other, &own);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "asked for what it lacks itself"), 2) << logger.errors();
    int32_t unknown{0};
    Behind::setParent(*runtime, reinterpret_cast<IPluginRegistry*>(&unknown));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "is none of this library's"), 1) << logger.errors();
    EXPECT_EQ(own.getCreator("CircPadV3", "1", ""), &globalCreator) << "what was refused has changed nothing";
}

// ---- resources

//! Fails where a test says so.
class Fallible final : public IPluginResource
{
  public:
    inline static int32_t code{0};
    inline static bool clones{true};
    inline static std::atomic<int32_t> alive{0};
    Fallible()
    {
        ++alive;
    }
    ~Fallible() override
    {
        --alive;
    }
    int32_t release() noexcept override
    {
        return code;
    }
    IPluginResource* clone() noexcept override
    {
        return clones ? new Fallible : nullptr;
    }
};

class Resources : public apitest::ApiTest
{
  protected:
    void TearDown() override
    {
        Fallible::code = 0;
        Fallible::clones = true;
    }
};

TEST_F(Resources, I8_aResourceThatCannotBeClonedIsRefused)
{
    Fallible resource;
    Fallible::clones = false;
    EXPECT_EQ(getPluginRegistry()->acquirePluginResource("fallible", &resource), nullptr);
    EXPECT_NE(getPluginRegistry()->releasePluginResource("fallible"), 0) << "it is not registered";
    Fallible::clones = true;
    EXPECT_NE(getPluginRegistry()->acquirePluginResource("fallible", &resource), nullptr);
    EXPECT_EQ(getPluginRegistry()->releasePluginResource("fallible"), 0);
    EXPECT_EQ(Fallible::alive, 1) << "the original alone";
}

TEST_F(Resources, I8_keysTellResourcesApart)
{
    Fallible resource;
    IPluginRegistry& registry = *getPluginRegistry();
    IPluginResource* const first = registry.acquirePluginResource("first", &resource);
    IPluginResource* const second = registry.acquirePluginResource("second", &resource);
    EXPECT_NE(first, nullptr);
    EXPECT_NE(second, nullptr);
    EXPECT_NE(first, second);
    EXPECT_EQ(registry.releasePluginResource("first"), 0);
    EXPECT_NE(registry.releasePluginResource("first"), 0) << "the key has disappeared";
    Fallible another;
    EXPECT_EQ(registry.acquirePluginResource("second", &another), second) << "the same object for the key";
    EXPECT_EQ(registry.releasePluginResource("second"), 0);
    EXPECT_EQ(registry.releasePluginResource("second"), 0);
}

TEST_F(Resources, I9_aReleaseThatFailsIsReportedAndTheKeyIsGone)
{
    Fallible resource;
    ASSERT_NE(getPluginRegistry()->acquirePluginResource("failing", &resource), nullptr);
    Fallible::code = 7;
    EXPECT_NE(getPluginRegistry()->releasePluginResource("failing"), 0);
    EXPECT_NE(logger.errors().find("release() of the resource of key 'failing' returned 7"), std::string::npos)
        << logger.errors();
    EXPECT_EQ(Fallible::alive, 1) << "the clone is deleted";
    EXPECT_NE(getPluginRegistry()->releasePluginResource("failing"), 0);
}

TEST_F(Resources, I12_stockPluginsAreRegisteredOnce)
{
    IPluginRegistry& registry = *getPluginRegistry();
    ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
    int32_t before{0};
    registry.getAllCreators(&before);
    EXPECT_GT(before, 0);
    EXPECT_TRUE(initLibNvInferPlugins(&logger, "")) << "a second call changes nothing";
    int32_t after{0};
    registry.getAllCreators(&after);
    EXPECT_EQ(after, before);
}

//! All that docs/PLUGINS.md lists, each in its generation, and nothing else.
TEST_F(Resources, I12_everyStockPluginIsRegistered)
{
    struct Stock
    {
        char const* name;
        std::string older; //!< Versions of the V2 family.
        std::string newer; //!< Versions of IPluginV3.
    };
    std::array const all{Stock{"BatchTilePlugin_TRT", "1", ""}, Stock{"BatchedNMSDynamic_TRT", "1", ""},
        Stock{"BatchedNMS_TRT", "1", ""}, Stock{"Clip_TRT", "1", ""}, Stock{"CoordConvAC", "1", ""},
        Stock{"CropAndResize", "1", ""}, Stock{"CropAndResizeDynamic", "1", "2"},
        Stock{"CustomEmbLayerNormPluginDynamic", "123", "456"}, Stock{"CustomFCPluginDynamic", "1", ""},
        Stock{"CustomGeluPluginDynamic", "1", ""}, Stock{"CustomQKVToContextPluginDynamic", "123", "456"},
        Stock{"CustomSkipLayerNormPluginDynamic", "1234", "5678"}, Stock{"DecodeBbox3DPlugin", "1", ""},
        Stock{"DetectionLayer_TRT", "1", ""}, Stock{"DisentangledAttention_TRT", "1", "2"},
        Stock{"EfficientNMS_Explicit_TF_TRT", "1", ""}, Stock{"EfficientNMS_Implicit_TF_TRT", "1", ""},
        Stock{"EfficientNMS_ONNX_TRT", "1", ""}, Stock{"EfficientNMS_TRT", "1", ""},
        Stock{"FlattenConcat_TRT", "1", ""}, Stock{"GenerateDetection_TRT", "1", ""},
        Stock{"GridAnchorRect_TRT", "1", ""}, Stock{"GridAnchor_TRT", "1", ""},
        Stock{"GroupNormalizationPlugin", "1", ""}, Stock{"InstanceNormalization_TRT", "12", "3"},
        Stock{"LReLU_TRT", "1", ""}, Stock{"ModulatedDeformConv2d", "1", "2"},
        Stock{"MultilevelCropAndResize_TRT", "1", ""}, Stock{"MultilevelProposeROI_TRT", "1", ""},
        Stock{"MultiscaleDeformableAttnPlugin_TRT", "1", "2"}, Stock{"NMSDynamic_TRT", "1", ""},
        Stock{"NMS_TRT", "1", ""}, Stock{"Normalize_TRT", "1", ""}, Stock{"PillarScatterPlugin", "1", ""},
        Stock{"PriorBox_TRT", "1", ""}, Stock{"Proposal", "1", ""}, Stock{"ProposalDynamic", "1", ""},
        Stock{"ProposalLayer_TRT", "1", ""}, Stock{"PyramidROIAlign_TRT", "1", ""}, Stock{"ROIAlign_TRT", "1", "2"},
        Stock{"RPROI_TRT", "1", ""}, Stock{"Region_TRT", "1", ""}, Stock{"Reorg_TRT", "12", ""},
        Stock{"ResizeNearest_TRT", "1", ""}, Stock{"ScatterElements", "1", "2"}, Stock{"ScatterND", "1", ""},
        Stock{"SpecialSlice_TRT", "1", ""}, Stock{"Split", "1", ""}, Stock{"VoxelGeneratorPlugin", "1", ""}};
    IPluginRegistry& registry = *getPluginRegistry();
    int32_t before{0};
    registry.getAllCreators(&before);
    ASSERT_TRUE(initLibNvInferPlugins(&logger, "all of them"));
    int32_t after{0};
    registry.getAllCreators(&after);
    int32_t count{0};
    for (Stock const& stock : all)
    {
        for (char const version : stock.older)
        {
            std::string const text{version};
            IPluginCreator* const creator = registry.getPluginCreator(stock.name, text.c_str(), "all of them");
            EXPECT_NE(creator, nullptr) << stock.name << version;
            EXPECT_EQ(registry.getCreator(stock.name, text.c_str(), "all of them"), creator) << stock.name << version;
        }
        for (char const version : stock.newer)
        {
            std::string const text{version};
            IPluginCreatorInterface* const creator = registry.getCreator(stock.name, text.c_str(), "all of them");
            ASSERT_NE(creator, nullptr) << stock.name << version;
            EXPECT_STREQ(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE");
            EXPECT_EQ(registry.getPluginCreator(stock.name, text.c_str(), "all of them"), nullptr) << "is no V1";
        }
        count += static_cast<int32_t>(stock.older.size() + stock.newer.size());
    }
    EXPECT_EQ(after - before, count);
}

TEST_F(Resources, I12_stockPluginsThatAreKeptOutAreTriedAgain)
{
    class Taken final : public CircPadCreatorV3
    {
        AsciiChar const* getPluginName() const noexcept override
        {
            return "ROIAlign_TRT";
        }
    } taken;
    IPluginRegistry& registry = *getPluginRegistry();
    ASSERT_TRUE(registry.registerCreator(taken, "kept out"));
    for (int32_t i = 0; i < 2; ++i)
    {
        logger.messages.clear();
        EXPECT_FALSE(initLibNvInferPlugins(&logger, "kept out"));
        EXPECT_NE(logger.errors().find("others have the names: ROIAlign_TRT version 1"), std::string::npos)
            << logger.errors();
        EXPECT_EQ(registry.getCreator("ROIAlign_TRT", "1", "kept out"), &taken);
        EXPECT_NE(registry.getCreator("ROIAlign_TRT", "2", "kept out"), nullptr) << "others are registered";
    }
    ASSERT_TRUE(registry.deregisterCreator(taken));
    EXPECT_TRUE(initLibNvInferPlugins(&logger, "kept out"));
    EXPECT_NE(registry.getPluginCreator("ROIAlign_TRT", "1", "kept out"), nullptr);
}

//! The last user goes while the next one comes: nobody is left without a resource, and none is left behind.
TEST_F(Resources, I8_I9_aResourceComesAndGoesInSeveralThreads)
{
    Fallible resource;
    std::atomic<int32_t> missing{0};
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int32_t k = 0; k < 20000; ++k)
            {
                if (getPluginRegistry()->acquirePluginResource("contended", &resource) == nullptr)
                    ++missing;
                else
                    getPluginRegistry()->releasePluginResource("contended");
            }
        });
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(Fallible::alive, 1) << logger.errors();
}

TEST_F(Creators, J16_V1CreatorsHearTheirNamespaceByEitherOverload)
{
    CircPadCreator<CircPadV2> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(static_cast<IPluginCreatorInterface&>(creator), "by interface"));
    EXPECT_STREQ(creator.getPluginNamespace(), "by interface");
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(static_cast<IPluginCreatorInterface const&>(creator)));
}

} // namespace
} // namespace plugintest
