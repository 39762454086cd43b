// Start and end of what a profiler watches: accepted, as there is no profiler.
#ifndef TENON_HOSTRT_CUDA_PROFILER_API_H
#define TENON_HOSTRT_CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C"
{
#endif
    TENON_HOSTRT_CALL cudaError_t cudaProfilerStart(void);
    TENON_HOSTRT_CALL cudaError_t cudaProfilerStop(void);
#ifdef __cplusplus
}
#endif

#endif // TENON_HOSTRT_CUDA_PROFILER_API_H
