// Libraries of plugins, opened and closed by path (rules I4 and I5).
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "tenon/plugin.h"

#include <chrono>
#include <future>
#include <set>
#include <unistd.h>

#include <dlfcn.h>

namespace plugintest
{
namespace
{

class Libraries : public apitest::ApiTest
{
  protected:
    IPluginRegistry& registry = runtime->getPluginRegistry();
    int32_t count()
    {
        int32_t found{-1};
        registry.getAllCreators(&found);
        return found;
    }
};

TEST_F(Libraries, I4_I5_creatorsComeAndGoWithTheirLibrary)
{
    void* const handle = registry.loadLibrary(TENON_PAD_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    EXPECT_EQ(count(), 2);
    EXPECT_NE(registry.getCreator("HadLogger", "1", "library"), nullptr) << "the finder is passed first";
    EXPECT_NE(registry.getCreator("CircPadV3", "1", ""), nullptr);
    EXPECT_EQ(getPluginRegistry()->getCreator("CircPadV3", "1", ""), nullptr) << "it is the runtime's own";
    CircPadCreator<CircPadV2> other;
    ASSERT_TRUE(registry.registerCreator(static_cast<IPluginCreatorInterface&>(other), ""));
    registry.deregisterLibrary(handle);
    EXPECT_EQ(count(), 1) << "exactly those of the library are gone";
    EXPECT_EQ(registry.getCreator("CircPadV2", "1", ""), &other);
    EXPECT_TRUE(registry.deregisterCreator(static_cast<IPluginCreatorInterface const&>(other)));
    registry.deregisterLibrary(handle);
    EXPECT_NE(logger.errors().find("is not the handle"), std::string::npos) << "it is gone already";
}

TEST_F(Libraries, I5_theOlderExportServesWhereTheNewerIsMissing)
{
    void* const handle = registry.loadLibrary(TENON_OLDER_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    EXPECT_EQ(count(), 2);
    EXPECT_NE(registry.getPluginCreator("CircPadV2DynamicExt", "1", ""), nullptr);
    EXPECT_NE(registry.getPluginCreator("CircPadV2", "1", ""), nullptr);
    registry.deregisterLibrary(handle);
    EXPECT_EQ(count(), 0);
}

TEST_F(Libraries, I4_whatIsRegisteredAlreadyKeepsTheWholeLibraryOut)
{
    CircPadCreatorV3 mine;
    ASSERT_TRUE(registry.registerCreator(mine, ""));
    EXPECT_EQ(registry.loadLibrary(TENON_PAD_LIBRARY), nullptr);
    EXPECT_EQ(count(), 1) << "nothing of it is registered";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'CircPadV3' version '1' namespace '' is registered already"), 1)
        << logger.errors();
    ASSERT_TRUE(registry.deregisterCreator(static_cast<IPluginCreatorInterface const&>(mine)));
    void* const handle = registry.loadLibrary(TENON_PAD_LIBRARY);
    EXPECT_NE(handle, nullptr);
    EXPECT_EQ(registry.loadLibrary(TENON_PAD_LIBRARY), nullptr) << "loaded twice";
    registry.deregisterLibrary(handle);
}

//! Creators of the global registry whose names begin with "Pad"; each is called.
std::set<std::string> selfRegistered()
{
    std::set<std::string> names;
    int32_t count{0};
    IPluginCreatorInterface* const* const all = getPluginRegistry()->getAllCreators(&count);
    for (int32_t i = 0; i < count; ++i)
        if (std::string_view{all[i]->getInterfaceInfo().kind} == "PLUGIN CREATOR_V3ONE")
            if (std::string const name = static_cast<IPluginCreatorV3One*>(all[i])->getPluginName();
                name.starts_with("Pad"))
                names.insert(name);
    return names;
}

bool isMapped(char const* path)
{
    void* const handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr)
        dlclose(handle);
    return handle != nullptr;
}

TEST_F(Libraries, I4_whatALibraryHasRegisteredItselfGoesWithIt)
{
    for (IPluginRegistry* into : {&registry, getPluginRegistry()})
    {
        void* const handle = into->loadLibrary(TENON_OWN_LIBRARY);
        ASSERT_NE(handle, nullptr) << logger.errors();
        EXPECT_NE(into->getCreator("Pad3", "1", ""), nullptr);
        std::set<std::string> const registered = selfRegistered();
        EXPECT_TRUE(registered.contains("Pad1") && registered.contains("Pad2"));
        into->deregisterLibrary(handle);
        EXPECT_FALSE(isMapped(TENON_OWN_LIBRARY));
        EXPECT_EQ(selfRegistered(), std::set<std::string>{});
        EXPECT_EQ(getPluginRegistry()->getCreator("Pad1", "1", ""), nullptr);
    }
}

TEST_F(Libraries, I4_whatARefusedLibraryHasRegisteredItselfGoesWithIt)
{
    class Third final : public CircPadCreatorV3
    {
        AsciiChar const* getPluginName() const noexcept override
        {
            return "Pad3";
        }
    } mine;
    ASSERT_TRUE(registry.registerCreator(mine, ""));
    EXPECT_EQ(registry.loadLibrary(TENON_OWN_LIBRARY), nullptr);
    EXPECT_FALSE(isMapped(TENON_OWN_LIBRARY));
    EXPECT_EQ(selfRegistered(), std::set<std::string>{});
    EXPECT_TRUE(registry.deregisterCreator(mine));
}

//! Its static constructors do not run again.
TEST_F(Libraries, I4_whatALibraryHasRegisteredItselfGoesAndComesBackWhileItStaysMapped)
{
    IPluginRegistry& global = *getPluginRegistry();
    void* handle = registry.loadLibrary(TENON_OWN_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    auto* const creator = static_cast<IPluginCreatorV3One*>(global.getCreator("Pad1", "1", ""));
    ASSERT_NE(creator, nullptr);
    std::unique_ptr<INetworkDefinition> const network{builder->createNetworkV2(0)};
    PluginFieldCollection const none{};
    std::unique_ptr<IPluginV3> const plugin{creator->createPlugin("pad", &none, TensorRTPhase::kBUILD)};
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, apitest::dims({3, 4}))};
    ASSERT_NE(network->addPluginV3(inputs, 1, nullptr, 0, *plugin), nullptr) << logger.errors();
    for (int32_t round = 0; round < 2; ++round)
    {
        registry.deregisterLibrary(handle);
        EXPECT_TRUE(isMapped(TENON_OWN_LIBRARY)) << "the network's layer is of its code";
        EXPECT_EQ(selfRegistered(), std::set<std::string>{});
        handle = registry.loadLibrary(TENON_OWN_LIBRARY);
        ASSERT_NE(handle, nullptr) << logger.errors();
        EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad1", "Pad2"}));
        EXPECT_EQ(global.getCreator("Pad1", "1", ""), creator);
        std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
        void* const second = other->getPluginRegistry().loadLibrary(TENON_OWN_LIBRARY);
        ASSERT_NE(second, nullptr) << logger.errors();
        other->getPluginRegistry().deregisterLibrary(second);
        EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad1", "Pad2"})) << "the first has it open still";
    }
    registry.deregisterLibrary(handle);
    class Second final : public CircPadCreatorV3
    {
        AsciiChar const* getPluginName() const noexcept override
        {
            return "Pad2";
        }
    } mine;
    ASSERT_TRUE(global.registerCreator(mine, ""));
    EXPECT_EQ(registry.loadLibrary(TENON_OWN_LIBRARY), nullptr);
    EXPECT_NE(logger.errors().find("'Pad2' version '1' namespace '' is registered already"), std::string::npos);
    EXPECT_EQ(selfRegistered(), std::set<std::string>{"Pad2"}) << "nothing of it";
    EXPECT_EQ(count(), 0);
    EXPECT_TRUE(global.deregisterCreator(mine));
}

TEST_F(Libraries, I4_aCreatorThatIsBothRegisteredAndExportedIsOne)
{
    IPluginRegistry& global = *getPluginRegistry();
    void* const handle = global.loadLibrary(TENON_SAME_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad1", "Pad2"}));
    EXPECT_EQ(global.loadLibrary(TENON_SAME_LIBRARY), nullptr) << "loaded twice";
    EXPECT_NE(global.getCreator("Pad1", "1", ""), nullptr);
    global.deregisterLibrary(handle);
    EXPECT_FALSE(isMapped(TENON_SAME_LIBRARY));
    EXPECT_EQ(selfRegistered(), std::set<std::string>{});
}

TEST_F(Libraries, I4_whatIsRegisteredTwiceBelongsToTheOpeningThatBroughtIt)
{
    IPluginRegistry& global = *getPluginRegistry();
    void* const own = registry.loadLibrary(TENON_SAME_LIBRARY);
    ASSERT_NE(own, nullptr) << logger.errors();
    EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad1", "Pad2"}));
    EXPECT_EQ(global.loadLibrary(TENON_SAME_LIBRARY), nullptr) << "it has Pad1 from the library that is open";
    EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad1", "Pad2"}));
    registry.deregisterLibrary(own);
    EXPECT_FALSE(isMapped(TENON_SAME_LIBRARY));
    EXPECT_EQ(selfRegistered(), std::set<std::string>{});
}

TEST_F(Libraries, I4_aLibraryThatRegistersAndExportsTwoOfOneNameIsToldSo)
{
    setenv("PAD_TWICE", "1", 1);
    EXPECT_EQ(getPluginRegistry()->loadLibrary(TENON_OWN_LIBRARY), nullptr);
    unsetenv("PAD_TWICE");
    EXPECT_NE(logger.errors().find("'Pad1' version '1' namespace '' is registered already: the library registers one"),
        std::string::npos)
        << logger.errors();
    EXPECT_EQ(selfRegistered(), std::set<std::string>{});
}

//! The library registers Pad4 in setLoggerFinder, and needs one whose static constructors register Pad5.
TEST_F(Libraries, I4_whatItsExportsAndTheLibrariesThatItNeedsRegisterGoesWithThem)
{
    for (int32_t round = 0; round < 2; ++round)
    {
        void* const first = registry.loadLibrary(TENON_NEEDING_LIBRARY);
        ASSERT_NE(first, nullptr) << logger.errors();
        EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad4", "Pad5"}));
        void* const second = registry.loadLibrary(TENON_NEEDY_LIBRARY);
        ASSERT_NE(second, nullptr) << logger.errors();
        registry.deregisterLibrary(first);
        EXPECT_FALSE(isMapped(TENON_NEEDING_LIBRARY));
        EXPECT_EQ(selfRegistered(), (std::set<std::string>{"Pad5", "Pad6"})) << "the other library needs it still";
        registry.deregisterLibrary(second);
        EXPECT_EQ(selfRegistered(), std::set<std::string>{});
    }
}

//! The loader has a lock while static constructors run; whoever is told of them may wait for one who waits for it.
TEST_F(Libraries, whatStaticConstructorsHaveToSayIsToldWhenTheLoaderIsDone)
{
    class First final : public CircPadCreatorV3
    {
        AsciiChar const* getPluginName() const noexcept override
        {
            return "Pad1";
        }
    } mine;
    IPluginRegistry& global = *getPluginRegistry();
    ASSERT_TRUE(global.registerCreator(mine, ""));
    struct Opening final : public IErrorRecorder
    {
        std::vector<std::string> told;
        bool isFree{true};
        bool reportError(ErrorCode, ErrorDesc what) noexcept override
        {
            // Another thread opens a library; without the loader's lock it comes through.
            std::future<void> const opened =
                std::async(std::launch::async, [] { dlclose(dlopen(TENON_UNBODIED_LIBRARY, RTLD_NOW)); });
            isFree = opened.wait_for(std::chrono::seconds{isFree ? 60 : 0}) == std::future_status::ready && isFree;
            told.emplace_back(what);
            if (!isFree)
                std::_Exit(1); // Nobody can go on here.
            return true;
        }
        int32_t getNbErrors() const noexcept override
        {
            return static_cast<int32_t>(told.size());
        }
        ErrorCode getErrorCode(int32_t) const noexcept override
        {
            return ErrorCode::kUNSPECIFIED_ERROR;
        }
        ErrorDesc getErrorDesc(int32_t index) const noexcept override
        {
            return told[static_cast<size_t>(index)].c_str();
        }
        bool hasOverflowed() const noexcept override
        {
            return false;
        }
        void clear() noexcept override
        {
            told.clear();
        }
        RefCount incRefCount() noexcept override
        {
            return 1;
        }
        RefCount decRefCount() noexcept override
        {
            return 1;
        }
    } recorder;
    IErrorRecorder* const before = global.getErrorRecorder();
    global.setErrorRecorder(&recorder);
    void* const handle = registry.loadLibrary(TENON_SAME_LIBRARY);
    global.setErrorRecorder(before);
    ASSERT_NE(handle, nullptr) << logger.errors();
    ASSERT_EQ(recorder.told.size(), 1U) << "Pad1 is registered already";
    EXPECT_NE(recorder.told[0].find("'Pad1'"), std::string::npos) << recorder.told[0];
    registry.deregisterLibrary(handle);
    EXPECT_TRUE(global.deregisterCreator(mine));
}

//! Plugins that libraries of the same name bring: what they add to their input.
class Bodies : public Libraries
{
  protected:
    std::unique_ptr<ICudaEngine> made()
    {
        return made(*runtime);
    }
    std::unique_ptr<ICudaEngine> made(IRuntime& by)
    {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        auto* const creator = static_cast<IPluginCreatorV3One*>(by.getPluginRegistry().getCreator("Bodied", "1", ""));
        if (creator == nullptr)
            return nullptr;
        PluginFieldCollection const none{};
        std::unique_ptr<IPluginV3> const plugin{creator->createPlugin("bodied", &none, TensorRTPhase::kBUILD)};
        ITensor* inputs[]{own->addInput("x", DataType::kFLOAT, apitest::dims({6}))};
        ILayer* const layer = own->addPluginV3(inputs, 1, nullptr, 0, *plugin);
        layer->getOutput(0)->setName("y");
        own->markOutput(*layer->getOutput(0));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*own, *config)};
        return std::unique_ptr<ICudaEngine>{
            plan == nullptr ? nullptr : by.deserializeCudaEngine(plan->data(), plan->size())};
    }
    float added(ICudaEngine* engine)
    {
        if (engine == nullptr)
            return -1.0F;
        std::vector<float> const x{1, 2, 3, 4, 5, 6};
        apitest::DeviceArray<float> const in{x};
        apitest::DeviceArray<float> const out{x.size()};
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        EXPECT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()));
        EXPECT_TRUE(context->enqueueV3(apitest::stream())) << logger.errors();
        return out.read()[4] - x[4];
    }
    float added()
    {
        return added(made().get());
    }
};

TEST_F(Bodies, goWithTheirLibrary)
{
    void* const first = registry.loadLibrary(TENON_BODIED_LIBRARY);
    ASSERT_NE(first, nullptr) << logger.errors();
    EXPECT_EQ(added(), 2.0F);
    registry.deregisterLibrary(first);
    EXPECT_FALSE(isMapped(TENON_BODIED_LIBRARY));
    void* const second = registry.loadLibrary(TENON_UNBODIED_LIBRARY);
    ASSERT_NE(second, nullptr) << logger.errors();
    EXPECT_EQ(added(), 1.0F) << "its own enqueue()";
    registry.deregisterLibrary(second);
    void* const third = registry.loadLibrary(TENON_BODIED_LIBRARY);
    EXPECT_EQ(added(), 2.0F) << "it is set anew";
    registry.deregisterLibrary(third);
}

TEST_F(Bodies, ofLibrariesThatLiveOnServeTheirOwnPluginsOnly)
{
    void* const first = registry.loadLibrary(TENON_KEPT_LIBRARY);
    ASSERT_NE(first, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine = made();
    registry.deregisterLibrary(first);
    EXPECT_TRUE(isMapped(TENON_KEPT_LIBRARY)) << "the engine's plugin is of its code";
    EXPECT_EQ(added(engine.get()), 3.0F);
    void* const second = registry.loadLibrary(TENON_UNBODIED_LIBRARY);
    ASSERT_NE(second, nullptr) << logger.errors();
    EXPECT_EQ(added(), 1.0F);
    EXPECT_EQ(added(engine.get()), 3.0F);
    registry.deregisterLibrary(second);
    void* const third = registry.loadLibrary(TENON_KEPT_LIBRARY);
    EXPECT_EQ(added(), 3.0F) << "what it set when it was opened first";
    registry.deregisterLibrary(third);
}

TEST_F(Bodies, ofLibrariesThatAreOpenTogetherServeTheirOwnPlugins)
{
    void* const first = registry.loadLibrary(TENON_KEPT_LIBRARY);
    ASSERT_NE(first, nullptr) << logger.errors();
    std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
    void* const second = other->getPluginRegistry().loadLibrary(TENON_BODIED_LIBRARY);
    ASSERT_NE(second, nullptr) << logger.errors();
    EXPECT_EQ(added(made(*runtime).get()), 3.0F);
    EXPECT_EQ(added(made(*other).get()), 2.0F);
    auto const four = [](tenon::PluginRun const& run) -> int32_t {
        for (int64_t i = 0; i < run.inputDesc[0].dims.d[0]; ++i)
            static_cast<float*>(run.outputs[0])[i] = static_cast<float const*>(run.inputs[0])[i] + 4.0F;
        return 0;
    };
    ASSERT_TRUE(tenonSetCpuBody("Bodied", "1", "", four));
    EXPECT_EQ(added(made(*runtime).get()), 4.0F) << "the program's own, which was set last";
    EXPECT_EQ(added(made(*other).get()), 4.0F);
    ASSERT_TRUE(tenonSetCpuBody("Bodied", "1", "", nullptr));
    other->getPluginRegistry().deregisterLibrary(second);
    registry.deregisterLibrary(first);
}

//! The loader has a lock of its own while it runs what sets them.
TEST_F(Bodies, areSetWhileContextsAreMade)
{
    void* const first = registry.loadLibrary(TENON_KEPT_LIBRARY);
    std::unique_ptr<ICudaEngine> engine = made();
    ASSERT_NE(engine, nullptr) << logger.errors();
    alarm(200); // Ends the process when the two stand still.
    std::future<void> const loading = std::async(std::launch::async, [] {
        for (int32_t i = 0; i < 300; ++i)
            dlclose(dlopen(TENON_BODIED_LIBRARY, RTLD_NOW));
    });
    while (loading.wait_for(std::chrono::seconds{0}) != std::future_status::ready)
        ASSERT_NE(std::unique_ptr<IExecutionContext>{engine->createExecutionContext()}, nullptr) << logger.errors();
    alarm(0);
    engine.reset();
    registry.deregisterLibrary(first);
}

TEST_F(Bodies, I4_I9_aResourceKeepsTheLibraryThatItsCodeIsIn)
{
    void* const handle = registry.loadLibrary(TENON_ACQUIRING_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    EXPECT_EQ(added(), 1.0F);
    registry.deregisterLibrary(handle);
    ASSERT_TRUE(isMapped(TENON_ACQUIRING_LIBRARY));
    void* const again = dlopen(TENON_ACQUIRING_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    auto* const releases = reinterpret_cast<int32_t (*)()>(dlsym(again, "countReleases"));
    EXPECT_EQ(releases(), 0);
    EXPECT_EQ(getPluginRegistry()->releasePluginResource("bodied.table"), 0);
    EXPECT_EQ(releases(), 1);
    dlclose(again);
}

} // namespace
} // namespace plugintest
