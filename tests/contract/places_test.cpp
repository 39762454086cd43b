// The contract of devices: memory of the host that they give, and steps of the host in the order of a stream.
#include "base/step_role.h"
#include "contract/device_case.h"

#include <array>
#include <cstring>

namespace tenon::test
{

namespace
{
constexpr int64_t kElements{1031};

//! Memory of the host from a device.
class HostMemoryOf
{
  public:
    explicit HostMemoryOf(Device& device)
        : mDevice{device},
          mData{static_cast<float*>(device.allocateHost(kElements * sizeof(float)))}
    {
        EXPECT_NE(mData, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(mData) % static_cast<size_t>(Device::kHostAlignment), 0U);
        std::fill_n(mData, kElements, -1.0F);
    }
    ~HostMemoryOf()
    {
        mDevice.releaseHost(mData);
    }
    HostMemoryOf(HostMemoryOf const&) = delete;
    HostMemoryOf& operator=(HostMemoryOf const&) = delete;
    float* data() const noexcept
    {
        return mData;
    }

  private:
    Device& mDevice;
    float* mData;
};

//! One of the planner's own steps from one tensor to another of the same type.
class CopyStep
{
  public:
    CopyStep(Device& device, StepRole role, Place place, void const* from, void* to)
        : mFrom{from},
          mTo{to}
    {
        KernelSource const source{
            .kernel = kernelOf(role), .args = {}, .weights = {{}}, .layer = "a copy", .place = place};
        auto kernel = device.load(source);
        EXPECT_OK(kernel);
        if (!kernel)
            return;
        mKernel = *std::move(kernel);
        TensorArg const arg{DType::kFLOAT, Layout::kLinear, {kElements}};
        auto prepared = mKernel->prepare({&arg, 1}, {&arg, 1}, 1);
        EXPECT_OK(prepared);
        mPrepared = prepared ? *prepared : nullptr;
        launch.prepared = mPrepared.get();
        launch.call = {&mFrom, &mTo, nullptr, nullptr};
        launch.inputCount = 1;
        launch.outputCount = 1;
        launch.touchesHost = true;
        launch.place = place;
    }
    CopyStep(CopyStep const&) = delete;
    CopyStep& operator=(CopyStep const&) = delete;

    Launch launch;

  private:
    std::unique_ptr<Kernel> mKernel;
    std::shared_ptr<Prepared const> mPrepared;
    void const* mFrom;
    void* mTo;
};

using Places = Contract;
} // namespace

TEST_P(Places, stepsOfTheHostTakeTheirTurnBetweenThoseOfTheDevice)
{
    std::vector<float> const values = randomFloats(kElements, 11);
    DeviceMemoryOf const x{mDevice, values};
    DeviceMemoryOf const y{mDevice, randomFloats(kElements, 12)};
    HostMemoryOf const brought{mDevice};
    HostMemoryOf const copied{mDevice};
    CopyStep const down{mDevice, StepRole::kTransfer, Place::kDevice, x.data(), brought.data()};
    CopyStep const there{mDevice, StepRole::kReorder, Place::kHost, brought.data(), copied.data()};
    CopyStep const up{mDevice, StepRole::kTransfer, Place::kDevice, copied.data(), y.data()};
    std::array const launches{down.launch, there.launch, up.launch};
    std::unique_ptr<Fence> const fence = mDevice.makeFence();
    Listener listener;
    RunFailure failure;
    {
        Held held{GetParam(), mStream};
        auto const end =
            mDevice.run(launches, {.stream = mStream, .fence = fence.get(), .listener = &listener}, failure);
        EXPECT_OK(end);
        EXPECT_EQ(brought.data()[0], -1.0F); // Nothing has run.
        EXPECT_EQ(copied.data()[0], -1.0F);
    }
    EXPECT_TRUE(fence->wait(nullptr));
    EXPECT_TRUE(listener.steps().empty());
    EXPECT_EQ(std::memcmp(brought.data(), values.data(), kElements * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(copied.data(), values.data(), kElements * sizeof(float)), 0);
    EXPECT_EQ(y.read(kElements), values);
}

TEST_P(Places, memoryOfTheHostGoesAcrossByCopies)
{
    std::vector<float> const values = randomFloats(kElements, 13);
    HostMemoryOf const from{mDevice};
    HostMemoryOf const to{mDevice};
    std::ranges::copy(values, from.data());
    DeviceMemoryOf const memory{mDevice, randomFloats(kElements, 14)};
    for (void* const stream : {kApartStream, static_cast<void*>(nullptr), mStream})
    {
        std::fill_n(to.data(), kElements, -1.0F);
        EXPECT_OK(mDevice.copyFromHost(memory.data(), from.data(), kElements * sizeof(float), stream));
        EXPECT_OK(mDevice.copyToHost(to.data(), memory.data(), kElements * sizeof(float), stream));
        EXPECT_EQ(std::memcmp(to.data(), values.data(), kElements * sizeof(float)), 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, Places, testing::ValuesIn(deviceCases()), nameOfCase);

} // namespace tenon::test
