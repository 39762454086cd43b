// Launches from the C functions that the measuring programs call: shared memory beyond 48 KiB, clusters, programmatic
// edges (in a stream that is captured they become edges of the graph).
#pragma once

#include <cuda_runtime.h>

#define TENON_BENCHMARK_FUNCTION extern "C" __attribute__((visibility("default")))

namespace tenon::cuda
{

struct Launch
{
    dim3 grid, block;
    int sharedBytes{0};
    int cluster{1};
    bool dependent{false};
    cudaStream_t stream{nullptr};
};

template <class... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), Launch const& how, Parameters... arguments)
{
    if (how.sharedBytes > 48 * 1024)
    {
        const cudaError_t set =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, how.sharedBytes);
        if (set != cudaSuccess)
            return set;
    }
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = how.dependent ? 1 : 0;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = static_cast<unsigned>(how.cluster);
    attributes[1].val.clusterDim.y = 1;
    attributes[1].val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = how.grid;
    config.blockDim = how.block;
    config.dynamicSmemBytes = static_cast<size_t>(how.sharedBytes);
    config.stream = how.stream;
    config.attrs = attributes;
    config.numAttrs = how.cluster > 1 ? 2 : 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

} // namespace tenon::cuda
