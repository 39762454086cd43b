// Rules O: loading plans.
#include "fixture.h"

#include "support/temp_folder.h"
#include "tenon/tenon.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>

namespace apitest
{

class RuntimeRules : public ApiTest
{
  protected:
    std::unique_ptr<ICudaEngine> engine = dynamicEngine();
    std::unique_ptr<IHostMemory> plan{engine->serialize()};

    std::vector<uint8_t> bytes() const
    {
        auto const* first = static_cast<uint8_t const*>(plan->data());
        return {first, first + plan->size()};
    }
    ICudaEngine* load(std::vector<uint8_t> const& blob)
    {
        return runtime->deserializeCudaEngine(blob.data(), blob.size());
    }
};

TEST_F(RuntimeRules, O1_damagedPlansAnswerNullAndTheRuntimeStaysUsable)
{
    std::vector<uint8_t> const whole = bytes();
    std::mt19937 generator{3};
    for (size_t const size : {size_t{0}, size_t{1}, size_t{16}, whole.size() / 2, whole.size() - 1})
        EXPECT_EQ(load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), nullptr) << size;
    int32_t refused{0};
    for (uint32_t i = 0; i < 50; ++i)
    {
        std::vector<uint8_t> damaged = whole;
        damaged[generator() % damaged.size()] ^= static_cast<uint8_t>(1U << generator() % 8);
        std::unique_ptr<ICudaEngine> const loaded{load(damaged)};
        refused += loaded == nullptr ? 1 : 0;
    }
    EXPECT_EQ(refused, 50) << "every bit counts, whatever part of the plan it is in";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "deserializeCudaEngine"), refused + 5);
    std::unique_ptr<ICudaEngine> const again{load(whole)};
    ASSERT_NE(again, nullptr);
    std::unique_ptr<IExecutionContext> const context{again->createExecutionContext()};
    runAndCompare(*context, 2, 10, 9);
}

//! What tools know a plan by that do not load it.
TEST_F(RuntimeRules, theFirstBytesTellTheVersion)
{
    std::vector<uint8_t> const plan = bytes();
    EXPECT_EQ((std::string{plan.begin(), plan.begin() + 4}), "ftrt");
    EXPECT_EQ((std::vector<uint8_t>{plan.begin() + 4, plan.begin() + 8}), std::vector<uint8_t>(4, 0));
    EXPECT_EQ((std::vector<uint8_t>{plan.begin() + 24, plan.begin() + 27}),
        (std::vector<uint8_t>{NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH}));
}

// A missing plugin: tests/plugins/registry_test.cpp.
//! Programs open the library themselves, or have a runtime open it.
TEST_F(RuntimeRules, G8_runtimesWithoutABuilderRunItsPlans)
{
    std::vector<float> const x = randomFloats(2 * 3 * 8 * 10, 7);
    auto const run = [&](ICudaEngine& loaded) {
        std::unique_ptr<IExecutionContext> const context{loaded.createExecutionContext()};
        EXPECT_TRUE(context->setInputShape("x", dims({2, 3, 8, 10})));
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{size_t{2 * 4 * 8 * 10}};
        EXPECT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()));
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        return out.read();
    };
    Dl_info info{};
    ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "createInferRuntime_INTERNAL"), &info), 0);
    for (char const* const name : {"libnvinfer_lean.so.10", "libnvinfer_dispatch.so.10"})
    {
        std::string const path = std::filesystem::path{info.dli_fname}.parent_path() / name;
        std::unique_ptr<IRuntime> const other{runtime->loadRuntime(path.c_str())};
        ASSERT_NE(other, nullptr) << logger.errors();
        std::unique_ptr<ICudaEngine> const first{other->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(first, nullptr) << logger.errors();
        EXPECT_EQ(run(*first), run(*engine));

        void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << ::dlerror();
        auto* const make =
            reinterpret_cast<decltype(&createInferRuntime_INTERNAL)>(::dlsym(library, "createInferRuntime_INTERNAL"));
        ASSERT_NE(make, nullptr);
        std::unique_ptr<IRuntime> const lean{static_cast<IRuntime*>(make(&logger, NV_TENSORRT_VERSION))};
        std::unique_ptr<ICudaEngine> const second{lean->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(second, nullptr) << logger.errors();
        EXPECT_EQ(run(*second), run(*engine));
    }
    EXPECT_EQ(runtime->loadRuntime("/no/such/library.so"), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "/no/such/library.so"), 1) << logger.errors();
}

TEST_F(RuntimeRules, O1_anotherFormatVersionIsRefusedByName)
{
    std::vector<uint8_t> other = bytes();
    other[28] = 9; // Behind the version.
    EXPECT_EQ(load(other), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "plan format 9, built by version 10.16.0 of the API,"), 1);
    std::string const before{"TENONPLN\3\0\0\0", 12}; // How plans began up to format 3.
    std::copy(before.begin(), before.end(), other.begin());
    EXPECT_EQ(load(other), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "plan format 3 cannot be read"), 1);
    std::unique_ptr<ICudaEngine> const again{load(bytes())};
    EXPECT_NE(again, nullptr);
}

TEST_F(RuntimeRules, O2_theBlobMayGoAfterLoading)
{
    std::vector<uint8_t> blob = bytes();
    std::unique_ptr<ICudaEngine> const loaded{load(blob)};
    std::fill(blob.begin(), blob.end(), uint8_t{0xEE});
    ASSERT_NE(loaded, nullptr);
    std::unique_ptr<IExecutionContext> const context{loaded->createExecutionContext()};
    runAndCompare(*context, 1, 9, 10);
}

TEST_F(RuntimeRules, O6_theRuntimeMayGoBeforeItsEngines)
{
    std::unique_ptr<ICudaEngine> loaded{load(bytes())};
    runtime.reset();
    std::unique_ptr<IExecutionContext> const context{loaded->createExecutionContext()};
    loaded.reset();
    runAndCompare(*context, 1, 9, 11);
}

TEST_F(RuntimeRules, O7_serializeAndDeserializeGiveTheSameEngine)
{
    std::unique_ptr<ICudaEngine> const loaded{load(bytes())};
    ASSERT_NE(loaded, nullptr);
    ASSERT_EQ(loaded->getNbIOTensors(), engine->getNbIOTensors());
    EXPECT_STREQ(loaded->getName(), engine->getName());
    EXPECT_EQ(loaded->getNbOptimizationProfiles(), engine->getNbOptimizationProfiles());
    for (int32_t i = 0; i < engine->getNbIOTensors(); ++i)
    {
        char const* name = engine->getIOTensorName(i);
        EXPECT_STREQ(loaded->getIOTensorName(i), name);
        EXPECT_EQ(extents(loaded->getTensorShape(name)), extents(engine->getTensorShape(name)));
        EXPECT_EQ(loaded->getTensorDataType(name), engine->getTensorDataType(name));
        EXPECT_EQ(loaded->getTensorFormat(name), engine->getTensorFormat(name));
        EXPECT_EQ(extents(loaded->getProfileShape(name, 0, OptProfileSelector::kMAX)),
            extents(engine->getProfileShape(name, 0, OptProfileSelector::kMAX)));
    }
    std::unique_ptr<IHostMemory> const twice{loaded->serialize()};
    ASSERT_EQ(twice->size(), plan->size());
    EXPECT_EQ(std::memcmp(twice->data(), plan->data(), plan->size()), 0);
    std::unique_ptr<IExecutionContext> const before{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const after{loaded->createExecutionContext()};
    DeviceArray<float> const x{randomFloats(3 * 3 * 11 * 10, 14)};
    std::vector<std::vector<float>> results;
    for (IExecutionContext* context : {before.get(), after.get()})
    {
        DeviceArray<float> const y{3 * 4 * 11 * 10};
        ASSERT_TRUE(context->setInputShape("x", dims({3, 3, 11, 10})));
        context->setInputTensorAddress("x", x.data());
        context->setOutputTensorAddress("y", y.data());
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        results.push_back(y.read());
    }
    EXPECT_EQ(results[0], results[1]); // To the last bit.
    expectNear(results[1], convRelu.expected(x.read(), 3, 11, 10));
}

TEST_F(RuntimeRules, filesAreMapped)
{
    tenon::test::TempFolder const folder;
    std::string const path = folder.file("network.plan");
    {
        std::ofstream file{path, std::ios::binary};
        file.write(static_cast<char const*>(plan->data()), static_cast<std::streamsize>(plan->size()));
    }
    std::unique_ptr<ICudaEngine> const loaded{tenon::load(*runtime, path.c_str())};
    std::remove(path.c_str());
    ASSERT_NE(loaded, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{loaded->createExecutionContext()};
    runAndCompare(*context, 3, 9, 12);
    EXPECT_EQ(tenon::load(*runtime, "/nowhere/at.all"), nullptr);
}

TEST_F(RuntimeRules, sharedMemoryIsReleasedOnceWhenNothingNeedsIt)
{
    std::vector<uint8_t> blob = bytes();
    int32_t released{0};
    auto const release = [](void* user) { ++*static_cast<int32_t*>(user); };
    std::unique_ptr<ICudaEngine> loaded{
        static_cast<ICudaEngine*>(tenonDeserializeShared(runtime.get(), blob.data(), blob.size(), release, &released))};
    ASSERT_NE(loaded, nullptr);
    std::unique_ptr<IExecutionContext> context{loaded->createExecutionContext()};
    loaded.reset();
    runAndCompare(*context, 1, 8, 13);
    EXPECT_EQ(released, 0);
    context.reset();
    EXPECT_EQ(released, 1);
    EXPECT_EQ(tenonDeserializeShared(runtime.get(), blob.data(), 5, release, &released), nullptr);
    EXPECT_EQ(released, 2);
}

//! Gives a few bytes at a time.
class SlowReader final : public IStreamReaderV2
{
  public:
    SlowReader(void const* data, size_t size)
        : mData{static_cast<uint8_t const*>(data)},
          mSize{size}
    {
    }
    int64_t read(void* to, int64_t count, cudaStream_t) noexcept override
    {
        size_t const taken = std::min({static_cast<size_t>(count), mSize - mAt, size_t{1000}});
        std::memcpy(to, mData + mAt, taken);
        mAt += taken;
        return static_cast<int64_t>(taken);
    }
    bool seek(int64_t, SeekPosition) noexcept override
    {
        return false;
    }

  private:
    uint8_t const* mData;
    size_t mSize;
    size_t mAt{0};
};

TEST_F(RuntimeRules, readersMayGiveAFewBytesAtATime)
{
    SlowReader reader{plan->data(), plan->size()};
    std::unique_ptr<ICudaEngine> const loaded{runtime->deserializeCudaEngine(reader)};
    EXPECT_NE(loaded, nullptr) << logger.errors();
}

TEST_F(RuntimeRules, whatAReaderClaimsIsNotBelieved)
{
    std::string const whole{static_cast<char const*>(plan->data()), plan->size()};
    constexpr size_t kSize{16}; // Where a plan's header has it.
    for (uint64_t const claimed : {uint64_t{1} << 40, uint64_t{1} << 62, UINT64_MAX, uint64_t{0}, whole.size() + 1})
    {
        std::string wrong = whole;
        std::memcpy(wrong.data() + kSize, &claimed, sizeof claimed);
        SlowReader reader{wrong.data(), wrong.size()};
        EXPECT_EQ(runtime->deserializeCudaEngine(reader), nullptr) << claimed;
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "IRuntime::deserializeCudaEngine"), 1) << logger.errors();
        logger.messages.clear();
    }
    for (size_t const bytes : {size_t{0}, size_t{20}, size_t{48}, whole.size() / 2, whole.size() - 1})
    {
        SlowReader reader{whole.data(), bytes};
        EXPECT_EQ(runtime->deserializeCudaEngine(reader), nullptr) << bytes;
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "IRuntime::deserializeCudaEngine"), 1) << logger.errors();
        logger.messages.clear();
    }
}

} // namespace apitest
