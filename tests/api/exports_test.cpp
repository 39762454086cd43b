// What the libraries export: the faces the list of the API's C functions, libtenon.so our own ones; nothing else.
#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "tenon/base.h"

namespace
{
std::set<std::string> exportsOf(void const* function)
{
    Dl_info info{};
    EXPECT_NE(::dladdr(function, &info), 0);
    std::string const command = std::string{"nm -D --defined-only "} + info.dli_fname;
    std::unique_ptr<FILE, int (*)(FILE*)> const pipe{::popen(command.c_str(), "r"), ::pclose};
    std::set<std::string> names;
    std::array<char, 4096> line{};
    while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr)
    {
        std::string text{line.data()};
        text.erase(text.find_last_not_of("\n") + 1);
        names.insert(text.substr(text.rfind(' ') + 1));
    }
    return names;
}
} // namespace

TEST(Exports, facesExportTheListedFunctionsOnly)
{
    std::set<std::string> const runtime{"createInferBuilder_INTERNAL", "createInferRuntime_INTERNAL",
        "createInferRefitter_INTERNAL", "getBuilderPluginRegistry", "getBuilderSafePluginRegistry",
        "getInferLibBuildVersion", "getInferLibMajorVersion", "getInferLibMinorVersion", "getInferLibPatchVersion",
        "getInferLibVersion", "getLogger", "getPluginRegistry", "setInternalLibraryPath"};
    EXPECT_EQ(exportsOf(reinterpret_cast<void const*>(&createInferBuilder_INTERNAL)), runtime);
    std::set<std::string> const plugins{"initLibNvInferPlugins"};
    EXPECT_EQ(exportsOf(reinterpret_cast<void const*>(&initLibNvInferPlugins)), plugins);
}

TEST(Exports, theEngineExportsOurCFunctionsOnly)
{
    std::set<std::string> const names = exportsOf(reinterpret_cast<void const*>(&tenonVersion));
    EXPECT_TRUE(names.contains("tenonVerify"));
    for (std::string const& name : names)
        EXPECT_EQ(name.rfind("tenon", 0), 0U) << name;
}
