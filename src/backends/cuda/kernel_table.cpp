// The tables of the CUDA backend, as the build found them.
#include "backends/cuda/kernel_table.h"

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
    std::vector<Candidate> candidates;
    for (cuda::KernelFile const& file : cuda::allKernelFiles())
        candidates.insert(candidates.end(), file.candidates.begin(), file.candidates.end());
    return Backend{"cuda", std::move(candidates)};
}

} // namespace tenon
