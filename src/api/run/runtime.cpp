// Runtime: plans from memory, from files and from readers.
#include "api/run/runtime.h"

#include "api/boundary.h"
#include "api/flags.h"
#include "api/plugins/plugin_registry.h"
#include "base/explanation.h"
#include "plan/format.h"
#include "plan/paged_memory.h"
#include "plan/plan_memory.h"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
using Made = ICudaEngine*;
constexpr int64_t kChunkBytes{int64_t{1} << 20};

//! Appends up to `count` bytes; fewer only where the stream ends, which an answer of 0 says. Negative ones are errors
//! (rule O3).
template <typename Read>
Result<Done> append(Bytes& bytes, uint64_t count, Read&& read)
{
    while (count > 0)
    {
        size_t const at = bytes.size();
        auto const wanted = static_cast<int64_t>(std::min<uint64_t>(count, kChunkBytes));
        bytes.resize(at + static_cast<size_t>(wanted)); // Piece by piece: the size that a stream claims may be a lie.
        forgetExplanation();
        int64_t const got = read(bytes.data() + at, wanted);
        if (got < 0 || got > wanted)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the stream reader answered {} when asked for {} bytes{}", got,
                wanted, because());
        bytes.resize(at + static_cast<size_t>(got));
        count -= static_cast<uint64_t>(got);
        if (got == 0)
            break;
    }
    return Done{};
}

//! A plan and not a byte more: what stands behind it in the stream is not ours.
template <typename Read>
Result<std::shared_ptr<Bytes>> readPlanFrom(Read&& read)
{
    auto bytes = std::make_shared<Bytes>();
    TENON_TRY(append(*bytes, sizeof(PlanHeader), read));
    PlanHeader header;
    if (bytes->size() < sizeof(header))
        return bytes;
    std::memcpy(&header, bytes->data(), sizeof(header));
    if (std::equal(std::begin(kPlanMagic), std::end(kPlanMagic), header.magic) && header.size > sizeof(header))
        TENON_TRY(append(*bytes, header.size - sizeof(header), read));
    return bytes;
}
} // namespace

Runtime::Runtime(ILogger& logger, DeviceChoice device)
    : mReporting{&logger},
      mDevice{std::move(device)}
{
    mReporting.log().info(describe(mDevice));
}

Result<ICudaEngine*> Runtime::load(ByteView blob, std::shared_ptr<void const> owner, std::shared_ptr<PagedMemory> pages)
{
    return deserializeEngine(LoadRequest{blob, std::move(owner), mReporting, mDevice, mAllocator, mMaxThreads,
        &mPlugins.plugins(), shared_from_this(), mHostCodeAllowed, temporaryDirectory(),
        [&](Plan const& plan) {
            return mLibraries.load(plan, mHostCodeAllowed, {mTempfileFlags, temporaryDirectory()}, mPlugins);
        },
        std::move(pages)});
}

ICudaEngine* Runtime::deserializeFile(char const* path) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        if (path == nullptr)
            return badArgument("the path is null");
        std::string const folder = temporaryDirectory();
        bool const mayStream = mDevice.device->usesHostMemory();
        PlanFile file = TENON_TRY(readPlanFile(path, mayStream ? &folder : nullptr));
        return load(file.bytes, std::move(file.owner), std::move(file.pages));
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
        ByteView const given{static_cast<uint8_t const*>(blob), size};
        if ((planFlags(given) & kPlanStreamsWeights) != 0 && mDevice.device->usesHostMemory())
            return load(given, nullptr);   // What streams weights copies it.
        auto const copy = copyPlan(given); // The user may free it (rule O2).
        if (copy == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the {} bytes of the plan", size);
        return load(copy->bytes(), copy);
    });
}

ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& streamReader) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        auto bytes = TENON_TRY(readPlanFrom([&](void* to, int64_t count) { return streamReader.read(to, count); }));
        return load(*bytes, bytes);
    });
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        auto bytes =
            TENON_TRY(readPlanFrom([&](void* to, int64_t count) { return streamReader.read(to, count, nullptr); }));
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
    return std::max(mMaxThreads.load(), 1);
}

void Runtime::setTemporaryDirectory(char const* path) noexcept
{
    fencedDone(mReporting.log(), "IRuntime::setTemporaryDirectory", [&]() -> Result<Done> {
        if (path == nullptr)
        {
            mTemporaryDirectory = nullptr;
            return Done{};
        }
        std::string name = TENON_TRY(checkedName(path, "the temporary directory"));
        std::scoped_lock const lock{mDirectoriesMutex};
        mTemporaryDirectory = mDirectories.insert(std::move(name)).first->c_str();
        return Done{};
    });
}

std::string Runtime::temporaryDirectory() const
{
    char const* const name = mTemporaryDirectory;
    return name == nullptr ? "" : name;
}

char const* Runtime::getTemporaryDirectory() const noexcept
{
    return mTemporaryDirectory;
}

void Runtime::setTempfileControlFlags(uint32_t flags) noexcept
{
    mTempfileFlags = knownFlags<TempfileControlFlag>(mReporting.log(), "IRuntime::setTempfileControlFlags", flags);
}

uint32_t Runtime::getTempfileControlFlags() const noexcept
{
    return mTempfileFlags;
}

IRuntime* Runtime::loadRuntime(char const* path) noexcept
{
    return fenced(
        mReporting.log(), "IRuntime::loadRuntime", static_cast<IRuntime*>(nullptr), [&]() -> Result<IRuntime*> {
            if (path == nullptr)
                return badArgument("the path is null");
            constexpr char const* kCreate{"createInferRuntime_INTERNAL"};
            void* const library =
                dlopen(path, RTLD_NOW | RTLD_LOCAL); // Stays: nobody says when the last engine is gone.
            if (library == nullptr)
                return errorOf(ErrorCode::kINVALID_ARGUMENT, "the library cannot be loaded: {}", dlerror());
            auto* const create = reinterpret_cast<void* (*)(void*, int32_t)>(dlsym(library, kCreate));
            if (create == nullptr)
            {
                dlclose(library);
                return badArgument("'{}' is no runtime library: it has no function {}", path, kCreate);
            }
            auto* const runtime = static_cast<IRuntime*>(create(mReporting.log().logger(), NV_TENSORRT_VERSION));
            if (runtime == nullptr)
                return errorOf(ErrorCode::kFAILED_INITIALIZATION, "'{}' made no runtime", path);
            return runtime;
        });
}

IPluginRegistry& Runtime::getPluginRegistry() noexcept
{
    return mPlugins;
}

void Runtime::setPluginRegistryParent(IPluginRegistry* parent) noexcept
{
    fencedDone(mReporting.log(), "IRuntime::setPluginRegistryParent", [&] { return mPlugins.setParent(parent); });
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
