// Refitting weights inside loops and conditionals (rules U3, U4, G12, G13).
#include "control/fixture.h"

namespace apitest
{

//! A recurrent layer that is written out, with a choice in each round and one behind: weights are inside the bodies,
//! captured from outside, walked along, where the carried value begins, and what a branch gives.
struct Recurrent
{
    static constexpr int64_t kSide{8};
    static constexpr int64_t kRounds{3};
    std::vector<float> first = randomFloats(kSide, 1);
    std::vector<float> inner = randomFloats(kSide * kSide, 2);
    std::vector<float> bias = randomFloats(kSide, 3);
    std::vector<float> walked = randomFloats(kRounds * kSide, 4);
    std::vector<float> positive = randomFloats(kSide * kSide, 5);
    std::vector<float> negative = randomFloats(kSide, 6);
    std::vector<float> fallback = randomFloats(kSide, 7);
    std::vector<float> shared = randomFloats(kSide, 8);

    static Recurrent like(uint32_t seed)
    {
        Recurrent made;
        for (auto const& [name, values] : made.all())
            *values = randomFloats(values->size(), ++seed);
        return made;
    }
    std::vector<std::pair<char const*, std::vector<float>*>> all()
    {
        return {{"first", &first}, {"inner", &inner}, {"bias", &bias}, {"walked", &walked}, {"positive", &positive},
            {"negative", &negative}, {"fallback", &fallback}, {"shared", &shared}};
    }
};

class RefitOfBodies : public ControlTest
{
  protected:
    Recurrent before;
    INetworkDefinition* net{nullptr};

    ITensor* constant(char const* name, std::vector<int64_t> const& shape, std::vector<float> const& values)
    {
        IConstantLayer* layer = net->addConstant(dims(shape), weights(values));
        layer->setName(name);
        EXPECT_TRUE(net->setWeightsName(weights(values), name));
        return layer->getOutput(0);
    }
    ITensor* sum(ITensor* a, ITensor* b, ElementWiseOperation op = ElementWiseOperation::kSUM)
    {
        return net->addElementWise(*a, *b, op)->getOutput(0);
    }
    ITensor* product(ITensor* a, ITensor* b)
    {
        return net->addMatrixMultiply(*a, MatrixOperation::kNONE, *b, MatrixOperation::kNONE)->getOutput(0);
    }
    ITensor* isPositive(ITensor* x)
    {
        static float const kZero{0};
        ITensor* total = net->addReduce(*x, ReduceOperation::kSUM, 3U, false)->getOutput(0);
        ITensor* zero = net->addConstant(dims({}), {DataType::kFLOAT, &kZero, 1})->getOutput(0);
        return sum(total, zero, ElementWiseOperation::kGREATER);
    }
    //! In each round one of two branches, whose weights stand two bodies deep.
    ITensor* chosen(ITensor* h, Recurrent const& values)
    {
        constexpr int64_t side{Recurrent::kSide};
        IIfConditional* choice = net->addIfConditional();
        choice->setCondition(*isPositive(h));
        ITensor* inside = choice->addInput(*h)->getOutput(0);
        ITensor* taken = product(inside, constant("positive", {side, side}, values.positive));
        ITensor* other = sum(inside, constant("negative", {1, side}, values.negative), ElementWiseOperation::kPROD);
        return choice->addOutput(*taken, *other)->getOutput(0);
    }
    ITensor* loop(ITensor* x, Recurrent const& values, ITensor* shared)
    {
        static int64_t const kRounds{Recurrent::kRounds};
        constexpr int64_t side{Recurrent::kSide};
        ILoop* rounds = net->addLoop();
        ITensor* count = net->addConstant(dims({}), {DataType::kINT64, &kRounds, 1})->getOutput(0);
        rounds->addTripLimit(*count, TripLimit::kCOUNT);
        IRecurrenceLayer* state = rounds->addRecurrence(*constant("first", {1, side}, values.first));
        ITensor* slice = rounds->addIterator(*constant("walked", {kRounds, 1, side}, values.walked), 0)->getOutput(0);
        ITensor* h = product(chosen(state->getOutput(0), values), constant("inner", {side, side}, values.inner));
        h = sum(sum(sum(h, constant("bias", {1, side}, values.bias)), slice), sum(x, shared));
        h = net->addActivation(*h, ActivationType::kTANH)->getOutput(0);
        state->setInput(1, *h);
        return rounds->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    }
    void write(Recurrent const& values)
    {
        constexpr int64_t side{Recurrent::kSide};
        ITensor* x = net->addInput("x", DataType::kFLOAT, dims({1, side}));
        ITensor* shared = constant("shared", {1, side}, values.shared);
        ITensor* last = loop(x, values, shared);
        IIfConditional* choice = net->addIfConditional();
        choice->setCondition(*isPositive(x));
        ITensor* whole = sum(choice->addInput(*last)->getOutput(0), shared, ElementWiseOperation::kPROD);
        ITensor* y = choice->addOutput(*whole, *constant("fallback", {1, side}, values.fallback))->getOutput(0);
        y->setName("y");
        net->markOutput(*y);
    }
    std::unique_ptr<IHostMemory> planOf(
        Recurrent const& values, std::vector<BuilderFlag> const& flags, std::vector<char const*> const& marked = {})
    {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        net = own.get();
        write(values);
        for (char const* name : marked)
            EXPECT_TRUE(net->markWeightsRefittable(name));
        config->reset();
        for (BuilderFlag const flag : flags)
            config->setFlag(flag);
        std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*own, *config)};
        EXPECT_NE(plan, nullptr) << logger.errors();
        return plan;
    }
    std::unique_ptr<ICudaEngine> load(std::unique_ptr<IHostMemory> const& plan)
    {
        return std::unique_ptr<ICudaEngine>{
            plan == nullptr ? nullptr : runtime->deserializeCudaEngine(plan->data(), plan->size())};
    }
    //! What comes out where the branches behind the loop are taken, and where they are not.
    std::vector<std::vector<float>> run(ICudaEngine& from)
    {
        std::unique_ptr<IExecutionContext> const own{from.createExecutionContext()};
        std::vector<std::vector<float>> all;
        for (float const sign : {1.0F, -1.0F})
        {
            std::vector<float> in = randomFloats(Recurrent::kSide, 11);
            for (float& each : in)
                each = sign * std::abs(each);
            DeviceArray<float> const x{in};
            DeviceArray<float> const y{size_t{Recurrent::kSide}};
            EXPECT_TRUE(own->setTensorAddress("x", x.data()) && own->setTensorAddress("y", y.data()));
            EXPECT_TRUE(runToEnd(*own)) << logger.errors();
            all.push_back(y.read());
        }
        return all;
    }
    std::unique_ptr<IRefitter> refitterOf(ICudaEngine& of)
    {
        return std::unique_ptr<IRefitter>{createInferRefitter(of, logger)};
    }
};

TEST_F(RefitOfBodies, U3_resultsAreThoseOfAFreshBuild)
{
    std::unique_ptr<ICudaEngine> const one = load(planOf(before, {BuilderFlag::kREFIT}));
    ASSERT_NE(one, nullptr) << logger.errors();
    auto const old = run(*one);
    EXPECT_EQ(run(*load(planOf(before, {}))), old) << "what can be refitted computes the same";
    std::unique_ptr<IRefitter> const refitter = refitterOf(*one);
    ASSERT_NE(refitter, nullptr) << logger.errors();
    for (uint32_t const seed : {40U, 80U})
    {
        Recurrent behind = Recurrent::like(seed);
        for (auto const& [name, values] : behind.all())
            EXPECT_TRUE(refitter->setNamedWeights(name, weights(*values))) << name << logger.errors();
        ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
        auto const fresh = run(*load(planOf(behind, {})));
        EXPECT_NE(fresh[0], old[0]);
        EXPECT_NE(fresh[1], old[1]);
        EXPECT_EQ(run(*one), fresh);
    }
    std::unique_ptr<IHostMemory> const stored{one->serialize()};
    EXPECT_EQ(run(*load(stored)), run(*one)) << "the plan has the weights of now";
}

TEST_F(RefitOfBodies, U4_eachOfThemByItself)
{
    for (size_t i = 0; i < before.all().size(); ++i)
    {
        std::unique_ptr<ICudaEngine> const one = load(planOf(before, {BuilderFlag::kREFIT}));
        ASSERT_NE(one, nullptr) << logger.errors();
        Recurrent behind = before;
        Recurrent others = Recurrent::like(60);
        *behind.all()[i].second = *others.all()[i].second;
        std::unique_ptr<IRefitter> const refitter = refitterOf(*one);
        std::string const name = behind.all()[i].first;
        bool const isJoined = name == "inner" || name == "bias"; // One step reads both.
        for (auto const& [each, values] : behind.all())
        {
            bool const isToo = isJoined && (each == std::string{"inner"} || each == std::string{"bias"});
            if (each != name && !isToo)
                continue;
            EXPECT_TRUE(refitter->setWeights(each, WeightsRole::kCONSTANT, weights(*values))) << each;
        }
        EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0) << name;
        ASSERT_TRUE(refitter->refitCudaEngine()) << name << logger.errors();
        auto const now = run(*one);
        EXPECT_EQ(now, run(*load(planOf(behind, {})))) << name;
        EXPECT_NE(now, run(*load(planOf(before, {})))) << name;
    }
}

TEST_F(RefitOfBodies, G12_individualWeightsAreMarkedByName)
{
    std::unique_ptr<ICudaEngine> const one =
        load(planOf(before, {BuilderFlag::kREFIT_INDIVIDUAL}, {"negative", "walked"}));
    ASSERT_NE(one, nullptr) << logger.errors();
    std::unique_ptr<IRefitter> const refitter = refitterOf(*one);
    EXPECT_EQ(refitter->getAllWeights(0, nullptr), 2);
    EXPECT_FALSE(refitter->setNamedWeights("positive", weights(before.positive)));
    Recurrent behind = before;
    behind.negative = Recurrent::like(20).negative;
    behind.walked = Recurrent::like(20).walked;
    EXPECT_TRUE(refitter->setNamedWeights("negative", weights(behind.negative)));
    EXPECT_TRUE(refitter->setNamedWeights("walked", weights(behind.walked)));
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_EQ(run(*one), run(*load(planOf(behind, {}))));
}

TEST_F(RefitOfBodies, G13_aStrippedPlanTakesThemAll)
{
    std::unique_ptr<IHostMemory> const whole = planOf(before, {BuilderFlag::kREFIT});
    std::unique_ptr<IHostMemory> const stripped = planOf(before, {BuilderFlag::kSTRIP_PLAN});
    ASSERT_NE(stripped, nullptr);
    EXPECT_LT(stripped->size(), whole->size());
    std::unique_ptr<ICudaEngine> const one = load(stripped);
    ASSERT_NE(one, nullptr) << logger.errors();
    std::unique_ptr<IRefitter> const refitter = refitterOf(*one);
    EXPECT_EQ(refitter->getMissingWeights(0, nullptr), static_cast<int32_t>(before.all().size()));
    for (auto const& [name, values] : before.all())
        EXPECT_TRUE(refitter->setNamedWeights(name, weights(*values))) << name;
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_EQ(run(*one), run(*load(planOf(before, {}))));
}

} // namespace apitest
