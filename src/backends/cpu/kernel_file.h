// KernelFile: what one file of kernels offers to the table that the build writes.
#pragma once

#include "backend/candidate.h"
#include "device/host/host_kernel.h"

#include <span>

namespace tenon::cpu
{

struct KernelFile
{
    std::span<Candidate const> candidates;
    std::span<KernelEntry const> kernels;
};

} // namespace tenon::cpu

//! Foot of a file of kernels, at file scope: the build reads these lines and writes the table.
#define TENON_KERNELS(Name, candidates, kernels)                                                                       \
    namespace tenon::cpu                                                                                               \
    {                                                                                                                  \
    KernelFile kernelsOf##Name()                                                                                       \
    {                                                                                                                  \
        return {candidates, kernels};                                                                                  \
    }                                                                                                                  \
    }                                                                                                                  \
    static_assert(true)
