// What an execution context costs beside the work of its layers: a run of trivial layers, going back to a shape, a new
// shape. Fails when a figure is over its limit.
#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "tenon/inspect.h"
#include "tenon/tenon.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{
using namespace nvinfer1;
using Clock = std::chrono::steady_clock;

constexpr int32_t kLayers{100};
constexpr int64_t kFloats{16};

class Logger final : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::fprintf(stderr, "%s\n", message);
    }
};

Logger& logger()
{
    static Logger instance;
    return instance;
}

template <typename T>
T* orDie(T* made, char const* what)
{
    if (made != nullptr)
        return made;
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(1);
}

void orDie(bool done, char const* what)
{
    if (!done)
        orDie<void>(nullptr, what);
}

double microseconds(std::function<void()> const& work)
{
    auto const start = Clock::now();
    work();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

struct Loaded
{
    std::unique_ptr<IRuntime> runtime;
    std::unique_ptr<ICudaEngine> engine;
};

using Fill = std::function<void(INetworkDefinition& network, IOptimizationProfile& profile)>;

Loaded build(Fill const& fill)
{
    std::unique_ptr<IBuilder> const builder{orDie(createInferBuilder(logger()), "createInferBuilder")};
    std::unique_ptr<INetworkDefinition> const network{orDie(builder->createNetworkV2(0U), "createNetworkV2")};
    std::unique_ptr<IBuilderConfig> const config{orDie(builder->createBuilderConfig(), "createBuilderConfig")};
    IOptimizationProfile* const profile = orDie(builder->createOptimizationProfile(), "createOptimizationProfile");
    fill(*network, *profile);
    orDie(config->addOptimizationProfile(profile) >= 0, "addOptimizationProfile");
    std::unique_ptr<IHostMemory> const plan{
        orDie(builder->buildSerializedNetwork(*network, *config), "buildSerializedNetwork")};
    Loaded loaded;
    loaded.runtime.reset(orDie(createInferRuntime(logger()), "createInferRuntime"));
    loaded.engine.reset(orDie(loaded.runtime->deserializeCudaEngine(plan->data(), plan->size()), "deserialize"));
    return loaded;
}

//! out = a chain of layers that cannot be merged (the knob keeps them apart); x of [n, 16], or of 16 floats.
void fillChain(INetworkDefinition& network, IOptimizationProfile& profile, bool isDynamic)
{
    ITensor* tensor = isDynamic ? network.addInput("x", DataType::kFLOAT, Dims2{-1, kFloats})
                                : network.addInput("x", DataType::kFLOAT, Dims{1, {kFloats}});
    if (isDynamic)
    {
        profile.setDimensions("x", OptProfileSelector::kMIN, Dims2{1, kFloats});
        profile.setDimensions("x", OptProfileSelector::kOPT, Dims2{2, kFloats});
        profile.setDimensions("x", OptProfileSelector::kMAX, Dims2{64, kFloats});
    }
    for (int32_t i = 0; i < kLayers; ++i)
        tensor = network.addUnary(*tensor, i % 2 == 0 ? UnaryOperation::kNEG : UnaryOperation::kABS)->getOutput(0);
    tensor->setName("y");
    network.markOutput(*tensor);
}

std::vector<float> randomFloats(size_t count)
{
    std::mt19937 source{7};
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(source);
    return values;
}

std::unique_ptr<IExecutionContext> contextOf(ICudaEngine& engine, void* x, void* y)
{
    std::unique_ptr<IExecutionContext> context{orDie(engine.createExecutionContext(), "createExecutionContext")};
    orDie(context->setTensorAddress("x", x) && context->setTensorAddress("y", y), "setTensorAddress");
    return context;
}

bool report(char const* what, double figure, double limit)
{
    std::printf("| %-58s | %8.2f | %8.0f |\n", what, figure, limit);
    return figure <= limit;
}

//! One run of a chain whose steps stay apart.
bool measureRun()
{
    Loaded const loaded = build([](auto& network, auto& profile) { fillChain(network, profile, false); });
    orDie(loaded.engine->getNbLayers() == kLayers, "keeping the layers apart (TENON_FUSION=off)");
    std::vector<float> x = randomFloats(kFloats);
    std::vector<float> y(x.size());
    auto const context = contextOf(*loaded.engine, x.data(), y.data());
    orDie(context->enqueueV3(nullptr), "enqueueV3");
    std::vector<double> times;
    for (int round = 0; round < 200; ++round)
        times.push_back(microseconds([&] {
            for (int i = 0; i < 100; ++i)
                context->enqueueV3(nullptr);
        }) / 100);
    return report("enqueueV3, 100 trivial layers, prepared shape [us]", median(times), 15.0);
}

//! Two shapes by turns, over one shape alone.
bool measureSwitch()
{
    Loaded const loaded = build([](auto& network, auto& profile) { fillChain(network, profile, true); });
    std::vector<float> x = randomFloats(kFloats * 64);
    std::vector<float> y(x.size());
    auto const context = contextOf(*loaded.engine, x.data(), y.data());
    auto const run = [&](int64_t rows) {
        context->setInputShape("x", Dims2{rows, kFloats});
        orDie(context->enqueueV3(nullptr), "enqueueV3");
    };
    run(1);
    run(2);
    std::vector<double> more;
    for (int round = 0; round < 200; ++round)
    {
        double const same = microseconds([&] {
            for (int i = 0; i < 50; ++i)
                run(1);
            for (int i = 0; i < 50; ++i)
                run(2);
        });
        double const byTurns = microseconds([&] {
            for (int i = 0; i < 50; ++i)
            {
                run(1);
                run(2);
            }
        });
        more.push_back((byTurns - same) / 100);
    }
    return report("going back to a shape seen before, on top [us]", median(more), 20.0);
}

//! The first run of a shape, over the second.
bool measureNewShape(std::string const& path)
{
    Loaded const loaded = build([&](INetworkDefinition& network, IOptimizationProfile& profile) {
        auto* const parser = orDie(nvonnxparser::createParser(network, logger()), "createParser");
        orDie(parser->parseFromFile(path.c_str(), static_cast<int32_t>(ILogger::Severity::kWARNING)), path.c_str());
        for (int32_t i = 0; i < network.getNbInputs(); ++i)
        {
            char const* const name = network.getInput(i)->getName();
            profile.setDimensions(name, OptProfileSelector::kMIN, Dims2{1, 8});
            profile.setDimensions(name, OptProfileSelector::kOPT, Dims2{1, 128});
            profile.setDimensions(name, OptProfileSelector::kMAX, Dims2{1, 256});
        }
    });
    std::unique_ptr<IExecutionContext> const context{
        orDie(loaded.engine->createExecutionContext(), "createExecutionContext")};
    std::vector<std::vector<int64_t>> memory;
    for (int32_t i = 0; i < loaded.engine->getNbIOTensors(); ++i)
    {
        memory.emplace_back(static_cast<size_t>(1) << 18);
        std::mt19937 source{static_cast<uint32_t>(i)};
        for (int64_t& value : memory.back())
            value = static_cast<int64_t>(source() % 2);
        orDie(context->setTensorAddress(loaded.engine->getIOTensorName(i), memory.back().data()), "setTensorAddress");
    }
    std::vector<double> more;
    for (int64_t length = 8; length < 24; ++length)
    {
        for (int32_t i = 0; i < loaded.engine->getNbIOTensors(); ++i)
            if (char const* const name = loaded.engine->getIOTensorName(i);
                loaded.engine->getTensorIOMode(name) == TensorIOMode::kINPUT)
                orDie(context->setInputShape(name, Dims2{1, length}), "setInputShape");
        auto const run = [&] { orDie(context->enqueueV3(nullptr), "enqueueV3"); };
        double const first = microseconds(run);
        double const second = std::min(microseconds(run), microseconds(run));
        if (length > 8) // The very first run touches weights and memory for the first time.
            more.push_back((first - second) / 1000.0);
    }
    return report("a new shape of bert_base, on top of its run [ms]", median(more), 5.0);
}
} // namespace

int main(int argc, char** argv)
{
    setenv("TENON_FUSION", "off", 0);
    std::string const part = argc > 1 ? argv[1] : "chain";
    std::printf("| %-58s | %8s | %8s |\n|---|---:|---:|\n", "", "measured", "limit");
    bool isWithin = true;
    if (part == "chain")
        isWithin = measureRun() && measureSwitch();
    else
        isWithin = measureNewShape(part);
    return isWithin ? 0 : 1;
}
