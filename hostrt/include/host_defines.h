// Marks of CUDA source code, without a meaning for a host compiler.
#ifndef TENON_HOSTRT_HOST_DEFINES_H
#define TENON_HOSTRT_HOST_DEFINES_H

#include "tenon_alone.h"

#ifndef __host__
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB

#endif // TENON_HOSTRT_HOST_DEFINES_H
