// Where a kernel's thread stands. Declared, so that sources compile whose kernels a CUDA compiler takes elsewhere; who
// uses them on the host finds nothing to link with, as with a toolkit.
#ifndef TENON_HOSTRT_DEVICE_LAUNCH_PARAMETERS_H
#define TENON_HOSTRT_DEVICE_LAUNCH_PARAMETERS_H

#include "vector_types.h"

#ifdef __cplusplus
extern "C"
{
#endif
    extern uint3 const threadIdx;
    extern uint3 const blockIdx;
    extern dim3 const blockDim;
    extern dim3 const gridDim;
    extern int const warpSize;
#ifdef __cplusplus
}
#endif

#endif // TENON_HOSTRT_DEVICE_LAUNCH_PARAMETERS_H
