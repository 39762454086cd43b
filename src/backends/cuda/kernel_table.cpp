// The tables of the CUDA backend, as the build found them.
#include "backends/cuda/kernel_table.h"

#include "backend/kernel_files.h"
#include "backends/cuda/cuda.h"

namespace tenon::cuda
{

#define TENON_TABLE_ENTRY(Name) KernelFile kernelsOf##Name();
#include "cuda_table.inc"
#undef TENON_TABLE_ENTRY

std::span<KernelFile const> allKernelFiles()
{
    static KernelFile const files[]{
#define TENON_TABLE_ENTRY(Name) kernelsOf##Name(),
#include "cuda_table.inc"
#undef TENON_TABLE_ENTRY
    };
    return files;
}

} // namespace tenon::cuda

namespace tenon
{

Backend cudaBackend()
{
    return Backend{"cuda", candidatesOf(cuda::allKernelFiles())};
}

} // namespace tenon
