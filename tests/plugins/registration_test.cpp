// REGISTER_TENSORRT_PLUGIN: creators that register themselves, in a program and in a library.
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <dlfcn.h>

namespace plugintest
{
namespace
{

//! A pad under a name of its own.
class OwnPadCreator final : public CircPadCreatorV3
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return "OwnPad";
    }
};
REGISTER_TENSORRT_PLUGIN(OwnPadCreator);

//! Those that were registered before main() began, without the empty namespace being said.
TEST(Registration, ofTheProgramHappensBeforeMain)
{
    IPluginCreatorInterface* const found = getPluginRegistry()->getCreator("OwnPad", "1", "");
    ASSERT_NE(found, nullptr);
    EXPECT_STREQ(static_cast<IPluginCreatorV3One*>(found)->getPluginName(), "OwnPad");
    EXPECT_EQ(getPluginRegistry()->getPluginCreator("OwnPad", "1"), nullptr) << "it is no V1 creator";
    EXPECT_EQ(getPluginRegistry()->getCreator("OwnPad", "1"), found) << "the namespace defaults to the empty one";
}

TEST(Registration, ofALibraryHappensWhenItIsOpened)
{
    ASSERT_EQ(getPluginRegistry()->getCreator("SelfPad", "1", ""), nullptr);
    ASSERT_NE(dlopen(TENON_STATIC_LIBRARY, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    IPluginCreatorInterface* const found = getPluginRegistry()->getCreator("SelfPad", "1", "");
    ASSERT_NE(found, nullptr);
    auto& creator = static_cast<IPluginCreatorV3One&>(*found);
    std::array<int32_t, 2> before{4, 5};
    PluginField const field{"before", before.data(), PluginFieldType::kINT32, 2};
    PluginFieldCollection const fields{1, &field};
    std::unique_ptr<IPluginV3> const made{creator.createPlugin("pad", &fields, TensorRTPhase::kBUILD)};
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(static_cast<CircPadV3&>(*made).core.before, before);
}

using SelfRegistering = apitest::ApiTest;

//! Such a library is no library for loadLibrary; what it has registered itself stays valid nonetheless.
TEST_F(SelfRegistering, I5_aLibraryWithoutTheExportsIsRefusedByName)
{
    EXPECT_EQ(runtime->getPluginRegistry().loadLibrary(TENON_STATIC_LIBRARY), nullptr);
    EXPECT_NE(logger.errors().find("exports neither getCreators nor getPluginCreators"), std::string::npos)
        << logger.errors();
    EXPECT_NE(logger.errors().find(TENON_STATIC_LIBRARY), std::string::npos) << logger.errors();
    IPluginCreatorInterface* const found = getPluginRegistry()->getCreator("SelfPad", "1", "");
    ASSERT_NE(found, nullptr);
    EXPECT_STREQ(static_cast<IPluginCreatorV3One*>(found)->getPluginName(), "SelfPad");
}

} // namespace
} // namespace plugintest
