// CudaDevice: streams and events, of its own and of whoever else uses the GPU.
#include "device/cuda/cuda_device.h"

#include <thread>

namespace tenon
{

namespace cuda
{

namespace
{
//! Of the innermost one in this thread that did something: those within have nothing to do, unless a callback of the
//! user's has made another context current.
thread_local CudaDevice const* gCurrent{nullptr};
} // namespace

Current::Current(CudaDevice const& device) noexcept
    : mApi{device.api()},
      mOuter{gCurrent}
{
    if (device.context() == nullptr)
        return;
    void* before{nullptr};
    bool const isThere = mApi.cuCtxGetCurrent(&before) == kSuccess && before == device.context();
    if (isThere && gCurrent == &device)
        return;
    gCurrent = &device;
    mIsCurrent = true;
    if (!isThere)
        mIsPushed = mApi.cuCtxPushCurrent_v2(device.context()) == kSuccess;
    mIsRelaxed = mApi.cuThreadExchangeStreamCaptureMode(&mMode) == kSuccess;
}

Current::~Current()
{
    if (!mIsCurrent)
        return;
    gCurrent = mOuter;
    if (mIsRelaxed)
        static_cast<void>(mApi.cuThreadExchangeStreamCaptureMode(&mMode));
    void* ours{nullptr};
    if (mIsPushed)
        static_cast<void>(mApi.cuCtxPopCurrent_v2(&ours));
}

} // namespace cuda

namespace
{
//! Legacy default stream by either name, and the one per thread.
bool isDefaultStream(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) <= 2;
}

//! Nothing of a program's is in its first page. Other addresses the driver takes for handles, and reads there.
bool isNoHandle(void const* handle) noexcept
{
    return reinterpret_cast<uintptr_t>(handle) < 4096;
}

//! What the driver answers about events and streams that are captured; their handles are good.
bool isOfCapture(cuda::Code code) noexcept
{
    return code >= 900 && code <= 908;
}
} // namespace

void* CudaDevice::streamOf(void* stream) const noexcept
{
    return stream == kApartStream ? mApart : stream;
}

Result<void*> CudaDevice::createStream()
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    void* stream{nullptr};
    TENON_CUDA_TRY(mApi, cuStreamCreate, &stream, cuda::kStreamNonBlocking);
    return stream;
}

void CudaDevice::destroyStream(void* stream) noexcept
{
    cuda::Current const current{*this};
    static_cast<void>(mApi.cuStreamDestroy_v2(stream));
}

Result<Done> CudaDevice::checkStream(void const* stream) const
{
    TENON_TRY(alive());
    if (isDefaultStream(stream))
        return Done{};
    if (stream == kApartStream || isNoHandle(stream))
        return badArgument("{} is no stream of the user's", stream);
    cuda::Current const current{*this};
    void* context{nullptr};
    cuda::Code const code = mApi.cuStreamGetCtx(const_cast<void*>(stream), &context);
    if (code != cuda::kSuccess && !isOfCapture(code))
        return badArgument("{} is no stream of CUDA: {}", stream, errorFrom(mApi, code, "cuStreamGetCtx").message);
    if (code == cuda::kSuccess && context != mContext)
        return badArgument("stream {} belongs to another GPU or another context than the engine, which runs on GPU {}",
            stream, mIndex);
    return Done{};
}

Result<void*> CudaDevice::createEvent()
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    void* event{nullptr};
    TENON_CUDA_TRY(mApi, cuEventCreate, &event, cuda::kEventDisableTiming);
    return event;
}

void CudaDevice::destroyEvent(void* event) noexcept
{
    cuda::Current const current{*this};
    static_cast<void>(mApi.cuEventDestroy_v2(event));
}

Result<Done> CudaDevice::checkEvent(void const* event) const
{
    TENON_TRY(alive());
    if (isNoHandle(event))
        return badArgument("{} is no event of the user's", event);
    cuda::Current const current{*this};
    cuda::Code const code = mApi.cuEventQuery(const_cast<void*>(event));
    if (code != cuda::kSuccess && code != cuda::kNotReady && !isOfCapture(code))
        return badArgument("{} is no event of CUDA: {}", event, errorFrom(mApi, code, "cuEventQuery").message);
    return Done{};
}

Result<Done> CudaDevice::recordEvent(void* event, void* stream)
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    if (auto const code = mApi.cuEventRecord(event, streamOf(stream)); code != cuda::kSuccess)
        return noted(code, "cuEventRecord");
    return Done{};
}

Result<Done> CudaDevice::waitEvent(void* stream, void* event)
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    if (auto const code = mApi.cuStreamWaitEvent(streamOf(stream), event, 0); code != cuda::kSuccess)
        return noted(code, "cuStreamWaitEvent");
    return Done{};
}

Result<bool> CudaDevice::awaitEvent(void* event, ContinueCheck const* mayContinue)
{
    TENON_TRY(alive());
    cuda::Current const current{*this};
    if (mayContinue == nullptr)
    {
        if (auto const code = mApi.cuEventSynchronize(event); code != cuda::kSuccess)
            return noted(code, "cuEventSynchronize");
        return true;
    }
    for (;;)
    {
        cuda::Code const code = mApi.cuEventQuery(event);
        if (code == cuda::kSuccess)
            return true;
        if (code != cuda::kNotReady)
            return noted(code, "cuEventQuery");
        if (!(*mayContinue)())
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
}

bool CudaDevice::isWorking() const noexcept
{
    return cuda::isInHostTurn();
}

bool CudaDevice::isCapturing(void const* stream) const noexcept
{
    if (stream == kApartStream || mIsLost)
        return false;
    cuda::Current const current{*this};
    cuda::CaptureStatus status{cuda::kCaptureNone};
    cuda::Code const code = mApi.cuStreamIsCapturing(const_cast<void*>(stream), &status);
    return code == cuda::kSuccess && status != cuda::kCaptureNone;
}

} // namespace tenon
