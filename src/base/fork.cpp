// forkGeneration: counts in the child.
#include "base/fork.h"

#include <atomic>

#include <pthread.h>

namespace tenon
{

namespace
{
std::atomic<int32_t> gGeneration{0};

void countFork()
{
    gGeneration.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] int const kForksAreCounted = pthread_atfork(nullptr, nullptr, &countFork);
} // namespace

int32_t forkGeneration() noexcept
{
    return gGeneration.load(std::memory_order_relaxed);
}

} // namespace tenon
