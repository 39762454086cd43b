// A toolkit's headers and these declare the same names. No header of CUDA's.
#ifndef TENON_HOSTRT_ALONE_H
#define TENON_HOSTRT_ALONE_H

#if defined(__CUDA_RUNTIME_API_H__) || defined(__DRIVER_TYPES_H__) || defined(__VECTOR_TYPES_H__)                      \
    || defined(__HOST_DEFINES_H__) || defined(__DEVICE_TYPES_H__) || defined(__LIBRARY_TYPES_H__)                      \
    || defined(__cuda_cuda_h__) || defined(__CUDA_FP16_H__) || defined(__CUDA_BF16_H__) || defined(__CUDA_FP8_H__)
#error                                                                                                                 \
    "a CUDA toolkit's headers come before those of Tenon's host run-time: name the folder include/tenon/hostrt first, or leave it out to compile with the toolkit's"
#endif

#endif // TENON_HOSTRT_ALONE_H
