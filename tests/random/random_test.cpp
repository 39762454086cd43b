// Random networks on the CPU device beside the references: what agrees, that faults are found, and how small they get.
//
//   TENON_RANDOM_GRAPHS  how many graphs (1000)        TENON_RANDOM_SEED  the seed of the first (1)
//   TENON_RANDOM_TALLY   1: prints kinds and kernels   TENON_RANDOM_TEXT  a file with a graph to run with that seed
#include "backends/cpu/kernel_table.h"
#include "random/author.h"
#include "random/device_run.h"
#include "random/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace tenon::test
{

namespace
{
int32_t countOf(char const* variable, int32_t otherwise)
{
    char const* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atoi(text);
}

RandomGraph randomGraph(int32_t seed)
{
    return Author{static_cast<uint32_t>(seed)}.write(4 + seed % 14);
}

enum class Finding : uint8_t
{
    kNone,
    kUnread, //!< It is no graph.
    kNotBuilt,
    kNotRun,
    kDiffers,
};

struct Outcome
{
    Finding finding{Finding::kNone};
    std::string why;
};

//! One graph on the device, with one and with two threads, fused and unfused, loaded and as it was made.
class Trial
{
  public:
    explicit Trial(RandomGraph const& random)
        : mRandom{random}
    {
        Result<Graph> graph = graphOf(random.text);
        if (!graph)
        {
            mBuilt = {Finding::kUnread, graph.error().message};
            return;
        }
        mGraph = std::make_unique<Graph>(*std::move(graph));
        DeviceOptions options;
        options.threads = 1 + static_cast<int32_t>(random.seed % 2);
        options.fusion = random.seed % 8 != 7;
        options.isStored = random.seed % 8 == 3;
        Result<std::unique_ptr<DeviceRun>> run = DeviceRun::make(*graphOf(random.text), options);
        if (run)
            mRun = *std::move(run);
        else
            mBuilt = {Finding::kNotBuilt, run.error().message};
    }

    //! Runs at extents of the round, as far as the references are certain there.
    Outcome outcomeOf(int32_t round, std::string const& faulty = {})
    {
        if (mRun == nullptr)
            return mBuilt;
        std::vector<HostTensor> const inputs = inputsOf(*mGraph, mRandom.seed, round);
        if (!mWanted.contains(round))
            mWanted.emplace(round, wantedOf(inputs));
        Result<std::vector<Known>> const& wanted = mWanted.at(round);
        if (!wanted)
            return {};
        Result<std::vector<HostTensor>> const got = mRun->run(inputs, faulty);
        if (!got)
            return {Finding::kNotRun, got.error().message};
        for (size_t i = 0; i < got->size(); ++i)
            if (std::optional<std::string> mismatch = mismatchOf((*got)[i], (*wanted)[i]))
                return {Finding::kDiffers,
                    fmt::format("round {}, output %{}: {}", round, mGraph->outputs()[i].name, *mismatch)};
        ++mRuns;
        return {};
    }
    Outcome outcome()
    {
        Outcome first = outcomeOf(0);
        return first.finding != Finding::kNone ? first : outcomeOf(1);
    }

    Graph const& graph() const
    {
        return *mGraph;
    }
    Plan const& plan() const
    {
        return mRun->plan();
    }
    bool isBuilt() const
    {
        return mRun != nullptr;
    }
    int32_t runs() const
    {
        return mRuns;
    }

  private:
    Result<std::vector<Known>> wantedOf(std::vector<HostTensor> const& inputs) const
    {
        std::vector<Known> const known{inputs.begin(), inputs.end()};
        Knowns given;
        for (Known const& each : known)
            given.push_back(&each);
        return evaluateGraph(*mGraph, given);
    }

    RandomGraph const& mRandom;
    std::unique_ptr<Graph> mGraph;
    std::unique_ptr<DeviceRun> mRun;
    std::map<int32_t, Result<std::vector<Known>>> mWanted;
    Outcome mBuilt;
    int32_t mRuns{0};
};

//! What failed, the smallest graph that fails like it, and how to run that again.
std::string report(RandomGraph const& random, Outcome const& outcome)
{
    std::string const text = shrunk(random.text, [&](std::string const& smaller) {
        RandomGraph const one{smaller, random.seed};
        return Trial{one}.outcome().finding == outcome.finding;
    });
    RandomGraph const small{text, random.seed};
    return fmt::format("seed {}: {}\nThe smallest graph of this kind: {}\nTo run it, put it into a file: "
                       "TENON_RANDOM_SEED={} TENON_RANDOM_TEXT=file test_random --gtest_filter=*aGraphOfAFile\n\n{}",
        random.seed, outcome.why, Trial{small}.outcome().why, random.seed, text);
}

struct Tally
{
    std::map<std::string, int32_t> kinds;
    std::map<std::string, int32_t> kernels;
    int32_t graphs{0};
    int32_t runs{0};
    int32_t layers{0};

    void add(Trial const& trial)
    {
        ++graphs;
        runs += trial.runs();
        for (NodeId const id : trial.graph().order())
            ++kinds[std::string{trial.graph().node(id).layer->name()}], ++layers;
        for (PlanStep const& step : trial.plan().programs.at(0).steps)
            ++kernels[step.kernel == "reference" && step.graphNode >= 0
                    ? "reference of " + trial.plan().graph.nodes[static_cast<size_t>(step.graphNode)].layer
                    : step.kernel];
    }
    void print() const
    {
        fmt::print("{} graphs, {} runs, {} layers of {} kinds, {} kernels\n", graphs, runs, layers, kinds.size(),
            kernels.size());
        if (std::getenv("TENON_RANDOM_TALLY") == nullptr)
            return;
        for (auto const& each : {kinds, kernels})
            for (auto const& [name, times] : each)
                fmt::print("  {:6} {}\n", times, name);
    }
};
} // namespace

TEST(RandomNetworks, theDeviceAgreesWithTheReferences)
{
    int32_t const count = countOf("TENON_RANDOM_GRAPHS", 1000);
    int32_t const first = countOf("TENON_RANDOM_SEED", 1);
    constexpr int32_t kReported{10};
    Tally tally;
    int32_t bad{0};
    for (int32_t seed = first; seed < first + count && bad < kReported; ++seed)
    {
        RandomGraph const random = randomGraph(seed);
        Trial trial{random};
        Outcome const outcome = trial.outcome();
        bad += outcome.finding == Finding::kNone ? 0 : 1;
        if (outcome.finding != Finding::kNone)
            ADD_FAILURE() << report(random, outcome);
        else
            tally.add(trial);
    }
    tally.print();
    EXPECT_GE(tally.kinds.size(), 40U);
    EXPECT_GT(tally.runs, tally.graphs * 9 / 5) << "the references are seldom certain";
}

TEST(RandomNetworks, aGraphOfAFile)
{
    char const* const file = std::getenv("TENON_RANDOM_TEXT");
    if (file == nullptr)
        GTEST_SKIP() << "TENON_RANDOM_TEXT names none";
    std::stringstream text;
    text << std::ifstream{file}.rdbuf();
    RandomGraph const random{text.str(), static_cast<uint32_t>(countOf("TENON_RANDOM_SEED", 1))};
    Outcome const outcome = Trial{random}.outcome();
    EXPECT_EQ(outcome.finding, Finding::kNone) << outcome.why;
}

//! A GELU of what is far below 0 may be 0 in float32, and is nearly so in double: as a truth value it may be either.
TEST(RandomNetworks, whatMayBeZeroMayBeFalse)
{
    RandomGraph const random{R"(
input %g0 : bfloat16[2,2,5,8]
const %c11 : bfloat16[3,80] = random(435)
const %c12 : bfloat16[3] = random(52)
%v13 = FullyConnected(%g0, %c11, %c12) {NbOutputChannels=3}
%v27 = Activation(%v13) {ActivationType=13}
%v40 = Cast(%v27) {ToType=4}
output %v40
)",
        1311727};
    Trial trial{random};
    EXPECT_EQ(trial.outcome().finding, Finding::kNone) << trial.outcome().why;
    EXPECT_TRUE(trial.isBuilt());
}

//! Each kernel in turn is off by a hundredth. Most graphs that use it show that; some do not, as where what it makes is
//! normalized, or where a type is too coarse to tell.
TEST(RandomNetworks, aFaultOfAHundredthInAnyKernelIsFound)
{
    constexpr int32_t kGraphs{1000};
    constexpr int32_t kMaxUses{12};
    std::set<std::string> open;
    for (cpu::KernelFile const& file : cpu::allKernelFiles())
        for (KernelEntry const& kernel : file.kernels)
            open.insert(std::string{kernel.name});
    std::map<std::string, int32_t> uses;
    for (int32_t seed = 1; seed <= kGraphs && !open.empty(); ++seed)
    {
        RandomGraph const random = randomGraph(seed);
        Trial trial{random};
        std::set<std::string> kernels;
        for (size_t i = 0; trial.isBuilt() && i < trial.plan().programs.at(0).steps.size(); ++i)
            kernels.insert(trial.plan().programs.at(0).steps[i].kernel);
        for (std::string const& kernel : kernels)
        {
            if (!open.contains(kernel))
                continue;
            ++uses[kernel];
            if (trial.outcomeOf(0, kernel).finding == Finding::kDiffers)
                open.erase(kernel);
        }
    }
    EXPECT_TRUE(open.empty()) << "not found within " << kGraphs
                              << " graphs: " << fmt::format("{}", fmt::join(open, ", "));
    for (auto const& [kernel, times] : uses)
        EXPECT_LE(times, kMaxUses) << kernel << " was in so many graphs before its fault was found";
}

TEST(RandomNetworks, whatFailsBecomesSmall)
{
    for (std::string const kernel : {"soft_max", "top_k", "product"})
        for (int32_t seed = 1;; ++seed)
        {
            ASSERT_LT(seed, 100) << "no graph shows a fault of " << kernel;
            RandomGraph const random = randomGraph(seed);
            auto const fails = [&](std::string const& text) {
                RandomGraph const one{text, random.seed};
                return Trial{one}.outcomeOf(0, kernel).finding == Finding::kDiffers;
            };
            if (!fails(random.text))
                continue;
            std::string const small = shrunk(random.text, fails);
            EXPECT_TRUE(fails(small));
            EXPECT_LE(std::ranges::count(small, '\n'), 5) << kernel << ", seed " << seed << "\n" << small;
            break;
        }
}

} // namespace tenon::test
