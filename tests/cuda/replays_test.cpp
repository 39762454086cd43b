// Runs that come again are graphs: what is launched, that results stay right when addresses change, and that nothing
// but speed is lost where a graph cannot be made.
#include "cuda/fake_device.h"

#include <gmock/gmock.h>

#include <array>

namespace tenon::test
{

namespace
{
//! Two reorders, there and back: of [6, 4] to [4, 6] in `b`, and as they were in `c`.
class Pair
{
  public:
    explicit Pair(Device& device)
        : mDevice{device}
    {
        expectDone(prepare(device, mSteps[0], StepRole::kReorder, Place::kDevice, nullptr, nullptr, kLast));
        expectDone(prepare(device, mSteps[1], StepRole::kReorder, Place::kDevice, nullptr, nullptr, kLast));
    }

    //! a → b → c on the stream, with a fence.
    Result<Done> run(Owned const& a, Owned const& b, Owned const& c, void* stream)
    {
        mSteps[0].from = a.data;
        mSteps[0].to = b.data;
        mSteps[1].from = b.data;
        mSteps[1].to = c.data;
        std::array const launches{mSteps[0].launch, mSteps[1].launch};
        RunFailure failure;
        TENON_TRY(mDevice.run(launches, {.stream = stream, .fence = mFence.get(), .listener = &mListener}, failure));
        mFence->wait(nullptr);
        auto const failed = static_cast<cuda::CudaFence&>(*mFence).state().failed();
        if (failed)
            return failed->error;
        return Done{};
    }

  private:
    static constexpr Layout kLast{Layout::kChannelsLast};
    static void expectDone(Result<Done> const& done)
    {
        EXPECT_TRUE(done) << (done ? std::string{} : done.error().message);
    }

    Device& mDevice;
    std::array<OwnStep, 2> mSteps;
    std::unique_ptr<Fence> mFence{mDevice.makeFence()};
    Silent mListener;
};

std::vector<float> filled(Device& device, Owned const& memory, float from)
{
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = from + static_cast<float>(i);
    EXPECT_TRUE(device.copyFromHost(memory.data, values.data(), kCount * sizeof(float), kApartStream));
    return values;
}

//! Reordered twice, each time from [6, 4] to [4, 6].
std::vector<float> turnedTwice(std::vector<float> values)
{
    for (int round = 0; round < 2; ++round)
    {
        std::vector<float> turned(kCount);
        for (size_t c = 0; c < 6; ++c)
            for (size_t s = 0; s < 4; ++s)
                turned[s * 6 + c] = values[c * 4 + s];
        values = turned;
    }
    return values;
}

std::vector<float> read(Device& device, Owned const& memory)
{
    std::vector<float> values(kCount);
    EXPECT_TRUE(device.copyToHost(values.data(), memory.data, kCount * sizeof(float), kApartStream));
    return values;
}

struct Counts
{
    int64_t kernels{tenonFakeCallsOf("cuLaunchKernel")};
    int64_t overlapping{tenonFakeCallsOf("cuLaunchKernelEx")};
    int64_t graphs{tenonFakeCallsOf("cuGraphLaunch")};
    int64_t made{tenonFakeCallsOf("cuGraphInstantiateWithFlags")};
    int64_t patched{tenonFakeCallsOf("cuGraphExecUpdate_v2")};
};

class Replayed : public testing::Test
{
  protected:
    Device& device{fake()};
    void* stream{*device.createStream()};
    std::unique_ptr<Pair> pair{std::make_unique<Pair>(device)};
    Owned b{device, false};

    ~Replayed() override
    {
        device.destroyStream(stream);
    }
    void runAndCompare(Owned const& a, Owned const& c, float from)
    {
        std::vector<float> const values = filled(device, a, from);
        auto const done = pair->run(a, b, c, stream);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(read(device, c), turnedTwice(values));
    }
};
} // namespace

TEST_F(Replayed, theSecondRunIsRecordedAndTheThirdIsOneCall)
{
    Owned const a{device, false};
    Owned const c{device, false};
    Counts const before;
    runAndCompare(a, c, 1.0F);
    Counts const first;
    EXPECT_EQ(first.kernels, before.kernels + 2);
    EXPECT_EQ(first.graphs, before.graphs);
    EXPECT_EQ(first.overlapping, before.overlapping);
    runAndCompare(a, c, 2.0F);
    Counts const second;
    EXPECT_EQ(second.overlapping, first.overlapping + 1) << "in graphs, behind the first kernel";
    EXPECT_EQ(second.made, first.made + 1);
    EXPECT_EQ(second.graphs, first.graphs + 1);
    for (float const from : {3.0F, 4.0F, 5.0F})
        runAndCompare(a, c, from);
    Counts const later;
    EXPECT_EQ(later.kernels, second.kernels) << "no kernel is launched by itself any more";
    EXPECT_EQ(later.graphs, second.graphs + 3);
    EXPECT_EQ(later.made, second.made);
}

TEST_F(Replayed, aRunIsFewCallsOfTheDrivers)
{
    Owned const a{device, false};
    Owned const c{device, false};
    for (float const from : {1.0F, 2.0F, 3.0F})
        runAndCompare(a, c, from);
    int64_t const before = tenonFakeCalls();
    ASSERT_TRUE(pair->run(a, b, c, stream));
    EXPECT_LE(tenonFakeCalls() - before, 24) << "waiting for its end included";
}

TEST_F(Replayed, otherAddressesHaveGraphsOfTheirOwnUntilThereAreManyThenOneIsPatched)
{
    std::vector<std::unique_ptr<Owned>> all;
    for (int i = 0; i < 8; ++i)
        all.push_back(std::make_unique<Owned>(device, false));
    Owned const c{device, false};
    for (int round = 0; round < 3; ++round)
        for (size_t i = 0; i < 3; ++i)
            runAndCompare(*all[i], c, static_cast<float>(10 * round) + static_cast<float>(i));
    Counts const three;
    for (int round = 0; round < 2; ++round)
        for (size_t i = 0; i < 3; ++i)
            runAndCompare(*all[i], c, static_cast<float>(i));
    Counts const again;
    EXPECT_EQ(again.made, three.made);
    EXPECT_EQ(again.graphs, three.graphs + 6);
    for (int round = 0; round < 3; ++round)
        for (auto const& a : all)
            runAndCompare(*a, c, static_cast<float>(round));
    Counts const many;
    EXPECT_GT(many.patched, again.patched);
    EXPECT_LE(many.made, again.made + 2) << "a graph that can be patched is not made anew";
}

TEST_F(Replayed, whereNoGraphCanBeMadeTheStepsRunOneByOne)
{
    for (char const* const call : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"})
    {
        Owned const a{device, false};
        Owned const c{device, false};
        runAndCompare(a, c, 1.0F);
        tenonFakeFailAll(call, 1);
        runAndCompare(a, c, 2.0F);
        tenonFakeFailAll(nullptr, 0);
        Counts const before;
        runAndCompare(a, c, 3.0F);
        EXPECT_EQ(Counts{}.graphs, before.graphs) << call << ": what has failed is not tried again";
        EXPECT_EQ(Counts{}.kernels, before.kernels + 2) << call;
        pair = std::make_unique<Pair>(device);
    }
}

TEST_F(Replayed, whereKernelsMayNotOverlapThereIsAGraphNevertheless)
{
    Owned const a{device, false};
    Owned const c{device, false};
    runAndCompare(a, c, 1.0F);
    tenonFakeFailAll("cuLaunchKernelEx", 1);
    Counts const before;
    for (float const from : {2.0F, 3.0F})
        runAndCompare(a, c, from);
    tenonFakeFailAll(nullptr, 0);
    EXPECT_EQ(Counts{}.graphs, before.graphs + 2);
    EXPECT_EQ(Counts{}.made, before.made + 1);
}

TEST_F(Replayed, whereOverlapIsOffNoKernelIsLaunchedSo)
{
    Owned const a{device, false};
    Owned const c{device, false};
    std::array<OwnStep, 2> steps;
    for (OwnStep& step : steps)
        ASSERT_TRUE(prepare(device, step, StepRole::kReorder, Place::kDevice, a.data, b.data, Layout::kChannelsLast));
    std::array const launches{steps[0].launch, steps[1].launch};
    for (bool const overlaps : {false, true})
    {
        cuda::Replays replays{true, overlaps};
        Counts const before;
        {
            cuda::Current const current{fake()};
            EXPECT_FALSE(*replays.launch(fake(), launches, stream, 0)) << "they come for the first time";
            EXPECT_TRUE(*replays.launch(fake(), launches, stream, 0));
        }
        EXPECT_EQ(Counts{}.overlapping, before.overlapping + (overlaps ? 1 : 0));
        EXPECT_EQ(Counts{}.graphs, before.graphs + 1);
    }
    runAndCompare(a, c, 1.0F); // Behind what is in the stream.
}

TEST_F(Replayed, aGraphThatIsNotTakenIsTheRunsError)
{
    Owned const a{device, false};
    Owned const c{device, false};
    for (float const from : {1.0F, 2.0F, 3.0F})
        runAndCompare(a, c, from);
    tenonFakeFailAll("cuGraphLaunch", 1);
    auto const refused = pair->run(a, b, c, stream);
    tenonFakeFailAll(nullptr, 0);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("cuGraphLaunch"));
    runAndCompare(a, c, 4.0F);
}

TEST_F(Replayed, aPatchThatIsRefusedMakesTheGraphAnew)
{
    std::vector<std::unique_ptr<Owned>> all;
    for (int i = 0; i < 6; ++i)
        all.push_back(std::make_unique<Owned>(device, false));
    Owned const c{device, false};
    for (int round = 0; round < 3; ++round)
        for (auto const& a : all)
            runAndCompare(*a, c, 1.0F);
    constexpr int kUpdateFailed{910};
    tenonFakeFailAll("cuGraphExecUpdate_v2", kUpdateFailed);
    for (auto const& a : all)
        runAndCompare(*a, c, 2.0F);
    tenonFakeFailAll(nullptr, 0);
}

namespace
{
std::vector<float> turnedOnce(std::vector<float> const& values)
{
    std::vector<float> turned(kCount);
    for (size_t c = 0; c < 6; ++c)
        for (size_t s = 0; s < 4; ++s)
            turned[s * 6 + c] = values[c * 4 + s];
    return turned;
}

//! a → b, then from fence to fence b → c → d beside b → e, then d → f; the memory of `e` is read behind the fence, too.
class Fork
{
  public:
    explicit Fork(Device& device)
        : mDevice{device}
    {
        Owned const* const ends[][2]{{&a, &b}, {&b, &c}, {&c, &d}, {&b, &e}, {&d, &f}, {&e, &g}};
        for (size_t i = 0; i < mSteps.size(); ++i)
        {
            auto const done = prepare(device, mSteps[i], StepRole::kReorder, Place::kDevice, ends[i][0]->data,
                ends[i][1]->data, Layout::kChannelsLast);
            EXPECT_TRUE(done) << (done ? std::string{} : done.error().message);
        }
    }
    Result<Done> run(void* stream)
    {
        std::array<Launch, 6> launches;
        for (size_t i = 0; i < launches.size(); ++i)
            launches[i] = mSteps[i].launch;
        launches[1].isFence = launches[4].isFence = true;
        launches[1].stream = launches[2].stream = 1;
        RunFailure failure;
        TENON_TRY(mDevice.run(launches, {.stream = stream, .fence = mFence.get(), .listener = &mListener}, failure));
        mFence->wait(nullptr);
        return Done{};
    }
    void runAndCompare(void* stream, float from)
    {
        std::vector<float> const first = turnedOnce(filled(mDevice, a, from));
        auto const done = run(stream);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(read(mDevice, f), turnedOnce(turnedTwice(first)));
        EXPECT_EQ(read(mDevice, g), turnedTwice(first));
    }

  private:
    Device& mDevice;
    std::array<OwnStep, 6> mSteps;
    std::unique_ptr<Fence> mFence{mDevice.makeFence()};
    Silent mListener;

  public:
    Owned a{mDevice, false}, b{mDevice, false}, c{mDevice, false}, d{mDevice, false}, e{mDevice, false},
        f{mDevice, false}, g{mDevice, false};
};
} // namespace

//! The fake driver takes what edges allow in one order and in the other by turns: a fence that is missing shows.
TEST_F(Replayed, streamsOfTheStepsAreBranchesOfTheGraph)
{
    Fork fork{device};
    fork.runAndCompare(stream, 1.0F);
    int64_t const before = tenonFakeCallsOf("cuStreamWaitEvent");
    fork.runAndCompare(stream, 2.0F);
    EXPECT_EQ(tenonFakeCallsOf("cuStreamWaitEvent"), before + 2) << "one where the branch begins, one where it ends";
    Counts const made;
    for (float const from : {3.0F, 4.0F, 5.0F, 6.0F})
        fork.runAndCompare(stream, from);
    EXPECT_EQ(Counts{}.graphs, made.graphs + 4);
    EXPECT_EQ(Counts{}.made, made.made);
}

TEST_F(Replayed, onlyWhatHasOneStepInFrontMayOverlapWithIt)
{
    Fork fork{device};
    fork.runAndCompare(stream, 1.0F);
    Counts const before;
    fork.runAndCompare(stream, 2.0F);
    // b → c waits for an event, d → f for two branches; a → b has nothing in front.
    EXPECT_EQ(Counts{}.overlapping, before.overlapping + 3);
}

TEST_F(Replayed, whereNoBranchCanBeRecordedTheStepsRunOneByOne)
{
    for (char const* const call : {"cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"})
    {
        cuda::Replays replays{true};
        Fork fork{device};
        std::array<OwnStep, 2> steps;
        for (size_t i = 0; i < steps.size(); ++i)
            ASSERT_TRUE(prepare(device, steps[i], StepRole::kReorder, Place::kDevice, fork.a.data,
                i == 0 ? fork.b.data : fork.c.data, Layout::kChannelsLast));
        steps[1].launch.stream = 1;
        std::array const launches{steps[0].launch, steps[1].launch};
        cuda::Current const current{fake()};
        EXPECT_FALSE(*replays.launch(fake(), launches, stream, 0)) << "they come for the first time";
        tenonFakeFailAll(call, 1);
        EXPECT_FALSE(*replays.launch(fake(), launches, stream, 0)) << call;
        tenonFakeFailAll(nullptr, 0);
        EXPECT_FALSE(*replays.launch(fake(), launches, stream, 0)) << call << ": what has failed is not tried again";
    }
}

TEST_F(Replayed, graphsGoWithTheirSteps)
{
    Owned const a{device, false};
    Owned const c{device, false};
    for (float const from : {1.0F, 2.0F, 3.0F})
        runAndCompare(a, c, from);
    size_t const graphs = fake().replays().graphs();
    pair = std::make_unique<Pair>(device);
    device.makeFence();
    EXPECT_EQ(fake().replays().graphs(), graphs - 1);
}

TEST_F(Replayed, nothingIsRecordedWhereGraphsAreOff)
{
    cuda::Replays const off{false};
    OwnStep step;
    ASSERT_TRUE(prepare(device, step, StepRole::kReorder, Place::kDevice, b.data, b.data, Layout::kLinear));
    std::array const launches{step.launch, step.launch};
    EXPECT_EQ(off.countFrom(launches), 0U);
    EXPECT_EQ((cuda::Replays{true}.countFrom(launches)), 2U);
    std::array const single{step.launch};
    EXPECT_EQ((cuda::Replays{true}.countFrom(single)), 0U) << "a graph of one step saves nothing";
}

} // namespace tenon::test
