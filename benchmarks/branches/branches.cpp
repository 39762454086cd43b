// Networks whose branches may run side by side, with auxiliary streams and without, in turns: microseconds of a run.
// An argument is a number of threads; without one, those that this process may use.
#include "NvInfer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

namespace
{
using namespace nvinfer1;
using Clock = std::chrono::steady_clock;

struct Logger final : public ILogger
{
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::fprintf(stderr, "%s\n", message);
    }
} gLogger;

//! The sum of `branches` chains of 3×3 convolutions; the last of them are shorter where `isUneven`.
struct Shape
{
    int32_t branches;
    int32_t length;
    int64_t maps;
    int64_t side;
    bool isUneven;
};

std::unique_ptr<IExecutionContext> contextOf(Shape const& shape, int32_t aux, int32_t threads)
{
    std::unique_ptr<IBuilder> const builder{createInferBuilder(gLogger)};
    std::unique_ptr<INetworkDefinition> const network{builder->createNetworkV2(0)};
    std::unique_ptr<IBuilderConfig> const config{builder->createBuilderConfig()};
    config->setMaxAuxStreams(aux);
    std::deque<std::vector<float>> kept;
    ITensor* const x = network->addInput("x", DataType::kFLOAT, Dims4{1, shape.maps, shape.side, shape.side});
    ITensor* sum{nullptr};
    for (int32_t i = 0; i < shape.branches; ++i)
    {
        ITensor* last = x;
        int32_t const length = shape.isUneven ? std::max(shape.length / (i + 1), 1) : shape.length;
        for (int32_t j = 0; j < length; ++j)
        {
            auto& kernel = kept.emplace_back(static_cast<size_t>(shape.maps * shape.maps * 9));
            for (size_t k = 0; k < kernel.size(); ++k)
                kernel[k] = std::sin(static_cast<float>(k + static_cast<size_t>(j))) / static_cast<float>(shape.maps);
            IConvolutionLayer* const layer = network->addConvolutionNd(*last, shape.maps, Dims{2, {3, 3}},
                Weights{DataType::kFLOAT, kernel.data(), static_cast<int64_t>(kernel.size())},
                Weights{DataType::kFLOAT, nullptr, 0});
            layer->setPaddingNd(Dims{2, {1, 1}});
            last = network->addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0);
        }
        sum = sum == nullptr ? last : network->addElementWise(*sum, *last, ElementWiseOperation::kSUM)->getOutput(0);
    }
    sum->setName("y");
    network->markOutput(*sum);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    std::unique_ptr<IRuntime> const runtime{createInferRuntime(gLogger)};
    if (threads > 0)
        runtime->setMaxThreads(threads);
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    return std::unique_ptr<IExecutionContext>{engine->createExecutionContext()};
}

double medianOf(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void compare(Shape const& shape, int32_t threads)
{
    constexpr int32_t kRounds{9};
    std::vector<float> x(static_cast<size_t>(shape.maps * shape.side * shape.side));
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = std::cos(static_cast<float>(i));
    std::vector<float> y(x.size());
    std::unique_ptr<IExecutionContext> const contexts[]{contextOf(shape, 0, threads), contextOf(shape, -1, threads)};
    std::vector<double> rounds[2];
    for (int32_t round = 0; round < kRounds; ++round)
        for (size_t which = 0; which < 2; ++which)
        {
            contexts[which]->setTensorAddress("x", x.data());
            contexts[which]->setTensorAddress("y", y.data());
            std::vector<double> runs;
            for (int32_t run = 0; run < 60; ++run)
            {
                auto const start = Clock::now();
                if (!contexts[which]->enqueueV3(nullptr))
                    std::exit(1);
                runs.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
            }
            rounds[which].push_back(medianOf(runs));
        }
    std::vector<double> ratios;
    for (size_t i = 0; i < rounds[0].size(); ++i)
        ratios.push_back(rounds[1][i] / rounds[0][i]);
    std::printf("%d branches%s of %2d  %3d maps %3dx%-3d  %8.1f us  with streams %8.1f us  ratio %.2f\n",
        shape.branches, shape.isUneven ? " (uneven)" : "", shape.length, static_cast<int32_t>(shape.maps),
        static_cast<int32_t>(shape.side), static_cast<int32_t>(shape.side), medianOf(rounds[0]), medianOf(rounds[1]),
        medianOf(ratios));
    std::fflush(stdout);
}
} // namespace

int main(int argc, char** argv)
{
    int32_t const threads = argc > 1 ? std::atoi(argv[1]) : 0;
    for (int32_t const branches : {2, 3, 4})
        for (bool const isUneven : {false, true})
            for (auto const& [maps, side] : {std::pair<int64_t, int64_t>{8, 7}, {8, 14}, {16, 14}, {32, 14}, {64, 14},
                     {32, 28}, {64, 28}, {64, 56}})
                compare({branches, 12, maps, side, isUneven}, threads);
    return 0;
}
