// DriverApi: opening the library once, and errors in its words.
#include "device/cuda/driver.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace tenon::cuda
{

namespace
{
constexpr int kOldestVersion{12000};

std::string releaseOf(int version)
{
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}
} // namespace

Result<DriverApi> openDriver(char const* library)
{
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); // Never closed: the driver has threads of its own.
    if (handle == nullptr)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "no NVIDIA driver: {}; install one of release 525 or newer, or run in a container that is given the GPU",
            dlerror());
    if (dlsym(handle, "tenonHostDriver") != nullptr)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "no NVIDIA driver: {} is that of Tenon's host run-time, which has no GPU; take its folder, "
            "lib/tenon/hostrt, out of LD_LIBRARY_PATH",
            library);
    DriverApi api;
#define TENON_CUDA_FIND(name, parameters)                                                                              \
    if (api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name)); api.name == nullptr)                    \
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,                                                                  \
            "the NVIDIA driver in {} is too old: it lacks {}; Tenon needs one for CUDA {} or newer", library, #name,   \
            releaseOf(kOldestVersion));
    TENON_CUDA_DRIVER(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
#define TENON_CUDA_FIND(name, parameters) api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name));
    TENON_CUDA_NEWER_DRIVER(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
    TENON_CUDA_TRY(api, cuDriverGetVersion, &api.version);
    if (api.version < kOldestVersion)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "the NVIDIA driver supports CUDA {}, Tenon needs one for CUDA {} or newer", releaseOf(api.version),
            releaseOf(kOldestVersion));
    TENON_CUDA_TRY(api, cuInit, 0);
    return api;
}

Result<DriverApi const*> driver()
{
    static Result<DriverApi> const api = openDriver("libcuda.so.1");
    if (!api)
        return api.error();
    return &*api;
}

Error errorFrom(DriverApi const& api, Code code, std::string_view call)
{
    char const* name{nullptr};
    char const* text{nullptr};
    if (api.cuGetErrorName(code, &name) != kSuccess || name == nullptr)
        name = "an unknown error";
    if (api.cuGetErrorString(code, &text) != kSuccess || text == nullptr)
        text = "the driver has no words for it";
    ErrorCode const kind = code == kOutOfMemory ? ErrorCode::kFAILED_ALLOCATION : ErrorCode::kFAILED_EXECUTION;
    return errorOf(kind, "{}: {} ({}), {}", call, name, code, text);
}

bool isSticky(Code code) noexcept
{
    // ECC, NVLink, then what ends kernels: addresses, timeouts, instructions, traps.
    constexpr std::array kSticky{214, 220, 700, 702, 708, 709, 710, 714, 715, 716, 717, 718, 719};
    return std::ranges::find(kSticky, code) != kSticky.end();
}

} // namespace tenon::cuda
