// A data-dependent output, an output in an input's memory, and tactics: built, run, stored, loaded, run elsewhere.
#include "api/fixture.h"
#include "plugins/elsewhere.h"
#include "plugins/special.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! Takes what the output turns out to need.
class Growing final : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        mMemory = std::make_unique<DeviceArray<uint8_t>>(size);
        return mMemory->data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        shape = dims;
    }
    template <typename T>
    std::vector<T> read() const
    {
        size_t count{1};
        for (int32_t i = 0; i < shape.nbDims; ++i)
            count *= static_cast<size_t>(shape.d[i]);
        std::vector<T> values(count);
        std::vector<uint8_t> const bytes = mMemory->read();
        std::memcpy(values.data(), bytes.data(), count * sizeof(T));
        return values;
    }
    Dims shape{-1, {}};

  private:
    std::unique_ptr<DeviceArray<uint8_t>> mMemory;
};

template <typename P>
class SpecialTest : public apitest::ApiTest
{
  protected:
    OneToOneCreator<P> creator{kSpecialNamespace};
    std::unique_ptr<ICudaEngine> built;
    std::unique_ptr<IHostMemory> plan;
    std::unique_ptr<ICudaEngine> loaded;

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, kSpecialNamespace)) << logger.errors();
    }
    void TearDown() override
    {
        built.reset();
        loaded.reset();
        network.reset();
        getPluginRegistry()->deregisterCreator(creator);
        EXPECT_EQ(Journal::get().alive(), 0) << "objects that nobody destroyed";
    }
    IPluginV3Layer* add(std::vector<ITensor*> const& inputs)
    {
        P plugin;
        return network->addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()), nullptr, 0, plugin);
    }
    void mark(ITensor& tensor, char const* name)
    {
        tensor.setName(name);
        network->markOutput(tensor);
    }
    void build()
    {
        built.reset(builder->buildEngineWithConfig(*network, *config));
        ASSERT_NE(built, nullptr) << logger.errors();
        plan.reset(built->serialize());
        ASSERT_NE(plan, nullptr) << logger.errors();
        loaded.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
        ASSERT_NE(loaded, nullptr) << logger.errors();
    }
    std::vector<std::unique_ptr<IExecutionContext>> contexts()
    {
        std::vector<std::unique_ptr<IExecutionContext>> all;
        for (ICudaEngine* engine : {built.get(), loaded.get(), loaded.get()})
            all.emplace_back(engine->createExecutionContext());
        return all;
    }
};

using NonZeroTest = SpecialTest<NonZero>;

std::vector<float> sparse(int64_t rows, int64_t columns, uint32_t seed)
{
    std::vector<float> values = randomFloats(static_cast<size_t>(rows * columns), seed);
    std::mt19937 generator{seed};
    for (float& value : values)
        if (generator() % 3 == 0)
            value = 0.0F;
    return values;
}

std::vector<int32_t> pairsOf(std::vector<float> const& x, int64_t columns)
{
    std::vector<int32_t> pairs;
    for (size_t i = 0; i < x.size(); ++i)
        if (x[i] != 0.0F)
        {
            pairs.push_back(static_cast<int32_t>(i) / static_cast<int32_t>(columns));
            pairs.push_back(static_cast<int32_t>(i) % static_cast<int32_t>(columns));
        }
    return pairs;
}

TEST_F(NonZeroTest, L10_runsWhereverThePlanGoes)
{
    IPluginV3Layer* layer = add({network->addInput("x", DataType::kFLOAT, dims({-1, -1}))});
    ASSERT_NE(layer, nullptr) << logger.errors();
    mark(*layer->getOutput(0), "pairs");
    mark(*layer->getOutput(1), "count");
    addProfile({1, 1}, {4, 8}, {16, 16});
    build();
    uint32_t seed{0};
    for (auto const& context : contexts())
        for (auto const& [rows, columns] : {std::pair{3, 5}, std::pair{16, 16}, std::pair{1, 1}})
        {
            std::vector<float> const values = sparse(rows, columns, ++seed);
            std::vector<int32_t> const wanted = pairsOf(values, columns);
            DeviceArray<float> const x{values};
            DeviceArray<int32_t> const count{size_t{1}};
            Growing pairs;
            ASSERT_TRUE(context->setInputShape("x", dims({rows, columns})));
            ASSERT_TRUE(context->setTensorAddress("x", x.data()));
            ASSERT_TRUE(context->setTensorAddress("count", count.data()));
            ASSERT_TRUE(context->setOutputAllocator("pairs", &pairs));
            ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
            auto const found = static_cast<int64_t>(wanted.size() / 2);
            EXPECT_EQ(apitest::extents(pairs.shape), (std::vector<int64_t>{found, 2}));
            EXPECT_EQ(pairs.read<int32_t>(), wanted);
            EXPECT_EQ(count.read(), std::vector<int32_t>{static_cast<int32_t>(found)});
        }
    std::vector<float> const values = sparse(7, 9, 99);
    auto outputs =
        runElsewhere(TENON_SPECIAL_LIBRARY, *plan, {{"x", Elements::of({7, 9}, values)}}, {"pairs", "count"});
    std::vector<int32_t> const wanted = pairsOf(values, 9);
    EXPECT_EQ(outputs["pairs"].as<int32_t>(), wanted);
    EXPECT_EQ(outputs["count"].as<int32_t>(), std::vector<int32_t>{static_cast<int32_t>(wanted.size() / 2)});
}

using ScatterTest = SpecialTest<InPlaceScatter>;

TEST_F(ScatterTest, L18_runsWhereverThePlanGoes)
{
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({8}));
    ITensor* at = network->addInput("at", DataType::kINT32, dims({3}));
    ITensor* updates = network->addInput("updates", DataType::kFLOAT, dims({3}));
    // What the plugin overwrites has another reader, which must see it as it was.
    ITensor* twice = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    IPluginV3Layer* layer = add({twice, at, updates});
    ASSERT_NE(layer, nullptr) << logger.errors();
    mark(*layer->getOutput(0), "y");
    mark(*network->addUnary(*twice, UnaryOperation::kNEG)->getOutput(0), "rest");
    build();
    std::vector<int32_t> const places{6, 0, 3};
    auto const expected = [&](std::vector<float> const& given, std::vector<float> const& put) {
        std::pair<std::vector<float>, std::vector<float>> both;
        for (float const value : given)
        {
            both.first.push_back(value + value);
            both.second.push_back(-(value + value));
        }
        for (size_t i = 0; i < 3; ++i)
            both.first[static_cast<size_t>(places[i])] = put[i];
        return both;
    };
    uint32_t seed{0};
    for (auto const& context : contexts())
    {
        std::vector<float> const values = randomFloats(8, ++seed);
        std::vector<float> const put = randomFloats(3, seed + 50);
        DeviceArray<float> const in{values};
        DeviceArray<int32_t> const indices{places};
        DeviceArray<float> const given{put};
        DeviceArray<float> const y{size_t{8}};
        DeviceArray<float> const rest{size_t{8}};
        ASSERT_TRUE(context->setTensorAddress("x", in.data()));
        ASSERT_TRUE(context->setTensorAddress("at", indices.data()));
        ASSERT_TRUE(context->setTensorAddress("updates", given.data()));
        ASSERT_TRUE(context->setTensorAddress("y", y.data()));
        ASSERT_TRUE(context->setTensorAddress("rest", rest.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        auto const [scattered, others] = expected(values, put);
        EXPECT_EQ(y.read(), scattered);
        EXPECT_EQ(rest.read(), others);
        EXPECT_EQ(in.read(), values);
    }
    std::vector<float> const values = randomFloats(8, 70);
    std::vector<float> const put = randomFloats(3, 71);
    auto outputs = runElsewhere(TENON_SPECIAL_LIBRARY, *plan,
        {{"x", Elements::of({8}, values)}, {"at", Elements::of({3}, places)}, {"updates", Elements::of({3}, put)}},
        {"y", "rest"});
    auto const [scattered, others] = expected(values, put);
    EXPECT_EQ(outputs["y"].as<float>(), scattered);
    EXPECT_EQ(outputs["rest"].as<float>(), others);
}

using TacticsTest = SpecialTest<TwoTactics>;

TEST_F(TacticsTest, L15_L16_theChosenTacticRunsWhereverThePlanGoes)
{
    IPluginV3Layer* layer = add({network->addInput("x", DataType::kFLOAT, dims({-1}))});
    ASSERT_NE(layer, nullptr) << logger.errors();
    mark(*layer->getOutput(0), "y");
    addProfile({1}, {16}, {64});
    build();
    auto const plus = [](std::vector<float> values) {
        for (float& value : values)
            value += 3.0F; // The first tactic: nothing is timed.
        return values;
    };
    uint32_t seed{0};
    for (auto const& context : contexts())
    {
        std::vector<float> const values = randomFloats(33, ++seed);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{values.size()};
        ASSERT_TRUE(context->setInputShape("x", dims({33})));
        ASSERT_TRUE(context->setTensorAddress("x", x.data()));
        ASSERT_TRUE(context->setTensorAddress("y", y.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(y.read(), plus(values));
    }
    std::vector<float> const values = randomFloats(20, 90);
    auto outputs = runElsewhere(TENON_SPECIAL_LIBRARY, *plan, {{"x", Elements::of({20}, values)}}, {"y"});
    EXPECT_EQ(outputs["y"].as<float>(), plus(values));
}

} // namespace
} // namespace plugintest
