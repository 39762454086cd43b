// Large memory from the C library's heap.
#include "base/large_memory.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>

namespace tenon
{

void* allocateLarge(size_t bytes) noexcept
{
    constexpr size_t kCacheLine{64};
    size_t const alignment = bytes >= kLargePage ? kLargePage : kCacheLine;
    void* const memory =
        std::aligned_alloc(alignment, (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
    if (memory != nullptr && bytes >= kLargePage)
        madvise(memory, bytes, MADV_HUGEPAGE); // Only a hint.
    return memory;
}

} // namespace tenon
