// Choices by time and by estimate, tactics, the limit of the workspace, and what is asked again when a plan is written.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"

#include <chrono>
#include <thread>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! Three times x. Tactic 7 idles before it, 3 does not; with channels last it idles, too, unless that is the fast way.
class Tripled final : public OneToOne<Tripled>
{
  public:
    static constexpr char const* kType{"Tripled"};
    inline static std::vector<int32_t> tactics;
    inline static bool takesChannelsLast{false};
    inline static bool isFastLinear{true};
    inline static int32_t limit{100};
    inline static char const* id{"tripled"};
    int32_t tactic{-1};

    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        TensorFormat const format = ports[pos].desc.format;
        bool const isKnown = format == TensorFormat::kLINEAR || (takesChannelsLast && format == TensorFormat::kHWC);
        return isKnown && format == ports[0].desc.format && ports[pos].desc.type == DataType::kFLOAT;
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        return limit;
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        note("configurePlugin", in[0].desc.format == TensorFormat::kLINEAR ? "linear" : "last");
        return 0;
    }
    int32_t getNbTactics() noexcept override
    {
        note("getNbTactics");
        return static_cast<int32_t>(tactics.size());
    }
    int32_t getValidTactics(int32_t* given, int32_t count) noexcept override
    {
        note("getValidTactics");
        std::copy_n(tactics.begin(), count, given);
        return 0;
    }
    char const* getTimingCacheID() noexcept override
    {
        note("getTimingCacheID");
        return id;
    }
    int32_t setTactic(int32_t given) noexcept override
    {
        tactic = given;
        return OneToOne::setTactic(given);
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        bool const isLinear = in[0].format == TensorFormat::kLINEAR;
        note("enqueue", (isLinear ? "linear " : "last ") + std::to_string(tactic));
        if (tactic == 7 || isLinear != isFastLinear)
            std::this_thread::sleep_for(std::chrono::milliseconds{3});
        Dims const& shape = in[0].dims;
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        int64_t count{1};
        for (int32_t i = 0; i < shape.nbDims; ++i)
            count *= shape.d[i];
        for (int64_t i = 0; i < count; ++i)
            y[i] = 3.0F * x[i];
        return 0;
    }
};

class Timing : public apitest::ApiTest
{
  protected:
    //! Means of which the smallest counts: other programs hold up some, hardly all.
    static constexpr int32_t kLeast{10};
    OneToOneCreator<Tripled> creator;

    void SetUp() override
    {
        Journal::get().clear();
        Tripled::tactics = {};
        Tripled::takesChannelsLast = false;
        Tripled::isFastLinear = true;
        Tripled::limit = 100;
        Tripled::id = "tripled";
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
    void add()
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({2, 3, 4, 5}))};
        Tripled plugin;
        IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("tripled");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
    }
    std::vector<std::string> enqueued()
    {
        std::vector<std::string> all;
        for (Entry const& each : Journal::get().all())
            if (each.call == "enqueue")
                all.push_back(each.what);
        return all;
    }
    //! Runs once; what `enqueue` noted.
    std::string runs(ICudaEngine& engine)
    {
        std::vector<float> const x = randomFloats(120, 5);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        Journal::get().clear();
        EXPECT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data())
            && context->enqueueV3(stream()))
            << logger.errors();
        std::vector<float> const y = out.read();
        for (size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], 3.0F * x[i]);
        std::vector<std::string> const all = enqueued();
        return all.size() == 1 ? all.front() : std::to_string(all.size()) + " calls";
    }
};

TEST_F(Timing, L14_L15_L16_theFastestTacticIsTakenAndSurvivesStoring)
{
    Tripled::tactics = {7, 3};
    config->setBuilderOptimizationLevel(4);
    config->setAvgTimingIterations(2);
    config->setMinTimingIterations(kLeast);
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<std::string> const timed = enqueued();
    EXPECT_EQ(std::count(timed.begin(), timed.end(), "linear 7"), 1 + 2 * kLeast); // One to warm up.
    EXPECT_EQ(std::count(timed.begin(), timed.end(), "linear 3"), 1 + 2 * kLeast);
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "tactic 7: "), 1);
    EXPECT_EQ(runs(*engine), "linear 3");
}

TEST_F(Timing, byEstimateTheFirstTacticIsTakenAndNothingRuns)
{
    Tripled::tactics = {7, 3};
    Tripled::takesChannelsLast = true;
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(enqueued().empty());
    EXPECT_EQ(runs(*engine), "linear 7");
}

TEST_F(Timing, L14_combinationsAreTimedAndAReformatFollowsTheChoice)
{
    Tripled::takesChannelsLast = true;
    Tripled::isFastLinear = false;
    config->setBuilderOptimizationLevel(5);
    config->setMinTimingIterations(kLeast);
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<std::string> const timed = enqueued();
    EXPECT_EQ(std::count(timed.begin(), timed.end(), "linear 0"), 1 + kLeast); // L15: without tactics of its own, 0.
    EXPECT_EQ(std::count(timed.begin(), timed.end(), "last 0"), 1 + kLeast);
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "linear to channels-last"), 1);
    EXPECT_EQ(runs(*engine), "last 0");
}

TEST_F(Timing, L14_tacticsAreAskedForRightAfterTheirConfigure)
{
    Tripled::tactics = {7, 3};
    Tripled::takesChannelsLast = true;
    config->setBuilderOptimizationLevel(4);
    add();
    ASSERT_NE(buildEngine(), nullptr);
    std::vector<Entry> const all = Journal::get().all();
    int32_t configured{0};
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i].call == "configurePlugin")
        {
            ++configured;
            ASSERT_LT(i + 2, all.size());
            EXPECT_EQ(all[i + 1].call, "getNbTactics");
            EXPECT_EQ(all[i + 2].call, "getValidTactics");
            EXPECT_EQ(all[i + 1].object, all[i].object);
        }
    EXPECT_EQ(configured, 3) << "each combination, and the one that was chosen";
}

TEST_F(Timing, L14_aSingleCandidateIsNotTimed)
{
    Tripled::tactics = {3};
    config->setBuilderOptimizationLevel(5);
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(enqueued().empty());
    EXPECT_EQ(runs(*engine), "linear 3");
}

TEST_F(Timing, L14_theLimitOfCombinationsHolds)
{
    Tripled::takesChannelsLast = true;
    Tripled::isFastLinear = false;
    Tripled::limit = 1;
    config->setBuilderOptimizationLevel(5);
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(enqueued().empty()) << "the one combination needs no clock";
    EXPECT_EQ(runs(*engine), "linear 0");
}

constexpr int64_t kCopies{2}; //!< Into another layout: one for each shape, which the planner times.

//! Two layers like each other, and a third of another shape.
void addAlike(INetworkDefinition& network)
{
    for (int64_t const last : {5, 5, 6})
    {
        std::string const name = "x" + std::to_string(network.getNbInputs());
        ITensor* inputs[]{network.addInput(name.c_str(), DataType::kFLOAT, dims({2, 3, 4, last}))};
        Tripled plugin;
        network.markOutput(*network.addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0));
    }
}

TEST_F(Timing, H7_L19_layersLikeEachOtherAreTimedOnceAndNotAgainWithTheCache)
{
    Tripled::tactics = {7, 3};
    config->setBuilderOptimizationLevel(4);
    addAlike(*network);
    ASSERT_NE(buildEngine(), nullptr);
    size_t const once = enqueued().size();
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "known from before"), 1) << "the second of the two";
    Journal::get().clear();
    config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(enqueued().size(), once / 2 * 3) << "each of the three by itself";
    config->clearFlag(BuilderFlag::kDISABLE_TIMING_CACHE);

    std::unique_ptr<ITimingCache> const cache{config->createTimingCache(nullptr, 0)};
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(cache->queryKeys(nullptr, 0), kCopies + 2) << "one ID, but shapes are in front of it";
    std::unique_ptr<IHostMemory> const bytes{cache->serialize()};
    std::unique_ptr<ITimingCache> const copy{config->createTimingCache(bytes->data(), bytes->size())};
    ASSERT_TRUE(config->setTimingCache(*copy, false));
    config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
    Journal::get().clear();
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_TRUE(enqueued().empty());
}

TEST_F(Timing, H8_aPluginWithoutAnIdIsNeverCached)
{
    Tripled::tactics = {7, 3};
    Tripled::id = nullptr;
    config->setBuilderOptimizationLevel(4);
    addAlike(*network);
    std::unique_ptr<ITimingCache> const cache{config->createTimingCache(nullptr, 0)};
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(cache->queryKeys(nullptr, 0), kCopies);
    EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "known from before"), 0);
    config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "which has no timing cache ID"), 1) << logger.errors();
}

//! Has the cache id that a test wants.
class Cached final : public OneToOne<Cached>
{
  public:
    static constexpr char const* kType{"Cached"};
    inline static char const* id{nullptr};
    inline static int32_t asked{0};

    AsciiChar const* getTimingCacheID() noexcept override
    {
        ++asked;
        return id;
    }
    void restore(PluginFieldCollection const&) {}
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 0;
    }
};

//! Nothing is timed here: whatever the id is, the plan is the same.
TEST_F(Timing, L19_theTimingCacheIdIsAskedForOnceAndMayBeNull)
{
    OneToOneCreator<Cached> cached;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(cached, ""));
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({2, 3}))};
    Cached plugin;
    network->markOutput(*network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0));
    std::string first;
    for (char const* const id : {static_cast<char const*>(nullptr), "", "an id"})
    {
        Cached::id = id;
        Cached::asked = 0;
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        ASSERT_NE(plan, nullptr) << logger.errors();
        EXPECT_EQ(Cached::asked, 1);
        std::string const bytes{static_cast<char const*>(plan->data()), plan->size()};
        EXPECT_EQ(bytes, first.empty() ? bytes : first);
        first = bytes;
    }
    getPluginRegistry()->deregisterCreator(cached);
}

TEST_F(Timing, K6_orderOfCallsPerTimedCombination)
{
    CircPadCreator<CircPadV2DynamicExt> pads;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(pads, ""));
    config->setBuilderOptimizationLevel(4);
    config->setFlag(BuilderFlag::kFP16);
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1, 2, 5, 7}))};
    auto* plugin = new CircPadV2DynamicExt;
    network->markOutput(*network->addPluginV2(inputs, 1, *plugin)->getOutput(0));
    plugin->destroy();
    addProfile({1, 2, 5, 7}, {3, 2, 5, 7}, {4, 2, 5, 7});
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    // Float and half are accepted: two combinations, each on a copy of its own.
    std::map<int32_t, std::vector<std::string>> lives;
    for (Entry const& each : Journal::get().all())
        if (each.call != "clone" && each.call != "supportsFormatCombination")
            lives[each.object].push_back(each.call);
    std::vector<std::string> const timed{"configurePlugin", "getWorkspaceSize", "initialize", "configurePlugin",
        "enqueue", "enqueue", "terminate", "destroy"};
    EXPECT_EQ(std::count_if(lives.begin(), lives.end(), [&](auto const& life) { return life.second == timed; }), 2);
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0);
    getPluginRegistry()->deregisterCreator(pads);
}

TEST_F(Timing, theLimitOfTheWorkspaceHoldsForPlugins)
{
    CircPadCreatorV3 pads;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(pads, ""));
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({2, 5, 7}))};
    CircPadV3 plugin;
    ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    layer->setName("greedy");
    network->markOutput(*layer->getOutput(0));
    config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 127);
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'greedy']"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "workspace of 128 bytes"), 1) << logger.errors();
    config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 128);
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr) << logger.errors();
    getPluginRegistry()->deregisterCreator(pads);
}

TEST_F(Timing, J14_everySerializationOfAnEngineAsksAgain)
{
    add();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IHostMemory> const first{engine->serialize()};
    EXPECT_EQ(Journal::get().count("getFieldsToSerialize"), 1);
    std::unique_ptr<IHostMemory> const second{engine->serialize()};
    EXPECT_EQ(Journal::get().count("getFieldsToSerialize"), 2);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(first->size(), second->size());
    EXPECT_EQ(std::memcmp(first->data(), second->data(), first->size()), 0);
}

//! Stores how often it was stored.
class Counting final : public OneToOne<Counting>
{
  public:
    static constexpr char const* kType{"Counting"};
    inline static int32_t stored{0};
    inline static std::vector<int32_t> restored;

    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        ++stored;
        fields = {{"count", &stored, PluginFieldType::kINT32, 1}};
        return OneToOne::getFieldsToSerialize();
    }
    void restore(PluginFieldCollection const& given)
    {
        if (given.nbFields == 1)
            restored.push_back(*static_cast<int32_t const*>(given.fields[0].data));
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 0;
    }
};

TEST_F(Timing, J14_whatThePluginStoresThenIsWhatThePlanHolds)
{
    OneToOneCreator<Counting> counting;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(counting, ""));
    Counting::stored = 0;
    Counting::restored = {};
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({2, 3}))};
    Counting plugin;
    network->markOutput(*network->addPluginV3(inputs, 1, nullptr, 0, plugin)->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IHostMemory> const again{engine->serialize()};
    ASSERT_NE(again, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const reloaded{runtime->deserializeCudaEngine(again->data(), again->size())};
    ASSERT_NE(reloaded, nullptr) << logger.errors();
    EXPECT_EQ(Counting::restored, (std::vector<int32_t>{1, 2}));
    getPluginRegistry()->deregisterCreator(counting);
}

} // namespace
} // namespace plugintest
