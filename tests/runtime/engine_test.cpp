// Engine: loading and queries.
#include "runtime/fixture.h"

namespace tenon::test
{

using Select = nvinfer1::OptProfileSelector;

TEST(Engine, O1_refusesAPlanWithoutProgramForTheDevice)
{
    auto plan = staticNetwork();
    plan->programs[0].device = "another";
    EngineOptions options;
    options.device = &deviceOfEngines();
    auto const engine = Engine::create(plan, options);
    ASSERT_FALSE(engine);
    EXPECT_NE(engine.error().message.find("toy"), std::string::npos);
}

TEST(Engine, O1_namesLayerAndKernelThatTheDeviceLacks)
{
    auto plan = staticNetwork();
    plan->programs[0].steps[1].kernel = "no such kernel";
    plan->programs[0].steps[1].name = "conv7";
    EngineOptions options;
    options.device = &deviceOfEngines();
    auto const engine = Engine::create(plan, options);
    ASSERT_FALSE(engine);
    EXPECT_NE(engine.error().message.find("conv7"), std::string::npos);
    EXPECT_NE(engine.error().message.find("no such kernel"), std::string::npos);
}

TEST(Engine, O1_checksAPlanThatCameFromNoBlob)
{
    auto plan = staticNetwork();
    plan->programs[0].steps[1].inputs[0] = 99;
    EngineOptions options;
    options.device = &deviceOfEngines();
    EXPECT_FALSE(Engine::create(plan, options));
}

TEST(Engine, O2_O7_reloadedPlanGivesTheSameEngineAfterTheBlobIsGone)
{
    auto const plan = pointwiseNetwork();
    auto const first = engineOf(plan);
    auto blob = std::make_shared<Bytes>(*writePlan(*plan));
    auto read = readPlan(*blob, blob);
    ASSERT_TRUE(read) << read.error().message;
    blob.reset(); // The plan keeps what it needs.
    auto const second = engineOf(std::make_shared<Plan>(*std::move(read)));
    ASSERT_EQ(first->ioCount(), second->ioCount());
    EXPECT_EQ(first->name(), second->name());
    EXPECT_EQ(first->profileCount(), second->profileCount());
    EXPECT_EQ(first->layerCount(), second->layerCount());
    for (int32_t i = 0; i < first->ioCount(); ++i)
    {
        char const* const name = first->io(i).name.c_str();
        EXPECT_EQ(first->io(i).name, second->io(i).name);
        EXPECT_EQ(first->io(i).dtype, second->io(i).dtype);
        EXPECT_EQ(first->io(i).isInput, second->io(i).isInput);
        EXPECT_EQ(first->io(i).formats, second->io(i).formats);
        EXPECT_EQ(first->profileShape(name, 0, Select::kOPT).operator bool(), first->io(i).isInput);
    }
    EXPECT_TRUE(*second->profileShape("x", 0, Select::kMIN) == std::vector<int64_t>({1, 4}));
    EXPECT_TRUE(*second->profileShape("x", 0, Select::kOPT) == std::vector<int64_t>({8, 4}));
    EXPECT_TRUE(*second->profileShape("x", 0, Select::kMAX) == std::vector<int64_t>({16, 4}));
    auto const x = DeviceArray<float>{randomFloats(20, 1)};
    auto const y = DeviceArray<float>{randomFloats(20, 2)};
    std::vector<std::vector<float>> results;
    for (auto const& engine : {first, second})
    {
        auto const context = contextOf(engine);
        DeviceArray<float> out{20};
        EXPECT_OK(context->setInputShape("x", dimsOf({5, 4})));
        EXPECT_OK(context->setInputShape("y", dimsOf({5, 4})));
        void* const bindings[]{x.data(), y.data(), out.data()};
        EXPECT_OK(context->execute(bindings));
        results.push_back(out.read());
    }
    EXPECT_EQ(results[0], results[1]);
}

namespace
{
//! Keeps the sizes that it was asked for.
class SizedAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    explicit SizedAllocator(Device& device)
        : mDevice{device}
    {
    }
    void* allocate(uint64_t const size, uint64_t const, nvinfer1::AllocatorFlags const) noexcept override
    {
        sizes.push_back(size);
        return mDevice.allocate(size);
    }
    bool deallocate(void* const memory) noexcept override
    {
        mDevice.release(memory);
        return true;
    }
    std::vector<uint64_t> sizes;

  private:
    Device& mDevice;
};

//! out = x + a + b, and a weight beside it that no step reads.
std::shared_ptr<Plan> networkOfThreeWeights()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {2, 2});
    auto const extents = builder.extentsOf(x);
    int32_t const out = builder.output("out", extents);
    builder.plan().io.back().dims = builder.plan().io.front().dims;
    int32_t const a = builder.weight({1.5F, -2.0F, 3.25F, 4.0F}, {2, 2});
    builder.weight(std::vector<float>(5000, 1.0F), {50, 100});
    int32_t const b = builder.weight({0.5F, 0.25F, -8.0F, 16.0F}, {2, 2});
    int32_t const sum = builder.activation(extents);
    builder.step("add", {x, a}, {sum});
    builder.step("add", {sum, b}, {out});
    return builder.finish();
}
} // namespace

TEST(Engine, loadsTheWeightsThatItsProgramReadsInOnePiece)
{
    GuardedDevice guarded{toyDevice()}; // Its kernels cannot read the plan's memory.
    SizedAllocator allocator{guarded};
    EngineOptions options;
    options.device = &guarded;
    options.allocator = &allocator;
    auto const engine = Engine::create(networkOfThreeWeights(), options);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_EQ(allocator.sizes, std::vector<uint64_t>{2 * guarded.alignment()});
    auto const context = contextOf(*engine);
    std::vector<float> const given{1.0F, 2.0F, 3.0F, 4.0F};
    void* const x = guarded.allocate(sizeof(float) * 4);
    void* const out = guarded.allocate(sizeof(float) * 4);
    EXPECT_OK(guarded.copyFromHost(x, given.data(), sizeof(float) * 4, nullptr));
    void* const bindings[]{x, out};
    EXPECT_OK(context->execute(bindings));
    std::vector<float> found(4);
    EXPECT_OK(guarded.copyToHost(found.data(), out, sizeof(float) * 4, nullptr));
    EXPECT_EQ(found, (std::vector<float>{3.0F, 0.25F, -1.75F, 24.0F}));
    guarded.release(x);
    guarded.release(out);
}

namespace
{
//! y is x by the first byte of code 1 of two.
std::shared_ptr<Plan> networkWithCode(CodeForm first, CodeForm second)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {2});
    builder.step("scale", {x}, {builder.output("y", builder.extentsOf(x))}).code = 1;
    std::shared_ptr<Plan> plan = builder.finish();
    for (CodeForm const form : {first, second})
    {
        auto const bytes = std::make_shared<Bytes const>(Bytes{static_cast<uint8_t>(3 + 2 * plan->code.size()), 0});
        plan->code.push_back({.name = "code " + std::to_string(plan->code.size()),
            .form = form,
            .target = "toy",
            .sha256 = sha256(*bytes),
            .bytes = bytes->size(),
            .data = bytes->data(),
            .owner = bytes});
    }
    return plan;
}
} // namespace

TEST(Engine, O7_codeForADeviceNeedsNoPermissionAndReachesItsStep)
{
    auto const engine = engineOf(networkWithCode(CodeForm::kPtx, CodeForm::kDeviceBinary));
    ASSERT_NE(engine, nullptr);
    auto const context = contextOf(engine);
    DeviceArray<float> const x{std::vector<float>{1.0F, -2.0F}};
    DeviceArray<float> y{2};
    void* const bindings[]{x.data(), y.data()};
    EXPECT_OK(context->execute(bindings));
    EXPECT_EQ(y.read(), (std::vector<float>{5.0F, -10.0F}));
}

TEST(Engine, O7_hostObjectsAmongOtherCodeAreLoadedByPermissionOnly)
{
    EngineOptions options;
    options.device = &deviceOfEngines();
    auto const plan = networkWithCode(CodeForm::kHostObject, CodeForm::kDeviceBinary);
    auto const refused = Engine::create(plan, options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("code 0"), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().message.find("code 1"), std::string::npos) << refused.error().message;
    options.allowsHostCode = true;
    EXPECT_OK(Engine::create(plan, options));
}

TEST(Engine, O6_parentsLiveAsLongAsTheirChildren)
{
    auto parent = std::make_shared<int>(7);
    std::weak_ptr<int> const watched = parent;
    EngineOptions options;
    options.device = &deviceOfEngines();
    options.parent = std::move(parent);
    auto engine = Engine::create(staticNetwork(), options);
    ASSERT_TRUE(engine);
    options.parent.reset();
    auto context = contextOf(*engine);
    *engine = nullptr;
    EXPECT_FALSE(watched.expired());
    DeviceArray<float> const x{randomFloats(6, 3)};
    DeviceArray<float> const out{6};
    void* const bindings[]{x.data(), out.data()};
    EXPECT_OK(context->execute(bindings));
    context.reset();
    EXPECT_TRUE(watched.expired());
}

TEST(Engine, P1_unknownNamesAreErrorsThatNameTheTensor)
{
    auto const engine = engineOf(staticNetwork());
    EXPECT_EQ(engine->findIO("nobody"), -1);
    EXPECT_EQ(engine->findIO(nullptr), -1);
    auto const shape = engine->shape("nobody");
    ASSERT_FALSE(shape);
    EXPECT_NE(shape.error().message.find("nobody"), std::string::npos);
    EXPECT_FALSE(engine->isShapeIO(nullptr));
}

TEST(Engine, P2_runTimeExtentsAreMinusOne)
{
    auto const engine = engineOf(pointwiseNetwork());
    EXPECT_TRUE(*engine->shape("x") == std::vector<int64_t>({-1, 4}));
    EXPECT_TRUE(*engine->shape("out") == std::vector<int64_t>({-1}));
}

TEST(Engine, P4_P5_profileQueries)
{
    auto const engine = engineOf(shapeNetwork());
    EXPECT_TRUE(*engine->profileShape("x", 0, Select::kMAX) == std::vector<int64_t>({25}));
    EXPECT_FALSE(engine->profileShape("x", 1, Select::kMAX));
    EXPECT_FALSE(engine->profileShape("x", -1, Select::kMAX));
    EXPECT_FALSE(engine->profileShape("out", 0, Select::kMAX));
    EXPECT_FALSE(engine->profileShape("nobody", 0, Select::kMAX));
    EXPECT_FALSE(engine->profileValues("x", 0, Select::kMIN)) << "x is no shape tensor";
    auto const values = engine->profileValues("s", 0, Select::kMAX);
    ASSERT_TRUE(values);
    EXPECT_EQ(std::vector<int64_t>(values->begin(), values->end()), std::vector<int64_t>({5, 5}));
}

TEST(Engine, P6_inputsThenOutputsInOrder)
{
    auto const engine = engineOf(nonZeroNetwork());
    std::vector<std::string> names;
    for (int32_t i = 0; i < engine->ioCount(); ++i)
        names.push_back(engine->io(i).name);
    EXPECT_EQ(names, std::vector<std::string>({"x", "indices", "negated", "doubled"}));
}

TEST(Engine, F6_anEngineHasAtLeastOneProfile)
{
    EXPECT_EQ(engineOf(staticNetwork())->profileCount(), 1);
    auto plan = staticNetwork();
    plan->profiles.clear();
    EXPECT_FALSE(checkPlan(*plan));
}

TEST(Engine, deviceMemoryCoversEveryShapeOfTheProfile)
{
    auto const engine = engineOf(pointwiseNetwork());
    int64_t const most = *engine->deviceMemorySize(0);
    EXPECT_GE(most, 16 * 4 * 4);
    EXPECT_FALSE(engine->deviceMemorySize(1));
    auto const context = contextOf(engine, MemoryStrategy::kUSER_MANAGED);
    for (int64_t n = 1; n <= 16; ++n)
    {
        EXPECT_OK(context->setInputShape("x", dimsOf({n, 4})));
        EXPECT_LE(*context->updateDeviceMemorySizeForShapes(), most);
    }
}

} // namespace tenon::test
