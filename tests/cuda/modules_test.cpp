// Modules: a text that several threads want at once is compiled and loaded by one of them.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/modules.h"
#include "cuda/fake_device.h"

#include <gmock/gmock.h>

#include <thread>

namespace tenon::test
{

namespace
{
constexpr size_t kThreads{6};

using Made = std::vector<Result<cuda::Module const*>>;

//! What threads get that ask for one text at once.
Made modulesOf(std::string const& text)
{
    Made made(kThreads, errorOf(ErrorCode::kINTERNAL_ERROR, "nothing"));
    std::vector<std::jthread> threads;
    for (Result<cuda::Module const*>& each : made)
        threads.emplace_back([&] { each = cuda::moduleOf(fake(), text); });
    threads.clear(); // All of them end.
    return made;
}

//! A kernel that nothing else has.
std::string textOf(std::string const& name)
{
    return cuda::wholeText("struct Nothing { unsigned const* stop; };\nTENON_KERNEL(" + name + ", Nothing) {}\n");
}
} // namespace

TEST(CudaModules, whatSeveralThreadsWantIsMadeOnce)
{
    int64_t const before = tenonFakeCallsOf("cuModuleLoadDataEx");
    Made const made = modulesOf(textOf("wantedBySeveral"));
    for (Result<cuda::Module const*> const& each : made)
    {
        ASSERT_TRUE(each) << each.error().message;
        EXPECT_EQ(*each, *made.front());
    }
    EXPECT_EQ(tenonFakeCallsOf("cuModuleLoadDataEx"), before + 1);
}

TEST(CudaModules, whereOneFailsTheOthersTryThemselves)
{
    constexpr int kOutOfMemory{2};
    std::string const text = textOf("failingAtFirst");
    tenonFakeFailAll("cuModuleLoadDataEx", kOutOfMemory);
    Made const failed = modulesOf(text);
    tenonFakeFailAll(nullptr, 0);
    for (Result<cuda::Module const*> const& each : failed)
    {
        ASSERT_FALSE(each);
        EXPECT_THAT(each.error().message, testing::HasSubstr("cuModuleLoadDataEx"));
    }
    for (Result<cuda::Module const*> const& each : modulesOf(text))
        EXPECT_TRUE(each) << each.error().message;
}

//! The compiler counts the end of what it says, too: a decision that holds it would keep a plan from being stored.
TEST(CudaModules, whatTheCompilerObjectsToIsPlainText)
{
    Result<cuda::Module const*> const made = cuda::moduleOf(fake(), cuda::wholeText("struct Wrong { nothing };\n"));
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("nvrtcCompileProgram"));
    EXPECT_THAT(made.error().message, testing::HasSubstr("nothing"));
    EXPECT_EQ(made.error().message.find('\0'), std::string::npos);
}

//! Where the real compiler is at hand, it says what ways a kernel has.
TEST(CudaModules, kernelsThatStoreBeforeTheyWaitForFormerOnesAreNoticed)
{
    auto const text = [](std::string const& name, std::string const& body) {
        return cuda::wholeText(
            "struct Word { unsigned const* stop; unsigned* to; unsigned waits; };\nTENON_EARLY_KERNEL(, " + name
            + ", Word)\n{\n" + body + "}\n");
    };
    std::string const right = "    if (p.waits)\n        awaitFormer();\n    awaitFormer();\n    *p.to = 1;\n";
    std::string const early = "    if (p.waits)\n        awaitFormer();\n    *p.to = 1;\n    awaitFormer();\n";
    auto const made = cuda::moduleOf(fake(), text("waitingOnEveryWay", right));
    EXPECT_TRUE(made) << made.error().message;
    auto const refused = cuda::moduleOf(fake(), text("waitingOnOneWay", early));
    if (refused)
        GTEST_SKIP() << "no NVRTC on this machine";
    EXPECT_THAT(refused.error().message, testing::HasSubstr("waitingOnOneWay comes to 'st.global"));
}

//! Tables of the compiler's own, as the cosine of large numbers has one, are read so; memory of ours is not.
TEST(CudaModules, memoryThatFormerKernelsWriteIsNotReadThroughTheReadOnlyCache)
{
    auto const text = [](std::string const& name, std::string const& value) {
        return cuda::wholeText("struct Angle { unsigned const* stop; float* to; float const* from; };\nTENON_KERNEL("
            + name + ", Angle)\n{\n    *p.to = " + value + ";\n}\n");
    };
    std::string const kCached{
        "#ifdef __CUDA_ARCH__\n#define CACHED(at) __ldg(at)\n#else\n#define CACHED(at) *(at)\n#endif\n"};
    auto const made = cuda::moduleOf(fake(), text("cosineOfOne", "cosf(*p.from)"));
    EXPECT_TRUE(made) << made.error().message;
    auto const refused = cuda::moduleOf(fake(), kCached + text("cosineOfCached", "cosf(CACHED(p.from))"));
    if (refused)
        GTEST_SKIP() << "no NVRTC on this machine";
    EXPECT_THAT(refused.error().message, testing::HasSubstr("read-only cache"));
}

} // namespace tenon::test
