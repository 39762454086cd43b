// Large memory: for what is read from end to end in every run. A page table entry covers 2 MiB of it where the system
// has such pages: fewer faults when it is filled, and streams that prefetchers can follow.
#pragma once

#include <cstddef>

namespace tenon
{

inline constexpr size_t kLargePage{size_t{2} << 20};

//! At least so many bytes, aligned to a cache line, in large pages from the size of one on; null when there is no
//! memory. For std::free.
void* allocateLarge(size_t bytes) noexcept;

} // namespace tenon
