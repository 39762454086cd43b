// CudaDevice: opening a GPU, its memory, copies and kernels.
#include "device/cuda/cuda_device.h"

#include "base/cpus.h"
#include "base/knobs.h"
#include "base/team.h"

#include <algorithm>

namespace tenon
{

namespace
{
constexpr size_t kCudaAlignment{256}; //!< What cuMemAlloc gives.

Result<int32_t> attributeOf(cuda::DriverApi const& api, cuda::DeviceAttribute attribute, int device)
{
    int value{0};
    TENON_CUDA_TRY(api, cuDeviceGetAttribute, &value, attribute, device);
    return value;
}
} // namespace

std::string CudaModel::architecture() const
{
    return fmt::format("sm_{}{}", major, minor);
}

Result<CudaModel> cudaModel(cuda::DriverApi const& api, int32_t index)
{
    int device{0};
    TENON_CUDA_TRY(api, cuDeviceGet, &device, index);
    char name[256]{};
    TENON_CUDA_TRY(api, cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
    CudaModel model{.name = name};
    size_t bytes{0};
    TENON_CUDA_TRY(api, cuDeviceTotalMem_v2, &bytes, device);
    model.memoryBytes = static_cast<int64_t>(bytes);
    model.major = TENON_TRY(attributeOf(api, cuda::kMajor, device));
    model.minor = TENON_TRY(attributeOf(api, cuda::kMinor, device));
    model.multiprocessors = TENON_TRY(attributeOf(api, cuda::kMultiprocessors, device));
    model.l2Bytes = TENON_TRY(attributeOf(api, cuda::kL2Bytes, device));
    model.sharedBytes = TENON_TRY(attributeOf(api, cuda::kMaxSharedPerBlockOptin, device));
    if (TENON_TRY(attributeOf(api, cuda::kUnifiedAddressing, device)) == 0)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "{} does not share its addresses with the host", model.name);
    constexpr int32_t kOldest{75};
    if (model.major * 10 + model.minor < kOldest)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "{} is of compute capability {}.{}, and 7.5 is the oldest that "
            "Tenon has kernels for",
            model.name, model.major, model.minor);
    return model;
}

CudaDevice::CudaDevice(cuda::DriverApi const& api, int32_t index)
    : mApi{api},
      mIndex{index},
      mReplays{switchOf(Knob::kGraphs, true), switchOf(Knob::kOverlap, true)}
{
    Result<Done> opened = api.cuInit == nullptr
        ? Result<Done>{errorOf(ErrorCode::kUNSUPPORTED_STATE, "there is no NVIDIA driver")}
        : open(index);
    if (!opened)
    {
        mLost = std::move(opened).error().in(fmt::format("GPU {} cannot be opened", index));
        mIsLost = true;
    }
}

Result<Done> CudaDevice::open(int32_t index)
{
    mModel = TENON_TRY(cudaModel(mApi, index));
    int device{0};
    TENON_CUDA_TRY(mApi, cuDeviceGet, &device, index);
    TENON_CUDA_TRY(mApi, cuDevicePrimaryCtxRetain, &mContext, device); // Until the process ends.
    cuda::Current const current{*this};
    TENON_CUDA_TRY(mApi, cuStreamCreate, &mApart, cuda::kStreamNonBlocking);
    return Done{};
}

std::string CudaDevice::describe() const
{
    constexpr double kGiB{1 << 30};
    return fmt::format("{} ({}, {} multiprocessors, {:.1f} GiB, driver for CUDA {}.{})", mModel.name,
        mModel.architecture(), mModel.multiprocessors, static_cast<double>(mModel.memoryBytes) / kGiB,
        mApi.version / 1000, mApi.version % 1000 / 10);
}

Result<Done> CudaDevice::alive() const
{
    if (!mIsLost)
        return Done{};
    std::scoped_lock const lock{mMutex};
    return *mLost;
}

Error CudaDevice::noted(cuda::Code code, std::string_view call) const
{
    Error error = cuda::errorFrom(mApi, code, call);
    if (!cuda::isSticky(code))
        return error;
    std::scoped_lock const lock{mMutex};
    if (!mLost)
        mLost = Error{ErrorCode::kFAILED_EXECUTION,
            fmt::format("work on {} has failed, and nothing runs there any more in this process: {}", mModel.name,
                error.message)};
    mIsLost = true;
    return error;
}

size_t CudaDevice::alignment() const noexcept
{
    return kCudaAlignment;
}

Result<Done> CudaDevice::checkAddress(void const* address, AddressUse const& use) const
{
    auto const at = reinterpret_cast<uintptr_t>(address);
    auto const bytes = static_cast<uintptr_t>(std::max<int64_t>(use.elementBytes, 1));
    if (at % bytes != 0)
        return badArgument("address {} is not a multiple of its element's {} bytes", address, bytes);
    if (address == nullptr || mIsLost)
        return Done{};
    cuda::Current const current{*this};
    unsigned kind{0};
    bool const isKnown = mApi.cuPointerGetAttribute(&kind, cuda::kPointerMemoryType, at) == cuda::kSuccess;
    bool const isDevices = isKnown && kind == cuda::kMemoryDevice;
    if (use.isOnHost)
        return isDevices ? Result<Done>{badArgument("address {} is memory of the GPU, and the values of a shape tensor "
                                                    "are read by the host",
                   address)}
                         : Result<Done>{Done{}};
    if (!isKnown)
        return badArgument("address {} is memory of the host, and device {} needs memory of the GPU: copy it there, or "
                           "set TENON_DEVICE=cpu to run on the host",
            address, mIndex == 0 ? "cuda" : fmt::format("cuda:{}", mIndex));
    int ordinal{mIndex};
    if (isDevices && mApi.cuPointerGetAttribute(&ordinal, cuda::kPointerDeviceOrdinal, at) == cuda::kSuccess
        && ordinal != mIndex)
        return badArgument("address {} is memory of GPU {}, and the engine runs on GPU {}; TENON_DEVICE=cuda:{} would "
                           "choose that one",
            address, ordinal, mIndex, ordinal);
    return Done{};
}

void* CudaDevice::allocate(size_t bytes) noexcept
{
    if (mIsLost)
        return nullptr;
    cuda::Current const current{*this};
    cuda::Address address{0};
    if (mApi.cuMemAlloc_v2(&address, std::max<size_t>(bytes, 1)) != cuda::kSuccess)
        return nullptr;
    return reinterpret_cast<void*>(address);
}

void CudaDevice::release(void* memory) noexcept
{
    if (memory == nullptr)
        return;
    cuda::Current const current{*this};
    static_cast<void>(mApi.cuMemFree_v2(reinterpret_cast<cuda::Address>(memory)));
}

void* CudaDevice::allocateHost(size_t bytes) noexcept
{
    if (mIsLost)
        return nullptr;
    cuda::Current const current{*this};
    void* memory{nullptr};
    if (mApi.cuMemHostAlloc(&memory, std::max<size_t>(bytes, 1), cuda::kHostPortable) != cuda::kSuccess)
        return nullptr;
    return memory;
}

void CudaDevice::releaseHost(void* memory) noexcept
{
    if (memory == nullptr)
        return;
    cuda::Current const current{*this};
    static_cast<void>(mApi.cuMemFreeHost(memory));
}

Result<Done> CudaDevice::copy(void* to, void const* from, size_t bytes, void* stream)
{
    if (bytes == 0) // Else an address may be null.
        return Done{};
    TENON_TRY(alive());
    if (isCapturing(stream))
        return errorOf(ErrorCode::kINVALID_STATE, "the caller would wait for a stream that is being captured");
    cuda::Current const current{*this};
    void* const there = streamOf(stream);
    if (auto const code = mApi.cuMemcpyAsync(
            reinterpret_cast<cuda::Address>(to), reinterpret_cast<cuda::Address>(from), bytes, there);
        code != cuda::kSuccess)
        return noted(code, "cuMemcpyAsync");
    if (auto const code = mApi.cuStreamSynchronize(there); code != cuda::kSuccess)
        return noted(code, "cuStreamSynchronize");
    return Done{};
}

Result<Done> CudaDevice::copyToHost(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

Result<Done> CudaDevice::copyFromHost(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

Result<Done> CudaDevice::copyOnDevice(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

Result<std::unique_ptr<Kernel>> CudaDevice::load(KernelSource const& source) const
{
    if (source.place == Place::kHost)
        return mHostKernels.load("the host beside cuda", source);
    TENON_TRY(alive());
    CudaKernelEntry found{};
    {
        std::scoped_lock const lock{mMutex};
        auto const at = std::ranges::find(mKernels, source.kernel, &CudaKernelEntry::name);
        if (at == mKernels.end())
            return badArgument("device 'cuda' has no kernel '{}'", source.kernel);
        found = *at;
    }
    return found.load(source, *this);
}

int32_t CudaDevice::hostThreads() const noexcept
{
    static int32_t const cpus = usableCpus();
    return static_cast<int32_t>(std::min<int64_t>(countOf(Knob::kThreads).value_or(cpus), Team::kMaxLanes));
}

void CudaDevice::add(std::span<CudaKernelEntry const> kernels)
{
    std::scoped_lock const lock{mMutex};
    mKernels.insert(mKernels.end(), kernels.begin(), kernels.end());
}

void CudaDevice::addHostKernels(std::span<KernelEntry const> kernels)
{
    mHostKernels.add(kernels);
}

} // namespace tenon
