// In place of the kernels for GPUs, in a build for this machine that has none: nobody comes past the probe.
#include "backends/cuda/cuda.h"

#include <cstdlib>

namespace tenon
{

Result<int32_t> probeCuda()
{
    return errorOf(ErrorCode::kUNSUPPORTED_STATE,
        "this build has no kernels for GPUs, as `make demo` leaves them out where there is none: `make build` adds "
        "them");
}

std::optional<int32_t> currentCuda()
{
    return std::nullopt;
}

Result<Done> openCuda(int32_t)
{
    return Done{};
}

Backend cudaBackend()
{
    return {"cuda", {}};
}

Target cudaTarget(int32_t)
{
    return {};
}

Result<Target> cudaPortableTarget(int32_t)
{
    return Target{};
}

std::string cudaLibraries()
{
    return {};
}

std::string cudaLibraryOf(std::string_view)
{
    return {};
}

Device& cudaDevice(int32_t)
{
    std::abort();
}

void addCudaKernels(std::span<CudaKernelEntry const>) {}

void addCudaHostKernels(std::span<KernelEntry const>) {}

Result<std::shared_ptr<Constant const>> unpackCudaWeight(
    std::string_view packing, DType, std::vector<int64_t>, void const*, size_t)
{
    return badArgument("this build has no kernels for GPUs, and a weight is packed for one as '{}'", packing);
}

} // namespace tenon
