// The properties of the device as version 12 of the runtime lays them out; version 11 has the first part of that.
#undef TENON_CUDART_MAJOR
#define TENON_CUDART_MAJOR 12
#include "device_properties.inc"

static_assert(sizeof(cudaDeviceProp) == 1032);

namespace
{
constexpr size_t kBytesOfVersion11{offsetof(cudaDeviceProp, hostRegisterSupported)};
static_assert(kBytesOfVersion11 == 728);

cudaError_t describeAs11(void* properties, int device) noexcept
{
    cudaDeviceProp all;
    cudaError_t const error = describe(properties == nullptr ? nullptr : &all, device);
    if (error == cudaSuccess)
        std::memcpy(properties, &all, kBytesOfVersion11);
    return error;
}
} // namespace

TENON_CUDA_FREELY(cudaGetDeviceProperties_v2, (cudaDeviceProp * properties, int device), describe(properties, device))

extern "C" TENON_HOSTRT_CALL cudaError_t version11_cudaGetDeviceProperties(void* properties, int device)
{
    return tenon::hostrt::noted(describeAs11(properties, device));
}
__asm__(".symver version11_cudaGetDeviceProperties,cudaGetDeviceProperties@libcudart.so.12");
