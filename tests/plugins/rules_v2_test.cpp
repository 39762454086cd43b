// Group J: what all generations of the V2 family promise, beside what v2_test.cpp has.
#include "plugins/hooked.h"

namespace plugintest
{
namespace
{

using apitest::dims;

using BatchlessRules = HookedTest<HookedExt>;
using FamilyRules = HookedTest<HookedDynamic>;

TEST_F(BatchlessRules, J1_J4_configurePluginTakesThePlaceOfTheOlderCall)
{
    ASSERT_NE(add(dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {2, 2, 5, 7}, {6, 2, 5, 7});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal& journal = Journal::get();
    for (char const* const call : {"getNbOutputs", "getOutputDataType", "configure"})
    {
        EXPECT_GE(journal.first(call), 0) << call;
        EXPECT_LT(journal.first(call), journal.first("initialize")) << call;
    }
    EXPECT_EQ(journal.count("configureWithFormat"), 0) << "a no-op from V2Ext on";
    EXPECT_EQ(journal.first("configure", 0, static_cast<size_t>(journal.first("deserializePlugin"))), -1)
        << "what was restored is configured already";
}

TEST_F(BatchlessRules, J2_invalidDimsOfAnOutputFailTheBuildByName)
{
    hooks().dims = [](int32_t, Dims const*) { return Dims{-1, {}}; };
    ASSERT_NE(add(dims({1, 2, 5, 7})), nullptr);
    std::string const said = buildFails();
    EXPECT_NE(
        said.find("getOutputDimensions(0) of plugin 'HookedExt' version '1' namespace 'tests'"), std::string::npos)
        << said;
    EXPECT_NE(said.find("[layer 'hooked']"), std::string::npos) << said;
}

TEST_F(BatchlessRules, J2_theIndexIsThatOfAnOutput)
{
    std::vector<int32_t> indices;
    hooks().dims = [&](int32_t index, Dims const* in) {
        indices.push_back(index);
        EXPECT_EQ(text(in[0]), "2x5x7") << "the batch is left out";
        return in[0];
    };
    ASSERT_NE(add(dims({3, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y")), (std::vector<int64_t>{3, 2, 5, 7}));
    for (int32_t const index : indices)
        EXPECT_EQ(index, 0);
}

TEST_F(FamilyRules, J5_initializeThatFailsWhileLoadingGivesNoEngine)
{
    ASSERT_NE(add(dims({1, 4})), nullptr);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    apitest::KeepingRecorder recorder;
    runtime->setErrorRecorder(&recorder);
    hooks().initialize = [] { return 31; };
    EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    ASSERT_EQ(recorder.getNbErrors(), 1);
    std::string const said = recorder.getErrorDesc(0);
    EXPECT_NE(said.find("initialize() of plugin 'HookedDynamic' version '1' namespace 'tests' returned 31"),
        std::string::npos)
        << said;
    EXPECT_NE(logger.errors().find("[layer 'hooked']"), std::string::npos) << logger.errors();
    hooks().initialize = nullptr;
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    EXPECT_NE(engine, nullptr) << "the runtime stays usable";
    runtime->setErrorRecorder(nullptr);
}

//! Every object is destroyed once, and every initialize has its terminate, whatever fails.
TEST_F(FamilyRules, J7_countsBalanceAfterFailuresToo)
{
    Journal& journal = Journal::get();
    auto const expectBalance = [&](std::string const& when) {
        EXPECT_EQ(journal.alive(), 0) << when;
        EXPECT_EQ(journal.count("initialize") - journal.count("terminate"), 0) << when;
        journal.clear();
    };
    auto const fresh = [&] {
        network.reset(builder->createNetworkV2(0));
        ASSERT_NE(add(dims({1, 4})), nullptr);
    };
    fresh();
    hooks().supports = [](int32_t, PluginTensorDesc const*) { return false; };
    buildFails();
    network.reset();
    expectBalance("no format accepted");
    hooks().supports = nullptr;

    fresh();
    hooks().workspace = SIZE_MAX - 7;
    buildFails();
    network.reset();
    expectBalance("workspace too large");
    hooks().workspace = 0;

    fresh();
    {
        std::unique_ptr<ICudaEngine> engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
        hooks().enqueue = [](auto const*, auto const*, auto const*, auto const*, void*) { return 1; };
        DeviceArray<float> const x{size_t{4}};
        DeviceArray<float> const y{size_t{4}};
        EXPECT_FALSE(enqueue(*context, x, y, dims({1, 4})));
        engine.reset(); // The context keeps what it needs of the engine.
        context.reset();
    }
    network.reset();
    expectBalance("a run that failed");
}

TEST_F(FamilyRules, J7_initializeThatFailsIsNotTerminated)
{
    ASSERT_NE(add(dims({1, 4})), nullptr);
    hooks().initialize = [] { return 1; };
    buildFails();
    EXPECT_GT(Journal::get().count("initialize"), 0);
    EXPECT_EQ(Journal::get().count("terminate"), 0);
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0);
}

TEST_F(BatchlessRules, J8_attachWaitsForTheMemoryOfAContextMadeWithoutIt)
{
    ASSERT_NE(add(dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal& journal = Journal::get();
    journal.clear();
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContextWithoutDeviceMemory()};
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(journal.count("attachToContext"), 0);
    DeviceArray<uint8_t> const memory{static_cast<size_t>(engine->getDeviceMemorySizeV2()) + 1};
    context->setDeviceMemoryV2(memory.data(), engine->getDeviceMemorySizeV2());
    EXPECT_EQ(journal.count("attachToContext"), 1);
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    EXPECT_TRUE(enqueue(*context, x, y, dims({1, 2, 5, 7}))) << logger.errors();
    context->setDeviceMemoryV2(memory.data(), engine->getDeviceMemorySizeV2());
    EXPECT_TRUE(enqueue(*context, x, y, dims({1, 2, 5, 7})));
    EXPECT_EQ(journal.count("attachToContext"), 1) << "once for each context";
    context.reset();
    EXPECT_EQ(journal.count("detachFromContext"), 1);
}

TEST_F(BatchlessRules, J8_aContextThatNeverGotMemoryNeitherAttachesNorDetaches)
{
    ASSERT_NE(add(dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IExecutionContext>{
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED)}
        .reset();
    EXPECT_EQ(Journal::get().count("attachToContext"), 0);
    EXPECT_EQ(Journal::get().count("detachFromContext"), 0);
    EXPECT_EQ(Journal::get().count("clone"), 0);
}

TEST_F(FamilyRules, J17_theBitOfPythonChangesNoGeneration)
{
    hooks().versionBits = 0x40U << 24U;
    hooks().shape = [](DimsExprs const* in, IExprBuilder& builder) {
        return DimsExprs{1, {builder.operation(DimensionOperation::kPROD, *in[0].d[0], *builder.constant(4))}};
    };
    ASSERT_NE(add(dims({-1, 4})), nullptr) << logger.errors();
    addProfile({1, 4}, {2, 4}, {3, 4});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_GT(Journal::get().count("supportsFormatCombination"), 0) << "it is asked as a V2DynamicExt";
    EXPECT_EQ(apitest::extents(engine->getTensorShape("y")), std::vector<int64_t>{-1});
}

//! Keeps the allocators that living contexts gave.
class Allocating final : public HookedBatchless<Allocating, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"Allocating"};
    inline static std::vector<IGpuAllocator*> allocators;
    Allocating* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType const* inputTypes,
        DataType const*, bool const*, bool const*, PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], inputTypes[0], maxBatchSize);
    }
    void attachToContext(cudnnContext* cudnn, cublasContext* cublas, IGpuAllocator* given) noexcept override
    {
        note("attachToContext", cudnn == nullptr && cublas == nullptr ? "no handles" : "handles");
        allocators.push_back(given);
    }
};
using AllocatorRules = HookedTest<Allocating>;

TEST_F(AllocatorRules, J8_livingContextsHaveAllocatorsOfTheirOwn)
{
    Allocating::allocators.clear();
    ASSERT_NE(add(dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    ASSERT_EQ(Allocating::allocators.size(), 2U);
    EXPECT_NE(Allocating::allocators[0], nullptr);
    EXPECT_NE(Allocating::allocators[1], nullptr);
    EXPECT_NE(Allocating::allocators[0], Allocating::allocators[1]);
    EXPECT_EQ(whatOf("attachToContext"), (std::vector<std::string>{"no handles", "no handles"}));
}

} // namespace
} // namespace plugintest
