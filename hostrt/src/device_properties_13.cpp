// The properties of the device as version 13 of the runtime lays them out.
#include "device_properties.inc"

static_assert(sizeof(cudaDeviceProp) == 1008);

extern "C" TENON_HOSTRT_CALL cudaError_t host_cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
{
    return tenon::hostrt::noted(describe(properties, device));
}
__asm__(".symver host_cudaGetDeviceProperties,cudaGetDeviceProperties@@libcudart.so.13");
