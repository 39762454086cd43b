// What a build and its engine answer to a program that never saw a header of ours: flags about numbers, tactic sources,
// errors to a recorder of the builder's, shapes that profiles leave open.
#include "raw_features.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace raw
{
namespace
{
//! Keeps what is reported, by code and text.
class RawRecorder final : public UserObject
{
  public:
    RawRecorder()
        : UserObject{12, {"IErrorRecorder", 1, 0}}
    {
        set(slots::kIErrorRecorder_reportError, &report);
        set(slots::kIErrorRecorder_incRefCount, &count);
        set(slots::kIErrorRecorder_decRefCount, &count);
        set(slots::kIErrorRecorder_getNbErrors, &count);
    }
    std::vector<std::pair<int32_t, std::string>> errors;

  private:
    static bool report(void* self, int32_t code, char const* text)
    {
        of<RawRecorder>(self).errors.emplace_back(code, text);
        return false;
    }
    static int32_t count(void*)
    {
        return 1;
    }
};
} // namespace

class SlotsOfFlags : public SlotsOfFeatures
{
  protected:
    //! y for x of [n, 2, 3, 3].
    template <typename T>
    static std::vector<float> run(Object engine, std::vector<T> const& x)
    {
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
        Object const own = inner(context, slots::kIExecutionContext_mImpl);
        DeviceArray<T> const in{x};
        DeviceArray<float> const out{x.size()};
        RawDims const shape{4, {static_cast<int64_t>(x.size()) / 18, 2, 3, 3}};
        EXPECT_TRUE(call<bool>(own, slots::kVExecutionContext_setInputShape, "x", &shape));
        EXPECT_TRUE(call<bool>(own, slots::kVExecutionContext_setTensorAddress, "x", static_cast<void*>(in.data())));
        EXPECT_TRUE(call<bool>(own, slots::kVExecutionContext_setTensorAddress, "y", static_cast<void*>(out.data())));
        EXPECT_TRUE(call<bool>(own, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream()));
        std::vector<float> result = out.read();
        destroy(context);
        return result;
    }
};

TEST_F(SlotsOfFlags, notANumberStaysSoUnderStrictNans)
{
    setFlags({kSTRICT_NANS});
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    std::vector<float> x = tenon::test::randomFloats(2 * 18, 5);
    x[4] = std::numeric_limits<float>::quiet_NaN(); // Pixel 4 of the first image, which both maps read.
    std::vector<float> const y = run(engine, x);
    for (size_t i = 0; i < y.size(); ++i)
        EXPECT_EQ(std::isnan(y[i]), i == 4 || i == 13) << i;
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, entriesOfABatchDoNotDependOnItsSize)
{
    setFlags({kDISTRIBUTIVE_INDEPENDENCE});
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    std::vector<float> const x = tenon::test::randomFloats(3 * 18, 6);
    std::vector<float> const together = run(engine, x);
    for (std::ptrdiff_t i = 0; i < 3; ++i)
    {
        std::vector<float> const alone = run(engine, std::vector<float>{x.begin() + 18 * i, x.begin() + 18 * (i + 1)});
        EXPECT_EQ(std::memcmp(alone.data(), together.data() + 18 * i, 18 * sizeof(float)), 0) << i;
    }
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, tacticSourcesAreKeptAndNoneTakesPart)
{
    uint32_t sources{0};
    prepare = [&](Object, Object config) {
        sources = call<uint32_t>(config, slots::kVBuilderConfig_getTacticSources);
        EXPECT_TRUE(call<bool>(config, slots::kVBuilderConfig_setTacticSources, sources)) << errors;
        char const* const tuning = call<char const*>(config, slots::kVBuilderConfig_getRemoteAutoTuningConfig);
        ASSERT_NE(tuning, nullptr);
        EXPECT_STREQ(tuning, "");
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_NE(sources, 0U);
    EXPECT_EQ(call<uint32_t>(queries, slots::kVCudaEngine_getTacticSources), 0U) << "none of those libraries took part";
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, anEngineShowsTheExtentsThatItsProfileFixes)
{
    for (bool const isFixed : {false, true})
    {
        if (isFixed)
            batches = {2, 2, 2};
        Object const engine = load(builtPlan());
        ASSERT_NE(engine, nullptr) << errors;
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        for (char const* const name : {"x", "y"})
        {
            RawDims const shape = call<RawDims>(queries, slots::kVCudaEngine_getTensorShape, name);
            EXPECT_EQ(shape.rank, 4);
            EXPECT_EQ((std::vector<int64_t>{shape.extents, shape.extents + 4}),
                (std::vector<int64_t>{isFixed ? 2 : -1, 2, 3, 3}))
                << name;
        }
        expectRuns(engine);
        destroy(engine);
    }
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, anInputOfHalfPrecisionMeetsFloatWeights)
{
    constexpr int32_t kHalf{1};
    prepare = [&](Object net, Object) {
        Object const x = call<Object>(net, slots::kVNetworkDefinition_getInput, int32_t{0});
        call<void>(inner(x, slots::kITensor_mImpl), slots::kVTensor_setType, kHalf);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorDataType, "x"), kHalf);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorDataType, "y"), kFloat);
    std::vector<std::pair<float, uint16_t>> const numbers{
        {0.0F, 0x0000}, {0.5F, 0x3800}, {1.0F, 0x3C00}, {-1.0F, 0xBC00}, {2.0F, 0x4000}, {-3.0F, 0xC200}};
    std::vector<float> x;
    std::vector<uint16_t> halves;
    for (float const random : tenon::test::randomFloats(2 * 18, 41))
    {
        auto const& [number, half] = numbers[static_cast<size_t>(std::abs(random) * 1000.0F) % numbers.size()];
        x.push_back(number);
        halves.push_back(half);
    }
    expectResult(x, run(engine, halves));
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, aRegistryAsksItsParentUnlessToldOtherwise)
{
    prepareBuilder = [&](Object builder) {
        Object const registry = call<Object>(builder, slots::kVBuilder_getPluginRegistry);
        ASSERT_NE(registry, nullptr);
        EXPECT_TRUE(call<bool>(registry, slots::kIPluginRegistry_isParentSearchEnabled));
        call<void>(registry, slots::kIPluginRegistry_setParentSearchEnabled, false);
        EXPECT_FALSE(call<bool>(registry, slots::kIPluginRegistry_isParentSearchEnabled));
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFlags, aRecorderOfTheBuilderGetsTheErrorsOfItsBuilds)
{
    RawRecorder recorder;
    prepareBuilder = [&](Object builder) { call<void>(builder, slots::kVBuilder_setErrorRecorder, recorder.object()); };
    setFlags({kREFIT_IDENTICAL, kREFIT_INDIVIDUAL}); // The one excludes the other.
    EXPECT_EQ(buildPlan(), nullptr);
    ASSERT_FALSE(recorder.errors.empty());
    EXPECT_NE(recorder.errors.back().second.find("kREFIT_INDIVIDUAL"), std::string::npos)
        << recorder.errors.back().second;
    EXPECT_NE(recorder.errors.back().first, 0) << "a success";
}

} // namespace raw
