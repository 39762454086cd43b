// Runtime: plans from memory, from files and from readers.
#include "api/runtime.h"

#include "api/boundary.h"
#include "api/flags.h"
#include "api/plugin_registry.h"

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
using Made = ICudaEngine*;
constexpr int64_t kChunkBytes{int64_t{1} << 20};

//! Everything that `read` gives until it gives less than asked for; negative answers are errors.
template <typename Read>
Result<std::shared_ptr<Bytes>> readAll(Read&& read)
{
    auto bytes = std::make_shared<Bytes>();
    for (;;)
    {
        size_t const at = bytes->size();
        bytes->resize(at + static_cast<size_t>(kChunkBytes));
        int64_t const got = read(bytes->data() + at, kChunkBytes);
        if (got < 0 || got > kChunkBytes)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the stream reader answered {}", got);
        bytes->resize(at + static_cast<size_t>(got));
        if (got < kChunkBytes)
            return bytes;
    }
}
} // namespace

Runtime::Runtime(ILogger& logger, DeviceChoice device)
    : mReporting{&logger},
      mDevice{std::move(device)}
{
    mReporting.log().info(describe(mDevice));
}

Result<ICudaEngine*> Runtime::load(ByteView blob, std::shared_ptr<void const> owner)
{
    return loadEngine(LoadRequest{blob, std::move(owner), mReporting, mDevice, mAllocator, mMaxThreads,
        &mPlugins.plugins(), shared_from_this(), mHostCodeAllowed});
}

ICudaEngine* Runtime::deserializeFile(char const* path) noexcept
{
    return fenced(mReporting.log(), "tenonDeserializeFile", Made{nullptr}, [&]() -> Result<Made> {
        if (path == nullptr)
            return badArgument("the path is null");
        MappedFile file = TENON_TRY(mapPlanFile(path));
        return load(file.bytes, std::move(file.owner));
    });
}

ICudaEngine* Runtime::deserializeShared(ByteView blob, std::shared_ptr<void const> owner) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr},
        [&]() -> Result<Made> { return load(blob, std::move(owner)); });
}

IRuntime* Runtime::getPImpl() noexcept
{
    return &front();
}

ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, size_t size) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        if (blob == nullptr || size == 0)
            return badArgument("{} bytes at {} are no plan", size, blob);
        auto const* first = static_cast<uint8_t const*>(blob);
        auto copy = std::make_shared<Bytes const>(first, first + size); // The user may free the blob (rule O2).
        return load(*copy, copy);
    });
}

ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& streamReader) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        auto bytes = TENON_TRY(readAll([&](void* to, int64_t count) { return streamReader.read(to, count); }));
        return load(*bytes, bytes);
    });
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        auto bytes = TENON_TRY(readAll([&](uint8_t* to, int64_t count) {
            int64_t total{0};
            while (total < count) // 0 is the end; fewer than asked for is not (rule O3).
            {
                int64_t const got = streamReader.read(to + total, count - total, nullptr);
                if (got < 0)
                    return got;
                if (got == 0)
                    break;
                total += got;
            }
            return total;
        }));
        return load(*bytes, bytes);
    });
}

void Runtime::setDLACore(int32_t dlaCore) noexcept
{
    mReporting.fail(errorOf(ErrorCode::kUNSUPPORTED_STATE, "IRuntime::setDLACore: there is no DLA core {}", dlaCore));
}

int32_t Runtime::getDLACore() const noexcept
{
    return -1;
}

int32_t Runtime::getNbDLACores() const noexcept
{
    return 0;
}

void Runtime::setGpuAllocator(IGpuAllocator* allocator) noexcept
{
    mAllocator = allocator;
}

void Runtime::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

IErrorRecorder* Runtime::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

ILogger* Runtime::getLogger() const noexcept
{
    return mReporting.log().logger();
}

bool Runtime::setMaxThreads(int32_t maxThreads) noexcept
{
    if (maxThreads < 1)
        return mReporting.fail(badArgument("IRuntime::setMaxThreads: {} is below 1", maxThreads));
    mMaxThreads = maxThreads;
    return true;
}

int32_t Runtime::getMaxThreads() const noexcept
{
    return mMaxThreads == 0 ? 1 : mMaxThreads;
}

void Runtime::setTemporaryDirectory(char const* path) noexcept
{
    fencedDone(mReporting.log(), "IRuntime::setTemporaryDirectory", [&]() -> Result<Done> {
        if (path == nullptr)
            mTemporaryDirectory.reset();
        else
            mTemporaryDirectory = TENON_TRY(checkedName(path, "the temporary directory"));
        return Done{};
    });
}

char const* Runtime::getTemporaryDirectory() const noexcept
{
    return mTemporaryDirectory ? mTemporaryDirectory->c_str() : nullptr;
}

void Runtime::setTempfileControlFlags(uint32_t flags) noexcept
{
    mTempfileFlags = knownFlags<TempfileControlFlag>(mReporting.log(), "IRuntime::setTempfileControlFlags", flags);
}

uint32_t Runtime::getTempfileControlFlags() const noexcept
{
    return mTempfileFlags;
}

IPluginRegistry& Runtime::getPluginRegistry() noexcept
{
    return mPlugins;
}

void Runtime::setEngineHostCodeAllowed(bool allowed) noexcept
{
    mHostCodeAllowed = allowed;
}

bool Runtime::getEngineHostCodeAllowed() const noexcept
{
    return mHostCodeAllowed;
}

} // namespace tenon::api
