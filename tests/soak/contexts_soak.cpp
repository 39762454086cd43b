// Eight contexts of one engine at once, three profiles, shapes that change with every run, several runs of a context
// under way: each result is that of a run alone, and memory stays flat, the GPU's, too, where the engine is on one
// (TENON_DEVICE and TENON_TEST_DEVICE=cuda). TENON_SOAK_RUNS sets the number of runs. Runs under ThreadSanitizer, too.
#include "api/fixture.h"
#include "tenon/engine_memory.h"

#include <array>
#include <barrier>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <malloc.h>
#include <span>
#include <sys/prctl.h>
#include <thread>

namespace apitest
{

namespace
{
constexpr uint32_t kContexts{8};
constexpr size_t kUnderWay{3}; //!< Runs of a context between two times that its stream is waited for.
constexpr int64_t kWidth{48};
constexpr int64_t kClasses{10};
constexpr int64_t kShapes[3][4]{{1, 2, 3, 4}, {5, 7, 11, 16}, {17, 29, 40, 64}}; //!< Rows, by profile.

int64_t totalRuns()
{
    char const* const text = std::getenv("TENON_SOAK_RUNS");
    return text == nullptr ? 2400 : std::max<int64_t>(std::atoll(text), 8 * 24);
}

constexpr int32_t kThreads{2};

//! What this process has written to, in memory or swapped out, after the C library has given back what is free. Counted
//! page by page: the kernel's quick figures are off by megabytes where there are many cores.
int64_t writtenBytes()
{
    malloc_trim(0);
    std::ifstream rollup{"/proc/self/smaps_rollup"};
    int64_t kibibytes{0};
    for (std::string line; std::getline(rollup, line);)
        if (line.starts_with("Anonymous:") || line.starts_with("Swap:"))
            kibibytes += std::stoll(line.substr(line.find(':') + 1));
    return kibibytes << 10;
}

//! What is taken of the GPU's memory, by all processes; 0: there is none, or the driver does not say.
int64_t takenOfDevice()
{
    using Info = int (*)(size_t * free, size_t * total);
    using Retain = int (*)(void** context, int device);
    using Push = int (*)(void* context);
    using Pop = int (*)(void** context);
    void* const driver = tenon::test::isUnderTest("cuda") ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (driver == nullptr)
        return 0;
    auto const info = reinterpret_cast<Info>(dlsym(driver, "cuMemGetInfo_v2"));
    auto const retain = reinterpret_cast<Retain>(dlsym(driver, "cuDevicePrimaryCtxRetain"));
    auto const push = reinterpret_cast<Push>(dlsym(driver, "cuCtxPushCurrent_v2"));
    auto const pop = reinterpret_cast<Pop>(dlsym(driver, "cuCtxPopCurrent_v2"));
    void* context{nullptr};
    size_t free{0};
    size_t total{0};
    if (info == nullptr || retain(&context, 0) != 0 || push(context) != 0)
        return 0;
    EXPECT_EQ(info(&free, &total), 0);
    EXPECT_EQ(pop(&context), 0);
    return static_cast<int64_t>(total - free);
}

class Contexts : public ApiTest
{
  protected:
    //! y = softmax(relu(x W0) W1), well under a millisecond.
    void SetUp() override
    {
        ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1, kWidth}));
        ITensor* const hidden = layer(*x, first, {kWidth, kWidth});
        ITensor* const active = network->addActivation(*hidden, ActivationType::kRELU)->getOutput(0);
        ISoftMaxLayer* const softMax = network->addSoftMax(*layer(*active, second, {kWidth, kClasses}));
        softMax->setAxes(2);
        softMax->getOutput(0)->setName("y");
        network->markOutput(*softMax->getOutput(0));
        for (auto const& rows : kShapes)
            addProfile({rows[0], kWidth}, {rows[1], kWidth}, {rows[3], kWidth});
        ASSERT_TRUE(runtime->setMaxThreads(kThreads)); // Eight teams of all cores would be a crowd.
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
    }
    ITensor* layer(ITensor& x, std::vector<float> const& values, std::vector<int64_t> const& extents)
    {
        ITensor* const w = network->addConstant(dims(extents), weights(values))->getOutput(0);
        return network->addMatrixMultiply(x, MatrixOperation::kNONE, *w, MatrixOperation::kNONE)->getOutput(0);
    }

    std::vector<float> first = randomFloats(kWidth * kWidth, 1);
    std::vector<float> second = randomFloats(kWidth * kClasses, 2);
    std::unique_ptr<ICudaEngine> engine;
};

struct Case
{
    int32_t profile{0};
    int64_t rows{0};
    std::vector<float> inputs;
    std::vector<float> results;
};

//! One context with memory of its own for each run under way; every second one, on a GPU each, on a stream of its own.
class Worker
{
  public:
    Worker(ICudaEngine& engine, uint32_t index)
        : mEngine{engine},
          mContext{engine.createExecutionContext()}
    {
        if (index % 2 == 0 && !tenon::test::isUnderTest("cuda"))
            return;
        mStream = tenonEngineCreateStream(&engine);
        EXPECT_NE(mStream, nullptr);
    }
    ~Worker()
    {
        mContext.reset();
        if (mStream != nullptr)
            tenonEngineDestroyStream(&mEngine, mStream);
    }
    Worker(Worker const&) = delete;

    //! Their results; each run is enqueued before the one ahead of it is over, where the stream allows that.
    std::vector<std::vector<float>> run(std::span<Case const* const> cases)
    {
        for (size_t i = 0; i < cases.size(); ++i)
            start(*cases[i], mPlaces.at(i));
        EXPECT_EQ(tenonEngineAwait(&mEngine, mStream), 1);
        std::vector<std::vector<float>> results;
        for (size_t i = 0; i < cases.size(); ++i)
            results.push_back(mPlaces[i].y.read(static_cast<size_t>(cases[i]->rows * kClasses)));
        return results;
    }

  private:
    static constexpr size_t kLimit{64};
    struct Place
    {
        DeviceArray<float> x{kLimit * kWidth};
        DeviceArray<float> y{kLimit * kClasses};
    };

    void start(Case const& each, Place& place)
    {
        place.x.write(each.inputs);
        if (mContext->getOptimizationProfile() != each.profile)
        {
            EXPECT_TRUE(mContext->setOptimizationProfileAsync(each.profile, handle()));
        }
        EXPECT_TRUE(mContext->setInputShape("x", dims({each.rows, kWidth})));
        EXPECT_TRUE(mContext->setTensorAddress("x", place.x.data()));
        EXPECT_TRUE(mContext->setTensorAddress("y", place.y.data()));
        EXPECT_TRUE(mContext->enqueueV3(handle()));
    }
    cudaStream_t handle() const
    {
        return static_cast<cudaStream_t>(mStream);
    }

    ICudaEngine& mEngine;
    std::unique_ptr<IExecutionContext> mContext;
    std::array<Place, kUnderWay> mPlaces;
    void* mStream{nullptr};
};
} // namespace

TEST_F(Contexts, S5_manyAtOnceGiveTheResultsOfOneAlone)
{
    std::vector<Case> cases;
    {
        Worker alone{*engine, 0};
        for (int32_t profile = 0; profile < 3; ++profile)
            for (int64_t const rows : kShapes[profile])
            {
                auto inputs = randomFloats(static_cast<size_t>(rows * kWidth), static_cast<uint32_t>(rows));
                Case each{profile, rows, std::move(inputs), {}};
                each.results = alone.run(std::array<Case const*, 1>{&each}).front();
                cases.push_back(std::move(each));
            }
    }
    int64_t const rounds = totalRuns() / static_cast<int64_t>(kContexts * kUnderWay);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // Huge pages come when the kernel finds the time.
    std::atomic<int64_t> wrong{0};
    std::vector<int64_t> written; // When all have seen all shapes, and when all have done all.
    std::vector<int64_t> taken;
    std::barrier together{kContexts, [&]() noexcept {
                              written.push_back(writtenBytes());
                              taken.push_back(takenOfDevice());
                          }};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kContexts; ++i)
        threads.emplace_back([&, i] {
            Worker worker{*engine, i};
            std::mt19937 source{i};
            for (int64_t round = 0; round < rounds; ++round)
            {
                std::array<Case const*, kUnderWay> some;
                for (Case const*& each : some)
                    each = &cases[source() % cases.size()];
                auto const results = worker.run(some);
                for (size_t at = 0; at < some.size(); ++at)
                    wrong += results[at] == some[at]->results ? 0 : 1;
                if (round == rounds / 3 || round == rounds - 1)
                    together.arrive_and_wait();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    auto const runs = static_cast<long long>(rounds * kContexts * kUnderWay);
    EXPECT_EQ(wrong, 0) << "of " << runs << " runs: " << logger.errors();
    ASSERT_EQ(written.size(), 2U);
    int64_t const drift = written[1] - written[0];
    RecordProperty("drift", std::to_string(drift));
    int64_t const onDevice = taken[1] - taken[0];
    std::printf("%lld runs, memory %+lld KiB, the GPU's %+lld KiB of %lld\n", runs, static_cast<long long>(drift >> 10),
        static_cast<long long>(onDevice >> 10), static_cast<long long>(taken[1] >> 10));
    EXPECT_LE(onDevice, 0) << "bytes of the GPU's memory";
    if (tenon::test::isUnderTest("cuda")) // The driver keeps what graphs were made of.
        return;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // They keep what is freed for a while.
    EXPECT_LT(drift, 256 << 10); // A few pages here and there, whatever the number of runs.
#endif
}

} // namespace apitest
