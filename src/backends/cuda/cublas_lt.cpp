// CublasLt: opening the library, a handle per GPU, and errors in its words.
#include "backends/cuda/cublas_lt.h"

#include <dlfcn.h>
#include <map>

namespace tenon::cuda
{

Result<LtApi> openCublasLt(std::vector<std::string> const& libraries)
{
    void* handle{nullptr};
    for (size_t i = 0; i < libraries.size() && handle == nullptr; ++i)
        handle = dlopen(libraries[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "cuBLASLt is not there ({}); install the toolkit, or the package nvidia-cublas with its folder in "
            "LD_LIBRARY_PATH",
            fmt::join(libraries, ", "));
    LtApi api;
#define TENON_CUBLAS_LT_FIND(name, parameters)                                                                         \
    if (api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name)); api.name == nullptr)                    \
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "cuBLASLt is too old: it lacks {}", #name);
    TENON_CUBLAS_LT(TENON_CUBLAS_LT_FIND)
    TENON_CUBLAS_LT_FIND(cublasLtGetStatusName, (int))
    TENON_CUBLAS_LT_FIND(cublasLtGetVersion, ())
#undef TENON_CUBLAS_LT_FIND
    return api;
}

Result<LtApi const*> cublasLt()
{
    static Result<LtApi> const api = openCublasLt({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
        "/usr/local/cuda/lib64/libcublasLt.so", "/usr/local/cuda/targets/x86_64-linux/lib/libcublasLt.so"});
    if (!api)
        return api.error();
    return &*api;
}

Result<void*> ltHandleOf(LtApi const& api, CudaDevice const& device)
{
    struct Handles
    {
        std::mutex mutex;
        std::map<void*, void*> all; //!< By context.
    };
    static auto* const handles = new Handles; // Never destroyed: streams may work on while the process ends.
    std::scoped_lock const lock{handles->mutex};
    void*& handle = handles->all[device.context()];
    if (handle == nullptr)
        TENON_LT_TRY(api, cublasLtCreate, &handle);
    return handle;
}

Error errorOfLt(LtApi const& api, int status, std::string_view call)
{
    constexpr int kAllocFailed{3};
    char const* const name = api.cublasLtGetStatusName(status);
    return errorOf(status == kAllocFailed ? ErrorCode::kFAILED_ALLOCATION : ErrorCode::kFAILED_EXECUTION, "{}: {} ({})",
        call, name == nullptr ? "an unknown error" : name, status);
}

} // namespace tenon::cuda
