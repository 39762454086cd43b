// Kernels: object files with device code load and are known by name, so that a launch can say which one it refuses.
#include "calls.h"

#include <map>
#include <mutex>
#include <string>

using namespace tenon::hostrt;

namespace
{
constexpr char const* kWhy{"there is no GPU, and Tenon's host run-time runs no kernels"};

struct Kernels
{
    std::mutex mutex;
    std::map<void const*, std::string> names;
};

Kernels& kernels()
{
    static auto* const all = new Kernels; // Never destroyed: object files unregister at the very end.
    return *all;
}

void remember(char const* function, char const* name) noexcept
{
    try
    {
        std::scoped_lock const lock{kernels().mutex};
        kernels().names.emplace(function, name == nullptr ? "" : name);
    }
    catch (...)
    {
        return; // The kernel stays without a name.
    }
}

cudaError_t refuseKernel(char const* call, void const* function) noexcept
{
    try
    {
        std::unique_lock lock{kernels().mutex};
        auto const found = kernels().names.find(function);
        std::string const name = found == kernels().names.end() ? "a kernel" : "kernel " + found->second;
        lock.unlock();
        return refused(call, ("the launch of " + name + " is refused: " + kWhy).c_str());
    }
    catch (...)
    {
        return refused(call, kWhy);
    }
}
} // namespace

TENON_CUDA_STREAM(cudaLaunchKernel, (void const* function, dim3, dim3, void**, size_t, cudaStream_t stream),
    static_cast<void>(stream), refuseKernel("cudaLaunchKernel", function))
TENON_CUDA_STREAM(cudaLaunchCooperativeKernel, (void const* function, dim3, dim3, void**, size_t, cudaStream_t stream),
    static_cast<void>(stream), refuseKernel("cudaLaunchCooperativeKernel", function))
TENON_CUDA_FREELY(
    cudaLaunchKernelExC, (void const*, void const* function, void**), refuseKernel("cudaLaunchKernelExC", function))
TENON_CUDA_FREELY(cudaLaunchKernelExC_ptsz, (void const*, void const* function, void**),
    refuseKernel("cudaLaunchKernelExC", function))
TENON_CUDA(
    cudaFuncGetAttributes, (cudaFuncAttributes*, void const* function), refuseKernel("cudaFuncGetAttributes", function))
TENON_CUDA(cudaFuncSetAttribute, (void const* function, cudaFuncAttribute, int),
    refuseKernel("cudaFuncSetAttribute", function))
TENON_CUDA(
    cudaFuncSetCacheConfig, (void const* function, cudaFuncCache), refuseKernel("cudaFuncSetCacheConfig", function))
TENON_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int*, void const* function, int, size_t),
    refuseKernel("cudaOccupancyMaxActiveBlocksPerMultiprocessor", function))

// What object files with device code call when they are loaded.
TENON_CUDA_BODY(void**, __cudaRegisterFatBinary, (void* code))
{
    static void* handle{nullptr};
    static_cast<void>(code);
    return &handle;
}
TENON_CUDA_BODY(void, __cudaRegisterFatBinaryEnd, (void**)) {}
TENON_CUDA_BODY(void, __cudaUnregisterFatBinary, (void**)) {}
TENON_CUDA_BODY(void, __cudaRegisterFunction,
    (void**, char const* function, char*, char const* name, int, uint3*, uint3*, dim3*, dim3*, int*))
{
    remember(function, name);
}
TENON_CUDA_BODY(void, __cudaRegisterVar, (void**, char*, char*, char const*, int, size_t, int, int)) {}
TENON_CUDA_BODY(void, __cudaRegisterManagedVar, (void**, void**, char*, char const*, int, size_t, int, int)) {}
TENON_CUDA_BODY(void, __cudaRegisterHostVar, (void**, char const*, char*, size_t)) {}
TENON_CUDA_BODY(void, __cudaRegisterUnifiedTable, (void**, void const*)) {}
TENON_CUDA_BODY(char, __cudaInitModule, (void**))
{
    return 1;
}
TENON_CUDA_BODY(unsigned int, __cudaPushCallConfiguration, (dim3, dim3, size_t, void*))
{
    return 0; // The launch that follows says what is wrong.
}
TENON_CUDA_BODY(cudaError_t, __cudaPopCallConfiguration, (dim3 * grid, dim3* block, size_t* bytes, void* stream))
{
    *grid = dim3{};
    *block = dim3{};
    *bytes = 0;
    *static_cast<cudaStream_t*>(stream) = nullptr;
    return cudaSuccess;
}
TENON_CUDA_BODY(cudaError_t, __cudaGetKernel, (cudaKernel_t * kernel, void const* function))
{
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function)); // For the name, when it is launched.
    return cudaSuccess;
}
TENON_CUDA_BODY(cudaError_t, __cudaLaunchKernel, (cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t))
{
    return noted(refuseKernel("cudaLaunchKernel", kernel));
}
TENON_CUDA_BODY(cudaError_t, __cudaLaunchKernel_ptsz, (cudaKernel_t kernel, dim3, dim3, void**, size_t, cudaStream_t))
{
    return noted(refuseKernel("cudaLaunchKernel", kernel));
}
