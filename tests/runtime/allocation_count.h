// Counts calls of the malloc family in this program.
#pragma once

#include <cstdint>

namespace tenon::test
{

//! Calls by this thread since the program began; 0 for ever where sanitizers own malloc (isCounting is false then).
int64_t allocationCount() noexcept;
bool isCounting() noexcept;

} // namespace tenon::test
