// All files of kernels of the CUDA backend, and what each offers to the table that the build writes.
#pragma once

#include "backend/candidate.h"
#include "device/cuda/cuda_kernel.h"

#include <span>

namespace tenon::cuda
{

struct KernelFile
{
    std::span<Candidate const> candidates;
    std::span<CudaKernelEntry const> kernels;
};

std::span<KernelFile const> allKernelFiles();

} // namespace tenon::cuda

//! Foot of a file of kernels, at file scope: the build reads these lines and writes the table.
#define TENON_CUDA_KERNELS(Name, candidates, kernels)                                                                  \
    namespace tenon::cuda                                                                                              \
    {                                                                                                                  \
    KernelFile kernelsOf##Name()                                                                                       \
    {                                                                                                                  \
        return {candidates, kernels};                                                                                  \
    }                                                                                                                  \
    }                                                                                                                  \
    static_assert(true)
