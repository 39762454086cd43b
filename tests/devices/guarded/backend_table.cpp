// The backend table of the guarded library: plans of the same backends run on guarded memory.
#include "backends/rows.h"
#include "devices/guarded/guarded_device.h"

namespace tenon
{

std::span<BackendEntry const> allBackends() noexcept
{
    static std::array const rows = rowsOver({[](int32_t) -> Device& {
                                                 static test::GuardedDevice device{cpuWithKernels()};
                                                 return device;
                                             },
        [](int32_t) -> Device& {
            static test::GuardedDevice device{refWithKernels()};
            return device;
        },
        cudaWithKernels});
    return rows;
}

} // namespace tenon
