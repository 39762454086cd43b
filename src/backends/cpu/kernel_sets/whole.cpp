// Kernels of all instruction sets are part of this build.
#include "base/isa.h"

namespace tenon
{

Isa isaOfBuild() noexcept
{
    return Isa::kAmxFp16;
}

} // namespace tenon
