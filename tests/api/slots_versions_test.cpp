// The runtimes without a builder, and registries that ask others, for a program that never saw a header of ours.
#include "raw_features.h"

#include <filesystem>

namespace raw
{
namespace
{
class SlotsOfVersions : public SlotsOfFeatures
{
  protected:
    //! The file beside the library that is loaded.
    std::string beside(char const* name) const
    {
        Dl_info info{};
        EXPECT_NE(::dladdr(::dlsym(library, "createInferRuntime_INTERNAL"), &info), 0);
        std::string path = std::filesystem::path{info.dli_fname}.parent_path() / name;
        EXPECT_TRUE(std::filesystem::exists(path)) << path;
        return path;
    }
    static Object behind(Object runtime)
    {
        return inner(runtime, slots::kIRuntime_mImpl);
    }
    void expectLoadsAndRuns(Object runtime, std::string const& plan)
    {
        Object const own = behind(runtime);
        call<void>(own, slots::kVRuntime_setEngineHostCodeAllowed, true);
        Object const engine = call<Object>(
            own, slots::kVRuntime_deserializeCudaEngine, static_cast<void const*>(plan.data()), plan.size());
        ASSERT_NE(engine, nullptr) << errors;
        expectRuns(engine);
        destroy(engine);
    }
};

//! Has a name, and makes nothing.
class RawCreator final : public UserObject
{
  public:
    RawCreator()
        : UserObject{11, {"PLUGIN CREATOR_V1", 1, 0}}
    {
        set(
            slots::kIPluginCreator_getPluginName, +[](void*) { return "RawCreated"; });
        set(
            slots::kIPluginCreator_getPluginVersion, +[](void*) { return "1"; });
        set(
            slots::kIPluginCreator_getPluginNamespace, +[](void*) { return ""; });
        set(
            slots::kIPluginCreator_setPluginNamespace, +[](void*, char const*) {});
        set(
            slots::kIPluginCreator_getFieldNames, +[](void*) { return static_cast<void const*>(nullptr); });
    }
};
} // namespace

TEST_F(SlotsOfVersions, runtimesWithoutABuilderRunPlansOfOtherVersions)
{
    setFlags({kVERSION_COMPATIBLE});
    std::string const plan = builtPlan();
    for (char const* const name : {"libnvinfer_lean.so.10", "libnvinfer_dispatch.so.10"})
    {
        std::string const path = beside(name);
        Object const whole = create("createInferRuntime_INTERNAL");
        Object const other = call<Object>(behind(whole), slots::kVRuntime_loadRuntime, path.c_str());
        destroy(whole);
        ASSERT_NE(other, nullptr) << name << ": " << errors;
        expectLoadsAndRuns(other, plan);
        destroy(other);

        void* const alone = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(alone, nullptr) << ::dlerror();
        EXPECT_EQ(::dlsym(alone, "createInferBuilder_INTERNAL"), nullptr) << name << " has no builder of its own";
        auto* const make = reinterpret_cast<Object (*)(void*, int32_t)>(::dlsym(alone, "createInferRuntime_INTERNAL"));
        ASSERT_NE(make, nullptr);
        Object const runtime = make(&logger, 101600);
        ASSERT_NE(runtime, nullptr) << errors;
        expectLoadsAndRuns(runtime, plan);
        destroy(runtime);
    }
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfVersions, aRuntimesRegistryAsksTheParentThatItIsGiven)
{
    RawCreator creator;
    Object const owner = create("createInferRuntime_INTERNAL");
    Object const asking = create("createInferRuntime_INTERNAL");
    Object const parent = call<Object>(behind(owner), slots::kVRuntime_getPluginRegistry);
    Object const own = call<Object>(behind(asking), slots::kVRuntime_getPluginRegistry);
    auto const found = [&] {
        return call<Object>(own, slots::kIPluginRegistry_getPluginCreator, "RawCreated", "1", "");
    };
    ASSERT_TRUE(call<bool>(parent, slots::kIPluginRegistry_registerCreator, creator.object(), "")) << errors;
    EXPECT_EQ(found(), nullptr) << "runtimes do not share theirs";
    call<void>(behind(asking), slots::kVRuntime_setPluginRegistryParent, parent);
    EXPECT_EQ(found(), creator.object());
    call<void>(own, slots::kIPluginRegistry_setParentSearchEnabled, false);
    EXPECT_EQ(found(), nullptr);
    call<void>(own, slots::kIPluginRegistry_setParentSearchEnabled, true);
    EXPECT_EQ(found(), creator.object());
    EXPECT_TRUE(call<bool>(parent, slots::kIPluginRegistry_deregisterCreator, creator.object()));
    EXPECT_EQ(found(), nullptr);
    destroy(asking);
    destroy(owner);
    EXPECT_EQ(errors, "");
}

} // namespace raw
