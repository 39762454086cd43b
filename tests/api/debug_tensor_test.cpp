// Rules T8, T9: tensors that the user debugs.
#include "fixture.h"

#include <cmath>
#include <map>
#include <stdexcept>

namespace apitest
{
namespace
{
class KeepingListener final : public IDebugListener
{
  public:
    struct Told
    {
        std::string name;
        std::vector<int64_t> shape;
        DataType type;
        TensorLocation location;
        cudaStream_t stream;
        std::vector<float> values; //!< Of floats only.
    };

    bool processDebugTensor(void const* address, TensorLocation location, DataType type, Dims const& shape,
        char const* name, cudaStream_t on) override
    {
        Told one{name, extents(shape), type, location, on, {}};
        size_t count{1};
        for (int64_t const extent : one.shape)
            count *= static_cast<size_t>(extent);
        if (type == DataType::kFLOAT && count > 0)
        {
            one.values.resize(count);
            tenon::test::deviceUnderTest().copyOut(one.values.data(), address, count * sizeof(float));
        }
        told.push_back(std::move(one));
        if (throws)
            throw std::runtime_error("not today");
        return answer;
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (Told const& one : told)
            all.push_back(one.name);
        return all;
    }

    std::vector<Told> told;
    bool answer{true};
    bool throws{false};
};

class Debug : public ApiTest
{
  protected:
    KeepingListener listener;
    std::vector<float> const values = randomFloats(4 * 3 * 16 * 10, 31);
    DeviceArray<float> x{values};
    DeviceArray<float> y{4 * 4 * 16 * 10};

    //! ConvRelu with the tensor between its two layers, which is named "between".
    ITensor* addConvRelu()
    {
        convRelu.add(*network, dims({-1, 3, -1, 10}));
        addProfile({1, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
        ITensor* between = network->getLayer(0)->getOutput(0);
        between->setName("between");
        return between;
    }
    std::unique_ptr<IExecutionContext> contextFor(ICudaEngine& engine, int64_t n, int64_t h)
    {
        std::unique_ptr<IExecutionContext> context{engine.createExecutionContext()};
        context->setInputShape("x", dims({n, 3, h, 10}));
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        context->setDebugListener(&listener);
        return context;
    }
};

TEST_F(Debug, C19_T8_markingATensorAnswersTrueAndIsUndone)
{
    ITensor* between = addConvRelu();
    EXPECT_FALSE(network->isDebugTensor(*between));
    EXPECT_TRUE(network->markDebug(*between));
    EXPECT_TRUE(network->markDebug(*between)); // Once more changes nothing.
    EXPECT_TRUE(network->isDebugTensor(*between));
    EXPECT_TRUE(network->unmarkDebug(*between));
    EXPECT_TRUE(network->unmarkDebug(*between));
    EXPECT_FALSE(network->isDebugTensor(*between));
    std::unique_ptr<INetworkDefinition> const other{builder->createNetworkV2(0)};
    EXPECT_FALSE(other->markDebug(*between));
    EXPECT_FALSE(other->isDebugTensor(*between));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    EXPECT_FALSE(engine->isDebugTensor("between"));
}

TEST_F(Debug, C19_T8_aMarkedTensorIsToldWithItsValuesThoughItsLayersCouldBeFused)
{
    ASSERT_TRUE(network->markDebug(*addConvRelu()));
    std::unique_ptr<ICudaEngine> const engine = buildEngine(); // Through a plan: it keeps the name.
    EXPECT_TRUE(engine->isDebugTensor("between"));
    EXPECT_FALSE(engine->isDebugTensor("y"));
    EXPECT_FALSE(engine->isDebugTensor("nobody"));
    EXPECT_FALSE(engine->isDebugTensor(nullptr));
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 2, 9);
    EXPECT_FALSE(context->getDebugState("between")); // Off unless told otherwise.
    ASSERT_TRUE(context->enqueueV3(stream()));
    EXPECT_TRUE(listener.told.empty());
    ASSERT_TRUE(context->setTensorDebugState("between", true));
    EXPECT_TRUE(context->getDebugState("between"));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    ASSERT_EQ(listener.names(), std::vector<std::string>{"between"});
    KeepingListener::Told const& told = listener.told.front();
    EXPECT_EQ(told.shape, (std::vector<int64_t>{2, 4, 9, 10}));
    EXPECT_EQ(told.type, DataType::kFLOAT);
    EXPECT_EQ(told.location, TensorLocation::kDEVICE);
    EXPECT_EQ(told.stream, stream());
    std::vector<float> const got = y.read(2 * 4 * 9 * 10);
    expectNear(got, convRelu.expected(values, 2, 9, 10));
    int32_t negative{0};
    for (size_t i = 0; i < got.size(); ++i)
    {
        ASSERT_FLOAT_EQ(got[i], std::max(told.values[i], 0.0F)) << i;
        negative += told.values[i] < 0.0F ? 1 : 0;
    }
    EXPECT_GT(negative, 0); // From before the activation.
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 16, 10})));
    ASSERT_TRUE(context->enqueueV3(stream()));
    ASSERT_EQ(listener.told.size(), 2U); // Once per value.
    EXPECT_EQ(listener.told.back().shape, (std::vector<int64_t>{1, 4, 16, 10}));
    EXPECT_TRUE(context->setTensorDebugState("between", false));
    ASSERT_TRUE(context->enqueueV3(stream()));
    EXPECT_EQ(listener.told.size(), 2U);
}

TEST_F(Debug, T8_executeV2AndObservedStreamsTellToo)
{
    ASSERT_TRUE(network->markDebug(*addConvRelu()));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 1, 8);
    EXPECT_TRUE(context->setAllTensorsDebugState(true));
    void* bindings[]{x.data(), y.data()};
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(listener.names(), std::vector<std::string>{"between"});
    EXPECT_TRUE(context->setAllTensorsDebugState(false));
    EXPECT_FALSE(context->getDebugState("between"));
}

TEST_F(Debug, T8_stateOfATensorThatIsNotMarkedFails)
{
    ASSERT_TRUE(network->markDebug(*addConvRelu()));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 1, 8);
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    for (char const* name : {"y", "nobody", static_cast<char const*>(nullptr)})
    {
        EXPECT_FALSE(context->setTensorDebugState(name, true));
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
        EXPECT_FALSE(context->getDebugState(name));
    }
    EXPECT_EQ(recorder.getNbErrors(), 3);
    context->setErrorRecorder(nullptr);
}

TEST_F(Debug, T8_aListenerThatAnswersFalseFailsTheRunByName)
{
    ASSERT_TRUE(network->markDebug(*addConvRelu()));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 2, 8);
    ASSERT_TRUE(context->setAllTensorsDebugState(true));
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    for (bool const throws : {false, true})
    {
        listener.answer = false;
        listener.throws = throws;
        int32_t const before = recorder.getNbErrors();
        EXPECT_FALSE(context->enqueueV3(stream()));
        EXPECT_EQ(recorder.getNbErrors(), before + 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_EXECUTION);
        std::string const text = recorder.getErrorDesc(before);
        EXPECT_NE(text.find("'between'"), std::string::npos) << text;
        EXPECT_NE(text.find("listener"), std::string::npos) << text;
    }
    listener.answer = true;
    listener.throws = false;
    ASSERT_TRUE(context->enqueueV3(stream())); // The context can be used on.
    expectNear(y.read(2 * 4 * 8 * 10), convRelu.expected(values, 2, 8, 10));
    context->setErrorRecorder(nullptr);
}

TEST_F(Debug, T9_aNullListenerClears)
{
    ASSERT_TRUE(network->markDebug(*addConvRelu()));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 1, 8);
    ASSERT_TRUE(context->setAllTensorsDebugState(true));
    EXPECT_EQ(context->getDebugListener(), &listener);
    EXPECT_TRUE(context->setDebugListener(nullptr));
    EXPECT_EQ(context->getDebugListener(), nullptr);
    EXPECT_TRUE(context->enqueueV3(stream()));
    EXPECT_TRUE(listener.told.empty());
}

TEST_F(Debug, T8_whatOptimizationWouldRemoveFoldOrMergeIsToldUnderItsName)
{
    ITensor* x0 = network->addInput("x", DataType::kFLOAT, dims({2, 3}));
    ITensor* same = network->addIdentity(*x0)->getOutput(0); // A layer that does nothing.
    same->setName("same");
    std::vector<float> const ones(6, 1.0F);
    std::vector<float> const twos = randomFloats(6, 5);
    ITensor* a = network->addConstant(dims({2, 3}), weights(ones))->getOutput(0);
    ITensor* b = network->addConstant(dims({2, 3}), weights(twos))->getOutput(0);
    ITensor* folded =
        network->addElementWise(*a, *b, ElementWiseOperation::kSUM)->getOutput(0); // Known while building.
    folded->setName("folded");
    ITensor* sum = network->addElementWise(*same, *folded, ElementWiseOperation::kSUM)->getOutput(0);
    sum->setName("sum");
    ITensor* twin = network->addElementWise(*same, *folded, ElementWiseOperation::kSUM)->getOutput(0); // As `sum`.
    twin->setName("twin");
    IShuffleLayer* shuffle = network->addShuffle(*sum);
    shuffle->setReshapeDimensions(dims({3, 2}));
    ITensor* view = shuffle->getOutput(0); // The same memory.
    view->setName("view");
    ITensor* dead = network->addActivation(*x0, ActivationType::kTANH)->getOutput(0); // Nothing reads it.
    dead->setName("dead");
    ITensor* y0 = network->addUnary(*view, UnaryOperation::kABS)->getOutput(0);
    y0->setName("y");
    network->markOutput(*y0);
    for (ITensor* each : {x0, same, a, folded, sum, twin, view, dead, y0})
        ASSERT_TRUE(network->markDebug(*each));
    a->setName("a");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    context->setDebugListener(&listener);
    ASSERT_TRUE(context->setAllTensorsDebugState(true));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    std::map<std::string, std::vector<float>> told;
    for (KeepingListener::Told const& one : listener.told)
        EXPECT_TRUE(told.emplace(one.name, one.values).second) << one.name << " was told twice";
    std::vector<float> const in(values.begin(), values.begin() + 6);
    ASSERT_EQ(told.size(), 9U);
    EXPECT_EQ(told.at("x"), in);
    EXPECT_EQ(told.at("same"), in);
    EXPECT_EQ(told.at("a"), ones);
    for (size_t i = 0; i < 6; ++i)
    {
        float const whole = in[i] + (1.0F + twos[i]);
        EXPECT_FLOAT_EQ(told.at("folded")[i], 1.0F + twos[i]);
        EXPECT_FLOAT_EQ(told.at("sum")[i], whole);
        EXPECT_FLOAT_EQ(told.at("twin")[i], whole);
        EXPECT_FLOAT_EQ(told.at("view")[i], whole);
        EXPECT_FLOAT_EQ(told.at("y")[i], std::abs(whole));
        EXPECT_NEAR(told.at("dead")[i], std::tanh(in[i]), 1e-5F);
    }
    auto const shapeOf = [&](std::string const& name) {
        return std::find_if(listener.told.begin(), listener.told.end(), [&](auto const& one) {
            return one.name == name;
        })->shape;
    };
    EXPECT_EQ(shapeOf("sum"), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(shapeOf("view"), (std::vector<int64_t>{3, 2}));
}

TEST_F(Debug, T8_shapesAndExtentsThatDependOnDataAreTheTrueOnes)
{
    ITensor* x0 = network->addInput("x", DataType::kFLOAT, dims({-1, 4}));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 4}));
    profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4}));
    profile->setDimensions("x", OptProfileSelector::kMAX, dims({5, 4}));
    config->addOptimizationProfile(profile);
    ITensor* shape = network->addShape(*x0)->getOutput(0);
    shape->setName("shape");
    ITensor* indices = network->addNonZero(*x0)->getOutput(0); // [2, how many]
    indices->setName("indices");
    ITensor* y0 = network->addIdentity(*indices)->getOutput(0);
    y0->setName("y");
    network->markOutput(*y0);
    ASSERT_TRUE(network->markDebug(*shape));
    ASSERT_TRUE(network->markDebug(*indices));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const given{std::vector<float>{0.0F, 1.5F, 0.0F, -2.0F, 3.0F, 0.0F, 0.0F, 4.0F}};
    DeviceArray<int64_t> const out{2 * 5 * 4};
    ASSERT_TRUE(context->setInputShape("x", dims({2, 4})));
    context->setTensorAddress("x", given.data());
    context->setTensorAddress("y", out.data());
    context->setDebugListener(&listener);
    ASSERT_TRUE(context->setAllTensorsDebugState(true));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    ASSERT_EQ(listener.told.size(), 2U);
    for (KeepingListener::Told const& one : listener.told)
    {
        EXPECT_EQ(one.shape, one.name == "shape" ? (std::vector<int64_t>{2}) : (std::vector<int64_t>{2, 4}));
        EXPECT_EQ(one.type, one.name == "shape" ? DataType::kINT64 : indices->getType());
    }
}

TEST_F(Debug, T8_twoTensorsOfOneNameFailTheBuildByName)
{
    ITensor* between = addConvRelu();
    ITensor* y0 = network->getOutput(0);
    ASSERT_TRUE(network->markDebug(*between));
    ASSERT_TRUE(network->markDebug(*y0));
    between->setName("y");
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "two debug tensors have the name 'y'"), 1);
}

TEST_F(Debug, T8_emptyUnfusedTensorsAreTold)
{
    convRelu.add(*network, dims({-1, 3, -1, 10}));
    addProfile({0, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
    EXPECT_TRUE(network->markUnfusedTensorsAsDebugTensors());
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 0, 9);
    ASSERT_TRUE(context->setUnfusedTensorsDebugState(true));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    ASSERT_FALSE(listener.told.empty());
    for (KeepingListener::Told const& one : listener.told)
        EXPECT_EQ(one.shape[0], 0) << one.name;
}

TEST_F(Debug, T8_unfusedTensorsAreToldUnderTheNamesOfTheInspector)
{
    addConvRelu();
    EXPECT_TRUE(network->markUnfusedTensorsAsDebugTensors());
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    EXPECT_FALSE(engine->isDebugTensor("y"));
    EXPECT_FALSE(engine->isDebugTensor("between"));
    std::unique_ptr<IExecutionContext> const context = contextFor(*engine, 2, 9);
    EXPECT_FALSE(context->getUnfusedTensorsDebugState());
    ASSERT_TRUE(context->enqueueV3(stream()));
    EXPECT_TRUE(listener.told.empty());
    ASSERT_TRUE(context->setUnfusedTensorsDebugState(true));
    EXPECT_TRUE(context->getUnfusedTensorsDebugState());
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    ASSERT_FALSE(listener.told.empty());
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string const all = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    bool hasOutput{false};
    for (KeepingListener::Told const& one : listener.told)
    {
        EXPECT_NE(all.find("\"" + one.name + "\""), std::string::npos) << one.name;
        EXPECT_NE(one.name, "between"); // It was fused away.
        hasOutput = hasOutput || one.name == "y";
        if (one.shape == std::vector<int64_t>{2, 4, 9, 10}) // In whatever layout it was written: told row-major.
            expectNear(one.values, convRelu.expected(values, 2, 9, 10));
    }
    EXPECT_TRUE(hasOutput);
    EXPECT_TRUE(network->unmarkUnfusedTensorsAsDebugTensors());
    std::unique_ptr<ICudaEngine> const without = buildEngine();
    std::unique_ptr<IExecutionContext> const plain{without->createExecutionContext()};
    EXPECT_FALSE(plain->setUnfusedTensorsDebugState(true));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "markUnfusedTensorsAsDebugTensors"), 1);
}

} // namespace
} // namespace apitest
