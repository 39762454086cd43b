// Models refitted from their files while four threads run contexts of the same engine: every run has the weights from
// before the refit or from after it, and then the engine is the one that would be built anew, bit for bit. Small models
// always, which also end under ThreadSanitizer; real ones where TENON_SOAK_MODELS is their folder.
#include "NvOnnxParser.h"
#include "api/fixture.h"
#include "soak/small_models.h"
#include "support/temp_folder.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

namespace apitest
{

namespace
{
constexpr int32_t kRunners{4};
constexpr int64_t kTokens{16};

struct Input
{
    Dims shape;
    std::vector<uint8_t> bytes;
};
using Inputs = std::map<std::string, Input>;
using Outputs = std::map<std::string, std::vector<uint8_t>>;

class Refitted : public ApiTest
{
  protected:
    std::string path;

    void SetUp() override
    {
        ASSERT_TRUE(runtime->setMaxThreads(1));
    }
    std::unique_ptr<ICudaEngine> engineOf(bool isRefittable)
    {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        std::unique_ptr<nvonnxparser::IParser> const parser{nvonnxparser::createParser(*own, logger)};
        EXPECT_TRUE(parser->parseFromFile(path.c_str(), 0)) << logger.errors();
        std::unique_ptr<IBuilderConfig> const how{builder->createBuilderConfig()};
        if (isRefittable)
            how->setFlag(BuilderFlag::kREFIT);
        IOptimizationProfile* const profile = builder->createOptimizationProfile();
        for (int32_t i = 0; i < own->getNbInputs(); ++i)
        {
            Dims shape = own->getInput(i)->getDimensions();
            for (int32_t axis = 0; axis < shape.nbDims; ++axis)
                if (shape.d[axis] < 0)
                    shape.d[axis] = axis == 0 ? 1 : kTokens;
            for (OptProfileSelector const select :
                {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
                EXPECT_TRUE(profile->setDimensions(own->getInput(i)->getName(), select, shape));
        }
        how->addOptimizationProfile(profile);
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*own, *how)};
        EXPECT_NE(plan, nullptr) << logger.errors();
        return std::unique_ptr<ICudaEngine>{
            plan == nullptr ? nullptr : runtime->deserializeCudaEngine(plan->data(), plan->size())};
    }
    //! The same in all runs; tokens are small, a mask is ones, pictures are random.
    static Inputs inputsOf(ICudaEngine const& engine)
    {
        Inputs inputs;
        for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        {
            std::string const name = engine.getIOTensorName(i);
            if (engine.getTensorIOMode(name.c_str()) != TensorIOMode::kINPUT)
                continue;
            Dims const shape = engine.getProfileShape(name.c_str(), 0, OptProfileSelector::kOPT);
            int64_t count{1};
            for (int32_t axis = 0; axis < shape.nbDims; ++axis)
                count *= shape.d[axis];
            std::vector<float> const reals = randomFloats(static_cast<size_t>(count), 7);
            std::vector<int64_t> numbers;
            for (float const real : reals)
                numbers.push_back(name.find("mask") != std::string::npos ? 1 : static_cast<int64_t>(real * 50 + 60));
            bool const isWhole = engine.getTensorDataType(name.c_str()) == DataType::kINT64;
            inputs.emplace(name, Input{shape, isWhole ? bytesOf(numbers) : bytesOf(reals)});
        }
        return inputs;
    }
    template <typename T>
    static std::vector<uint8_t> bytesOf(std::vector<T> const& from)
    {
        auto const* const first = reinterpret_cast<uint8_t const*>(from.data());
        return {first, first + from.size() * sizeof(T)};
    }
    //! Null: the run failed.
    static std::optional<Outputs> run(ICudaEngine& engine, Inputs const& given)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        std::vector<DeviceArray<uint8_t>> inputs;
        for (auto const& [name, input] : given)
        {
            inputs.emplace_back(input.bytes);
            if (!context->setInputShape(name.c_str(), input.shape)
                || !context->setTensorAddress(name.c_str(), inputs.back().data()))
                return std::nullopt;
        }
        std::map<std::string, DeviceArray<uint8_t>> outputs;
        for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        {
            char const* const name = engine.getIOTensorName(i);
            if (given.contains(name))
                continue;
            auto const size = static_cast<size_t>(context->getMaxOutputSize(name));
            auto const [place, isNew] = outputs.try_emplace(name, size);
            if (!context->setTensorAddress(name, place->second.data()))
                return std::nullopt;
        }
        if (!runToEnd(*context))
            return std::nullopt;
        Outputs got;
        for (auto const& [name, memory] : outputs)
            got.emplace(name, memory.read());
        return got;
    }
    //! Other values for all that the engine lists: positive ones, as variances are among them. Not randomFloats():
    //! under ThreadSanitizer that would take most of the test's time.
    static bool giveOthers(IRefitter& refitter)
    {
        std::vector<char const*> names(static_cast<size_t>(refitter.getAllWeights(0, nullptr)));
        refitter.getAllWeights(static_cast<int32_t>(names.size()), names.data());
        std::vector<std::vector<float>> kept;
        uint32_t number{1};
        for (char const* const name : names)
        {
            int64_t const count = name == nullptr ? 0 : refitter.getWeightsPrototype(name).count;
            if (count < 2) // Single numbers stay as they are.
                continue;
            kept.emplace_back(count);
            for (float& each : kept.back())
                each = 0.01F + 1e-12F * static_cast<float>((number = 1664525 * number + 1013904223));
            if (!refitter.setNamedWeights(name, weights(kept.back())))
                return false;
        }
        return refitter.refitCudaEngine();
    }
    //! The test: `rounds` times other weights and then those of the file, while others run.
    void runBesideRefits(int32_t rounds)
    {
        std::unique_ptr<ICudaEngine> const engine = engineOf(true);
        ASSERT_NE(engine, nullptr) << logger.errors();
        Inputs const inputs = inputsOf(*engine);
        std::optional<Outputs> const wanted = run(*engineOf(false), inputs);
        ASSERT_TRUE(wanted && run(*engine, inputs) == wanted);
        std::unique_ptr<IRefitter> const refitter{createInferRefitter(*engine, logger)};
        ASSERT_TRUE(giveOthers(*refitter)) << logger.errors();
        std::optional<Outputs> const others = run(*engine, inputs);
        ASSERT_TRUE(others && others != wanted);

        std::atomic<bool> isOver{false};
        std::atomic<int32_t> wrong{0};
        std::atomic<int32_t> runs{0};
        std::vector<std::thread> threads;
        for (int32_t i = 0; i < kRunners; ++i)
            threads.emplace_back([&] {
                while (!isOver)
                {
                    std::optional<Outputs> const got = run(*engine, inputs);
                    wrong += got == others || got == wanted ? 0 : 1;
                    ++runs;
                }
            });
        std::unique_ptr<nvonnxparser::IParserRefitter> const parser{
            nvonnxparser::createParserRefitter(*refitter, logger)};
        for (int32_t round = 0; round < rounds; ++round)
        {
            EXPECT_TRUE(round == 0 || giveOthers(*refitter)) << logger.errors();
            EXPECT_TRUE(parser->refitFromFile(path.c_str())) << logger.errors();
            EXPECT_TRUE(refitter->refitCudaEngine()) << logger.errors();
        }
        while (runs < kRunners * rounds)
            std::this_thread::yield();
        isOver = true;
        for (std::thread& each : threads)
            each.join();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(run(*engine, inputs), wanted);
    }
};

class RefittedModel : public Refitted, public testing::WithParamInterface<char const*>
{
};

struct SmallModel
{
    char const* name;
    std::string (*bytes)();
};

class RefittedSmallModel : public Refitted, public testing::WithParamInterface<SmallModel>
{
  protected:
    tenon::test::TempFolder folder;
};
} // namespace

TEST_P(RefittedModel, U3_W13_runsBesideARefitFromTheFileSeeOneStateOrTheOther)
{
    char const* const folder = std::getenv("TENON_SOAK_MODELS");
    if (folder == nullptr)
        GTEST_SKIP() << "TENON_SOAK_MODELS names no folder of models";
    path = std::string{folder} + "/" + GetParam() + ".onnx";
    runBesideRefits(1);
}

INSTANTIATE_TEST_SUITE_P(Models, RefittedModel, testing::Values("resnet50", "bert_base", "ssdlite320"),
    [](testing::TestParamInfo<char const*> const& of) { return std::string{of.param}; });

TEST_P(RefittedSmallModel, U3_W13_runsBesideRefitsFromTheFileSeeOneStateOrTheOther)
{
    path = folder.file("model.onnx");
    std::ofstream{path, std::ios::binary} << GetParam().bytes();
    runBesideRefits(8);
}

INSTANTIATE_TEST_SUITE_P(Models, RefittedSmallModel,
    testing::Values(
        SmallModel{"resnet", smallResnet}, SmallModel{"bert", smallBert}, SmallModel{"conditional", smallConditional}),
    [](testing::TestParamInfo<SmallModel> const& of) { return std::string{of.param.name}; });

} // namespace apitest
