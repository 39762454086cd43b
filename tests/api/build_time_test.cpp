// The time of builds: by the number of layers, in each phase; and how soon a build hears that it is given up.
#include "fixture.h"

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include <ctime>

namespace apitest
{

namespace
{
//! What the processor has worked: not the clock's time, of which other programs take part.
double secondsWorked(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID)
{
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<float> const& factors()
{
    static std::vector<float> const values = randomFloats(1 << 16, 5);
    return values;
}

//! A network of about `count` layers.
using Shape = std::function<void(INetworkDefinition&, int32_t)>;

ITensor* unary(INetworkDefinition& network, ITensor* x, UnaryOperation operation = UnaryOperation::kSIN)
{
    return network.addUnary(*x, operation)->getOutput(0);
}

ITensor* scaled(INetworkDefinition& network, ITensor* x, int32_t number)
{
    Weights const factor{DataType::kFLOAT, &factors()[static_cast<size_t>(number) % factors().size()], 1};
    return network.addScale(*x, ScaleMode::kUNIFORM, {}, factor, {})->getOutput(0);
}

ITensor* sum(INetworkDefinition& network, std::vector<ITensor*> terms)
{
    for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2))
        for (size_t i = 0; i + 1 < terms.size(); i += 2)
            terms[i / 2] = network.addElementWise(*terms[i], *terms[i + 1], ElementWiseOperation::kSUM)->getOutput(0);
    return terms.front();
}

ITensor* convolution(INetworkDefinition& network, ITensor* x)
{
    Weights const kernel{DataType::kFLOAT, factors().data(), 16};
    return network.addConvolutionNd(*x, 4, dims({1, 1}), kernel, {})->getOutput(0);
}

void finish(INetworkDefinition& network, ITensor* y)
{
    y->setName("y");
    network.markOutput(*y);
}

std::map<std::string, Shape> const kShapes{
    {"chainOfPointwise",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({2, 4}));
            for (int32_t i = 0; i < count; ++i)
                x = unary(network, x);
            finish(network, x);
        }},
    {"chainOfConvolutions",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({1, 4, 3, 3}));
            for (int32_t i = 0; i < count; ++i)
                x = convolution(network, x);
            finish(network, x);
        }},
    {"reshapesThatBecomeOne",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({2, 4, 3}));
            for (int32_t i = 0; i < count; ++i)
            {
                IShuffleLayer* turn = network.addShuffle(*x);
                turn->setReshapeDimensions(i % 2 == 0 ? dims({24}) : dims({6, 4}));
                x = turn->getOutput(0);
            }
            finish(network, x);
        }},
    {"oneReadByAll",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({1, 4, 3, 3}));
            x = convolution(network, x);
            std::vector<ITensor*> terms;
            for (int32_t i = 0; i < count / 2; ++i)
                terms.push_back(scaled(network, x, i));
            finish(network, sum(network, terms));
        }},
    {"slicesOfOne",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({count, 4}));
            std::vector<ITensor*> terms;
            for (int32_t i = 0; i < count / 3; ++i)
                terms.push_back(
                    unary(network, network.addSlice(*x, dims({i, 0}), dims({1, 4}), dims({1, 1}))->getOutput(0)));
            finish(network, sum(network, terms));
        }},
    {"inputsAndOutputs",
        [](INetworkDefinition& network, int32_t count) {
            for (int32_t i = 0; i < count; ++i)
            {
                std::string const number = std::to_string(i);
                ITensor* y = unary(network, network.addInput(("x" + number).c_str(), DataType::kFLOAT, dims({2, 4})));
                y->setName(("y" + number).c_str());
                network.markOutput(*y);
            }
        }},
    {"shapeArithmetic",
        [](INetworkDefinition& network, int32_t count) {
            static int64_t const kOnes[]{1, 1};
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({-1, 4}));
            for (int32_t i = 0; i < count / 5; ++i)
            {
                ITensor* shape = network.addShape(*x)->getOutput(0);
                ITensor* ones = network.addConstant(dims({2}), {DataType::kINT64, kOnes, 2})->getOutput(0);
                shape = network.addElementWise(*shape, *ones, ElementWiseOperation::kPROD)->getOutput(0);
                IShuffleLayer* reshape = network.addShuffle(*x);
                reshape->setInput(1, *shape);
                x = unary(network, reshape->getOutput(0));
            }
            finish(network, x);
        }},
    {"conditionals",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* const condition = network.addInput("condition", DataType::kBOOL, Dims{});
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({2, 4}));
            for (int32_t i = 0; i < count / 5; ++i)
            {
                IIfConditional* const choice = network.addIfConditional();
                choice->setCondition(*condition);
                ITensor* const inside = choice->addInput(*x)->getOutput(0);
                x = choice->addOutput(*unary(network, inside), *unary(network, inside, UnaryOperation::kABS))
                        ->getOutput(0);
            }
            finish(network, x);
        }},
    {"countsKnownWhileRunning",
        [](INetworkDefinition& network, int32_t count) {
            ITensor* x = network.addInput("x", DataType::kFLOAT, dims({2, 4}));
            std::vector<ITensor*> terms;
            for (int32_t i = 0; i < count / 4; ++i)
            {
                x = unary(network, x);
                ITensor* found = network.addNonZero(*x, DataType::kINT32)->getOutput(0);
                found = network.addCast(*found, DataType::kFLOAT)->getOutput(0);
                terms.push_back(network.addReduce(*found, ReduceOperation::kSUM, 3, true)->getOutput(0));
            }
            finish(network, sum(network, terms));
        }},
};

void addBounds(IBuilder& builder, INetworkDefinition& network, IBuilderConfig& config)
{
    IOptimizationProfile* profile = builder.createOptimizationProfile();
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
    {
        Dims shape = network.getInput(i)->getDimensions();
        if (std::find(shape.d, shape.d + shape.nbDims, -1) == shape.d + shape.nbDims)
            return;
        std::replace(shape.d, shape.d + shape.nbDims, int64_t{-1}, int64_t{8});
        profile->setDimensions(network.getInput(i)->getName(), OptProfileSelector::kMIN, shape);
        std::replace(shape.d, shape.d + shape.nbDims, int64_t{8}, int64_t{16});
        profile->setDimensions(network.getInput(i)->getName(), OptProfileSelector::kOPT, shape);
        profile->setDimensions(network.getInput(i)->getName(), OptProfileSelector::kMAX, shape);
    }
    config.addOptimizationProfile(profile);
}

//! Seconds that each phase works, and the longest time that the calling thread works without asking; says no from a
//! question on.
class TimingMonitor final : public IProgressMonitor
{
  public:
    //! Says no to that question, of all or of a phase.
    explicit TimingMonitor(int32_t questions = INT32_MAX, std::string phase = {})
        : mLeft{questions},
          mPhase{std::move(phase)}
    {
    }
    void phaseStart(char const* phase, char const*, int32_t) noexcept override
    {
        asked(std::string{"the start of "} + phase);
        mStarts[phase] = secondsWorked();
    }
    bool stepComplete(char const* phase, int32_t step) noexcept override
    {
        asked("step " + std::to_string(step) + " of " + phase);
        mLeft -= mPhase.empty() || mPhase == phase ? 1 : 0;
        if (mLeft == 0)
        {
            mRefused = mLast;
            mRefusedOfAll = secondsWorked();
        }
        return mLeft > 0;
    }
    void phaseFinish(char const* phase) noexcept override
    {
        asked(std::string{"the end of "} + phase);
        seconds[phase] += secondsWorked() - mStarts[phase];
    }
    void asked(std::string const& where)
    {
        double const now = secondsWorked(CLOCK_THREAD_CPUTIME_ID);
        if (mLast >= 0.0 && now - mLast > longest)
        {
            longest = now - mLast;
            longestBefore = where;
        }
        mLast = secondsWorked(CLOCK_THREAD_CPUTIME_ID);
        ++questions;
    }

    //! When a question was first answered with no, in time of the calling thread, and of all.
    double refused() const noexcept
    {
        return mRefused;
    }
    double refusedOfAll() const noexcept
    {
        return mRefusedOfAll;
    }

    std::map<std::string, double> seconds;
    double longest{0.0};
    std::string longestBefore; //!< The question that ended it.
    int32_t questions{0};

  private:
    int32_t mLeft;
    std::string mPhase; //!< Empty: all of them.
    double mLast{-1.0};
    double mRefused{-1.0};
    double mRefusedOfAll{-1.0};
    std::map<std::string, double> mStarts;
};
} // namespace

class BuildTime : public ApiTest, public ::testing::WithParamInterface<std::string>
{
  protected:
    //! Seconds by phase, those of the network and of loading, too.
    std::map<std::string, double> times(int32_t count)
    {
        std::map<std::string, double> times;
        double start = secondsWorked();
        auto const passed = [&](char const* what) {
            double const now = secondsWorked();
            times[what] = now - std::exchange(start, now);
        };
        std::unique_ptr<INetworkDefinition> const made{builder->createNetworkV2(0)};
        std::unique_ptr<IBuilderConfig> const with{builder->createBuilderConfig()};
        kShapes.at(GetParam())(*made, count);
        addBounds(*builder, *made, *with);
        passed("Making the network");
        TimingMonitor monitor;
        with->setProgressMonitor(&monitor);
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*made, *with)};
        EXPECT_NE(plan, nullptr) << logger.errors();
        if (plan == nullptr)
            return {};
        passed("all of the build");
        std::unique_ptr<IRuntime> const runtime{createInferRuntime(logger)};
        std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
        EXPECT_NE(engine, nullptr);
        passed("loading");
        times.merge(monitor.seconds);
        return times;
    }
};

TEST_P(BuildTime, growsAsTheNumberOfLayersInEachPhase)
{
    constexpr int32_t kFew{1'500};
    constexpr int32_t kTimes{8};
    constexpr double kLimit{3.0 * kTimes}; // A square would be 64 times.
    constexpr double kNoise{0.02};         // Seconds.
    // The least of several: what a phase takes beyond it are caches that others have emptied, and interrupts.
    std::map<std::string, double> few;
    std::map<std::string, double> many;
    auto const measure = [&](std::map<std::string, double>& least, int32_t count) {
        for (auto const& [phase, seconds] : times(count))
            least[phase] = std::min(least.emplace(phase, seconds).first->second, seconds);
    };
    auto const tooSlow = [&] {
        std::string phases;
        for (auto const& [phase, seconds] : many)
            if (phase.find("long step") == std::string::npos
                && seconds >= kLimit * std::max(few[phase], kNoise / kTimes))
                phases +=
                    phase + ": " + std::to_string(seconds) + " s after " + std::to_string(few[phase]) + " s of few\n";
        return phases;
    };
    for (int32_t round = 0; round < 4 && (round == 0 || !tooSlow().empty()); ++round)
    {
        for (int32_t i = 0; i < 3; ++i)
            measure(few, kFew);
        measure(many, kTimes * kFew);
    }
    EXPECT_EQ(tooSlow(), "");
}

INSTANTIATE_TEST_SUITE_P(Networks, BuildTime, testing::ValuesIn([] {
    std::vector<std::string> names;
    for (auto const& [name, shape] : kShapes)
        names.push_back(name);
    return names;
}()),
    [](auto const& each) { return each.param; });

namespace
{
constexpr double kMaxUnasked{0.2};

//! How a build is asked that goes on until `left` questions; the calmest of a few: where the machine itself stands
//! still, whoever it holds up seems to work on.
std::unique_ptr<TimingMonitor> calmest(int32_t left, std::function<void(TimingMonitor&)> const& build)
{
    std::unique_ptr<TimingMonitor> best;
    for (int32_t round = 0; round < 4 && (round == 0 || best->longest >= kMaxUnasked); ++round)
    {
        auto monitor = std::make_unique<TimingMonitor>(left);
        build(*monitor);
        if (best == nullptr || monitor->longest < best->longest)
            best = std::move(monitor);
    }
    return best;
}

//! One thread's work for each question is what a user who gives up waits for.
void expectQuestions(IBuilder& builder, INetworkDefinition& network, IBuilderConfig& config, KeepingLogger& logger)
{
    builder.setMaxThreads(1);
    std::unique_ptr<IHostMemory> plan;
    double spent{0.0};
    auto const build = [&](TimingMonitor& monitor) {
        config.setProgressMonitor(&monitor);
        double const start = secondsWorked(CLOCK_THREAD_CPUTIME_ID);
        plan.reset(builder.buildSerializedNetwork(network, config));
        monitor.asked("the build's return");
        spent = secondsWorked(CLOCK_THREAD_CPUTIME_ID) - start;
        config.setProgressMonitor(nullptr);
    };
    auto const all = calmest(INT32_MAX, build);
    EXPECT_NE(plan, nullptr) << logger.errors();
    EXPECT_LT(all->longest, kMaxUnasked) << "before " << all->longestBefore;
    std::mt19937 random{23};
    for (int32_t i = 0; i < 4; ++i)
    {
        auto const some =
            calmest(1 + static_cast<int32_t>(random() % static_cast<uint32_t>(all->questions / 2)), build);
        EXPECT_EQ(plan, nullptr);
        EXPECT_LT(some->longest, kMaxUnasked) << "before " << some->longestBefore << ", after " << spent;
    }
}
} // namespace

class GivingUp : public ApiTest
{
};

TEST_F(GivingUp, isHeardInAllPhasesOfALargeNetwork)
{
    kShapes.at("chainOfConvolutions")(*network, 20'000);
    expectQuestions(*builder, *network, *config, logger);
}

//! What frees the layers is another thread, for which nobody waits who has given up.
TEST_F(GivingUp, returnsBeforeALargeNetworksGraphIsFreed)
{
    kShapes.at("chainOfPointwise")(*network, 60'000);
    builder->setMaxThreads(1);
    double own{1.0};
    double all{0.0};
    for (int32_t round = 0; round < 4 && 2.0 * own >= all; ++round)
    {
        TimingMonitor monitor{10, "Optimizing"}; // By time as well: how many there were before differs.
        config->setProgressMonitor(&monitor);
        ASSERT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
        config->setProgressMonitor(nullptr);
        own = secondsWorked(CLOCK_THREAD_CPUTIME_ID) - monitor.refused();
        double last{-1.0};
        for (int32_t quiet = 0; quiet < 20; ++quiet) // Beside other programs a thread may have no turn for a while.
        {
            if (secondsWorked() - last > 0.005)
                quiet = 0;
            last = secondsWorked();
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
        all = secondsWorked() - monitor.refusedOfAll();
    }
    EXPECT_LT(2.0 * own, all) << "the thread that built, and the process";
}

TEST_F(GivingUp, isHeardWithinOneLongFold)
{
    // 2^32 products in the reference's own arithmetic: no rule asks between them.
    std::vector<float> const left = randomFloats(1600 * 1600, 1);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1600, 1600}));
    Weights const square{DataType::kFLOAT, left.data(), static_cast<int64_t>(left.size())};
    ITensor* a = network->addConstant(dims({1600, 1600}), square)->getOutput(0);
    ITensor* product =
        network->addMatrixMultiply(*a, MatrixOperation::kNONE, *a, MatrixOperation::kTRANSPOSE)->getOutput(0);
    finish(*network, network->addElementWise(*product, *x, ElementWiseOperation::kSUM)->getOutput(0));
    expectQuestions(*builder, *network, *config, logger);
}

TEST_F(GivingUp, isHeardWhileLargeWeightsArePacked)
{
    std::vector<float> const weights(size_t{9} * 2048 * 2048, 0.5F);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 2048, 4, 4}));
    Weights const kernel{DataType::kFLOAT, weights.data(), static_cast<int64_t>(weights.size())};
    finish(*network, network->addConvolutionNd(*x, 2048, dims({3, 3}), kernel, {})->getOutput(0));
    expectQuestions(*builder, *network, *config, logger);
}

} // namespace apitest
