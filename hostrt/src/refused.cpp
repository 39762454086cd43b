// The calls of the CUDA runtime that need a GPU: they exist, so that every program loads, and say what they are.
#include "calls.h"

using namespace tenon::hostrt;

namespace
{
constexpr char const* kWhy{"needs a GPU; Tenon's host run-time does not have it"};

cudaError_t noEntry(void** function, cudaError_t error) noexcept
{
    if (function != nullptr)
        *function = nullptr;
    return error;
}

cudaError_t checkStream(void* stream) noexcept
{
    TenonHostStream properties;
    return errorOf(tenonHostGetStream(stream, &properties));
}
} // namespace

TENON_CUDA_BODY(cudaChannelFormatDesc, cudaCreateChannelDesc, (int x, int y, int z, int w, cudaChannelFormatKind f))
{
    return {x, y, z, w, f};
}

// Attributes of streams are hints for kernels.
TENON_CUDA_FREELY(cudaStreamSetAttribute, (void* stream), checkStream(stream))
TENON_CUDA_FREELY(cudaStreamSetAttribute_ptsz, (void* stream), checkStream(stream))
TENON_CUDA_FREELY(cudaGetDriverEntryPoint, (char const*, void** function),
    noEntry(function, refused("cudaGetDriverEntryPoint", kWhy)))
TENON_CUDA_FREELY(cudaGetDriverEntryPoint_ptsz, (char const*, void** function),
    noEntry(function, refused("cudaGetDriverEntryPoint", kWhy)))
TENON_CUDA_FREELY(cudaGetDriverEntryPointByVersion, (char const*, void** function),
    noEntry(function, refused("cudaGetDriverEntryPointByVersion", kWhy)))
TENON_CUDA_FREELY(cudaGetDriverEntryPointByVersion_ptsz, (char const*, void** function),
    noEntry(function, refused("cudaGetDriverEntryPointByVersion", kWhy)))

#define TENON_TABLE_ENTRY(name) TENON_CUDA_REFUSED(name, kWhy)
#include "refused.inc"
