// The contract of devices: streams, events, and what is asked of them.
#include "contract/device_case.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

class Streams : public Contract
{
  protected:
    Streams()
    {
        auto event = mDevice.createEvent();
        EXPECT_OK(event);
        mEvent = event ? *event : nullptr;
    }
    ~Streams() override
    {
        mDevice.destroyEvent(mEvent);
    }

    //! Whether the event is over now.
    bool isOver()
    {
        ContinueCheck const never = [] { return false; };
        auto const over = mDevice.awaitEvent(mEvent, &never);
        EXPECT_OK(over);
        return over && *over;
    }

    void* mEvent{nullptr};
};
} // namespace

TEST_P(Streams, unknownHandlesAreRefusedByName)
{
    for (void* const known : std::initializer_list<void*>{nullptr, reinterpret_cast<void*>(1), mStream})
        EXPECT_OK(mDevice.checkStream(known));
    EXPECT_OK(mDevice.checkEvent(mEvent));
    EXPECT_FALSE(mDevice.checkStream(kApartStream)); // Not the user's to name.
    auto* const small = reinterpret_cast<void*>(24); // No program has anything there.
    auto const refused = mDevice.checkStream(small);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("{}", static_cast<void const*>(small))));
    EXPECT_FALSE(mDevice.checkEvent(small));
    EXPECT_FALSE(mDevice.checkEvent(nullptr));
    if (!GetParam().knowsHandles)
        GTEST_SKIP() << "the driver takes any other address for a handle and reads there";
    int local{0};
    auto const stream = mDevice.checkStream(&local);
    ASSERT_FALSE(stream);
    EXPECT_THAT(stream.error().message, HasSubstr(fmt::format("{}", static_cast<void const*>(&local))));
    EXPECT_FALSE(mDevice.checkEvent(&local));
}

TEST_P(Streams, aDestroyedStreamIsNoStreamAnyMore)
{
    if (!GetParam().knowsHandles)
        GTEST_SKIP() << "the driver reads where the stream was";
    void* const stream = *mDevice.createStream();
    mDevice.destroyStream(stream);
    EXPECT_FALSE(mDevice.checkStream(stream));
}

TEST_P(Streams, anEventThatWasNeverRecordedIsOver)
{
    EXPECT_TRUE(isOver());
}

TEST_P(Streams, anEventIsOverWhenWhatStoodBeforeItIs)
{
    Held held{GetParam(), mStream};
    EXPECT_OK(mDevice.recordEvent(mEvent, mStream));
    EXPECT_FALSE(isOver());
    held.open();
    EXPECT_OK(mDevice.awaitEvent(mEvent, nullptr));
    EXPECT_TRUE(isOver());
}

TEST_P(Streams, aStreamWaitsForAnEventOfAnother)
{
    constexpr size_t kCount{257};
    void* const other = *mDevice.createStream();
    DeviceMemoryOf const a{mDevice, randomFloats(kCount, 4)};
    std::vector<float> const before = randomFloats(kCount, 5);
    DeviceMemoryOf const out{mDevice, before};
    Step step = sumOf(GetParam(), kCount);
    Launch const launch = step.launch({a.data(), a.data()}, {out.data()}, 0);
    auto const fence = mDevice.makeFence();
    Listener listener;
    RunFailure failure;
    Held held{GetParam(), mStream};
    EXPECT_OK(mDevice.recordEvent(mEvent, mStream));
    EXPECT_OK(mDevice.waitEvent(other, mEvent));
    EXPECT_OK(mDevice.run({&launch, 1}, {.stream = other, .fence = fence.get(), .listener = &listener}, failure));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_FALSE(fence->isOver());
    EXPECT_EQ(out.read(kCount), before);
    held.open();
    EXPECT_TRUE(fence->wait(nullptr));
    EXPECT_NE(out.read(kCount), before);
    mDevice.destroyStream(other);
}

TEST_P(Streams, noThreadOfTheProgramDoesAStreamsWork)
{
    EXPECT_FALSE(mDevice.isWorking());
    EXPECT_FALSE(mDevice.isCapturing(mStream));
    EXPECT_FALSE(mDevice.isCapturing(kApartStream));
}

INSTANTIATE_TEST_SUITE_P(Devices, Streams, testing::ValuesIn(deviceCases()), nameOfCase);

} // namespace tenon::test
