// Real models refitted from their files while four threads run contexts of the same engine: every run has the weights
// of before or of behind, and behind it the engine is the one that would be built anew, bit for bit. TENON_SOAK_MODELS
// is the folder of the models. Runs under ThreadSanitizer, too.
#include "NvOnnxParser.h"
#include "api/fixture.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

namespace apitest
{

namespace
{
constexpr int32_t kRunners{4};
constexpr int64_t kTokens{16};

using Outputs = std::map<std::string, std::vector<uint8_t>>;

class RefittedModel : public ApiTest, public testing::WithParamInterface<char const*>
{
  protected:
    std::string path;

    void SetUp() override
    {
        char const* const folder = std::getenv("TENON_SOAK_MODELS");
        if (folder == nullptr)
            GTEST_SKIP() << "TENON_SOAK_MODELS names no folder of models";
        path = std::string{folder} + "/" + GetParam() + ".onnx";
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
    //! Tokens are small, a mask is ones, pictures are random.
    static std::vector<uint8_t> values(ICudaEngine const& engine, std::string const& name, int64_t count)
    {
        std::vector<float> const reals = randomFloats(static_cast<size_t>(count), 7);
        if (engine.getTensorDataType(name.c_str()) == DataType::kINT64)
        {
            std::vector<int64_t> numbers;
            for (float const real : reals)
                numbers.push_back(name.find("mask") != std::string::npos ? 1 : static_cast<int64_t>(real * 50 + 60));
            return bytesOf(numbers);
        }
        return bytesOf(reals);
    }
    template <typename T>
    static std::vector<uint8_t> bytesOf(std::vector<T> const& from)
    {
        auto const* const first = reinterpret_cast<uint8_t const*>(from.data());
        return {first, first + from.size() * sizeof(T)};
    }
    //! Null: the run failed.
    static std::optional<Outputs> run(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        std::map<std::string, std::vector<uint8_t>> inputs;
        Outputs outputs;
        for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        {
            char const* const name = engine.getIOTensorName(i);
            if (engine.getTensorIOMode(name) == TensorIOMode::kINPUT)
            {
                Dims const shape = engine.getProfileShape(name, 0, OptProfileSelector::kOPT);
                int64_t count{1};
                for (int32_t axis = 0; axis < shape.nbDims; ++axis)
                    count *= shape.d[axis];
                inputs[name] = values(engine, name, count);
                if (!context->setInputShape(name, shape) || !context->setTensorAddress(name, inputs[name].data()))
                    return std::nullopt;
            }
            else
            {
                outputs[name].resize(static_cast<size_t>(context->getMaxOutputSize(name)));
                if (!context->setTensorAddress(name, outputs[name].data()))
                    return std::nullopt;
            }
        }
        if (!context->enqueueV3(nullptr))
            return std::nullopt;
        return outputs;
    }
    //! Other values for all that the engine lists: positive ones, as variances are among them.
    static bool giveOthers(IRefitter& refitter)
    {
        std::vector<char const*> names(static_cast<size_t>(refitter.getAllWeights(0, nullptr)));
        refitter.getAllWeights(static_cast<int32_t>(names.size()), names.data());
        std::vector<std::vector<float>> kept;
        for (char const* const name : names)
        {
            int64_t const count = name == nullptr ? 0 : refitter.getWeightsPrototype(name).count;
            if (count < 2) // Single numbers stay as they are.
                continue;
            kept.push_back(randomFloats(static_cast<size_t>(count), static_cast<uint32_t>(kept.size())));
            for (float& each : kept.back())
                each = 0.01F + 0.02F * std::abs(each);
            if (!refitter.setNamedWeights(name, weights(kept.back())))
                return false;
        }
        return refitter.refitCudaEngine();
    }
};
} // namespace

TEST_P(RefittedModel, U3_W13_runsBesideARefitFromTheFileSeeOneStateOrTheOther)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(true);
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::optional<Outputs> const wanted = run(*engineOf(false));
    ASSERT_TRUE(wanted && run(*engine) == wanted);
    std::unique_ptr<IRefitter> const refitter{createInferRefitter(*engine, logger)};
    ASSERT_TRUE(giveOthers(*refitter)) << logger.errors();
    std::optional<Outputs> const before = run(*engine);
    ASSERT_TRUE(before && before != wanted);

    std::atomic<bool> isOver{false};
    std::atomic<int32_t> wrong{0};
    std::atomic<int32_t> runs{0};
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < kRunners; ++i)
        threads.emplace_back([&] {
            while (!isOver)
            {
                std::optional<Outputs> const got = run(*engine);
                wrong += got == before || got == wanted ? 0 : 1;
                ++runs;
            }
        });
    std::unique_ptr<nvonnxparser::IParserRefitter> const parser{nvonnxparser::createParserRefitter(*refitter, logger)};
    EXPECT_TRUE(parser->refitFromFile(path.c_str())) << logger.errors();
    EXPECT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    while (runs < kRunners)
        std::this_thread::yield();
    isOver = true;
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(run(*engine), wanted);
}

INSTANTIATE_TEST_SUITE_P(Models, RefittedModel, testing::Values("resnet50", "bert_base", "ssdlite320"),
    [](testing::TestParamInfo<char const*> const& of) { return std::string{of.param}; });

} // namespace apitest
