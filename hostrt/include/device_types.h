// How conversions round, as sources name it.
#ifndef TENON_HOSTRT_DEVICE_TYPES_H
#define TENON_HOSTRT_DEVICE_TYPES_H

#include "tenon_alone.h"

enum cudaRoundMode
{
    cudaRoundNearest,
    cudaRoundZero,
    cudaRoundPosInf,
    cudaRoundMinInf
};

#endif // TENON_HOSTRT_DEVICE_TYPES_H
