// Features of engines by a program that never saw a header of ours: refitting, weight streaming, timing caches, plans
// for other versions, libraries in plans, algorithm selectors.
#include "raw_features.h"

#include <cstring>
#include <filesystem>

namespace raw
{
TEST_F(SlotsOfFeatures, weightsAreReplacedByName)
{
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, kREFIT);
        EXPECT_TRUE(
            call<bool>(net, slots::kVNetworkDefinition_setWeightsName, RawWeights{kFloat, kernel.data(), 4}, "kernel"));
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    EXPECT_TRUE(call<bool>(inner(engine, slots::kICudaEngine_mImpl), slots::kVCudaEngine_isRefittable));
    expectRuns(engine);
    auto* const make =
        reinterpret_cast<Object (*)(Object, void*, int32_t)>(::dlsym(library, "createInferRefitter_INTERNAL"));
    ASSERT_NE(make, nullptr);
    Object const refitter = make(engine, &logger, 101600);
    ASSERT_NE(refitter, nullptr) << errors;
    Object const own = inner(refitter, slots::kIRefitter_mImpl);
    std::array<char const*, 8> names{};
    int32_t const count = call<int32_t>(own, slots::kVRefitter_getAllWeights, int32_t{8}, names.data());
    ASSERT_GE(count, 1);
    EXPECT_TRUE(std::any_of(
        names.begin(), names.begin() + count, [](char const* name) { return std::string{name} == "kernel"; }));
    kernel = {-1.5F, 0.25F, 3.0F, 1.75F};
    EXPECT_TRUE(call<bool>(own, slots::kVRefitter_setNamedWeights, "kernel", RawWeights{kFloat, kernel.data(), 4}))
        << errors;
    EXPECT_TRUE(call<bool>(own, slots::kVRefitter_refitCudaEngine)) << errors;
    expectRuns(engine);
    destroy(refitter);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFeatures, weightsAreStreamedUnderABudget)
{
    constexpr int64_t kSide{256};
    std::vector<float> const matrix = tenon::test::randomFloats(kSide * kSide, 31);
    prepare = [&](Object net, Object config) { // A product with weights that are worth it beside the network.
        call<void>(config, slots::kVBuilderConfig_setFlag, kWEIGHT_STREAMING);
        addProduct(net, matrix, kSide);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    auto const all = call<int64_t>(queries, slots::kVCudaEngine_getStreamableWeightsSize);
    DeviceArray<float> const v{tenon::test::randomFloats(kSide, 32)};
    std::vector<std::vector<float>> results;
    for (int64_t const budget : {all, all / 4, int64_t{0}})
    {
        if (all > 0) // Devices with memory of their own keep all weights there.
        {
            EXPECT_GE(all, kSide * kSide * int64_t{sizeof(float)});
            EXPECT_TRUE(call<bool>(queries, slots::kVCudaEngine_setWeightStreamingBudgetV2, budget)) << errors;
            EXPECT_EQ(call<int64_t>(queries, slots::kVCudaEngine_getWeightStreamingBudgetV2), budget);
            EXPECT_LE(call<int64_t>(queries, slots::kVCudaEngine_getWeightStreamingAutomaticBudget), all);
            auto const passing = call<int64_t>(queries, slots::kVCudaEngine_getWeightStreamingScratchMemorySize);
            EXPECT_EQ(passing > 0, budget < all);
        }
        DeviceArray<float> const out{size_t{kSide}};
        expectRuns(engine, {{"v", v.data()}, {"out", out.data()}});
        results.push_back(out.read());
    }
    EXPECT_NE(results[0], std::vector<float>(kSide, 0.0F));
    EXPECT_EQ(results[1], results[0]);
    EXPECT_EQ(results[2], results[0]);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFeatures, timingCachesGoThroughBytes)
{
    std::string stored;
    prepare = [&](Object, Object config) {
        Object const cache = call<Object>(
            config, slots::kVBuilderConfig_createTimingCache, static_cast<void const*>(stored.data()), stored.size());
        ASSERT_NE(cache, nullptr) << errors;
        EXPECT_TRUE(call<bool>(config, slots::kVBuilderConfig_setTimingCache, cache, false)) << errors;
        destroy(cache);
    };
    afterwards = [&](Object config) {
        Object const cache = call<Object>(config, slots::kVBuilderConfig_getTimingCache);
        ASSERT_NE(cache, nullptr);
        Object const memory = call<Object>(inner(cache, slots::kITimingCache_mImpl), slots::kVTimingCache_serialize);
        ASSERT_NE(memory, nullptr) << errors;
        std::string const bytes = bytesOf(memory);
        EXPECT_FALSE(bytes.empty());
        EXPECT_TRUE(stored.empty() || bytes == stored) << "the second build has measured again";
        stored = bytes;
        destroy(memory);
    };
    std::string const first = builtPlan();
    EXPECT_EQ(builtPlan(), first);
    Object const engine = load(first);
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFeatures, aPlanForOtherVersionsSaysSoInItsFirstBytes)
{
    setFlags({kVERSION_COMPATIBLE, kEXCLUDE_LEAN_RUNTIME});
    std::string const plan = builtPlan();
    ASSERT_GT(plan.size(), 28U);
    EXPECT_EQ(plan.substr(0, 4), "ftrt");
    uint32_t second{1};
    std::memcpy(&second, plan.data() + 4, sizeof second);
    EXPECT_EQ(second, 0);
    EXPECT_EQ(plan[24], 10);
    EXPECT_EQ(plan[25], 16);
    Object const engine = load(plan, true);
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFeatures, librariesOfAPlanAreLoadedOnlyWhenAllowed)
{
    Dl_info info{};
    ASSERT_NE(::dladdr(::dlsym(library, "createInferRuntime_INTERNAL"), &info), 0);
    std::string const path = std::filesystem::path{info.dli_fname}.parent_path() / "libtenon_pad_library.so";
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    std::string const without = builtPlan();
    prepare = [&](Object, Object config) {
        char const* const paths[]{path.c_str()};
        call<void>(
            config, slots::kVBuilderConfig_setPluginsToSerialize, static_cast<char const* const*>(paths), int32_t{1});
        EXPECT_EQ(call<int32_t>(config, slots::kVBuilderConfig_getNbPluginsToSerialize), 1);
        EXPECT_STREQ(call<char const*>(config, slots::kVBuilderConfig_getPluginToSerialize, int32_t{0}), path.c_str());
    };
    std::string const plan = builtPlan();
    EXPECT_GE(plan.size(), without.size() + std::filesystem::file_size(path));
    EXPECT_EQ(errors, "");
    EXPECT_EQ(load(plan), nullptr);
    EXPECT_NE(errors.find("setEngineHostCodeAllowed(true)"), std::string::npos) << errors;
    errors.clear();
    Object const engine = load(plan, true);
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

namespace
{
//! Takes the first of each layer's algorithms, and remembers what it was asked and told.
class UserSelector : public UserObject
{
  public:
    UserSelector()
        : UserObject{6, RawInfo{"IAlgorithmSelector", 1, 0}}
    {
        set(
            slots::kIAlgorithmSelector_selectAlgorithms,
            +[](void* self, Object context, Object const* choices, int32_t count, int32_t* selection) {
                auto& mine = of<UserSelector>(self);
                Object const own = inner(context, slots::kIAlgorithmContext_mImpl);
                mine.layers.emplace_back(call<char const*>(own, slots::kVAlgorithmContext_getName));
                mine.haveChoices = mine.haveChoices && count > 0 && choices[0] != nullptr;
                if (mine.haveChoices)
                    mine.look(own, inner(choices[0], slots::kIAlgorithm_mImpl));
                selection[0] = 0;
                return int32_t{1};
            });
        set(
            slots::kIAlgorithmSelector_reportAlgorithms,
            +[](void* self, Object const*, Object const* chosen, int32_t count) {
                auto& mine = of<UserSelector>(self);
                mine.reported += count;
                mine.haveChoices = mine.haveChoices && (count == 0 || chosen[0] != nullptr);
            });
    }
    //! What is told of the first input of a layer and of an algorithm for it.
    void look(Object context, Object algorithm)
    {
        if (call<int32_t>(context, slots::kVAlgorithmContext_getNbInputs) < 1
            || call<int32_t>(context, slots::kVAlgorithmContext_getNbOutputs) < 1) // A debug tensor is only read.
            return;
        for (int32_t select = 0; select < 3; ++select)
        {
            auto const dims = call<RawDims>(context, slots::kVAlgorithmContext_getDimensions, int32_t{0}, select);
            EXPECT_EQ(dims.rank, 4);
            EXPECT_EQ(dims.extents[0], select + 1) << "of the profile";
        }
        Object const variant = call<Object>(algorithm, slots::kVAlgorithm_getAlgorithmVariant);
        Object const numbers = inner(variant, slots::kIAlgorithmVariant_mImpl);
        EXPECT_NE(call<int64_t>(numbers, slots::kVAlgorithmVariant_getImplementation), 0);
        tactics.push_back(call<int64_t>(numbers, slots::kVAlgorithmVariant_getTactic));
        EXPECT_EQ(call<float>(algorithm, slots::kVAlgorithm_getTimingMSec), -1.0F) << "estimated, not timed";
        Object const info = call<Object>(algorithm, slots::kVAlgorithm_getAlgorithmIOInfoByIndex, int32_t{0});
        ASSERT_NE(info, nullptr);
        Object const input = inner(info, slots::kIAlgorithmIOInfo_mImpl);
        EXPECT_EQ(call<int32_t>(input, slots::kVAlgorithmIOInfo_getDataType), kFloat);
        EXPECT_EQ(call<RawDims>(input, slots::kVAlgorithmIOInfo_getStrides).rank, 4);
        ++seen;
    }
    std::vector<std::string> layers;
    std::vector<int64_t> tactics;
    int32_t reported{0};
    int32_t seen{0};
    bool haveChoices{true};
};
} // namespace

TEST_F(SlotsOfFeatures, aSelectorIsAskedForEachLayer)
{
    UserSelector selector;
    prepare = [&](Object, Object config) {
        call<void>(config, slots::kVBuilderConfig_setAlgorithmSelector, selector.object());
        EXPECT_EQ(call<Object>(config, slots::kVBuilderConfig_getAlgorithmSelector), selector.object());
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    EXPECT_GE(selector.layers.size(), 1U);
    EXPECT_EQ(selector.reported, static_cast<int32_t>(selector.layers.size()));
    EXPECT_TRUE(selector.haveChoices);
    EXPECT_GE(selector.seen, 1);
    for (std::string const& layer : selector.layers)
        EXPECT_FALSE(layer.empty());
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

} // namespace raw
