// Libraries of plugins, opened and closed by path (rules I4 and I5).
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <set>

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

} // namespace
} // namespace plugintest
