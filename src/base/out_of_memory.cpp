// OutOfMemory: the machine's memory.
#include "base/out_of_memory.h"

#include <unistd.h>

namespace tenon
{

bool isToBeHad(uint64_t bytes) noexcept
{
    static auto const all = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::getpagesize());
    return bytes <= all;
}

} // namespace tenon
