// Auxiliary streams (rules G3, S6): who gets them, what they wait for and what waits for them, and results that do not
// depend on them.
#include "blocked_stream.h"
#include "fixture.h"

#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

namespace apitest
{

namespace
{
using namespace std::chrono_literals;

constexpr int64_t kSide{24};
constexpr int64_t kMaps{8};
constexpr size_t kCount{static_cast<size_t>(kMaps * kSide * kSide)};

class AuxStreams : public ApiTest
{
  protected:
    //! y = sum of `branches` chains of convolutions, which all read x.
    void addBranches(int32_t branches, int32_t length = 8)
    {
        ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({1, kMaps, kSide, kSide}));
        ITensor* sum{nullptr};
        for (int32_t i = 0; i < branches; ++i)
        {
            ITensor* last = x;
            for (int32_t j = 0; j < length; ++j)
                last = convolution(*last);
            sum =
                sum == nullptr ? last : network->addElementWise(*sum, *last, ElementWiseOperation::kSUM)->getOutput(0);
        }
        sum->setName("y");
        network->markOutput(*sum);
    }
    //! The same network on `threads` lanes, with at most so many auxiliary streams.
    std::unique_ptr<ICudaEngine> engineWith(int32_t aux, int32_t threads = 0)
    {
        config->setMaxAuxStreams(aux);
        if (threads > 0)
            runtime->setMaxThreads(threads);
        return buildEngine();
    }
    void bind(IExecutionContext& context)
    {
        ASSERT_TRUE(context.setTensorAddress("x", x.data()));
        ASSERT_TRUE(context.setTensorAddress("y", y.data()));
    }
    //! What an engine without auxiliary streams gives for `values`.
    std::vector<float> plainResults(int32_t threads = 0)
    {
        auto const engine = engineWith(0, threads);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        bind(*context);
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        return y.read();
    }

    std::vector<float> const values = randomFloats(kCount, 3);
    DeviceArray<float> x{values};
    DeviceArray<float> y{kCount};

  private:
    ITensor* convolution(ITensor& from)
    {
        size_t const size = static_cast<size_t>(kMaps * kMaps) * 9;
        auto const& kernel = mKernels.emplace_back(randomFloats(size, static_cast<uint32_t>(mKernels.size())));
        IConvolutionLayer* const layer = network->addConvolutionNd(
            from, kMaps, dims({3, 3}), weights(kernel), Weights{DataType::kFLOAT, nullptr, 0});
        layer->setPaddingNd(dims({1, 1}));
        return network->addActivation(*layer->getOutput(0), ActivationType::kTANH)->getOutput(0);
    }

    std::deque<std::vector<float>> mKernels;
};

//! Copies y when its turn in a stream has come.
struct Look
{
    DeviceArray<float> const* y{nullptr};
    std::vector<float> seen{};

    void submit(BlockedStream const& stream)
    {
        auto const look = [](void* self) -> int32_t {
            static_cast<Look*>(self)->seen = static_cast<Look*>(self)->y->read();
            return 0;
        };
        ASSERT_EQ(tenonHostSubmit(stream.handle(), look, this, nullptr), TENON_HOST_OK);
    }
};
} // namespace

TEST_F(AuxStreams, G3_branchesGetStreamsWithinTheLimit)
{
    addBranches(3);
    for (auto const& [limit, wanted] :
        std::vector<std::pair<int32_t, int32_t>>{{0, 0}, {1, 1}, {2, 2}, {5, 2}, {-1, 2}})
    {
        auto const engine = engineWith(limit);
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->getNbAuxStreams(), wanted) << limit;
        std::unique_ptr<IHostMemory> const stored{engine->serialize()};
        std::unique_ptr<ICudaEngine> const loaded{runtime->deserializeCudaEngine(stored->data(), stored->size())};
        EXPECT_EQ(loaded->getNbAuxStreams(), wanted) << limit;
    }
}

TEST_F(AuxStreams, G3_aChainNeedsNone)
{
    addBranches(1);
    EXPECT_EQ(engineWith(4)->getNbAuxStreams(), 0);
}

TEST_F(AuxStreams, S6_resultsDoNotDependOnThem)
{
    addBranches(3);
    for (int32_t const threads : {1, 2, 3, 4})
    {
        std::vector<float> const wanted = plainResults(threads);
        ASSERT_TRUE(std::ranges::all_of(wanted, [](float each) { return std::isfinite(each); }));
        auto const engine = engineWith(-1, threads);
        ASSERT_EQ(engine->getNbAuxStreams(), 2);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        bind(*context);
        for (int32_t round = 0; round < 50; ++round)
        {
            y.write(std::vector<float>(kCount, NAN));
            ASSERT_TRUE(runToEnd(*context)) << logger.errors();
            ASSERT_EQ(y.read(), wanted) << "round " << round << ", threads " << threads;
        }
    }
}

TEST_F(AuxStreams, S6_aRunWaitsForWhatStandsInThem)
{
    addBranches(3);
    std::vector<float> const wanted = plainResults();
    auto const engine = engineWith(-1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    bind(*context);
    BlockedStream stream;
    for (size_t held = 0; held < 4; ++held)
    {
        std::array<BlockedStream, 4> others;
        std::vector<cudaStream_t> handles;
        for (BlockedStream const& each : others)
            handles.push_back(each.handle());
        context->setAuxStreams(handles.data(), 4);
        y.write(std::vector<float>(kCount, -7.0F));
        others[held].hold();
        ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
        if (held < 2)
        {
            std::this_thread::sleep_for(30ms);
            EXPECT_FALSE(stream.isIdle()) << held;
            EXPECT_EQ(y.read(), std::vector<float>(kCount, -7.0F)) << held;
            others[held].letGo();
        } // Streams beyond the engine's are ignored.
        stream.synchronize();
        EXPECT_EQ(y.read(), wanted) << held;
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << logger.errors();
}

TEST_F(AuxStreams, S6_whatComesIntoThemWaitsForTheRun)
{
    addBranches(2);
    std::vector<float> const wanted = plainResults();
    auto const engine = engineWith(-1);
    ASSERT_EQ(engine->getNbAuxStreams(), 1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    bind(*context);
    for (int32_t round = 0; round < 5; ++round)
    {
        BlockedStream stream;
        BlockedStream other;
        cudaStream_t handle = other.handle();
        context->setAuxStreams(&handle, 1);
        y.write(std::vector<float>(kCount, NAN));
        stream.hold();
        ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
        Look look{&y};
        look.submit(other);
        std::this_thread::sleep_for(5ms); // Without the fence it looks now.
        stream.letGo();
        other.synchronize();
        EXPECT_EQ(look.seen, wanted);
        context->setAuxStreams(nullptr, 0);
    }
}

TEST_F(AuxStreams, S6_theDefaultStreamWaitsForThemToo)
{
    addBranches(2);
    std::vector<float> const wanted = plainResults();
    auto const engine = engineWith(-1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    bind(*context);
    BlockedStream other;
    cudaStream_t handle = other.handle();
    context->setAuxStreams(&handle, 1);
    y.write(std::vector<float>(kCount, -7.0F));
    other.hold();
    std::thread opener{[&] {
        std::this_thread::sleep_for(30ms);
        EXPECT_EQ(y.read(), std::vector<float>(kCount, -7.0F));
        other.letGo();
    }};
    EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.errors();
    EXPECT_EQ(y.read(), wanted);
    opener.join();
}

TEST_F(AuxStreams, S6_aRunWithThemIsCaptured)
{
    addBranches(2);
    std::vector<float> const wanted = plainResults();
    auto const engine = engineWith(-1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    bind(*context);
    BlockedStream stream;
    BlockedStream other;
    cudaStream_t handle = other.handle();
    context->setAuxStreams(&handle, 1);
    ASSERT_EQ(tenonHostBeginCapture(stream.handle(), 0), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors();
    void* graph{nullptr};
    ASSERT_EQ(tenonHostEndCapture(stream.handle(), &graph), TENON_HOST_OK) << tenonHostProblem();
    void* executable{nullptr};
    ASSERT_EQ(tenonHostInstantiateGraph(&executable, graph), TENON_HOST_OK) << tenonHostProblem();
    for (int32_t round = 0; round < 3; ++round)
    {
        y.write(std::vector<float>(kCount, NAN));
        ASSERT_EQ(tenonHostLaunchGraph(executable, stream.handle()), TENON_HOST_OK) << tenonHostProblem();
        stream.synchronize();
        EXPECT_EQ(y.read(), wanted);
    }
    EXPECT_TRUE(other.isIdle()); // It is no part of a capture any more:
    y.write(std::vector<float>(kCount, NAN));
    ASSERT_EQ(tenonHostDestroyExecutable(executable), TENON_HOST_OK);
    ASSERT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(stream.handle())) << logger.errors(); // a plain run uses it again.
    stream.synchronize();
    EXPECT_EQ(y.read(), wanted);
}

TEST_F(AuxStreams, S6_aStreamThatHasGoneIsRefused)
{
    addBranches(2);
    auto const engine = engineWith(-1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    bind(*context);
    {
        BlockedStream const other;
        cudaStream_t handle = other.handle();
        context->setAuxStreams(&handle, 1);
    }
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "is not one of Tenon's"), 1) << logger.errors();
    context->setAuxStreams(nullptr, 0);
    EXPECT_TRUE(runToEnd(*context)) << logger.errors();
}

TEST_F(AuxStreams, S6_anOutputInThePlaceOfAnInputKeepsTheOrderOfLayers)
{
    addBranches(3);
    std::vector<float> const wanted = plainResults(4);
    auto const engine = engineWith(-1, 4);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", x.data()));
    for (int32_t round = 0; round < 20; ++round)
    {
        x.write(values);
        ASSERT_TRUE(runToEnd(*context)) << logger.errors();
        ASSERT_EQ(x.read(), wanted) << round;
    }
}

} // namespace apitest
