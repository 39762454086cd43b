// Cudnn: opening the library, a handle per GPU, and errors in its words.
#include "backends/cuda/cudnn.h"

#include <dlfcn.h>
#include <map>

namespace tenon::cuda
{

Result<CudnnApi> openCudnn(std::vector<std::string> const& libraries)
{
    void* handle{nullptr};
    for (size_t i = 0; i < libraries.size() && handle == nullptr; ++i)
        handle = dlopen(libraries[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "cuDNN 9 is not there ({}); install it, or the package nvidia-cudnn-cu13 with its folder in "
            "LD_LIBRARY_PATH",
            fmt::join(libraries, ", "));
    CudnnApi api;
#define TENON_CUDNN_FIND(name, parameters)                                                                             \
    if (api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name)); api.name == nullptr)                    \
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "cuDNN is too old: it lacks {}", #name);
    TENON_CUDNN(TENON_CUDNN_FIND)
    TENON_CUDNN_FIND(cudnnGetErrorString, (int))
    TENON_CUDNN_FIND(cudnnGetVersion, ())
#undef TENON_CUDNN_FIND
    return api;
}

Result<CudnnApi const*> cudnn()
{
    static Result<CudnnApi> const api = openCudnn({"libcudnn.so.9", "libcudnn.so",
        "/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda/targets/x86_64-linux/lib/libcudnn.so.9"});
    if (!api)
        return api.error();
    return &*api;
}

Result<CudnnHandle*> cudnnHandleOf(CudnnApi const& api, CudaDevice const& device)
{
    struct Handles
    {
        std::mutex mutex;
        std::map<void*, CudnnHandle> all; //!< By context.
    };
    static auto* const handles = new Handles; // Never destroyed: streams may work on while the process ends.
    std::scoped_lock const lock{handles->mutex};
    CudnnHandle& made = handles->all[device.context()];
    if (made.handle == nullptr)
        TENON_CUDNN_TRY(api, cudnnCreate, &made.handle);
    return &made;
}

Result<CudnnPlanner> cudnnPlanner(CudnnApi const& api, CudaDevice const& device)
{
    struct Idle
    {
        std::mutex mutex;
        std::multimap<void*, void*> all; //!< Handles by context.
    };
    static auto* const idle = new Idle; // Never destroyed, as plans may refer to what made them.
    void* const context = device.context();
    auto const giveBack = [context](void* handle) {
        std::scoped_lock const lock{idle->mutex};
        idle->all.emplace(context, handle);
    };
    {
        std::scoped_lock const lock{idle->mutex};
        if (auto const found = idle->all.find(context); found != idle->all.end())
        {
            CudnnPlanner taken{found->second, giveBack};
            idle->all.erase(found);
            return taken;
        }
    }
    void* handle{nullptr};
    TENON_CUDNN_TRY(api, cudnnCreate, &handle);
    return CudnnPlanner{handle, giveBack};
}

Error errorOfCudnn(CudnnApi const& api, int status, std::string_view call)
{
    constexpr int kHostAllocationFailed{4003};
    constexpr int kDeviceAllocationFailed{4004};
    char const* const name = api.cudnnGetErrorString(status);
    bool const isMemory = status == kHostAllocationFailed || status == kDeviceAllocationFailed;
    return errorOf(isMemory ? ErrorCode::kFAILED_ALLOCATION : ErrorCode::kFAILED_EXECUTION, "{}: {} ({})", call,
        name == nullptr ? "an unknown error" : name, status);
}

} // namespace tenon::cuda
