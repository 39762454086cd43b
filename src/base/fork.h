// Forked processes: how what other threads had begun before a fork is told apart from what still goes on.
#pragma once

#include <cstdint>

namespace tenon
{

//! Grows in each process that is forked off: the threads that had work before that live in the parent only.
int32_t forkGeneration() noexcept;

} // namespace tenon
