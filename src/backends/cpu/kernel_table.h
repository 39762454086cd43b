// All files of kernels of the CPU backend.
#pragma once

#include "backends/cpu/kernel_file.h"

namespace tenon::cpu
{

std::span<KernelFile const> allKernelFiles();

} // namespace tenon::cpu
