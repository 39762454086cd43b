// Classifies a picture with an ONNX network: classify mobilenet_v2.onnx picture.ppm (binary PPM, 224 x 224)
#include "NvInfer.h"
#include "NvOnnxParser.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <vector>

using namespace nvinfer1;

struct Logger : ILogger
{
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
            std::cerr << message << '\n';
    }
};

std::vector<float> readPicture(char const* path)
{
    std::ifstream file{path, std::ios::binary};
    std::vector<unsigned char> const bytes{std::istreambuf_iterator<char>{file}, {}};
    size_t const count = 3 * 224 * 224;
    std::vector<float> picture(bytes.size() < count ? 0 : count);
    for (size_t i = 0; i < picture.size(); ++i) // Interleaved bytes become planes of floats in -1 … 1.
        picture[i % 3 * 224 * 224 + i / 3] = static_cast<float>(bytes[bytes.size() - count + i]) / 127.5F - 1.0F;
    return picture;
}

int main(int argc, char** argv)
{
    std::vector<float> picture = argc == 3 ? readPicture(argv[2]) : std::vector<float>{};
    if (picture.empty())
        return std::cerr << "usage: classify NETWORK.onnx PICTURE.ppm (224 x 224)\n", 2;

    setenv("TENON_DEVICE", "cpu", 0); // Vectors are its memory, also where there is a GPU.
    Logger logger;
    std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};
    std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};
    std::unique_ptr<nvonnxparser::IParser> parser{nvonnxparser::createParser(*network, logger)};
    if (!parser->parseFromFile(argv[1], 0))
        return 1;
    std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    profile->setDimensions("input", OptProfileSelector::kMIN, Dims4{1, 3, 224, 224});
    profile->setDimensions("input", OptProfileSelector::kOPT, Dims4{1, 3, 224, 224});
    profile->setDimensions("input", OptProfileSelector::kMAX, Dims4{8, 3, 224, 224});
    config->addOptimizationProfile(profile);
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    if (!plan)
        return 1;

    std::unique_ptr<IRuntime> runtime{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    std::vector<float> scores(1000);
    context->setInputShape("input", Dims4{1, 3, 224, 224});
    context->setTensorAddress("input", picture.data());
    context->setTensorAddress("output", scores.data());
    if (!context->enqueueV3(nullptr)) // On a CPU the null stream is the caller's thread: the scores are there now.
        return 1;

    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(
        order.begin(), order.begin() + 5, order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    for (size_t i = 0; i < 5; ++i)
        std::cout << "class " << order[i] << ": " << scores[order[i]] << '\n';
}
