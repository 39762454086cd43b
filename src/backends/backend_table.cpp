// The backend table of this build: its own devices.
#include "backends/rows.h"

namespace tenon
{

std::span<BackendEntry const> allBackends() noexcept
{
    static std::array const rows = rowsOver({[](int32_t) -> Device& { return cpuWithKernels(); },
        [](int32_t) -> Device& { return refWithKernels(); }, cudaWithKernels});
    return rows;
}

} // namespace tenon
