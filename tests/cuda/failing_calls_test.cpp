// Each call of the driver fails once, while a device is used in every way: the failure is told by the call's name,
// nothing is lost, and the next run is as good as ever.
#include "backends/cuda/kernel_table.h"
#include "backends/cuda/modules.h"
#include "cuda/fake_device.h"

#include <gmock/gmock.h>

#include <set>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

//! x to the device, into another layout, to the host, copied there, and back: by a run with a fence on a stream.
Result<Done> useDevice(Device& device, std::vector<float>& out)
{
    void* const stream = TENON_TRY(device.createStream());
    std::shared_ptr<void> const ownStream{stream, [&](void* s) { device.destroyStream(s); }};
    Owned const a{device, false};
    Owned const b{device, false};
    Owned const c{device, true};
    Owned const d{device, true};
    for (void const* const memory : {a.data, b.data, c.data, d.data})
        if (memory == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "cuMemAlloc: no memory");
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i);
    TENON_TRY(device.copyFromHost(a.data, values.data(), kCount * sizeof(float), kApartStream));
    std::array<OwnStep, 4> steps;
    TENON_TRY(prepare(device, steps[0], StepRole::kReorder, Place::kDevice, a.data, b.data, Layout::kChannelsLast));
    TENON_TRY(prepare(device, steps[1], StepRole::kTransfer, Place::kDevice, b.data, c.data, Layout::kLinear));
    TENON_TRY(prepare(device, steps[2], StepRole::kReorder, Place::kHost, c.data, d.data, Layout::kLinear));
    TENON_TRY(prepare(device, steps[3], StepRole::kTransfer, Place::kDevice, d.data, a.data, Layout::kLinear));
    std::vector<Launch> launches;
    for (OwnStep const& step : steps)
        launches.push_back(step.launch);
    Silent listener;
    std::unique_ptr<Fence> const fence = device.makeFence();
    RunFailure failure;
    Result<RunEnd> const end =
        device.run(launches, {.stream = stream, .fence = fence.get(), .listener = &listener}, failure);
    fence->wait(nullptr);
    if (!end)
        return end.error();
    auto const failed = static_cast<cuda::CudaFence&>(*fence).state().failed();
    if (failed)
        return failed->error;
    TENON_TRY(device.run(launches, {.stream = stream}, failure)); // Once more, waited for.
    void* const event = TENON_TRY(device.createEvent());
    std::shared_ptr<void> const ownEvent{event, [&](void* e) { device.destroyEvent(e); }};
    TENON_TRY(device.recordEvent(event, stream));
    TENON_TRY(device.waitEvent(nullptr, event));
    TENON_TRY(device.awaitEvent(event, nullptr));
    TENON_TRY(device.checkStream(stream));
    TENON_TRY(device.checkEvent(event));
    out.resize(kCount);
    return device.copyToHost(out.data(), a.data, kCount * sizeof(float), stream);
}

//! Twice from rows to channels last: the first time from [6, 4] to [4, 6], the second from there again.
std::vector<float> expectedResult()
{
    std::vector<float> values(kCount);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i);
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
} // namespace

TEST(FailingCalls, areToldByNameAndLeaveNothingBehind)
{
    std::vector<float> out;
    auto const first = useDevice(fake(), out);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(out, expectedResult());
    int64_t const objects = tenonFakeObjects();
    // What goes back to the driver cannot be had back, contexts and events of fences are asked for again, and a stream
    // that does not say so is not captured.
    std::set<std::string> const silent{"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
        "cuThreadExchangeStreamCaptureMode", "cuMemFree_v2", "cuMemFreeHost", "cuEventDestroy_v2", "cuStreamDestroy_v2",
        "cuStreamIsCapturing", "cuEventCreate",
        // Where no graph can be made, the steps run one by one.
        "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphDestroy",
        "cuGraphExecDestroy", "cuGraphExecUpdate_v2"};
    std::set<std::string> seen;
    std::set<std::string> told;
    int64_t lost{0};
    // How often a wait asks depends on the machine: the end is where many runs in a row have no such call any more.
    constexpr int32_t kEnough{32};
    int32_t shorter{0};
    for (int64_t nth = 1; shorter < kEnough; ++nth)
    {
        tenonFakeFailCall(nth, 1);
        auto const done = useDevice(fake(), out);
        std::string const failed = tenonFakeFailed();
        tenonFakeFailCall(0, 0);
        tenonFakeDrain();
        if (failed.empty())
        {
            ++shorter;
            continue;
        }
        shorter = 0;
        seen.insert(failed);
        bool const mayBeSilent = silent.contains(failed);
        if (!done)
        {
            told.insert(failed);
            EXPECT_THAT(done.error().message, HasSubstr("cu")) << failed;
        }
        else if (!mayBeSilent) // While steps were recorded: they have run one by one.
        {
            EXPECT_EQ(out, expectedResult()) << failed << " failed, and nobody said so";
        }
        for (char const* const word : {"Free", "Destroy", "Ctx"})
            lost += failed.find(word) != std::string::npos ? 1 : 0;
        void* left{nullptr};
        while (failed == "cuCtxPopCurrent_v2" && fake().api().cuCtxPopCurrent_v2(&left) == 0) // Of this thread's.
        {
        }
        auto const again = useDevice(fake(), out);
        ASSERT_TRUE(again) << "after " << failed << ": " << again.error().message;
        EXPECT_EQ(out, expectedResult()) << "after " << failed;
        ASSERT_LE(tenonFakeObjects(), objects + lost + 2) << "after " << failed; // Fences of waited runs are kept.
    }
    EXPECT_GT(seen.size(), 20U);
    for (std::string const call : {"cuLaunchKernel", "cuLaunchHostFunc", "cuMemcpyAsync", "cuEventRecord",
             "cuMemAlloc_v2", "cuStreamCreate", "cuStreamSynchronize"})
        EXPECT_TRUE(told.contains(call)) << call;
}

//! Asks for the run that has failed while it is told so, as a logger may that asks its context.
struct Asking final : RunListener
{
    Error failed(RunFailure const& failure) override
    {
        ++count;
        wasOver = fence->isOver() && fence->wait(nullptr);
        hadFailed = static_cast<cuda::CudaFence const&>(*fence).state().failed().has_value();
        return failure.error;
    }

    Fence const* fence{nullptr};
    int32_t count{0};
    bool wasOver{false};
    bool hadFailed{false};
};

TEST(FailingCalls, aListenerMayAskForTheRunThatHasFailed)
{
    constexpr int kUnknown{999};
    Owned const a{fake(), false};
    Owned const b{fake(), false};
    OwnStep step;
    auto const prepared =
        prepare(fake(), step, StepRole::kReorder, Place::kDevice, a.data, b.data, Layout::kChannelsLast);
    ASSERT_TRUE(prepared) << prepared.error().message;
    auto const stream = fake().createStream();
    ASSERT_TRUE(stream);
    Asking listener;
    std::unique_ptr<Fence> const fence = fake().makeFence();
    listener.fence = fence.get();
    RunFailure failure;
    ASSERT_TRUE(
        fake().run({&step.launch, 1}, {.stream = *stream, .fence = fence.get(), .listener = &listener}, failure));
    tenonFakeFailAll("cuEventQuery", kUnknown);
    EXPECT_TRUE(fence->isOver());
    tenonFakeFailAll(nullptr, 0);
    EXPECT_EQ(listener.count, 1);
    EXPECT_TRUE(listener.wasOver);
    EXPECT_TRUE(listener.hadFailed);
    fake().destroyStream(*stream);
}

TEST(FailingCalls, afterAStickyErrorTheDeviceSaysSoOnEveryCall)
{
    auto* const device = new CudaDevice{fake().api(), 0}; // Modules of it are kept until the process ends.
    for (cuda::KernelFile const& file : cuda::allKernelFiles())
        device->add(file.kernels);
    std::vector<float> values(4);
    void* const memory = device->allocate(16);
    constexpr int kIllegalAddress{700};
    tenonFakeFailAll("cuMemcpyAsync", kIllegalAddress);
    auto const first = device->copyFromHost(memory, values.data(), 16, kApartStream);
    tenonFakeFailAll(nullptr, 0);
    ASSERT_FALSE(first);
    EXPECT_THAT(first.error().message, HasSubstr("cuMemcpyAsync: CUDA_ERROR_ILLEGAL_ADDRESS"));
    auto const later = device->copyFromHost(memory, values.data(), 16, kApartStream);
    ASSERT_FALSE(later);
    EXPECT_THAT(later.error().message, HasSubstr("nothing runs there any more in this process"));
    EXPECT_FALSE(device->createStream());
    EXPECT_FALSE(device->load({.kernel = "reorder"}));
    RunFailure failure;
    EXPECT_FALSE(device->run({}, {.stream = kApartStream}, failure));
    EXPECT_EQ(device->allocate(16), nullptr);
    device->release(memory);
}

TEST(CudaAddresses, memoryOfTheHostIsRefusedByAMessageThatNamesDeviceAndKnob)
{
    float local{0.0F};
    auto const refused = fake().checkAddress(&local, {4, false});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("device cuda needs memory of the GPU"));
    EXPECT_THAT(refused.error().message, HasSubstr("TENON_DEVICE=cpu"));
    EXPECT_TRUE(fake().checkAddress(&local, {4, true}));
    Owned const memory{fake(), false};
    EXPECT_TRUE(fake().checkAddress(memory.data, {4, false}));
    EXPECT_FALSE(fake().checkAddress(memory.data, {4, true}));
    Owned const pinned{fake(), true};
    EXPECT_TRUE(fake().checkAddress(pinned.data, {4, false}));
    auto const other = cudaWithKernels(1).checkAddress(memory.data, {4, false});
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("memory of GPU 0, and the engine runs on GPU 1"));
}

TEST(CudaContexts, theThreadsOwnContextIsThereAfterEachCall)
{
    cuda::DriverApi const& api = fake().api();
    auto& second = static_cast<CudaDevice&>(cudaWithKernels(1));
    EXPECT_EQ(currentCuda(), std::nullopt);
    ASSERT_EQ(api.cuCtxPushCurrent_v2(second.context()), 0);
    EXPECT_EQ(currentCuda(), 1);
    std::vector<float> out;
    EXPECT_TRUE(useDevice(fake(), out));
    void* current{nullptr};
    ASSERT_EQ(api.cuCtxGetCurrent(&current), 0);
    EXPECT_EQ(current, second.context());
    ASSERT_EQ(api.cuCtxPopCurrent_v2(&current), 0);
    ASSERT_EQ(api.cuCtxGetCurrent(&current), 0);
    EXPECT_EQ(current, nullptr);
}

TEST(CudaStreams, ofAnotherGpuAreRefusedByName)
{
    void* const stream = *cudaWithKernels(1).createStream();
    auto const refused = fake().checkStream(stream);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("belongs to another GPU"));
    cudaWithKernels(1).destroyStream(stream);
}

TEST(CudaDriver, whatIsMissingIsSaid)
{
    auto const none = cuda::openDriver("libnot-there.so.1");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("no NVIDIA driver"));
    auto const other = cuda::openDriver("libm.so.6");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("it lacks cuInit"));
}

} // namespace tenon::test
