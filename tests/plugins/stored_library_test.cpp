// Libraries of plugins that plans carry: stored with a digest, opened by permission alone (rules G19, O4).
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <filesystem>
#include <fstream>

namespace plugintest
{
namespace
{

class StoredLibraries : public apitest::ApiTest
{
  protected:
    //! A network of one padding from the library, which only the builder knows.
    std::unique_ptr<IHostMemory> planWith(std::vector<char const*> const& stored)
    {
        IPluginRegistry& registry = builder->getPluginRegistry();
        void* const handle = registry.loadLibrary(TENON_PAD_LIBRARY);
        EXPECT_NE(handle, nullptr) << logger.errors();
        auto* const creator = static_cast<IPluginCreatorV3One*>(registry.getCreator("CircPadV3", "1", ""));
        std::array<int32_t, 2> const pads{1, 2};
        std::array const fields{PluginField{"before", pads.data(), PluginFieldType::kINT32, 2},
            PluginField{"after", pads.data(), PluginFieldType::kINT32, 2}};
        PluginFieldCollection const collection{2, fields.data()};
        std::unique_ptr<IPluginV3> const plugin{creator->createPlugin("pad", &collection, TensorRTPhase::kBUILD)};
        ITensor* const x = network->addInput("x", DataType::kFLOAT, apitest::dims({1, 2, 5, 6}));
        ITensor* const inputs[]{x};
        ITensor* const y = network->addPluginV3(inputs, 1, nullptr, 0, *plugin)->getOutput(0);
        y->setName("y");
        network->markOutput(*y);
        config->setPluginsToSerialize(stored.data(), static_cast<int32_t>(stored.size()));
        return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
    }
    std::unique_ptr<ICudaEngine> load(IRuntime& with, IHostMemory const& plan)
    {
        return std::unique_ptr<ICudaEngine>{with.deserializeCudaEngine(plan.data(), plan.size())};
    }
    std::vector<float> run(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        Dims const shape = engine.getTensorShape("y");
        apitest::DeviceArray<float> const x{apitest::randomFloats(2 * 5 * 6, 3)};
        apitest::DeviceArray<float> const y{static_cast<size_t>(shape.d[0] * shape.d[1] * shape.d[2] * shape.d[3])};
        EXPECT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
        EXPECT_TRUE(apitest::runToEnd(*context)) << logger.errors();
        return y.read();
    }
};

TEST_F(StoredLibraries, O4_aPlanBringsItsLibraryWhereThatIsAllowed)
{
    std::unique_ptr<IHostMemory> const plan = planWith({TENON_PAD_LIBRARY});
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(config->getNbPluginsToSerialize(), 1);
    EXPECT_STREQ(config->getPluginToSerialize(0), TENON_PAD_LIBRARY);
    EXPECT_GT(plan->size(), std::filesystem::file_size(TENON_PAD_LIBRARY));
    std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
    EXPECT_EQ(load(*other, *plan), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setEngineHostCodeAllowed(true)"), 1) << logger.errors();
    EXPECT_EQ(other->getPluginRegistry().getCreator("CircPadV3", "1", ""), nullptr) << "nothing was opened";
    other->setEngineHostCodeAllowed(true);
    std::unique_ptr<ICudaEngine> const engine = load(*other, *plan);
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_NE(other->getPluginRegistry().getCreator("CircPadV3", "1", ""), nullptr);
    std::vector<float> const padded = run(*engine);
    EXPECT_EQ(padded.size(), size_t{2} * 7 * 10);
    std::unique_ptr<ICudaEngine> const again = load(*other, *plan);
    ASSERT_NE(again, nullptr) << "a second plan with the library" << logger.errors();
    EXPECT_EQ(run(*again), padded);
    std::unique_ptr<IHostMemory> const written{engine->serialize()};
    std::unique_ptr<IRuntime> const third{createInferRuntime(logger)};
    third->setEngineHostCodeAllowed(true);
    std::unique_ptr<ICudaEngine> const last = load(*third, *written);
    ASSERT_NE(last, nullptr) << logger.errors();
    EXPECT_EQ(run(*last), padded);
}

TEST_F(StoredLibraries, O4_filesAreMadeWhereTheRuntimeAllowsThem)
{
    std::unique_ptr<IHostMemory> const plan = planWith({TENON_PAD_LIBRARY});
    ASSERT_NE(plan, nullptr) << logger.errors();
    constexpr auto kFiles = static_cast<uint32_t>(TempfileControlFlag::kALLOW_TEMPORARY_FILES);
    std::unique_ptr<IRuntime> const other{createInferRuntime(logger)};
    other->setEngineHostCodeAllowed(true);
    other->setTempfileControlFlags(0);
    EXPECT_EQ(load(*other, *plan), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setTempfileControlFlags allows neither"), 1);
    other->setTempfileControlFlags(1U << kFiles);
    other->setTemporaryDirectory("/no/such/folder");
    EXPECT_EQ(load(*other, *plan), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "/no/such/folder"), 1) << logger.errors();
    other->setTemporaryDirectory(nullptr);
    std::unique_ptr<ICudaEngine> const engine = load(*other, *plan);
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(run(*engine).size(), size_t{2} * 7 * 10);
}

TEST_F(StoredLibraries, G19_whatIsNoLibraryIsNotStored)
{
    std::filesystem::path const text = std::filesystem::temp_directory_path() / "tenon-no-library.so";
    std::ofstream{text} << "not machine code";
    std::string const path = text.string();
    EXPECT_EQ(planWith({path.c_str()}), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, path), 1) << logger.errors();
    std::filesystem::remove(text);
}

} // namespace
} // namespace plugintest
