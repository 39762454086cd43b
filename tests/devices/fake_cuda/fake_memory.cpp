// The fake driver: devices, contexts, memory and its addresses, and calls that a test makes fail.
#include "devices/fake_cuda/fake_state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace fake
{

namespace
{
constexpr size_t kRegion{size_t{64} << 30};
constexpr size_t kPage{4096};
constexpr size_t kPoisoned{1 << 20}; //!< Bytes of a new block that hold a pattern; the rest holds what it held.

std::atomic<int64_t> gCalls{0};
std::atomic<int64_t> gFailAt{0};
std::atomic<int> gFailCode{0};
std::mutex gFailMutex;
std::string gFailName;
std::string gFailed;
std::map<std::string, int64_t, std::less<>> gCallsOf;
thread_local int gInCallback{0};
thread_local std::vector<Context*> gContexts;
thread_local int gMode{0};

char* region()
{
    static char* const start =
        static_cast<char*>(mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return start;
}

size_t& highWater()
{
    static size_t bytes{0};
    return bytes;
}
} // namespace

State& state()
{
    static auto* const instance = new State; // Never destroyed: threads may work on while the process ends.
    return *instance;
}

Context& contextOf(int ordinal)
{
    static Context contexts[kDevices]{{0}, {1}};
    return contexts[ordinal];
}

int enter(char const* name, bool needsContext)
{
    if (gInCallback > 0)
    {
        std::fprintf(stderr, "fake driver: %s is called in a callback of the driver's\n", name);
        std::abort(); // A real driver may hang.
    }
    int64_t const call = ++gCalls;
    {
        std::scoped_lock const lock{gFailMutex};
        if (call == gFailAt || gFailName == name)
        {
            gFailed = name;
            return gFailCode;
        }
        ++gCallsOf[name];
    }
    return needsContext && current() == nullptr ? kInvalidContext : kSuccess;
}

Context* current()
{
    return gContexts.empty() ? nullptr : gContexts.back();
}

InCallback::InCallback()
{
    ++gInCallback;
}

InCallback::~InCallback()
{
    --gInCallback;
}

void openMemory()
{
    if (!state().isOpen && highWater() > 0)
        mprotect(region(), highWater(), PROT_READ | PROT_WRITE);
    state().isOpen = true;
}

void closeMemoryWhenIdle()
{
    if (state().isOpen && state().executing == 0 && highWater() > 0)
    {
        mprotect(region(), highWater(), PROT_NONE);
        state().isOpen = false;
    }
}

bool isDeviceAddress(uintptr_t address)
{
    auto const start = reinterpret_cast<uintptr_t>(region());
    return address >= start && address < start + kRegion;
}

bool spoilsCaptures()
{
    if (gMode == 2)
        return false;
    bool isSpoilt{false};
    for (auto const& [handle, stream] : state().streams)
        if (stream->capture != nullptr && stream->capture->mode == 0)
        {
            stream->capture->isInvalid = true;
            isSpoilt = true;
        }
    return isSpoilt;
}
} // namespace fake

using namespace fake;

TENON_FAKE_CUDA void tenonFakeFailCall(int64_t nth, int code)
{
    std::scoped_lock const lock{gFailMutex};
    gFailed.clear();
    gFailCode = code;
    gFailAt = nth == 0 ? 0 : gCalls + nth;
}

TENON_FAKE_CUDA void tenonFakeFailAll(char const* name, int code)
{
    std::scoped_lock const lock{gFailMutex};
    gFailed.clear();
    gFailCode = code;
    gFailName = name == nullptr ? "" : name;
}

TENON_FAKE_CUDA int64_t tenonFakeCalls()
{
    return gCalls;
}

TENON_FAKE_CUDA int64_t tenonFakeCallsOf(char const* name)
{
    std::scoped_lock const lock{gFailMutex};
    auto const found = gCallsOf.find(std::string_view{name});
    return found == gCallsOf.end() ? 0 : found->second;
}

TENON_FAKE_CUDA char const* tenonFakeFailed()
{
    std::scoped_lock const lock{gFailMutex};
    static std::string kept;
    kept = gFailed;
    return kept.c_str();
}

TENON_FAKE_CUDA int64_t tenonFakeObjects()
{
    std::scoped_lock const lock{state().mutex};
    return static_cast<int64_t>(state().blocks.size() + state().pinned.size() + state().streams.size()
        + state().events.size() + state().modules.size());
}

TENON_FAKE_CUDA int cuInit(unsigned)
{
    TENON_FAKE_ENTER_ALONE(cuInit);
    return kSuccess;
}

TENON_FAKE_CUDA int cuDriverGetVersion(int* version)
{
    TENON_FAKE_ENTER_ALONE(cuDriverGetVersion);
    *version = 13000;
    return kSuccess;
}

TENON_FAKE_CUDA int cuGetErrorName(int code, char const** name)
{
    switch (code)
    {
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case 700: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    default: *name = "CUDA_ERROR_OF_THE_FAKE"; break;
    }
    return kSuccess;
}

TENON_FAKE_CUDA int cuGetErrorString(int, char const** text)
{
    *text = "the fake driver was told to say so, or found it";
    return kSuccess;
}

TENON_FAKE_CUDA int cuDeviceGetCount(int* count)
{
    TENON_FAKE_ENTER_ALONE(cuDeviceGetCount);
    *count = kDevices;
    return kSuccess;
}

TENON_FAKE_CUDA int cuDeviceGet(int* device, int ordinal)
{
    TENON_FAKE_ENTER_ALONE(cuDeviceGet);
    *device = ordinal;
    return ordinal >= 0 && ordinal < kDevices ? kSuccess : 101;
}

TENON_FAKE_CUDA int cuDeviceGetName(char* name, int length, int)
{
    TENON_FAKE_ENTER_ALONE(cuDeviceGetName);
    std::snprintf(name, static_cast<size_t>(length), "Fake GPU");
    return kSuccess;
}

TENON_FAKE_CUDA int cuDeviceTotalMem_v2(size_t* bytes, int)
{
    TENON_FAKE_ENTER_ALONE(cuDeviceTotalMem_v2);
    *bytes = kRegion;
    return kSuccess;
}

//! Of the GPU: TENON_FAKE_CAPABILITY, two digits.
static int fakeCapability()
{
    static int const capability = [] {
        char const* const wanted = std::getenv("TENON_FAKE_CAPABILITY");
        return wanted == nullptr ? 90 : std::atoi(wanted);
    }();
    return capability;
}

TENON_FAKE_CUDA int cuDeviceGetAttribute(int* value, int attribute, int)
{
    TENON_FAKE_ENTER_ALONE(cuDeviceGetAttribute);
    int const sharedKiB = fakeCapability() >= 90 ? 227 : fakeCapability() >= 80 ? 99 : 64;
    switch (attribute)
    {
    case 16: *value = 2; break; // Few, so that grids stay small.
    case 38: *value = 50 << 20; break;
    case 41: *value = 1; break;
    case 75: *value = fakeCapability() / 10; break;
    case 76: *value = fakeCapability() % 10; break;
    case 97: *value = sharedKiB << 10; break;
    default: *value = 1024; break;
    }
    return kSuccess;
}

TENON_FAKE_CUDA int cuDevicePrimaryCtxRetain(void** context, int device)
{
    TENON_FAKE_ENTER_ALONE(cuDevicePrimaryCtxRetain);
    *context = &contextOf(device);
    return kSuccess;
}

TENON_FAKE_CUDA int cuCtxGetCurrent(void** context)
{
    TENON_FAKE_ENTER_ALONE(cuCtxGetCurrent);
    *context = current();
    return kSuccess;
}

TENON_FAKE_CUDA int cuCtxGetDevice(int* device)
{
    TENON_FAKE_ENTER_ALONE(cuCtxGetDevice);
    if (current() == nullptr)
        return kInvalidContext;
    *device = current()->ordinal;
    return kSuccess;
}

TENON_FAKE_CUDA int cuCtxPushCurrent_v2(void* context)
{
    TENON_FAKE_ENTER_ALONE(cuCtxPushCurrent_v2);
    if (context == nullptr)
        return kInvalidContext;
    gContexts.push_back(static_cast<Context*>(context));
    return kSuccess;
}

TENON_FAKE_CUDA int cuCtxPopCurrent_v2(void** context)
{
    TENON_FAKE_ENTER_ALONE(cuCtxPopCurrent_v2);
    if (gContexts.empty())
        return kInvalidContext;
    *context = gContexts.back();
    gContexts.pop_back();
    return kSuccess;
}

TENON_FAKE_CUDA int cuThreadExchangeStreamCaptureMode(int* mode)
{
    TENON_FAKE_ENTER_ALONE(cuThreadExchangeStreamCaptureMode);
    std::swap(*mode, gMode);
    return kSuccess;
}

TENON_FAKE_CUDA int cuMemAlloc_v2(uintptr_t* address, size_t bytes)
{
    TENON_FAKE_ENTER(cuMemAlloc_v2);
    if (bytes == 0)
        return kInvalidValue;
    std::scoped_lock const lock{state().mutex};
    if (spoilsCaptures())
        return kCaptureUnsupported;
    if (bytes > kRegion / 2)
        return kOutOfMemory;
    size_t const size = (bytes + kPage - 1) / kPage * kPage;
    auto const start = reinterpret_cast<uintptr_t>(region());
    uintptr_t at = start; // The first gap that is large enough.
    for (auto const& [used, block] : state().blocks)
    {
        if (used - at >= size)
            break;
        at = used + (block.first + kPage - 1) / kPage * kPage;
    }
    if (at + size > start + kRegion)
        return kOutOfMemory;
    state().blocks[at] = {bytes, current()->ordinal};
    highWater() = std::max(highWater(), at + size - start);
    state().isOpen = false;
    openMemory();
    std::memset(reinterpret_cast<void*>(at), 0xFD, std::min(bytes, kPoisoned));
    closeMemoryWhenIdle();
    *address = at;
    return kSuccess;
}

TENON_FAKE_CUDA int cuMemFree_v2(uintptr_t address)
{
    TENON_FAKE_ENTER(cuMemFree_v2);
    tenonFakeDrain(); // As the real one waits.
    std::scoped_lock const lock{state().mutex};
    if (spoilsCaptures())
        return kCaptureUnsupported;
    return state().blocks.erase(address) == 1 ? kSuccess : kInvalidValue;
}

TENON_FAKE_CUDA int cuMemHostAlloc(void** address, size_t bytes, unsigned)
{
    TENON_FAKE_ENTER(cuMemHostAlloc);
    std::scoped_lock const lock{state().mutex};
    if (spoilsCaptures())
        return kCaptureUnsupported;
    *address = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (*address == nullptr)
        return kOutOfMemory;
    state().pinned.insert(*address);
    return kSuccess;
}

TENON_FAKE_CUDA int cuMemFreeHost(void* address)
{
    TENON_FAKE_ENTER(cuMemFreeHost);
    tenonFakeDrain();
    std::scoped_lock const lock{state().mutex};
    if (state().pinned.erase(address) != 1)
        return kInvalidValue;
    std::free(address);
    return kSuccess;
}

TENON_FAKE_CUDA int cuPointerGetAttribute(void* value, int attribute, uintptr_t address)
{
    TENON_FAKE_ENTER(cuPointerGetAttribute);
    std::scoped_lock const lock{state().mutex};
    auto after = state().blocks.upper_bound(address);
    if (after != state().blocks.begin())
        if (auto const& [start, block] = *std::prev(after); address - start < block.first)
        {
            if (attribute == 2)
                *static_cast<unsigned*>(value) = 2;
            else
                *static_cast<int*>(value) = block.second;
            return kSuccess;
        }
    if (attribute == 2 && state().pinned.contains(reinterpret_cast<void*>(address)))
    {
        *static_cast<unsigned*>(value) = 1;
        return kSuccess;
    }
    return kInvalidValue;
}
