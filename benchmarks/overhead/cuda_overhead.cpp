// What one enqueueV3 costs the host on a GPU, for 100 trivial layers: on a prepared shape with the stream idle, one
// after the other without waiting, with addresses that alternate, and the GPU's own time; on a shape that the context
// has seen but not had last, and on one that it has never had, setInputShape included. One line of JSON. With
// TENON_GRAPHS=off kernel after kernel is launched.
#include "NvInfer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace
{
using namespace nvinfer1;
using Clock = std::chrono::steady_clock;

constexpr int32_t kLayers{100};
constexpr int64_t kFloats{1024};
constexpr int64_t kRows{256}; //!< At most; each number of them is a shape.

class Logger final : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::fprintf(stderr, "%s\n", message);
    }
};

void orDie(bool done, char const* what)
{
    if (done)
        return;
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(1);
}

template <typename... Args>
void driver(char const* name, Args... args)
{
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    orDie(function != nullptr && function(args...) == 0, name);
}

void* memory(size_t bytes)
{
    void* made{nullptr};
    driver("cuMemAlloc_v2", &made, bytes);
    driver("cuMemsetD8Async", made, static_cast<unsigned char>(0x3F), bytes, static_cast<void*>(nullptr));
    driver("cuStreamSynchronize", static_cast<void*>(nullptr));
    return made;
}

double microsecondsSince(Clock::time_point start)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

//! A chain of layers that TENON_FUSION=off keeps apart.
std::unique_ptr<IHostMemory> plan(ILogger& logger)
{
    std::unique_ptr<IBuilder> const builder{createInferBuilder(logger)};
    orDie(builder != nullptr, "createInferBuilder");
    std::unique_ptr<INetworkDefinition> const network{builder->createNetworkV2(0U)};
    std::unique_ptr<IBuilderConfig> const config{builder->createBuilderConfig()};
    ITensor* tensor = network->addInput("x", DataType::kFLOAT, Dims{2, {-1, kFloats / kRows}});
    IOptimizationProfile* const profile = builder->createOptimizationProfile();
    for (auto const& [selector, rows] : {std::pair{OptProfileSelector::kMIN, int64_t{1}},
             {OptProfileSelector::kOPT, kRows}, {OptProfileSelector::kMAX, kRows}})
        orDie(profile->setDimensions("x", selector, Dims{2, {rows, kFloats / kRows}}), "setDimensions");
    config->addOptimizationProfile(profile);
    for (int32_t i = 0; i < kLayers; ++i)
        tensor = network->addUnary(*tensor, i % 2 == 0 ? UnaryOperation::kNEG : UnaryOperation::kABS)->getOutput(0);
    tensor->setName("y");
    network->markOutput(*tensor);
    return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
}

//! The least and the median of many.
struct Spread
{
    double least{0.0};
    double median{0.0};
    double most{0.0};
};

Spread spreadOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return {values.front(), values[values.size() / 2], values.back()};
}

class Bench
{
  public:
    explicit Bench(IExecutionContext& context)
        : mContext{context}
    {
        driver("cuStreamCreate", &mStream, 1U);
        for (void*& each : mInputs)
            each = memory(kFloats * sizeof(float));
        orDie(mContext.setTensorAddress("y", memory(kFloats * sizeof(float))), "setTensorAddress");
        orDie(mContext.setTensorAddress("x", mInputs[0]), "setTensorAddress");
        shape(kRows);
    }
    //! Host time of setInputShape and the call behind it while the GPU has nothing to do, one for each number of rows.
    Spread shapes(int64_t first, int64_t end)
    {
        std::vector<double> times;
        for (int64_t rows = first; rows < end; ++rows)
        {
            auto const start = Clock::now();
            shape(rows);
            run();
            times.push_back(microsecondsSince(start));
            driver("cuStreamSynchronize", mStream);
        }
        return spreadOf(std::move(times));
    }
    //! Host time of calls while the GPU has nothing to do; `inputs` of them alternate.
    Spread idle(int32_t inputs)
    {
        std::vector<double> times;
        for (int32_t i = 0; i < kRuns; ++i)
        {
            if (inputs > 1 || i == 0)
                orDie(mContext.setTensorAddress("x", mInputs[i % inputs]), "setTensorAddress");
            auto const start = Clock::now();
            run();
            double const spent = microsecondsSince(start);
            driver("cuStreamSynchronize", mStream);
            if (i >= kWarmUps)
                times.push_back(spent);
        }
        return spreadOf(std::move(times));
    }
    //! Calls of the driver's in one run, where the driver is the fake one, which counts them; −1 elsewhere.
    long calls()
    {
        auto const count =
            reinterpret_cast<int64_t (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "tenonFakeCalls"));
        int64_t const before = count == nullptr ? 0 : count();
        run();
        long const made = count == nullptr ? -1 : static_cast<long>(count() - before);
        driver("cuStreamSynchronize", mStream);
        return made;
    }
    //! Of each call when many follow one another, and of each run until all are over.
    std::pair<double, double> queued()
    {
        auto const start = Clock::now();
        for (int32_t i = 0; i < kRuns; ++i)
            run();
        double const host = microsecondsSince(start);
        driver("cuStreamSynchronize", mStream);
        return {host / kRuns, microsecondsSince(start) / kRuns};
    }

  private:
    void shape(int64_t rows)
    {
        orDie(mContext.setInputShape("x", Dims{2, {rows, kFloats / kRows}}), "setInputShape");
    }

    static constexpr int32_t kRuns{300};
    static constexpr int32_t kWarmUps{20};

    void run()
    {
        orDie(mContext.enqueueV3(static_cast<cudaStream_t>(mStream)), "enqueueV3");
    }

    IExecutionContext& mContext;
    void* mStream{nullptr};
    void* mInputs[8]{};
};
} // namespace

int main()
{
    Logger logger;
    setenv("TENON_FUSION", "off", 1);
    setenv("TENON_DEVICE", "cuda", 0);
    std::unique_ptr<IHostMemory> const stored = plan(logger);
    orDie(stored != nullptr, "buildSerializedNetwork");
    std::unique_ptr<IRuntime> const runtime{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(stored->data(), stored->size())};
    orDie(engine != nullptr, "deserializeCudaEngine");
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    void* gpu{nullptr};
    driver("cuDevicePrimaryCtxRetain", &gpu, 0);
    driver("cuCtxPushCurrent_v2", gpu);
    Bench bench{*context};
    Spread const one = bench.idle(1);
    long const calls = bench.calls();
    auto const [host, whole] = bench.queued();
    Spread const two = bench.idle(2);
    Spread const eight = bench.idle(8);
    constexpr int64_t kSeen{16}; // Of which each has a graph, as has the shape of before.
    Spread const fresh = bench.shapes(1, kRows / 2);
    for (int32_t round = 0; round < 4; ++round)
        static_cast<void>(bench.shapes(1, kSeen));
    Spread const seen = bench.shapes(1, kSeen);
    std::printf("HOST {\"layers\": %d, \"driver_calls\": %ld, \"idle_least\": %.2f, \"idle_median\": %.2f, \"queued\": "
                "%.2f, \"run\": %.2f, \"two_addresses_median\": %.2f, \"eight_addresses_median\": %.2f, "
                "\"new_shape_median\": %.2f, \"new_shape_most\": %.2f, \"seen_shape_median\": %.2f, "
                "\"seen_shape_most\": %.2f}\n",
        kLayers, calls, one.least, one.median, host, whole, two.median, eight.median, fresh.median, fresh.most,
        seen.median, seen.most);
    return 0;
}
