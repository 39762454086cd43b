// A plugin library that was made from the layout table alone, without our headers: what was built for 10.x runs.
#include "api/fixture.h"
#include "plugins/elsewhere.h"

#include <utility>

#include <dlfcn.h>

namespace plugintest
{
namespace
{

using namespace nvinfer1;
using apitest::dims;
using tenon::test::DeviceArray;

//! What the two plugins of the library compute, one after the other: y[r, j] = x[r, 4j / 3] * factor.
template <typename T>
std::vector<T> expected(std::vector<T> const& x, int64_t rows, int64_t columns, float factor)
{
    std::vector<T> y;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < columns * 3; j += 4)
            y.push_back(static_cast<T>(static_cast<float>(x[static_cast<size_t>(r * columns + j / 3)]) * factor));
    return y;
}

template <typename T>
std::vector<T> randomValues(size_t count, uint32_t seed)
{
    std::mt19937 generator{seed};
    std::vector<T> values(count);
    for (T& value : values)
        value = static_cast<T>(static_cast<int32_t>(generator() % 2000) - 1000);
    return values;
}

class RawLibrary : public apitest::ApiTest
{
  protected:
    IPluginRegistry& registry = *getPluginRegistry();
    void* handle{nullptr};

    void SetUp() override
    {
        handle = registry.loadLibrary(TENON_RAW_LIBRARY);
        ASSERT_NE(handle, nullptr) << logger.errors();
    }
    void TearDown() override
    {
        network.reset(); // It holds objects whose code is in the library.
        if (handle != nullptr)
            registry.deregisterLibrary(handle);
    }
    //! x -> RawRepeat(3, factor) -> RawStride(4) -> y, made by the creators.
    void addLayers(DataType type, float factor)
    {
        int32_t const times{3};
        int32_t const step{4};
        PluginField const repeatFields[]{
            {"times", &times, PluginFieldType::kINT32, 1}, {"factor", &factor, PluginFieldType::kFLOAT32, 1}};
        PluginField const strideFields[]{{"step", &step, PluginFieldType::kINT32, 1}};
        PluginFieldCollection const forRepeat{2, repeatFields};
        PluginFieldCollection const forStride{1, strideFields};
        IPluginCreator* const repeats = registry.getPluginCreator("RawRepeat", "1", "raw");
        ASSERT_NE(repeats, nullptr);
        auto* const strides = static_cast<IPluginCreatorV3One*>(registry.getCreator("RawStride", "1", "raw"));
        ASSERT_NE(strides, nullptr);
        ITensor* x = network->addInput("x", type, dims({-1, 2, -1}));
        IPluginV2* const repeat = repeats->createPlugin("repeat", &forRepeat);
        ASSERT_NE(repeat, nullptr);
        IPluginV2Layer* const first = network->addPluginV2(&x, 1, *repeat);
        repeat->destroy();
        ASSERT_NE(first, nullptr) << logger.errors();
        std::unique_ptr<IPluginV3> const stride{strides->createPlugin("stride", &forStride, TensorRTPhase::kBUILD)};
        ASSERT_NE(stride, nullptr);
        ITensor* between = first->getOutput(0);
        IPluginV3Layer* const second = network->addPluginV3(&between, 1, nullptr, 0, *stride);
        ASSERT_NE(second, nullptr) << logger.errors();
        second->getOutput(0)->setName("y");
        network->markOutput(*second->getOutput(0));
        addProfile({1, 2, 1}, {2, 2, 8}, {4, 2, 32});
    }

    template <typename T>
    void check(DataType type, float factor)
    {
        addLayers(type, factor);
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        ASSERT_NE(plan, nullptr) << logger.errors();
        std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(engine, nullptr) << logger.errors();
        {
            std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
            std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
            runHere<T>(*first, 3, 7, factor);
            runHere<T>(*second, 4, 32, factor);
            runHere<T>(*first, 1, 1, factor);
        }
        runInAnotherProcess<T>(*plan, factor);
        engine.reset();
        runtime.reset();
    }

  private:
    template <typename T>
    void runHere(IExecutionContext& context, int64_t batch, int64_t columns, float factor)
    {
        std::vector<T> const values = randomValues<T>(static_cast<size_t>(batch * 2 * columns), 5);
        std::vector<T> const wanted = expected(values, batch * 2, columns, factor);
        DeviceArray<T> const x{values};
        DeviceArray<T> const y{wanted.size()};
        ASSERT_TRUE(context.setInputShape("x", dims({batch, 2, columns}))) << logger.errors();
        ASSERT_TRUE(context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data()));
        ASSERT_TRUE(context.enqueueV3(apitest::stream())) << logger.errors();
        EXPECT_EQ(y.read(), wanted);
    }

    template <typename T>
    void runInAnotherProcess(IHostMemory const& plan, float factor)
    {
        std::vector<T> const values = randomValues<T>(2 * 2 * 9, 6);
        std::map<std::string, Elements> outputs =
            runElsewhere(TENON_RAW_LIBRARY, plan, {{"x", Elements::of<T>({2, 2, 9}, values)}}, {"y"});
        EXPECT_EQ(outputs["y"].as<T>(), expected(values, 4, 9, factor)) << "in another process";
    }
};

TEST_F(RawLibrary, I5_theFinderLeadsToTheLogger)
{
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "the raw library is asked for its creators"), 1);
}

TEST_F(RawLibrary, createsBuildsSavesReloadsAndRunsFloats)
{
    check<float>(DataType::kFLOAT, 0.5F);
}

TEST_F(RawLibrary, createsBuildsSavesReloadsAndRunsIntegers)
{
    check<int32_t>(DataType::kINT32, -3.0F);
}

TEST_F(RawLibrary, I4_deregisteringClosesTheLibrary)
{
    void* const open = dlopen(TENON_RAW_LIBRARY, RTLD_NOLOAD | RTLD_NOW);
    ASSERT_NE(open, nullptr) << "it is loaded";
    dlclose(open);
    registry.deregisterLibrary(std::exchange(handle, nullptr));
    EXPECT_EQ(dlopen(TENON_RAW_LIBRARY, RTLD_NOLOAD | RTLD_NOW), nullptr);
    EXPECT_EQ(registry.getCreator("RawStride", "1", "raw"), nullptr);
    EXPECT_EQ(registry.getPluginCreator("RawRepeat", "1", "raw"), nullptr);
}

TEST_F(RawLibrary, creatorsThatLackTheirFieldsGiveNull)
{
    PluginFieldCollection const none{0, nullptr};
    EXPECT_EQ(registry.getPluginCreator("RawRepeat", "1", "raw")->createPlugin("x", &none), nullptr);
    EXPECT_EQ(static_cast<IPluginCreatorV3One*>(registry.getCreator("RawStride", "1", "raw"))
                  ->createPlugin("x", &none, TensorRTPhase::kBUILD),
        nullptr);
}

} // namespace
} // namespace plugintest
