// Selection by runs of the network: between offers that took nearly as long alone, what the whole takes decides.
#include "planner/fake_backend.h"
#include "planner/graph_options.h"
#include "planner/trial_device.h"

#include <gmock/gmock.h>

namespace tenon::test
{

namespace
{
using testing::Each;
using testing::HasSubstr;
using testing::Not;

using Answer = std::variant<std::vector<Offer>, Refusal>;

//! Two kinds of steps, of two steps each; the second kind reads a constant.
constexpr char const* kNetwork{R"(
input %x : float32[2,16,8,8]
const %w : float32[2,16,8,8] = random(1)
%a = Unary(%x) {Operation=0}
%b = Unary(%a) {Operation=0}
%c = ElementWise(%b, %w) {Operation=0}
%d = ElementWise(%c, %w) {Operation=0}
output %d
)"};

Answer linear(Problem const& problem)
{
    return std::vector{trialOffer(problem, Layout::kLinear, 1.0)};
}

Backend backendOf(std::vector<std::pair<char const*, char const*>> const& candidates)
{
    std::vector<Candidate> all;
    for (auto const& [layer, name] : candidates)
        all.push_back({layer, name, &linear, &buildTrial});
    return {"fake", std::move(all)};
}

class ContextSelection : public testing::Test
{
  public:
    ContextSelection()
    {
        target.hasOwnMemory = true;
        clock.network = [this](std::span<TrialLaunch const> steps) -> Result<double> {
            double sum{0.0};
            for (TrialLaunch const& step : steps)
                sum += inContext.at(step.kernel);
            return sum;
        };
    }
    Result<Plan> plan(bool isByNetwork = true)
    {
        Result<Graph> graph = parseGraph(text, parseLayer);
        EXPECT_TRUE(graph) << graph.error().message;
        PlanOptions options = optionsFor(*graph);
        options.progress = progress;
        options.timing.device = &device;
        options.timing.inContext = isByNetwork;
        options.timing.known = known;
        return makePlan(*graph, backend, target, std::move(options));
    }
    std::string candidates(bool isByNetwork = true)
    {
        Result<Plan> const made = plan(isByNetwork);
        if (!made)
            return made.error().message;
        std::string all;
        for (PlanStep const& step : made->programs.front().steps)
            all += (all.empty() ? "" : " ") + step.candidate;
        return all;
    }

    //! What runs well alone.
    void failInNetworks(std::string_view kernel)
    {
        clock.network = [kernel, all = clock.network](std::span<TrialLaunch const> steps) -> Result<double> {
            for (TrialLaunch const& step : steps)
                if (step.kernel == kernel)
                    return badConfig("not in this company");
            return all(steps);
        };
    }

    std::string_view text{kNetwork};
    //! Alone the first is faster by little, and a third one by far slower.
    Backend backend{
        backendOf({{"Unary", "u1"}, {"Unary", "u2"}, {"Unary", "u3"}, {"ElementWise", "e1"}, {"ElementWise", "e2"}})};
    TrialClock clock{
        {{"u1", 10.0}, {"u2", 11.0}, {"u3", 100.0}, {"e1", 10.0}, {"e2", 11.0}, {"reorder!", 3.0}}, {}, {}};
    std::map<std::string, double> inContext{{"u1", 9.0}, {"u2", 7.0}, {"u3", 1.0}, {"e1", 9.0}, {"e2", 9.5}};
    TrialDevice device{clock};
    Target target{fakeTarget()};
    TimedTactics tactics;
    KnownTimes known;
    Progress* progress{nullptr};
};

TEST_F(ContextSelection, whatTheNetworkTakesDecidesBetweenNearTies)
{
    EXPECT_EQ(candidates(false), "u1 u1 e1 e1");
    EXPECT_EQ(clock.networkRuns, 0);
    Result<Plan> const made = plan();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    std::string tactics;
    for (PlanDecision const& decision : made->decisions)
        tactics += decision.text + "\n";
    EXPECT_THAT(tactics, HasSubstr("u2 (measured 11.0 us, the network 4.0 us faster with it); u1 0 10.0"));
    EXPECT_THAT(tactics, HasSubstr("e1 (measured 10.0 us); e2 0 11.0"));
}

TEST_F(ContextSelection, whatWasFarSlowerAloneIsNotTried)
{
    std::set<std::string> seen;
    auto const all = clock.network;
    clock.network = [&](std::span<TrialLaunch const> steps) {
        for (TrialLaunch const& step : steps)
            seen.insert(step.kernel);
        return all(steps);
    };
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    EXPECT_THAT(seen, Not(testing::Contains("u3")));
}

TEST_F(ContextSelection, devicesThatShareTheHostsMemoryAreLeftOut)
{
    target.hasOwnMemory = false;
    EXPECT_EQ(candidates(), "u1 u1 e1 e1");
    EXPECT_EQ(clock.networkRuns, 0);
}

//! Each step reads where the one before it wrote, constants are there, and no two tensors that live share memory.
TEST_F(ContextSelection, stepsAreWiredAsInARun)
{
    auto const all = clock.network;
    int32_t seen{0};
    clock.network = [&](std::span<TrialLaunch const> steps) {
        std::vector<std::vector<TrialLaunch>> passes;
        for (size_t first = 0; first < steps.size(); first += 4)
        {
            Call const& a = steps[first].launch.call;
            Call const& b = steps[first + 1].launch.call;
            Call const& c = steps[first + 2].launch.call;
            Call const& d = steps[first + 3].launch.call;
            EXPECT_EQ(b.inputs[0], a.outputs[0]);
            EXPECT_EQ(c.inputs[0], b.outputs[0]);
            EXPECT_EQ(d.inputs[0], c.outputs[0]);
            EXPECT_NE(a.inputs[0], a.outputs[0]);
            EXPECT_NE(b.inputs[0], b.outputs[0]);
            EXPECT_EQ(c.outputs[0], a.outputs[0]) << "what nobody reads any more is handed on";
            EXPECT_EQ(c.inputs[1], d.inputs[1]) << "a constant that two steps read is there once";
            EXPECT_NE(static_cast<float const*>(c.inputs[1])[7], 0.0F);
            ++seen;
        }
        return all(steps);
    };
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    EXPECT_GT(seen, 4);
}

TEST_F(ContextSelection, aSecondBuildKnowsWhatTheFirstHasMeasured)
{
    known.tactics = &tactics;
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    int32_t const runs = clock.networkRuns;
    clock.loads.clear();
    inContext = {{"u1", 1.0}, {"u2", 1.0}, {"u3", 1.0}, {"e1", 1.0}, {"e2", 1.0}};
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    EXPECT_EQ(clock.networkRuns, runs);
    EXPECT_TRUE(clock.loads.empty());
}

//! BuilderFlag::kERROR_ON_TIMING_CACHE_MISS forbids to measure; what trials knew is enough to build.
TEST_F(ContextSelection, whereNothingMayBeMeasuredTrialsDecide)
{
    known.tactics = &tactics;
    EXPECT_EQ(candidates(false), "u1 u1 e1 e1");
    known.mustKnow = true;
    EXPECT_EQ(candidates(), "u1 u1 e1 e1");
    EXPECT_EQ(clock.networkRuns, 0);
}

TEST_F(ContextSelection, anOfferThatFailsInTheNetworkIsPassedOver)
{
    failInNetworks("u2");
    inContext["e2"] = 5.0;
    EXPECT_EQ(candidates(), "u1 u1 e2 e2");
}

//! Else each later build would load the network again for it, or, where it may not, would end there.
TEST_F(ContextSelection, aFailureIsKnownToLaterBuilds)
{
    known.tactics = &tactics;
    failInNetworks("u2");
    inContext["e2"] = 5.0;
    EXPECT_EQ(candidates(), "u1 u1 e2 e2");
    int32_t const runs = clock.networkRuns;
    known.mustKnow = true;
    EXPECT_EQ(candidates(), "u1 u1 e2 e2");
    EXPECT_EQ(clock.networkRuns, runs);
}

//! What is best for a kind depends on what others run by: its choice is taken back when its neighbour has changed.
TEST_F(ContextSelection, aKindIsAskedAgainWhenOthersHaveChanged)
{
    clock.network = [&](std::span<TrialLaunch const> steps) -> Result<double> {
        auto const isUsed = [&](std::string_view kernel) {
            return std::ranges::any_of(steps, [&](TrialLaunch const& step) { return step.kernel == kernel; });
        };
        double const both = isUsed("u2") && isUsed("e2") ? 90.0 : isUsed("e2") ? 80.0 : isUsed("u2") ? 95.0 : 100.0;
        return both * static_cast<double>(steps.size());
    };
    Result<Plan> const made = plan();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(candidates(), "u1 u1 e2 e2");
    bool isTold{false};
    for (PlanDecision const& decision : made->decisions)
    {
        bool const isOfKind = decision.text.find("u1 (measured") != std::string::npos;
        isTold = isTold || isOfKind;
        EXPECT_FALSE(isOfKind && decision.text.find("faster with it") != std::string::npos) << "it is what trials had";
    }
    EXPECT_TRUE(isTold);
}

//! A view is the memory of what it shows, which goes when the view has been read for the last time.
TEST_F(ContextSelection, viewsShowTheMemoryOfTheirSource)
{
    text = R"(
input %x : float32[2,16,8,8]
%a = Unary(%x) {Operation=0}
%v = Shuffle(%a) {ReshapeDimensions=(2,16,64)}
%b = Unary(%v) {Operation=0}
%c = Unary(%b) {Operation=0}
%d = ElementWise(%c, %v) {Operation=0}
output %d
)";
    backend = backendOf({{"Unary", "u1"}, {"Unary", "u2"}, {"ElementWise", "e1"}, {"ElementWise", "e2"}});
    std::vector<Candidate> all{backend.candidates().begin(), backend.candidates().end()};
    all.push_back({"Shuffle", "view",
        [](Problem const& problem) -> Answer {
            Offer view = trialOffer(problem, Layout::kLinear, 0.0);
            view.isView = true;
            return std::vector{std::move(view)};
        },
        &buildTrial});
    backend = Backend{"fake", std::move(all)};
    auto const sum = clock.network;
    int32_t seen{0};
    clock.network = [&](std::span<TrialLaunch const> steps) {
        Call const& a = steps[0].launch.call;
        Call const& b = steps[1].launch.call;
        Call const& c = steps[2].launch.call;
        Call const& d = steps[3].launch.call;
        EXPECT_EQ(b.inputs[0], a.outputs[0]);
        EXPECT_EQ(d.inputs[1], a.outputs[0]);
        EXPECT_NE(b.outputs[0], a.outputs[0]);
        EXPECT_NE(c.outputs[0], a.outputs[0]);
        EXPECT_NE(d.outputs[0], a.outputs[0]);
        EXPECT_NE(d.outputs[0], c.outputs[0]);
        ++seen;
        return sum(steps);
    };
    EXPECT_THAT(candidates(), HasSubstr("u2 u2 u2 e1"));
    EXPECT_GT(seen, 4);
}

//! As in a run's arena: else a step that changes a little of a large tensor would copy all of it, and here alone.
TEST_F(ContextSelection, stepsWriteInPlaceWhereTheirOffersMay)
{
    std::vector<Candidate> all;
    for (char const* const name : {"u1", "u2"})
        all.push_back({"Unary", name,
            [](Problem const& problem) -> Answer {
                Offer offer = trialOffer(problem, Layout::kLinear, 1.0);
                offer.inPlace = {{0, 0}};
                return std::vector{std::move(offer)};
            },
            &buildTrial});
    for (char const* const name : {"e1", "e2"})
        all.push_back({"ElementWise", name, &linear, &buildTrial});
    backend = Backend{"fake", std::move(all)};
    auto const sum = clock.network;
    int32_t seen{0};
    clock.network = [&](std::span<TrialLaunch const> steps) {
        EXPECT_NE(steps[0].launch.call.outputs[0], steps[0].launch.call.inputs[0]) << "the network's input stays";
        EXPECT_EQ(steps[1].launch.call.outputs[0], steps[1].launch.call.inputs[0]);
        EXPECT_NE(steps[2].launch.call.outputs[0], steps[2].launch.call.inputs[0]);
        ++seen;
        return sum(steps);
    };
    EXPECT_EQ(candidates(), "u2 u2 e1 e1");
    EXPECT_GT(seen, 4);
}

TEST_F(ContextSelection, whatCannotRunAsANetworkStaysAsTrialsHaveIt)
{
    clock.network = [](std::span<TrialLaunch const>) -> Result<double> { return badConfig("not at all"); };
    EXPECT_EQ(candidates(), "u1 u1 e1 e1");
    EXPECT_EQ(clock.networkRuns, 1);
}

TEST_F(ContextSelection, aLostDeviceEndsTheBuild)
{
    clock.network = [&](std::span<TrialLaunch const>) -> Result<double> {
        clock.isLost = true;
        return badConfig("a kernel has faulted");
    };
    EXPECT_THAT(candidates(), HasSubstr("lost the device"));
}

TEST_F(ContextSelection, networksThatTakeLongAreNotRunForIt)
{
    for (auto& [name, microseconds] : clock.microseconds)
        microseconds *= 1e4;
    EXPECT_EQ(candidates(), "u1 u1 e1 e1");
    EXPECT_EQ(clock.networkRuns, 0);
}

TEST_F(ContextSelection, aMonitorThatHasEnoughEndsIt)
{
    class Impatient final : public Progress
    {
      public:
        void phaseStart(std::string const& phase, std::string const&, int32_t steps) override
        {
            if (phase == "Timing the network")
                announced = steps;
        }
        bool stepComplete(std::string const& phase, int32_t) override
        {
            return phase != "Timing the network" || ++seen < 2;
        }
        void phaseFinish(std::string const&) override {}
        int32_t announced{0};
        int32_t seen{0};
    } impatient;
    progress = &impatient;
    EXPECT_THAT(candidates(), HasSubstr("cancelled"));
    EXPECT_EQ(impatient.announced, 4); // Two other offers, in two rounds.
    EXPECT_EQ(impatient.seen, 2);
}
} // namespace

} // namespace tenon::test
