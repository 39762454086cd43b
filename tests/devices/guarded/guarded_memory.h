// GuardedMemory: device memory that the host cannot touch. Each block is mapped twice: at its address without any right
// of access, and at another place that only kernels and copies know.
#pragma once

#include <cstddef>

namespace tenon::test
{

class GuardedMemory
{
  public:
    //! Null when there is not enough. Aligned as pages are.
    static void* allocate(size_t bytes) noexcept;
    static void release(void* address) noexcept;
    //! Where a kernel finds what `address` means; the address itself when it is the host's own memory.
    static void* open(void const* address) noexcept;
    //! Whether the address lies in a block.
    static bool holds(void const* address) noexcept;
};

} // namespace tenon::test
