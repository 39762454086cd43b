// Counts calls of the malloc family in this program, and the bytes that they hold.
#pragma once

#include <cstdint>

namespace tenon::test
{

//! Calls by all threads since the program began; 0 for ever where sanitizers own malloc (isCounting is false then).
int64_t allocationCount() noexcept;
//! Bytes allocated and not freed yet, by all threads.
int64_t liveBytes() noexcept;
bool isCounting() noexcept;

} // namespace tenon::test
