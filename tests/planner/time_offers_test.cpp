// Selection by time: offers are measured on a device whose clock the test sets, and what it tells decides.
#include "planner/fake_backend.h"
#include "planner/graph_options.h"
#include "planner/trial_device.h"

#include <gmock/gmock.h>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

using Answer = std::variant<std::vector<Offer>, Refusal>;

template <int32_t estimate>
Answer linearOnly(Problem const& problem)
{
    return std::vector{trialOffer(problem, Layout::kLinear, estimate)};
}

//! Much better in the other layout, it believes.
Answer bothLayouts(Problem const& problem)
{
    return std::vector{trialOffer(problem, Layout::kLinear, 1000.0), trialOffer(problem, Layout::kChannelsLast, 1.0)};
}

Backend twoCandidates()
{
    return {"fake",
        {{"Unary", "believed", &linearOnly<1>, &buildTrial}, {"Unary", "underrated", &linearOnly<100>, &buildTrial}}};
}

constexpr char const* kTimedChain{R"(
input %x : float32[2,16,8,8]
%a = Unary(%x) {Operation=0}
%b = Unary(%a) {Operation=0}
%c = Unary(%b) {Operation=0}
output %c
)"};

class TimedSelection : public testing::Test
{
  public:
    Result<Plan> plan(Backend const& backend, bool isTimed)
    {
        Result<Graph> graph = parseGraph(kTimedChain, parseLayer);
        EXPECT_TRUE(graph) << graph.error().message;
        PlanOptions options = optionsFor(*graph);
        options.progress = progress;
        if (isTimed)
            options.timing.device = &device;
        options.threads = threads;
        return makePlan(*graph, backend, target, std::move(options));
    }
    static std::string candidates(Plan const& plan)
    {
        std::string all;
        for (PlanStep const& step : plan.programs.front().steps)
            all += (all.empty() ? "" : " ") + step.candidate;
        return all;
    }

    TrialClock clock{{{"believed", 50.0}, {"underrated", 5.0}, {"reorder!", 3.0}}, {}, {}};
    TrialDevice device{clock};
    Target target{fakeTarget()};
    int32_t threads{1};
    Progress* progress{nullptr};
};

TEST_F(TimedSelection, whatTheDeviceTakesDecidesAgainstTheEstimate)
{
    Result<Plan> const estimated = plan(twoCandidates(), false);
    ASSERT_TRUE(estimated) << estimated.error().message;
    EXPECT_EQ(candidates(*estimated), "believed believed believed");
    EXPECT_EQ(clock.runs, 0);
    Result<Plan> const timed = plan(twoCandidates(), true);
    ASSERT_TRUE(timed) << timed.error().message;
    EXPECT_EQ(candidates(*timed), "underrated underrated underrated");
    bool isTold{false};
    for (PlanDecision const& decision : timed->decisions)
        isTold = isTold || decision.text.find("underrated (measured 5.0 us)") != std::string::npos;
    EXPECT_TRUE(isTold);
}

TEST_F(TimedSelection, likeStepsAreMeasuredOnce)
{
    ASSERT_TRUE(plan(twoCandidates(), true));
    EXPECT_EQ(clock.loads["believed"], 1);
    EXPECT_EQ(clock.loads["underrated"], 1);
}

//! Compiling takes longer than running: threads that were done would wait for the last one of each few.
TEST_F(TimedSelection, devicesWithMemoryOfTheirOwnGetManyKernelsBeforeTheFirstRun)
{
    constexpr size_t kTactics{40};
    constexpr size_t kOfThread{16};
    Backend const backend{"fake",
        {{"Unary", "believed",
            [](Problem const& problem) -> Answer {
                std::vector<Offer> offers(kTactics, trialOffer(problem, Layout::kLinear, 1.0));
                for (size_t i = 0; i < offers.size(); ++i)
                    offers[i].tactic = static_cast<int64_t>(i);
                return offers;
            },
            &buildTrial}}};
    target.hasOwnMemory = true;
    for (auto const& [count, expected] : {std::pair{4, kTactics}, std::pair{1, kOfThread}})
    {
        clock.loads.clear();
        clock.runs = 0;
        threads = count;
        Result<Plan> const timed = plan(backend, true);
        ASSERT_TRUE(timed) << timed.error().message;
        EXPECT_EQ(clock.loadsBeforeRuns["believed"], expected) << count << " threads";
        EXPECT_EQ(clock.loadsBeforeRuns["reorder"], 1) << "all copies share a kernel, made beside the others";
        EXPECT_EQ(clock.loads["believed"], kTactics);
    }
}

TEST_F(TimedSelection, offersThatCannotRunDropOut)
{
    clock.broken = "underrated";
    Result<Plan> const timed = plan(twoCandidates(), true);
    ASSERT_TRUE(timed) << timed.error().message;
    EXPECT_EQ(candidates(*timed), "believed believed believed");
}

//! Its loops take minutes on large layers: it is tried by nobody, and taken where all others fail.
TEST_F(TimedSelection, theReferenceIsTakenUntriedWhereNothingElseRuns)
{
    Backend const backend{"fake",
        {{"Unary", "believed", &linearOnly<100>, &buildTrial}, {"Unary", "reference", &linearOnly<1>, &buildTrial}}};
    clock.microseconds["reference"] = 1.0;
    Result<Plan> const timed = plan(backend, true);
    ASSERT_TRUE(timed) << timed.error().message;
    EXPECT_EQ(candidates(*timed), "believed believed believed");
    clock.broken = "believed";
    Result<Plan> const fallen = plan(backend, true);
    ASSERT_TRUE(fallen) << fallen.error().message;
    EXPECT_EQ(candidates(*fallen), "reference reference reference");
    EXPECT_EQ(clock.loads["reference"], 0);
}

TEST_F(TimedSelection, aLostDeviceEndsTheBuild)
{
    Backend const backend{"fake",
        {{"Unary", "believed", &linearOnly<100>, &buildTrial}, {"Unary", "reference", &linearOnly<1>, &buildTrial}}};
    clock.broken = "believed";
    clock.isLost = true;
    Result<Plan> const timed = plan(backend, true);
    ASSERT_FALSE(timed);
    EXPECT_THAT(timed.error().message, HasSubstr("lost the device"));
}

TEST_F(TimedSelection, whereNoneRunsTheErrorSaysWhy)
{
    clock.broken = "believed";
    Backend const backend{"fake",
        {{"Unary", "believed", &linearOnly<1>, &buildTrial}, {"Unary", "believed", &linearOnly<2>, &buildTrial}}};
    Result<Plan> const timed = plan(backend, true);
    ASSERT_FALSE(timed);
    EXPECT_THAT(timed.error().message, HasSubstr("[layer 'a']"));
    EXPECT_THAT(timed.error().message, HasSubstr("this machine lacks what it needs"));
}

TEST_F(TimedSelection, aSingleOfferIsNotMeasured)
{
    ASSERT_TRUE(plan({"fake", {{"Unary", "believed", &linearOnly<1>, &buildTrial}}}, true));
    EXPECT_EQ(clock.loads["believed"], 0);
}

TEST_F(TimedSelection, copiesIntoOtherLayoutsAreWeighedAsMeasured)
{
    Backend const backend{"fake", {{"Unary", "either", &bothLayouts, &buildTrial}}};
    clock.microseconds = {{"either", 10.0}, {"either!", 4.0}, {"reorder!", 3.0}};
    Result<Plan> const cheap = plan(backend, true); // Three steps gain 18, two copies cost 6.
    ASSERT_TRUE(cheap) << cheap.error().message;
    EXPECT_EQ(candidates(*cheap), "reorder either either either reorder");
    clock.microseconds["reorder!"] = 30.0;
    Result<Plan> const dear = plan(backend, true);
    ASSERT_TRUE(dear) << dear.error().message;
    EXPECT_EQ(candidates(*dear), "either either either");
}

TEST_F(TimedSelection, aMonitorThatHasEnoughEndsTheTrials)
{
    class Impatient final : public Progress
    {
      public:
        void phaseStart(std::string const& phase, std::string const&, int32_t steps) override
        {
            if (phase == "Timing kernels")
                announced = steps;
        }
        bool stepComplete(std::string const& phase, int32_t) override
        {
            return phase != "Timing kernels" || ++seen < 2;
        }
        void phaseFinish(std::string const&) override {}
        int32_t announced{0};
        int32_t seen{0};
    } impatient;
    progress = &impatient;
    Result<Plan> const timed = plan(twoCandidates(), true);
    ASSERT_FALSE(timed);
    EXPECT_THAT(timed.error().message, HasSubstr("cancelled"));
    EXPECT_EQ(impatient.announced, 3); // Two offers, and copies of the one shape.
    EXPECT_EQ(impatient.seen, 2);
}
} // namespace

} // namespace tenon::test
