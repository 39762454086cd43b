// The backends of this build. The reference stands behind the CPU's own kernels, so that every layer runs; both run
// custom layers on the host.
#include "backends/rows.h"

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/plugin/plugin.h"
#include "backends/ref/ref.h"

namespace tenon
{

namespace
{
Backend cpuWithReference()
{
    Backend backend = cpuBackend();
    backend.append(pluginCandidates()).append(refCandidates());
    return backend;
}

Backend refWithPlugins()
{
    Backend backend = refBackend();
    backend.append(pluginCandidates());
    return backend;
}

//! Custom layers run on the host where their bodies are the host's.
Backend cudaWithHost()
{
    Backend backend = cudaBackend();
    backend.append(cudaPluginCandidates())
        .append(besideCudaPluginCandidates(), Place::kHost)
        .append(refCandidates(), Place::kHost);
    return backend;
}

Result<std::shared_ptr<Constant const>> refusePacking(
    std::string_view packing, DType, std::vector<int64_t>, void const*, size_t)
{
    return badArgument("the reference backend packs no weights, but one is packed as '{}'", packing);
}
} // namespace

Device& cpuWithKernels()
{
    static Device& device = []() -> Device& {
        addCpuKernels(hostPluginKernels());
        addCpuKernels(refKernels());
        return cpuDevice();
    }();
    return device;
}

Device& refWithKernels()
{
    static Device& device = []() -> Device& {
        addRefKernels(hostPluginKernels());
        return refDevice();
    }();
    return device;
}

Device& cudaWithKernels(int32_t index)
{
    static bool const areAdded = [] {
        addCudaHostKernels(hostPluginKernels());
        addCudaHostKernels(refKernels());
        addCudaKernels(cudaPluginKernels());
        return true;
    }();
    static_cast<void>(areAdded);
    return cudaDevice(index);
}

std::array<BackendEntry, 3> rowsOver(RowDevices const& devices) noexcept
{
    return {
        BackendEntry{.name = "cuda",
            .hasOwnMemory = true,
            .choosesByTime = true,
            .probe = probeCuda,
            .backend = cudaWithHost,
            .target = cudaTarget,
            .device = devices.cuda,
            .unpack = unpackCudaWeight,
            .portableTarget = cudaPortableTarget,
            .libraries = cudaLibraries,
            .libraryOf = cudaLibraryOf,
            .current = currentCuda,
            .open = openCuda},
        BackendEntry{.name = "cpu",
            .probe = probeCpu,
            .backend = cpuWithReference,
            .target = [](int32_t) { return cpuTarget(); },
            .device = devices.cpu,
            .unpack = unpackCpuWeight},
        BackendEntry{.name = "ref",
            .isOnlyByName = true,
            .probe = []() -> Result<int32_t> { return 1; },
            .backend = refWithPlugins,
            .target = [](int32_t) { return refTarget(); },
            .device = devices.ref,
            .unpack = refusePacking},
    };
}

} // namespace tenon
