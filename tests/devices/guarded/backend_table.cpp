// The backends of the guarded library: the CPU's, whose plans run on guarded memory.
#include "backend/backend_table.h"

#include "backends/cpu/cpu.h"
#include "backends/plugin/plugin.h"
#include "backends/ref/ref.h"
#include "devices/guarded/guarded_device.h"

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

Device& guardedCpu()
{
    static test::GuardedDevice device = [] {
        addCpuKernels(hostPluginKernels());
        addCpuKernels(refKernels());
        return test::GuardedDevice{cpuDevice()};
    }();
    return device;
}

Device& guardedRef()
{
    static test::GuardedDevice device = [] {
        addRefKernels(hostPluginKernels());
        return test::GuardedDevice{refDevice()};
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
            .device = [](int32_t) -> Device& { return guardedCpu(); },
            .unpack = unpackCpuWeight},
        BackendEntry{.name = "ref",
            .isOnlyByName = true,
            .probe = []() -> Result<int32_t> { return 1; },
            .backend = refWithPlugins,
            .target = [](int32_t) { return refTarget(); },
            .device = [](int32_t) -> Device& { return guardedRef(); },
            .unpack = refusePacking},
    };
    return kEntries;
}

} // namespace tenon
