// The contract of devices: memory, addresses and copies.
#include "contract/device_case.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

using Memory = Contract;

std::vector<void*> streamsOf(void* own)
{
    return {kApartStream, nullptr, own};
}
} // namespace

TEST_P(Memory, isAlignedAndGivenBack)
{
    size_t const alignment = mDevice.alignment();
    EXPECT_EQ(alignment & (alignment - 1), 0U);
    EXPECT_EQ(mDevice.userAlignment() & (mDevice.userAlignment() - 1), 0U);
    EXPECT_LE(mDevice.userAlignment(), alignment);
    std::vector<void*> all;
    for (size_t const bytes : {1, 63, 64, 1000, 4096, 3 << 20})
    {
        all.push_back(mDevice.allocate(bytes));
        ASSERT_NE(all.back(), nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back()) % alignment, 0U);
    }
    for (void* const memory : all)
        mDevice.release(memory);
}

TEST_P(Memory, isNullWhenThereIsNotEnough)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers own malloc, and end the process for so much";
#endif
    EXPECT_EQ(mDevice.allocate(size_t{1} << 58), nullptr);
}

TEST_P(Memory, addressesAreChecked)
{
    DeviceMemoryOf const memory{mDevice, 256};
    auto* const start = static_cast<char*>(memory.data());
    EXPECT_OK(mDevice.checkAddress(start, {4}));
    EXPECT_OK(mDevice.checkAddress(nullptr, {4}));
    auto const odd = mDevice.checkAddress(start + 2, {4});
    ASSERT_FALSE(odd);
    EXPECT_THAT(odd.error().message, HasSubstr("4 bytes"));
}

TEST_P(Memory, copiesKeepEveryByte)
{
    for (void* const stream : streamsOf(mStream))
        for (size_t const count : {1, 17, 4096, 100'003})
        {
            std::vector<float> const values = randomFloats(count, static_cast<uint32_t>(count));
            size_t const bytes = count * sizeof(float);
            DeviceMemoryOf const a{mDevice, bytes};
            DeviceMemoryOf const b{mDevice, bytes};
            std::vector<float> back(count);
            EXPECT_OK(mDevice.copyFromHost(a.data(), values.data(), bytes, stream));
            EXPECT_OK(mDevice.copyOnDevice(b.data(), a.data(), bytes, stream));
            EXPECT_OK(mDevice.copyToHost(back.data(), b.data(), bytes, stream));
            EXPECT_EQ(back, values);
        }
}

TEST_P(Memory, copiesOfNothingTouchNoAddress)
{
    for (void* const stream : streamsOf(mStream))
    {
        EXPECT_OK(mDevice.copyFromHost(nullptr, nullptr, 0, stream));
        EXPECT_OK(mDevice.copyOnDevice(nullptr, nullptr, 0, stream));
        EXPECT_OK(mDevice.copyToHost(nullptr, nullptr, 0, stream));
    }
}

TEST_P(Memory, aCopyComesAfterWhatStandsInItsStream)
{
    constexpr size_t kCount{1000};
    std::vector<float> const a = randomFloats(kCount, 1);
    std::vector<float> const b = randomFloats(kCount, 2);
    DeviceMemoryOf const first{mDevice, a};
    DeviceMemoryOf const second{mDevice, b};
    DeviceMemoryOf const sum{mDevice, randomFloats(kCount, 3)};
    Step step = sumOf(GetParam(), kCount);
    Launch const launch = step.launch({first.data(), second.data()}, {sum.data()}, 0);
    auto const fence = mDevice.makeFence();
    Listener listener;
    Held held{GetParam(), mStream};
    RunFailure failure;
    EXPECT_OK(mDevice.run({&launch, 1}, {.stream = mStream, .fence = fence.get(), .listener = &listener}, failure));
    std::atomic<bool> isCopied{false};
    std::vector<float> back(kCount);
    std::thread copying{[&] {
        EXPECT_OK(mDevice.copyToHost(back.data(), sum.data(), kCount * sizeof(float), mStream));
        isCopied = true;
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_FALSE(isCopied);
    held.open();
    copying.join();
    for (size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(back[i], a[i] + b[i]);
    EXPECT_TRUE(fence->wait(nullptr));
}

INSTANTIATE_TEST_SUITE_P(Devices, Memory, testing::ValuesIn(deviceCases()), nameOfCase);

} // namespace tenon::test
