// Refitting: lists, names and roles, groups, contexts that see new weights, plans without weights (rules U1 to U9, G12,
// G13, F7, C12, P9).
#include "fixture.h"

#include <cstring>
#include <thread>

namespace apitest
{

//! y = relu(scale · conv(x) + shift) · constant, so that kernel, bias, scale and shift become one pair of weights.
struct Folded
{
    std::vector<float> kernel = randomFloats(4 * 3 * 3 * 3, 1);
    std::vector<float> bias = randomFloats(4, 2);
    std::vector<float> scale = randomFloats(4, 3);
    std::vector<float> shift = randomFloats(4, 4);
    std::vector<float> factor = randomFloats(4 * 6 * 6, 5);
    std::vector<float> epsilon = {0.25F};

    static Folded like(uint32_t seed)
    {
        Folded made;
        made.kernel = randomFloats(made.kernel.size(), seed);
        made.bias = randomFloats(made.bias.size(), seed + 1);
        made.scale = randomFloats(made.scale.size(), seed + 2);
        made.shift = randomFloats(made.shift.size(), seed + 3);
        made.factor = randomFloats(made.factor.size(), seed + 4);
        return made;
    }

    void add(INetworkDefinition& network) const
    {
        ITensor* x = network.addInput("x", DataType::kFLOAT, dims({1, 3, 6, 6}));
        IConvolutionLayer* conv = network.addConvolutionNd(*x, 4, dims({3, 3}), weights(kernel), weights(bias));
        conv->setPaddingNd(dims({1, 1}));
        conv->setName("conv");
        IScaleLayer* norm = network.addScale(*conv->getOutput(0), ScaleMode::kCHANNEL, weights(shift), weights(scale),
            Weights{DataType::kFLOAT, nullptr, 0});
        norm->setName("norm");
        ITensor* relu = network.addActivation(*norm->getOutput(0), ActivationType::kRELU)->getOutput(0);
        IConstantLayer* constant = network.addConstant(dims({1, 4, 6, 6}), weights(factor));
        constant->setName("factor");
        ITensor* product =
            network.addElementWise(*relu, *constant->getOutput(0), ElementWiseOperation::kPROD)->getOutput(0);
        IConstantLayer* single = network.addConstant(dims({1, 1, 1, 1}), weights(epsilon));
        single->setName("epsilon");
        ITensor* sum =
            network.addElementWise(*product, *single->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0);
        sum->setName("y");
        network.markOutput(*sum);
        EXPECT_TRUE(network.setWeightsName(weights(kernel), "conv.kernel"));
        EXPECT_TRUE(network.setWeightsName(weights(factor), "the factor"));
    }
};

class Refit : public ApiTest
{
  protected:
    Folded first;

    std::unique_ptr<IHostMemory> planOf(Folded const& values, std::vector<BuilderFlag> const& flags)
    {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        values.add(*own);
        config->reset();
        for (BuilderFlag const flag : flags)
            config->setFlag(flag);
        return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*own, *config)};
    }
    std::unique_ptr<ICudaEngine> engineOf(Folded const& values, std::vector<BuilderFlag> const& flags)
    {
        std::unique_ptr<IHostMemory> const plan = planOf(values, flags);
        EXPECT_NE(plan, nullptr) << logger.errors();
        return std::unique_ptr<ICudaEngine>{
            plan == nullptr ? nullptr : runtime->deserializeCudaEngine(plan->data(), plan->size())};
    }
    std::unique_ptr<IRefitter> refitterOf(ICudaEngine& engine)
    {
        return std::unique_ptr<IRefitter>{createInferRefitter(engine, logger)};
    }
    static void supply(IRefitter& refitter, Folded const& values)
    {
        EXPECT_TRUE(refitter.setNamedWeights("conv.kernel", weights(values.kernel)));
        EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kBIAS, weights(values.bias)));
        EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSCALE, weights(values.scale)));
        EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSHIFT, weights(values.shift)));
        EXPECT_TRUE(refitter.setWeights("factor", WeightsRole::kCONSTANT, weights(values.factor)));
    }
    //! What the context gives for an input of the test's own.
    std::vector<float> run(IExecutionContext& context)
    {
        DeviceArray<float> const x{randomFloats(3 * 6 * 6, 11)};
        DeviceArray<float> const y{size_t{4 * 6 * 6}};
        EXPECT_TRUE(context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data()));
        EXPECT_TRUE(runToEnd(context)) << logger.errors();
        return y.read();
    }
    std::vector<float> run(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        return run(*context);
    }
    static std::vector<std::string> missing(IRefitter& refitter)
    {
        std::vector<char const*> names(static_cast<size_t>(refitter.getMissing(0, nullptr, nullptr)));
        std::vector<WeightsRole> roles(names.size());
        refitter.getMissing(static_cast<int32_t>(names.size()), names.data(), roles.data());
        std::vector<std::string> all;
        for (size_t i = 0; i < names.size(); ++i)
            all.push_back(std::string{names[i]} + " " + std::to_string(static_cast<int32_t>(roles[i])));
        std::sort(all.begin(), all.end());
        return all;
    }
};

TEST_F(Refit, U3_allContextsSeeTheNewWeightsAndResultsAreThoseOfAFreshBuild)
{
    Folded const second = Folded::like(40);
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->isRefittable());
    std::unique_ptr<IExecutionContext> const one{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const two{engine->createExecutionContext()};
    std::vector<float> const before = run(*one);
    EXPECT_EQ(run(*engineOf(first, {})), before) << "what can be refitted computes the same";
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr) << logger.errors();
    supply(*refitter, second);
    EXPECT_EQ(run(*two), before) << "until refitCudaEngine()";
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    std::vector<float> const fresh = run(*engineOf(second, {BuilderFlag::kREFIT}));
    EXPECT_NE(fresh, before);
    EXPECT_EQ(run(*one), fresh);
    EXPECT_EQ(run(*two), fresh);
    EXPECT_EQ(run(*engine), fresh);
    std::unique_ptr<IHostMemory> const stored{engine->serialize()};
    std::unique_ptr<ICudaEngine> const again{runtime->deserializeCudaEngine(stored->data(), stored->size())};
    ASSERT_NE(again, nullptr) << logger.errors();
    EXPECT_EQ(run(*again), fresh) << "the plan has the weights of now";
    EXPECT_TRUE(again->isRefittable());
}

TEST_F(Refit, U1_whatDoesNotFitIsRefused)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    std::vector<float> const few(3);
    EXPECT_FALSE(refitter->setNamedWeights("nobody", weights(first.kernel)));
    EXPECT_FALSE(refitter->setNamedWeights(nullptr, weights(first.kernel)));
    EXPECT_FALSE(refitter->setWeights("conv", WeightsRole::kSCALE, weights(first.scale))) << "the wrong role";
    EXPECT_FALSE(refitter->setWeights("nobody", WeightsRole::kBIAS, weights(first.bias)));
    EXPECT_FALSE(refitter->setWeights("conv", WeightsRole::kBIAS, weights(few))) << "the wrong count";
    EXPECT_FALSE(refitter->setWeights("conv", WeightsRole::kBIAS, Weights{DataType::kINT32, few.data(), 4}));
    EXPECT_FALSE(refitter->setWeights("conv", WeightsRole::kBIAS, Weights{DataType::kFLOAT, nullptr, 4}));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 7) << logger.errors();
    EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
    EXPECT_TRUE(refitter->refitCudaEngine()) << "nothing to do";
}

TEST_F(Refit, U2_listsGiveTheTotalAndWriteWhatThereIsRoomFor)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    EXPECT_EQ(refitter->getAll(0, nullptr, nullptr), 6);
    EXPECT_EQ(refitter->getAllWeights(0, nullptr), 6);
    std::array<char const*, 7> names{};
    names.fill("untouched");
    EXPECT_EQ(refitter->getAllWeights(1, names.data()), 6);
    EXPECT_STREQ(names[1], "untouched");
    EXPECT_EQ(refitter->getAllWeights(7, names.data()), 6);
    EXPECT_STREQ(names[6], "untouched");
    EXPECT_EQ(std::count(names.begin(), names.end(), nullptr), 4) << "those without a name";
    EXPECT_TRUE(std::any_of(names.begin(), names.end(),
        [](char const* name) { return name != nullptr && std::strcmp(name, "the factor") == 0; }));
}

TEST_F(Refit, U4_membersOfAFusedGroupAreSuppliedTogether)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    std::vector<float> const before = run(*engine);
    ASSERT_TRUE(refitter->setNamedWeights("conv.kernel", weights(first.kernel)));
    EXPECT_EQ(missing(*refitter), (std::vector<std::string>{"conv 1", "norm 2", "norm 3"}));
    EXPECT_EQ(refitter->getMissingWeights(0, nullptr), 3);
    EXPECT_FALSE(refitter->refitCudaEngine()) << "U3";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "3 weights are missing"), 1) << logger.errors();
    EXPECT_EQ(run(*engine), before);
    EXPECT_TRUE(refitter->unsetNamedWeights("conv.kernel"));
    Folded second = first;
    second.factor = Folded::like(60).factor;
    ASSERT_TRUE(refitter->setNamedWeights("the factor", weights(second.factor))) << "a group of its own";
    EXPECT_TRUE(missing(*refitter).empty());
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_EQ(run(*engine), run(*engineOf(second, {BuilderFlag::kREFIT})));
}

TEST_F(Refit, U5_prototypesAndWhatWasSupplied)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    Weights const kernel = refitter->getWeightsPrototype("conv.kernel");
    EXPECT_EQ(kernel.type, DataType::kFLOAT);
    EXPECT_EQ(kernel.count, 108);
    EXPECT_EQ(kernel.values, nullptr);
    EXPECT_EQ(refitter->getWeightsPrototype("nobody").count, -1);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0);
    EXPECT_EQ(refitter->getNamedWeights("conv.kernel").values, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 1) << "it was not supplied";
    EXPECT_FALSE(refitter->unsetNamedWeights("conv.kernel"));
    ASSERT_TRUE(refitter->setNamedWeights("conv.kernel", weights(first.kernel), TensorLocation::kHOST));
    EXPECT_EQ(refitter->getNamedWeights("conv.kernel").values, first.kernel.data());
    EXPECT_EQ(refitter->getWeightsLocation("conv.kernel"), TensorLocation::kHOST);
    EXPECT_TRUE(refitter->unsetNamedWeights("conv.kernel"));
    EXPECT_FALSE(refitter->unsetNamedWeights("conv.kernel"));
}

TEST_F(Refit, U6_U8_aLaterRefitReadsTheMemoryAgain)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    EXPECT_TRUE(refitter->getWeightsValidation());
    refitter->setWeightsValidation(false);
    EXPECT_FALSE(refitter->getWeightsValidation());
    EXPECT_EQ(refitter->getMaxThreads(), 1);
    EXPECT_FALSE(refitter->setMaxThreads(0));
    EXPECT_TRUE(refitter->setMaxThreads(2));
    Folded changing = Folded::like(70);
    ASSERT_TRUE(refitter->setNamedWeights("the factor", weights(changing.factor)));
    ASSERT_TRUE(refitter->refitCudaEngine());
    std::vector<float> const once = run(*engine);
    for (float& value : changing.factor)
        value *= 2.0F;
    EXPECT_EQ(run(*engine), once) << "the engine has a copy";
    ASSERT_TRUE(refitter->refitCudaEngine());
    std::vector<float> const twice = run(*engine);
    for (size_t i = 0; i < once.size(); ++i)
        EXPECT_NEAR(twice[i] - 0.25F, 2.0F * (once[i] - 0.25F), 1e-5F + 1e-4F * std::abs(twice[i])) << i;
}

TEST_F(Refit, U7_onAStreamWhatWasEnqueuedBeforeHasTheOldWeights)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    std::vector<float> const before = run(*engine);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{randomFloats(3 * 6 * 6, 11)};
    DeviceArray<float> const y{size_t{4 * 6 * 6}};
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(context->enqueueV3(stream()));
    {
        Folded const second = Folded::like(80); // Gone when the call has returned.
        DeviceArray<float> const onDevice{second.factor};
        Weights const given{DataType::kFLOAT, onDevice.data(), static_cast<int64_t>(second.factor.size())};
        ASSERT_TRUE(refitter->setNamedWeights("the factor", given, TensorLocation::kDEVICE));
        EXPECT_EQ(refitter->getWeightsLocation("the factor"), TensorLocation::kDEVICE);
        ASSERT_TRUE(refitter->refitCudaEngineAsync(stream())) << logger.errors();
    }
    EXPECT_EQ(y.read(), before);
    Folded mixed = first;
    mixed.factor = Folded::like(80).factor;
    EXPECT_EQ(run(*engine), run(*engineOf(mixed, {BuilderFlag::kREFIT})));
}

TEST_F(Refit, U9_anEngineThatIsNotRefittableHasNoRefitter)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {});
    EXPECT_FALSE(engine->isRefittable());
    EXPECT_EQ(refitterOf(*engine), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "createInferRefitter"), 1) << logger.errors();
    EXPECT_EQ(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), -1) << "P9";
}

TEST_F(Refit, G13_O8_aStrippedPlanIsSmallerByItsWeightsAndRunsAfterARefit)
{
    std::unique_ptr<IHostMemory> const whole = planOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IHostMemory> const stripped = planOf(first, {BuilderFlag::kSTRIP_PLAN});
    ASSERT_NE(stripped, nullptr) << logger.errors();
    EXPECT_LT(stripped->size(), whole->size());
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(stripped->data(), stripped->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_GE(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), 4 * (108 + 4 + 144));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const memory{size_t{4 * 6 * 6}};
    ASSERT_TRUE(context->setTensorAddress("x", memory.data()) && context->setTensorAddress("y", memory.data()));
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "came without"), 1) << logger.errors();
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    EXPECT_EQ(missing(*refitter).size(), 5U) << "all but the single number";
    EXPECT_FALSE(refitter->refitCudaEngine());
    supply(*refitter, first);
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_TRUE(missing(*refitter).empty());
    std::vector<float> const want = run(*engineOf(first, {}));
    EXPECT_EQ(run(*context), want);

    std::unique_ptr<ISerializationConfig> const how{engine->createSerializationConfig()};
    std::unique_ptr<IHostMemory> const complete{engine->serializeWithConfig(*how)};
    std::unique_ptr<ICudaEngine> const fixed{runtime->deserializeCudaEngine(complete->data(), complete->size())};
    ASSERT_NE(fixed, nullptr) << logger.errors();
    EXPECT_FALSE(fixed->isRefittable()) << "O8: not without kINCLUDE_REFIT";
    EXPECT_EQ(run(*fixed), want);
    ASSERT_TRUE(how->setFlag(SerializationFlag::kINCLUDE_REFIT));
    std::unique_ptr<IHostMemory> const all{engine->serializeWithConfig(*how)};
    EXPECT_GE(all->size(), whole->size());
    EXPECT_LE(complete->size(), all->size());
    std::unique_ptr<ICudaEngine> const loaded{runtime->deserializeCudaEngine(all->data(), all->size())};
    EXPECT_TRUE(loaded->isRefittable());
    EXPECT_EQ(run(*loaded), want);
    ASSERT_TRUE(how->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
    std::unique_ptr<IHostMemory> const without{engine->serializeWithConfig(*how)};
    ASSERT_NE(without, nullptr);
    EXPECT_EQ(without->size(), stripped->size());
}

TEST_F(Refit, G12_individualWeightsAreMarkedByName)
{
    std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
    first.add(*own);
    EXPECT_FALSE(own->markWeightsRefittable("nobody"));
    EXPECT_FALSE(own->areWeightsMarkedRefittable("the factor"));
    EXPECT_TRUE(own->markWeightsRefittable("the factor") && own->markWeightsRefittable("conv.kernel"));
    EXPECT_TRUE(own->unmarkWeightsRefittable("conv.kernel"));
    EXPECT_TRUE(own->setWeightsName(weights(first.epsilon), "epsilon") && own->markWeightsRefittable("epsilon"));
    EXPECT_TRUE(own->areWeightsMarkedRefittable("the factor") && !own->areWeightsMarkedRefittable("conv.kernel"));
    config->setFlag(BuilderFlag::kREFIT_INDIVIDUAL);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*own, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    EXPECT_EQ(refitter->getAllWeights(0, nullptr), 2);
    Folded second = first;
    second.factor = Folded::like(90).factor;
    second.epsilon = {-3.5F};
    EXPECT_TRUE(refitter->setNamedWeights("the factor", weights(second.factor)));
    EXPECT_TRUE(refitter->setNamedWeights("epsilon", weights(second.epsilon))) << "a single number, but marked";
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_EQ(run(*engine), run(*engineOf(second, {})));
}

TEST_F(Refit, G13_aSingleNumberStaysAsItIs)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    ASSERT_TRUE(refitter->setWeights("epsilon", WeightsRole::kCONSTANT, weights(first.epsilon)));
    EXPECT_TRUE(refitter->refitCudaEngine()) << "the same value";
    std::vector<float> const other{0.5F};
    ASSERT_TRUE(refitter->setWeights("epsilon", WeightsRole::kCONSTANT, weights(other)));
    EXPECT_FALSE(refitter->refitCudaEngine());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "kREFIT_INDIVIDUAL"), 1) << logger.errors();
}

TEST_F(Refit, F7_severalProfilesCannotBeRefitted)
{
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    addProfile({1, 3, 8, 10}, {2, 3, 8, 10}, {4, 3, 8, 10});
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<IHostMemory> const one{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_NE(one, nullptr) << logger.errors();
    addProfile({1, 3, 8, 10}, {2, 3, 8, 10}, {4, 3, 8, 10});
    std::unique_ptr<IHostMemory> const two{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(two, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "one optimization profile"), 1) << logger.errors();
}

TEST_F(Refit, C12_namesBelongToOneTypeAndNumberOfValues)
{
    std::vector<float> const values(8, 1.0F);
    std::vector<float> const others(8, 2.0F);
    Weights const all{DataType::kFLOAT, values.data(), 8};
    EXPECT_TRUE(network->setWeightsName(all, "w"));
    EXPECT_TRUE(network->setWeightsName(all, "w")) << "again";
    EXPECT_FALSE(network->setWeightsName({DataType::kFLOAT, values.data(), 4}, "v")) << "another count";
    EXPECT_FALSE(network->setWeightsName({DataType::kHALF, values.data(), 8}, "v")) << "another type";
    EXPECT_FALSE(network->setWeightsName(weights(others), "w")) << "taken";
    EXPECT_FALSE(network->setWeightsName({DataType::kFLOAT, nullptr, 8}, "n"));
    EXPECT_TRUE(network->setWeightsName(all, "v"));
    EXPECT_TRUE(network->setWeightsName(weights(others), "w")) << "free again";
    EXPECT_TRUE(network->setWeightsName(all, nullptr));
    EXPECT_FALSE(network->markWeightsRefittable("v")) << "the name is gone";
}

TEST_F(Refit, C12_aNameIsThatOfAllUsesOfTheWeights)
{
    std::vector<float> const values = randomFloats(6, 20);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({6}));
    for (ElementWiseOperation const operation : {ElementWiseOperation::kPROD, ElementWiseOperation::kSUM})
    {
        ITensor* constant = network->addConstant(dims({6}), weights(values))->getOutput(0);
        x = network->addElementWise(*x, *constant, operation)->getOutput(0);
    }
    x->setName("y");
    network->markOutput(*x);
    ASSERT_TRUE(network->setWeightsName(weights(values), "both"));
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    EXPECT_EQ(refitter->getAllWeights(0, nullptr), 1) << "one name";
    EXPECT_EQ(refitter->getAll(0, nullptr, nullptr), 2) << "of two layers' weights";
    std::vector<float> const others = randomFloats(6, 21);
    ASSERT_TRUE(refitter->setNamedWeights("both", weights(others)) && refitter->refitCudaEngine()) << logger.errors();
    std::vector<float> const given = randomFloats(6, 22);
    DeviceArray<float> const in{given};
    DeviceArray<float> const out{size_t{6}};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("y", out.data()));
    ASSERT_TRUE(runToEnd(*context)) << logger.errors();
    std::vector<float> const y = out.read();
    for (size_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(y[i], given[i] * others[i] + others[i], 1e-5F) << i;
}

TEST_F(Refit, U6_weightsThatOverflowANarrowerTypeAreWarnedOf)
{
    std::vector<float> const values(6, 2.0F);
    ITensor* x = network->addInput("x", DataType::kHALF, dims({6}));
    ITensor* constant = network->addConstant(dims({6}), weights(values))->getOutput(0);
    ITensor* narrow = network->addCast(*constant, DataType::kHALF)->getOutput(0);
    ITensor* y = network->addElementWise(*x, *narrow, ElementWiseOperation::kPROD)->getOutput(0);
    network->markOutput(*y);
    ASSERT_TRUE(network->setWeightsName(weights(values), "wide"));
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    ASSERT_NE(refitter, nullptr);
    auto const warnings = [&](float largest) {
        std::vector<float> given(6, 3.0F);
        given[4] = largest;
        int32_t const before = logger.count(ILogger::Severity::kWARNING, "weights 'wide' are finite, but overflow");
        EXPECT_TRUE(refitter->setNamedWeights("wide", weights(given)));
        EXPECT_TRUE(refitter->refitCudaEngine()) << logger.errors();
        return logger.count(ILogger::Severity::kWARNING, "weights 'wide' are finite, but overflow") - before;
    };
    EXPECT_TRUE(refitter->getWeightsValidation());
    EXPECT_EQ(warnings(65504.0F), 0) << "the largest of float16";
    EXPECT_EQ(warnings(1e6F), 1);
    EXPECT_EQ(warnings(-1e6F), 1);
    EXPECT_EQ(warnings(INFINITY), 0) << "as it was given";
    refitter->setWeightsValidation(false);
    EXPECT_EQ(warnings(1e6F), 0);
}

//! Runs of other contexts see the weights of before or of behind, never some of both.
TEST_F(Refit, U3_runsBesideARefitSeeOneStateOrTheOther)
{
    Folded const second = Folded::like(40);
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kREFIT});
    std::vector<float> const before = run(*engine);
    std::vector<float> const behind = run(*engineOf(second, {BuilderFlag::kREFIT}));
    std::atomic<bool> isOver{false};
    std::atomic<int32_t> wrong{0};
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
            DeviceArray<float> const x{randomFloats(3 * 6 * 6, 11)};
            DeviceArray<float> const y{size_t{4 * 6 * 6}};
            void* addresses[]{x.data(), y.data()};
            while (!isOver)
            {
                if (!context->executeV2(addresses))
                    ++wrong;
                std::vector<float> const got = y.read();
                if (got != before && got != behind)
                    ++wrong;
            }
        });
    std::unique_ptr<IRefitter> const refitter = refitterOf(*engine);
    for (int32_t round = 0; round < 20; ++round)
    {
        supply(*refitter, round % 2 == 0 ? second : first);
        EXPECT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    }
    isOver = true;
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(run(*engine), before);
}

} // namespace apitest
