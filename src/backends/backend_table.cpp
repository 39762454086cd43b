// The backends of this build. The reference stands behind the CPU's own kernels, so that every layer runs; both run
// custom layers on the host.
#include "backend/backend_table.h"

#include "backends/cpu/cpu.h"
#include "backends/plugin/plugin.h"
#include "backends/ref/ref.h"

#include <array>

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

Device& cpuDeviceWithReference()
{
    static Device& device = []() -> Device& {
        addCpuKernels(hostPluginKernels());
        addCpuKernels(refKernels());
        return cpuDevice();
    }();
    return device;
}

Device& refDeviceWithPlugins()
{
    static Device& device = []() -> Device& {
        addRefKernels(hostPluginKernels());
        return refDevice();
    }();
    return device;
}

Result<std::shared_ptr<Constant const>> refusePacking(
    std::string_view packing, DType, std::vector<int64_t>, void const*, size_t)
{
    return badArgument("the reference backend packs no weights, but one is packed as '{}'", packing);
}
} // namespace

std::span<BackendEntry const> allBackends() noexcept
{
    static constexpr std::array kEntries{
        BackendEntry{.name = "cpu",
            .probe = probeCpu,
            .backend = cpuWithReference,
            .target = [](int32_t) { return cpuTarget(); },
            .device = [](int32_t) -> Device& { return cpuDeviceWithReference(); },
            .unpack = unpackCpuWeight},
        BackendEntry{.name = "ref",
            .isOnlyByName = true,
            .probe = []() -> Result<int32_t> { return 1; },
            .backend = refWithPlugins,
            .target = [](int32_t) { return refTarget(); },
            .device = [](int32_t) -> Device& { return refDeviceWithPlugins(); },
            .unpack = refusePacking},
    };
    return kEntries;
}

} // namespace tenon
