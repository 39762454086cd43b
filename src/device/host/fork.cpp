// fork(): a child has none of the parent's threads, so that its streams start empty, with a thread at their next work.
#include "device/host/capture.h"
#include "device/host/memory.h"
#include "device/host/stream_table.h"

#include <pthread.h>

namespace tenon::host
{

namespace
{
void beforeFork()
{
    lockGraphsForFork(); // First: a launch holds its graph while it goes into a stream.
    streamTable().lockForFork();
    streamTable().eachLocked([](StreamQueue& queue) { queue.lockForFork(); });
    Captures::instance().lockForFork();
    lockEventsForFork();
    lockMemoryForFork();
}

void afterForkInParent()
{
    unlockMemoryInParent();
    unlockEventsInParent();
    Captures::instance().unlockInParent();
    streamTable().eachLocked([](StreamQueue& queue) { queue.unlockInParent(); });
    streamTable().unlockInParent();
    unlockGraphsInParent();
}

void afterForkInChild()
{
    resetMemoryInChild();
    resetEventsInChild();
    Captures::instance().unlockInChild();
    streamTable().eachLocked([](StreamQueue& queue) { queue.resetInChild(); });
    // The threads that would have done so at their end are the parent's.
    streamTable().buryLocked([](StreamQueue const& queue) { return &queue != StreamQueue::current(); });
    streamTable().unlockInChild();
    resetGraphsInChild();
}

// While the library is loaded, not at the first use: a child forked in the midst of that would wait for ever.
// A fork makes the tables that are not there yet.
[[maybe_unused]] int const kForksAreWatched = pthread_atfork(&beforeFork, &afterForkInParent, &afterForkInChild);
} // namespace

} // namespace tenon::host
