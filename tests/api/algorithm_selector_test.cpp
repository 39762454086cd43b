// Algorithm selectors: what they are asked and told of, and that builds do as they say.
#include "fixture.h"

#include <functional>
#include <map>
#include <set>

namespace apitest
{

namespace
{
struct Seen
{
    int64_t implementation;
    int64_t tactic;
    std::vector<int64_t> strides; //!< Of input 0.
    bool operator==(Seen const&) const = default;
};

Seen seen(IAlgorithm const& algorithm)
{
    Dims const strides = algorithm.getAlgorithmIOInfoByIndex(0)->getStrides();
    return {algorithm.getAlgorithmVariant().getImplementation(), algorithm.getAlgorithmVariant().getTactic(),
        extents(strides)};
}

class Selector final : public IAlgorithmSelector
{
  public:
    int32_t selectAlgorithms(IAlgorithmContext const& context, IAlgorithm const* const* choices, int32_t nbChoices,
        int32_t* selection) noexcept override
    {
        std::string const name = context.getName();
        for (int32_t i = 0; i < nbChoices; ++i)
            asked[name].push_back(seen(*choices[i]));
        inputs[name] = extents(context.getDimensions(0, OptProfileSelector::kMAX));
        ports[name] = {context.getNbInputs(), context.getNbOutputs()};
        EXPECT_EQ(choices[0]->getAlgorithmIOInfoByIndex(context.getNbInputs() + context.getNbOutputs()), nullptr);
        EXPECT_NE(choices[0]->getAlgorithmIOInfoByIndex(context.getNbInputs()), nullptr);
        return choose(name, nbChoices, selection);
    }
    void reportAlgorithms(IAlgorithmContext const* const* contexts, IAlgorithm const* const* choices,
        int32_t nbAlgorithms) noexcept override
    {
        for (int32_t i = 0; i < nbAlgorithms; ++i)
            told[contexts[i]->getName()] = seen(*choices[i]);
    }

    std::function<int32_t(std::string const&, int32_t, int32_t*)> choose{
        [](std::string const&, int32_t, int32_t*) { return -1; }};
    std::map<std::string, std::vector<Seen>> asked;
    std::map<std::string, std::vector<int64_t>> inputs;
    std::map<std::string, std::pair<int32_t, int32_t>> ports;
    std::map<std::string, Seen> told;
};

class AlgorithmSelector : public ApiTest
{
  protected:
    void SetUp() override
    {
        convRelu.add(*network, dims({-1, 3, 8, 10}));
        addProfile({1, 3, 8, 10}, {2, 3, 8, 10}, {4, 3, 8, 10});
        config->setAlgorithmSelector(&selector);
    }
    Selector selector;
};

TEST_F(AlgorithmSelector, isAskedForEachLayerAndToldWhatWasTaken)
{
    EXPECT_EQ(config->getAlgorithmSelector(), &selector);
    ASSERT_NE(buildEngine(), nullptr);
    ASSERT_FALSE(selector.asked.empty());
    EXPECT_EQ(selector.told.size(), selector.asked.size());
    for (auto const& [name, choices] : selector.asked)
    {
        ASSERT_TRUE(selector.told.contains(name)) << name;
        EXPECT_NE(std::find(choices.begin(), choices.end(), selector.told.at(name)), choices.end()) << name;
        EXPECT_EQ(selector.ports.at(name), (std::pair{1, 1})) << name << ": kernel and bias are no inputs";
    }
    EXPECT_EQ(selector.inputs.begin()->second, (std::vector<int64_t>{4, 3, 8, 10}));
}

TEST_F(AlgorithmSelector, buildsAsItSaysAndGivesTheSameNumbersAgain)
{
    ASSERT_NE(buildEngine(), nullptr);
    auto const first = selector.asked;
    auto const free = selector.told;
    for (auto const& [name, choices] : first)
        for (size_t wanted = 0; wanted < choices.size(); ++wanted)
        {
            selector.asked.clear();
            selector.choose = [&, name = name](std::string const& layer, int32_t, int32_t* selection) {
                selection[0] = static_cast<int32_t>(wanted);
                return layer == name ? 1 : -1;
            };
            std::unique_ptr<ICudaEngine> const engine = buildEngine();
            ASSERT_NE(engine, nullptr) << name << " by " << wanted;
            EXPECT_EQ(selector.asked, first) << "numbers do not change";
            EXPECT_EQ(selector.told.at(name), choices[wanted]);
            std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
            runAndCompare(*context, 3, 8, 11);
        }
}

TEST_F(AlgorithmSelector, nothingSelectedLeavesTheChoiceToTheBuilderUnlessThatIsRejected)
{
    std::unique_ptr<IHostMemory> const own{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(own, nullptr) << logger.errors();
    selector.choose = [](std::string const&, int32_t, int32_t*) { return 0; };
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(plan->size(), own->size());
    EXPECT_EQ(std::memcmp(plan->data(), own->data(), own->size()), 0);
    selector.choose = [](std::string const&, int32_t, int32_t* selection) {
        selection[0] = -1;
        return 1;
    };
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(std::memcmp(plan->data(), own->data(), own->size()), 0);
    selector.choose = [](std::string const&, int32_t, int32_t*) { return 0; };
    config->setFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the algorithm selector selects 0 of"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "kREJECT_EMPTY_ALGORITHMS forbids"), 1) << logger.errors();
}

TEST_F(AlgorithmSelector, whatItCannotMeanFailsTheBuild)
{
    std::unique_ptr<IHostMemory> plan;
    selector.choose = [](std::string const&, int32_t count, int32_t* selection) {
        selection[0] = count;
        return 1;
    };
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the algorithm selector selects algorithm"), 1);
    selector.choose = [](std::string const&, int32_t, int32_t*) { return 1; }; // It does not say which.
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the algorithm selector selects algorithm -2 of"), 1);
}
} // namespace

} // namespace apitest
