// The backends of this build.
#include "backend/backend_table.h"

#if __has_include("backends/cpu/cpu.h")
#include "backends/cpu/cpu.h"
#define TENON_HAS_CPU 1
#endif
#include "backends/ref/ref.h"

#include <array>

namespace tenon
{

std::span<BackendEntry const> allBackends() noexcept
{
    static constexpr std::array kEntries{
#ifdef TENON_HAS_CPU
        BackendEntry{"cpu", cpuBackend, cpuDevice},
#endif
        BackendEntry{"ref", refBackend, refDevice},
    };
    return kEntries;
}

} // namespace tenon
