// Refitting by a program that never saw a header of ours: single weights, prototypes and places, streams, plans without
// weights, runs of other threads meanwhile.
#include "raw_features.h"

#include <atomic>
#include <cmath>
#include <thread>

namespace raw
{
namespace
{
// Numbers of SerializationFlag, EngineStat, TensorLocation and WeightsRole in 10.x.
constexpr int32_t kEXCLUDE_WEIGHTS{0};
constexpr int32_t kINCLUDE_REFIT{2};
constexpr int32_t kSTRIPPED_WEIGHTS_SIZE{1};
constexpr int32_t kOnDevice{0};
constexpr int32_t kKernel{0};
constexpr int32_t kBias{1};
} // namespace

class SlotsOfRefit : public SlotsOfFeatures
{
  protected:
    std::vector<float> const otherKernel{-1.5F, 0.25F, 3.0F, 1.75F};
    std::vector<float> const otherBias{0.7F, -0.2F};

    RawWeights weightsOf(std::vector<float> const& values) const
    {
        return {kFloat, values.data(), static_cast<int64_t>(values.size())};
    }
    void nameWeights(Object net)
    {
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_setWeightsName, weightsOf(kernel), "kernel"));
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_setWeightsName, weightsOf(bias), "bias"));
    }
    Object refitterOf(Object engine)
    {
        auto* const make =
            reinterpret_cast<Object (*)(Object, void*, int32_t)>(::dlsym(library, "createInferRefitter_INTERNAL"));
        EXPECT_NE(make, nullptr);
        Object const refitter = make == nullptr ? nullptr : make(engine, &logger, 101600);
        EXPECT_NE(refitter, nullptr) << errors;
        return refitter;
    }
    static Object behind(Object refitter)
    {
        return inner(refitter, slots::kIRefitter_mImpl);
    }
    bool supply(Object refitter, std::vector<float> const& newKernel, std::vector<float> const& newBias)
    {
        Object const own = behind(refitter);
        return call<bool>(own, slots::kVRefitter_setNamedWeights, "kernel", weightsOf(newKernel))
            && call<bool>(own, slots::kVRefitter_setNamedWeights, "bias", weightsOf(newBias));
    }
    //! The plan of the engine with these flags.
    std::string stored(Object engine, std::initializer_list<int32_t> flags)
    {
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        Object const config = call<Object>(queries, slots::kVCudaEngine_createSerializationConfig);
        for (int32_t const flag : flags)
            EXPECT_TRUE(call<bool>(
                inner(config, slots::kISerializationConfig_mImpl), slots::kVSerializationConfig_setFlag, flag));
        Object const memory = call<Object>(queries, slots::kVCudaEngine_serializeWithConfig, config);
        EXPECT_NE(memory, nullptr) << errors;
        std::string const bytes = memory == nullptr ? std::string{} : bytesOf(memory);
        destroy(config);
        if (memory != nullptr)
            destroy(memory);
        return bytes;
    }
    static bool canBeRefitted(Object engine)
    {
        return call<bool>(inner(engine, slots::kICudaEngine_mImpl), slots::kVCudaEngine_isRefittable);
    }
};

TEST_F(SlotsOfRefit, singleWeightsAreMarkedByName)
{
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, kREFIT_INDIVIDUAL);
        nameWeights(net);
        EXPECT_FALSE(call<bool>(net, slots::kVNetworkDefinition_markWeightsRefittable, "nobody"));
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_markWeightsRefittable, "kernel"));
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_markWeightsRefittable, "bias"));
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_unmarkWeightsRefittable, "bias"));
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_areWeightsMarkedRefittable, "kernel"));
        EXPECT_FALSE(call<bool>(net, slots::kVNetworkDefinition_areWeightsMarkedRefittable, "bias"));
        errors.clear(); // Of the name that nobody has.
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const refitter = refitterOf(engine);
    Object const own = behind(refitter);
    std::array<char const*, 4> names{};
    ASSERT_EQ(call<int32_t>(own, slots::kVRefitter_getAllWeights, int32_t{4}, names.data()), 1);
    EXPECT_STREQ(names[0], "kernel");
    kernel = otherKernel;
    EXPECT_TRUE(call<bool>(own, slots::kVRefitter_setNamedWeights, "kernel", weightsOf(kernel))) << errors;
    EXPECT_TRUE(call<bool>(own, slots::kVRefitter_refitCudaEngine)) << errors;
    expectRuns(engine);
    EXPECT_EQ(errors, "");
    EXPECT_FALSE(call<bool>(own, slots::kVRefitter_setNamedWeights, "bias", weightsOf(otherBias)));
    EXPECT_NE(errors.find("bias"), std::string::npos) << errors;
    destroy(refitter);
    destroy(engine);
}

TEST_F(SlotsOfRefit, prototypesPlacesAndStreams)
{
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, kREFIT);
        nameWeights(net);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const refitter = refitterOf(engine);
    Object const own = behind(refitter);
    auto const prototype = call<RawWeights>(own, slots::kVRefitter_getWeightsPrototype, "kernel");
    EXPECT_EQ(prototype.type, kFloat);
    EXPECT_EQ(prototype.count, 4);
    EXPECT_EQ(prototype.values, nullptr);
    EXPECT_EQ(call<RawWeights>(own, slots::kVRefitter_getWeightsPrototype, "nobody").count, -1);
    std::array<char const*, 4> layers{};
    std::array<int32_t, 4> roles{};
    int32_t const count = call<int32_t>(own, slots::kVRefitter_getAll, int32_t{4}, layers.data(), roles.data());
    ASSERT_EQ(count, 2);
    std::string const conv{layers[0]};
    EXPECT_EQ(layers[1], conv) << "kernel and bias of one layer";
    EXPECT_EQ(roles[0] + roles[1], kKernel + kBias);
    EXPECT_NE(roles[0], roles[1]);

    ASSERT_TRUE(call<bool>(own, slots::kVRefitter_setNamedWeights, "kernel", weightsOf(otherKernel))) << errors;
    EXPECT_EQ(call<RawWeights>(own, slots::kVRefitter_getNamedWeights, "kernel").values, otherKernel.data());
    EXPECT_TRUE(call<bool>(own, slots::kVRefitter_unsetNamedWeights, "kernel"));
    EXPECT_EQ(call<int32_t>(own, slots::kVRefitter_getMissing, int32_t{0}, nullptr, nullptr), 0);
    EXPECT_EQ(errors, "");

    {
        DeviceArray<float> const onDevice{otherKernel};
        RawWeights const given{kFloat, onDevice.data(), 4};
        ASSERT_TRUE(call<bool>(own, slots::kVRefitter_setNamedWeightsWithLocation, "kernel", given, kOnDevice));
        EXPECT_EQ(call<int32_t>(own, slots::kVRefitter_getWeightsLocation, "kernel"), kOnDevice);
        ASSERT_TRUE(call<bool>(own, slots::kVRefitter_setWeights, conv.c_str(), kBias, weightsOf(otherBias))) << errors;
        void* const stream = tenon::test::deviceUnderTest().stream();
        ASSERT_TRUE(call<bool>(own, slots::kVRefitter_refitCudaEngineAsync, stream)) << errors;
        EXPECT_TRUE(tenon::test::deviceUnderTest().synchronize());
    }
    kernel = otherKernel;
    bias = otherBias;
    expectRuns(engine);
    destroy(refitter);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfRefit, aPlanWithoutWeightsGetsThemBack)
{
    constexpr int64_t kSide{128};
    std::vector<float> const matrix = tenon::test::randomFloats(kSide * kSide, 31);
    int32_t flag{kREFIT};
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, flag);
        nameWeights(net);
        addProduct(net, matrix, kSide);
        EXPECT_TRUE(call<bool>(net, slots::kVNetworkDefinition_setWeightsName, weightsOf(matrix), "matrix"));
    };
    DeviceArray<float> const v{tenon::test::randomFloats(kSide, 32)};
    DeviceArray<float> const out{size_t{kSide}};
    std::vector<std::pair<char const*, void*>> const more{{"v", v.data()}, {"out", out.data()}};
    std::string const whole = builtPlan();
    Object const complete = load(whole);
    expectRuns(complete, more);
    std::vector<float> const wanted = out.read();
    destroy(complete);

    flag = kSTRIP_PLAN;
    std::string const stripped = builtPlan();
    constexpr size_t kBytes{kSide * kSide * sizeof(float)};
    EXPECT_LT(stripped.size() + kBytes * 9 / 10, whole.size());
    Object const engine = load(stripped);
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_GE(call<int64_t>(queries, slots::kVCudaEngine_getEngineStat, kSTRIPPED_WEIGHTS_SIZE),
        static_cast<int64_t>(kBytes));
    EXPECT_EQ(errors, "");
    std::vector<float> none;
    EXPECT_FALSE(tryRun(engine, tenon::test::randomFloats(2 * 18, 23), none, more));
    EXPECT_NE(errors.find("came without"), std::string::npos) << errors;
    errors.clear();

    Object const refitter = refitterOf(engine);
    Object const own = behind(refitter);
    EXPECT_EQ(call<int32_t>(own, slots::kVRefitter_getMissingWeights, int32_t{0}, nullptr), 3);
    ASSERT_TRUE(supply(refitter, kernel, bias)) << errors;
    ASSERT_TRUE(call<bool>(own, slots::kVRefitter_setNamedWeights, "matrix", weightsOf(matrix))) << errors;
    ASSERT_TRUE(call<bool>(own, slots::kVRefitter_refitCudaEngine)) << errors;
    expectRuns(engine, more);
    EXPECT_EQ(out.read(), wanted);

    EXPECT_EQ(stored(engine, {kEXCLUDE_WEIGHTS}).size(), stripped.size());
    for (bool const staysSo : {true, false}) // Rule O8.
    {
        std::string const plan = staysSo ? stored(engine, {kINCLUDE_REFIT}) : stored(engine, {});
        Object const again = load(plan);
        ASSERT_NE(again, nullptr) << errors;
        EXPECT_EQ(canBeRefitted(again), staysSo);
        expectRuns(again, more);
        EXPECT_EQ(out.read(), wanted);
        destroy(again);
    }
    destroy(refitter);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfRefit, runsOfOtherThreadsSeeOneStateOrTheOther)
{
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, kREFIT);
        nameWeights(net);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    std::vector<float> const x = tenon::test::randomFloats(2 * 18, 23);
    auto const expected = [&](std::vector<float> const& k, std::vector<float> const& b) {
        std::vector<float> y(x.size());
        for (size_t i = 0; i < y.size(); ++i)
        {
            size_t const m = i / 9 % 2;
            float const* const image = x.data() + i / 18 * 18;
            y[i] = std::max(b[m] + k[2 * m] * image[i % 9] + k[2 * m + 1] * image[9 + i % 9], 0.0F);
        }
        return y;
    };
    auto const areNear = [](std::vector<float> const& a, std::vector<float> const& b) {
        return std::equal(a.begin(), a.end(), b.begin(), [](float l, float r) { return std::abs(l - r) < 1e-5F; });
    };
    std::vector<float> const before = expected(kernel, bias);
    std::vector<float> const behindIt = expected(otherKernel, otherBias);
    std::atomic<bool> isOver{false};
    std::atomic<int32_t> wrong{0};
    std::atomic<int32_t> runs{0};
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            Object const queries = inner(engine, slots::kICudaEngine_mImpl);
            Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
            Object const run = inner(context, slots::kIExecutionContext_mImpl);
            RawDims const shape{4, {2, 2, 3, 3}};
            wrong += call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &shape) ? 0 : 1;
            DeviceArray<float> const in{x};
            DeviceArray<float> const out{x.size()};
            void* addresses[]{in.data(), out.data()};
            while (!isOver)
            {
                wrong +=
                    call<bool>(run, slots::kVExecutionContext_executeV2, static_cast<void* const*>(addresses)) ? 0 : 1;
                std::vector<float> const y = out.read();
                wrong += areNear(y, before) || areNear(y, behindIt) ? 0 : 1;
                ++runs;
            }
            destroy(context);
        });
    Object const refitter = refitterOf(engine);
    for (int32_t round = 0; round < 20 || runs < 40; ++round)
    {
        ASSERT_TRUE(round % 2 == 0 ? supply(refitter, otherKernel, otherBias) : supply(refitter, kernel, bias));
        ASSERT_TRUE(call<bool>(behind(refitter), slots::kVRefitter_refitCudaEngine)) << errors;
    }
    isOver = true;
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong, 0);
    destroy(refitter);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

} // namespace raw
