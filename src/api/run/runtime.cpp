// Runtime: plans from memory, from files and from readers.
#include "api/run/runtime.h"

#include "api/boundary.h"
#include "api/flags.h"
#include "api/plugins/plugin_registry.h"
#include "base/explanation.h"
#include "base/nvtx.h"
#include "plan/format.h"
#include "plan/paged_memory.h"
#include "plan/plan_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include <dlfcn.h>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
using Made = ICudaEngine*;
constexpr size_t kMaxAtOnce{size_t{1} << 20};
constexpr uint64_t kMaxBytes{std::numeric_limits<std::ptrdiff_t>::max()}; //!< That can be one piece of memory.

using Reading = std::function<int64_t(void* to, int64_t bytes)>;

//! How many of `count` bytes there were; fewer only where the stream ends, which an answer of 0 says. Negative ones are
//! errors (rule O3).
Result<size_t> readUpTo(uint8_t* to, size_t count, Reading const& read)
{
    size_t done{0};
    while (done < count)
    {
        auto const wanted = static_cast<int64_t>(std::min(count - done, kMaxAtOnce));
        forgetExplanation();
        int64_t const got = read(to + done, wanted);
        if (got < 0 || got > wanted)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the stream reader answered {} when asked for {} bytes{}", got,
                wanted, because());
        if (got == 0)
            break;
        done += static_cast<size_t>(got);
    }
    return done;
}

//! The rest of a plan behind its beginning, in memory of either kind. A piece is touched when its bytes come: the size
//! that a stream claims may be a lie.
template <typename Memory>
Result<PlanFile> readRest(std::shared_ptr<Memory> const& memory, ByteView beginning, Reading const& read)
{
    size_t copied{0};
    size_t const got = TENON_TRY(memory->fillInOrder([&](uint8_t* to, size_t count) -> Result<size_t> {
        size_t const known = std::min(count, beginning.size() - copied);
        std::copy_n(beginning.begin() + static_cast<std::ptrdiff_t>(copied), known, to);
        copied += known;
        return known + TENON_TRY(readUpTo(to + known, count - known, read));
    }));
    return PlanFile{memory->bytes().first(got), memory, nullptr};
}

//! A plan and not a byte more: what stands behind it in the stream is not ours. In `folder`, unless null, where its
//! weights are streamed: it is never in memory as a whole then.
Result<PlanFile> readPlanFrom(Reading const& read, std::string const* folder)
{
    PlanHeader header;
    auto* const bytes = reinterpret_cast<uint8_t*>(&header);
    ByteView const beginning{bytes, TENON_TRY(readUpTo(bytes, sizeof(header), read))};
    bool const isPlan = beginning.size() == sizeof(header) && header.size > sizeof(header) && header.size <= kMaxBytes
        && std::equal(std::begin(kPlanMagic), std::end(kPlanMagic), header.magic);
    if (!isPlan)
    {
        auto const copy = std::make_shared<Bytes>(beginning.begin(), beginning.end());
        return PlanFile{*copy, copy, nullptr};
    }
    if (folder != nullptr && (planFlags(beginning) & kPlanStreamsWeights) != 0)
    {
        std::shared_ptr<PagedMemory> const pages = TENON_TRY(PagedMemory::make(header.size, *folder));
        PlanFile file = TENON_TRY(readRest(pages, beginning, read));
        if (file.bytes.size() == header.size)
            file.pages = pages;
        return file;
    }
    std::shared_ptr<PlanMemory> const memory = PlanMemory::make(header.size);
    if (memory == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the {} bytes of the plan", header.size);
    return readRest(memory, beginning, read);
}
} // namespace

Runtime::Runtime(ILogger& logger, DeviceChoice device)
    : mReporting{&logger},
      mDevice{std::move(device)}
{
    mReporting.log().info(describe(mDevice));
    if (std::string const& problem = Nvtx::problem(); !problem.empty())
        mReporting.log().warning(problem);
}

bool Runtime::mayPageWeights() const noexcept
{
    return mDevice.device->usesHostMemory()
        && (mTempfileFlags >> static_cast<uint32_t>(TempfileControlFlag::kALLOW_TEMPORARY_FILES) & 1U) != 0;
}

Result<ICudaEngine*> Runtime::load(ByteView blob, std::shared_ptr<void const> owner, std::shared_ptr<PagedMemory> pages)
{
    if ((planFlags(blob) & kPlanStreamsWeights) != 0 && mDevice.device->usesHostMemory() && !mayPageWeights())
        return errorOf(ErrorCode::kINVALID_STATE,
            "the plan's weights are streamed, for which a temporary file is needed; "
            "IRuntime::setTempfileControlFlags does not allow one");
    return deserializeEngine(LoadRequest{blob, std::move(owner), mReporting, mDevice, mAllocator, mMaxThreads,
        &mPlugins.plugins(), shared_from_this(), mHostCodeAllowed, temporaryDirectory(),
        [&](Plan const& plan) {
            return mLibraries.load(plan, mHostCodeAllowed, {mTempfileFlags, temporaryDirectory()}, mPlugins);
        },
        std::move(pages)});
}

Result<ICudaEngine*> Runtime::loadFrom(std::function<int64_t(void* to, int64_t bytes)> const& read)
{
    std::string const folder = temporaryDirectory();
    PlanFile file = TENON_TRY(readPlanFrom(read, mayPageWeights() ? &folder : nullptr));
    return load(file.bytes, std::move(file.owner), std::move(file.pages));
}

ICudaEngine* Runtime::deserializeFile(char const* path) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        if (path == nullptr)
            return badArgument("the path is null");
        std::string const folder = temporaryDirectory();
        PlanFile file = TENON_TRY(readPlanFile(path, mayPageWeights() ? &folder : nullptr));
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
        return loadFrom([&](void* to, int64_t count) { return streamReader.read(to, count); });
    });
}

ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept
{
    return fenced(mReporting.log(), "IRuntime::deserializeCudaEngine", Made{nullptr}, [&]() -> Result<Made> {
        return loadFrom([&](void* to, int64_t count) { return streamReader.read(to, count, nullptr); });
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
