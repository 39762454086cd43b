// The contract of devices: runs, fences, failures, observers and captures.
#include "contract/device_case.h"
#include "device/reaper.h"

#include <chrono>
#include <cmath>
#include <thread>

namespace tenon::test
{

namespace
{
constexpr size_t kCount{1031};

//! Drivers let go of what graphs hold in a thread of their own, some time later, and have no call that waits for it.
bool goesSoon(std::weak_ptr<int> const& watched)
{
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!watched.expired() && std::chrono::steady_clock::now() < end)
    {
        awaitRetired();
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return watched.expired();
}

//! x, x + y, (x + y) + y …: each step reads what the one before wrote.
class Chain
{
  public:
    Chain(DeviceCase const& device, size_t length, uint32_t seed)
        : x{randomFloats(kCount, seed)},
          y{randomFloats(kCount, seed + 1)},
          step{sumOf(device, kCount)}
    {
        Device& own = device.device();
        mMemory.push_back(std::make_unique<DeviceMemoryOf>(own, x));
        mY = std::make_unique<DeviceMemoryOf>(own, y);
        for (size_t i = 0; i < length; ++i)
        {
            void const* const from = mMemory.back()->data();
            mMemory.push_back(std::make_unique<DeviceMemoryOf>(own, randomFloats(kCount, kBefore)));
            launches.push_back(step.launch({from, mY->data()}, {mMemory.back()->data()}, static_cast<int32_t>(10 + i)));
        }
    }
    //! Whether step `at` has written its result.
    bool isDone(size_t at) const
    {
        std::vector<float> const got = mMemory[at + 1]->read(kCount);
        for (size_t i = 0; i < kCount; ++i)
        {
            float want = x[i];
            for (size_t k = 0; k <= at; ++k)
                want += y[i];
            if (got[i] != want)
                return false;
        }
        return true;
    }
    bool isDone() const
    {
        return isDone(launches.size() - 1);
    }
    //! Whether nobody has written where step `at` does.
    bool isUntouched(size_t at) const
    {
        return mMemory[at + 1]->read(kCount) == randomFloats(kCount, kBefore);
    }

    std::vector<float> x;
    std::vector<float> y;
    Step step;
    std::vector<Launch> launches;

  private:
    static constexpr uint32_t kBefore{99};

    std::vector<std::unique_ptr<DeviceMemoryOf>> mMemory;
    std::unique_ptr<DeviceMemoryOf> mY;
};

class Runs : public Contract
{
  protected:
    Runs()
        : mFence{mDevice.makeFence()}
    {
    }
    ~Runs() override
    {
        EXPECT_TRUE(mFence->wait(nullptr));
    }
    RunOptions later()
    {
        return {.stream = mStream, .fence = mFence.get(), .listener = &mListener};
    }
    //! A launch that fails when it runs.
    Launch failing(int32_t position)
    {
        if (mAssertion == nullptr)
        {
            mAssertion = std::make_unique<Step>(assertionOf(GetParam(), 4));
            mFalse = std::make_unique<DeviceMemoryOf>(mDevice, sizeof(kValues));
            EXPECT_OK(mDevice.copyFromHost(mFalse->data(), kValues, sizeof(kValues), kApartStream));
        }
        return mAssertion->launch({mAssertion->place() == Place::kHost ? kValues : mFalse->data()}, {}, position);
    }

    static constexpr uint8_t kValues[]{1, 1, 0, 1};

    std::unique_ptr<Fence> mFence;
    Listener mListener;
    RunFailure mFailure;
    std::unique_ptr<Step> mAssertion;
    std::unique_ptr<DeviceMemoryOf> mFalse;
};
} // namespace

TEST_P(Runs, withoutAFenceAreDoneWhenTheyReturn)
{
    for (void* const stream : {kApartStream, static_cast<void*>(nullptr), mStream})
    {
        Chain const chain{GetParam(), 5, 7};
        auto const end = mDevice.run(chain.launches, {.stream = stream}, mFailure);
        ASSERT_TRUE(end) << end.error().message;
        EXPECT_EQ(*end, RunEnd::kDone);
        EXPECT_TRUE(chain.isDone());
    }
}

//! The same steps come again and again, as trials of networks have it: one by one, then as whatever the device makes.
TEST_P(Runs, thatAreTimedAsAWholeAreDoneAndSayHowLong)
{
    Chain const chain{GetParam(), 5, 8};
    for (int32_t turn = 0; turn < 4; ++turn)
    {
        double microseconds{-1.0};
        auto const end = mDevice.run(chain.launches, {.stream = kApartStream, .elapsed = &microseconds}, mFailure);
        ASSERT_TRUE(end) << end.error().message;
        EXPECT_EQ(*end, RunEnd::kDone);
        EXPECT_GE(microseconds, 0.0);
        EXPECT_TRUE(chain.isDone());
    }
}

TEST_P(Runs, aFailureOfARunThatIsTimedIsItsAnswer)
{
    Chain chain{GetParam(), 2, 14};
    chain.launches.insert(chain.launches.begin() + 1, failing(5));
    RunFailure failure;
    double microseconds{-1.0};
    auto const end = mDevice.run(chain.launches, {.stream = kApartStream, .elapsed = &microseconds}, failure);
    ASSERT_FALSE(end);
    EXPECT_EQ(failure.step, 5);
    EXPECT_NE(end.error().message.find("it is false"), std::string::npos) << end.error().message;
    EXPECT_TRUE(chain.isUntouched(1));
}

TEST_P(Runs, aFenceIsOverWhenTheWorkIs)
{
    Chain const chain{GetParam(), 6, 8};
    EXPECT_TRUE(mFence->isOver());
    Held held{GetParam(), mStream};
    auto const end = mDevice.run(chain.launches, later(), mFailure);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, RunEnd::kLater);
    EXPECT_FALSE(mFence->isOver());
    EXPECT_TRUE(chain.isUntouched(0));
    int asked{0};
    ContinueCheck const twice = [&] { return ++asked < 2; };
    EXPECT_FALSE(mFence->wait(&twice));
    EXPECT_EQ(asked, 2);
    held.open();
    EXPECT_TRUE(mFence->wait(nullptr));
    EXPECT_TRUE(mFence->isOver());
    EXPECT_TRUE(chain.isDone());
    EXPECT_TRUE(mListener.steps().empty());
}

TEST_P(Runs, aFenceServesOneRunAfterTheOther)
{
    Chain const chain{GetParam(), 3, 9};
    for (int i = 0; i < 50; ++i)
    {
        ASSERT_TRUE(mDevice.run(chain.launches, later(), mFailure));
        ASSERT_TRUE(mFence->wait(nullptr));
    }
    EXPECT_TRUE(chain.isDone());
}

TEST_P(Runs, aRunInTwoPartsIsOverWithTheSecond)
{
    Chain const chain{GetParam(), 4, 10};
    std::span<Launch const> const all{chain.launches};
    Held held{GetParam(), mStream};
    ASSERT_TRUE(mDevice.run(all.first(2), later(), mFailure));
    RunOptions second = later();
    second.isContinued = true;
    ASSERT_TRUE(mDevice.run(all.subspan(2), second, mFailure));
    EXPECT_FALSE(mFence->isOver());
    held.open();
    EXPECT_TRUE(mFence->wait(nullptr));
    EXPECT_TRUE(chain.isDone());
}

TEST_P(Runs, aFailureIsToldOnceAndEndsTheRun)
{
    Chain chain{GetParam(), 3, 11};
    chain.launches.insert(chain.launches.begin() + 1, failing(77));
    std::span<Launch const> const all{chain.launches};
    {
        Held held{GetParam(), mStream};
        ASSERT_TRUE(mDevice.run(all.first(3), later(), mFailure));
        RunOptions second = later();
        second.isContinued = true;
        ASSERT_TRUE(mDevice.run(all.subspan(3), second, mFailure));
        held.open();
        EXPECT_TRUE(mFence->wait(nullptr));
    }
    EXPECT_EQ(mListener.steps(), std::vector<int32_t>{77});
    EXPECT_TRUE(chain.isDone(0));
    EXPECT_TRUE(chain.isUntouched(1)); // Behind it in the same part.
    EXPECT_TRUE(chain.isUntouched(2)); // In the part that goes on with the run.
    Chain const next{GetParam(), 2, 12};
    ASSERT_TRUE(mDevice.run(next.launches, later(), mFailure)); // Another run is none of it.
    EXPECT_TRUE(mFence->wait(nullptr));
    EXPECT_TRUE(next.isDone());
}

TEST_P(Runs, aFailureOfARunThatIsWaitedForIsItsAnswer)
{
    for (void* const stream : {kApartStream, static_cast<void*>(nullptr), mStream})
    {
        Chain chain{GetParam(), 2, 13};
        chain.launches.insert(chain.launches.begin() + 1, failing(5));
        RunFailure failure;
        auto const end = mDevice.run(chain.launches, {.stream = stream}, failure);
        ASSERT_FALSE(end);
        EXPECT_EQ(failure.step, 5);
        EXPECT_NE(end.error().message.find("it is false"), std::string::npos) << end.error().message;
        EXPECT_TRUE(chain.isDone(0));
        EXPECT_TRUE(chain.isUntouched(1));
    }
}

TEST_P(Runs, areDroppedWhenNobodyWaitsForTheirTurn)
{
    Chain const chain{GetParam(), 2, 14};
    Held held{GetParam(), mStream};
    ContinueCheck const never = [] { return false; };
    auto const end = mDevice.run(chain.launches, {.stream = mStream, .mayContinue = &never}, mFailure);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, RunEnd::kDropped);
    held.open();
    EXPECT_OK(awaitStream());
    EXPECT_TRUE(chain.isUntouched(0));
}

TEST_P(Runs, observersSeeEachStepWithItsTimeAndMayStop)
{
    for (void* const stream : {kApartStream, static_cast<void*>(nullptr), mStream})
    {
        Chain const chain{GetParam(), 4, 15};
        std::vector<int32_t> seen;
        bool areTimes{true};
        StepObserver const observer = [&](Launch const& launch, double microseconds) {
            seen.push_back(launch.step);
            areTimes = areTimes && std::isfinite(microseconds) && microseconds >= 0.0;
            return seen.size() < 3;
        };
        EXPECT_OK(mDevice.run(chain.launches, {.stream = stream, .observer = &observer}, mFailure));
        EXPECT_EQ(seen, (std::vector<int32_t>{10, 11, 12}));
        EXPECT_TRUE(areTimes);
        EXPECT_TRUE(chain.isDone(2));
        EXPECT_TRUE(chain.isUntouched(3));
    }
}

TEST_P(Runs, aRecordingRunsWhenItIsLaunchedAndKeepsWhatItNeeds)
{
    Chain const chain{GetParam(), 3, 16};
    auto kept = std::make_shared<int>(1);
    std::weak_ptr<int> const watched = kept;
    ASSERT_TRUE(GetParam().beginCapture(mStream));
    EXPECT_TRUE(mDevice.isCapturing(mStream));
    RunOptions options{.stream = mStream, .listener = &mListener, .keeper = std::move(kept)};
    auto const end = mDevice.run(chain.launches, options, mFailure);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, RunEnd::kLater);
    options.keeper.reset();
    auto const executable = GetParam().endCapture(mStream);
    ASSERT_TRUE(executable) << executable.error().message;
    EXPECT_TRUE(chain.isUntouched(0));
    for (int i = 0; i < 3; ++i)
        EXPECT_OK(GetParam().launch(*executable, mStream));
    EXPECT_OK(awaitStream());
    EXPECT_TRUE(chain.isDone());
    EXPECT_FALSE(watched.expired());
    EXPECT_OK(GetParam().destroy(*executable));
    EXPECT_TRUE(goesSoon(watched));
}

TEST_P(Runs, withoutAKeeperCannotBeCaptured)
{
    Chain const chain{GetParam(), 1, 17};
    ASSERT_TRUE(GetParam().beginCapture(mStream));
    EXPECT_FALSE(mDevice.run(chain.launches, later(), mFailure));
    EXPECT_FALSE(mDevice.run(chain.launches, {.stream = mStream}, mFailure));
    EXPECT_TRUE(mFence->isOver());
    if (auto const executable = GetParam().endCapture(mStream))
        EXPECT_OK(GetParam().destroy(*executable));
}

TEST_P(Runs, apartNeitherWaitForAHeldStreamNorSpoilACapture)
{
    Chain const chain{GetParam(), 2, 18};
    Held held{GetParam(), mStream};
    void* const captured = *mDevice.createStream();
    ASSERT_TRUE(GetParam().beginCapture(captured));
    EXPECT_OK(mDevice.run(chain.launches, {.stream = kApartStream}, mFailure));
    EXPECT_TRUE(chain.isDone());
    auto const executable = GetParam().endCapture(captured);
    ASSERT_TRUE(executable) << executable.error().message;
    EXPECT_OK(GetParam().destroy(*executable));
    mDevice.destroyStream(captured);
}

INSTANTIATE_TEST_SUITE_P(Devices, Runs, testing::ValuesIn(deviceCases()), nameOfCase);

} // namespace tenon::test
