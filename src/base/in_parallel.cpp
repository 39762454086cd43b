// inParallel: threads for the time of one call.
#include "base/in_parallel.h"

#include "base/cancellation.h"
#include "base/signals_blocked.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tenon
{

void inParallel(size_t count, int32_t threads, std::function<void(size_t piece)> const& work)
{
    std::atomic<size_t> next{0};
    std::vector<std::jthread> others;
    struct Stop
    {
        std::atomic<size_t>& next;
        size_t count;
        ~Stop()
        {
            next = count; // Whoever leaves early waits for the pieces that have been begun alone.
        }
    } const stop{next, count};
    size_t const most = std::min(static_cast<size_t>(std::max(threads, 1)), count);
    try
    {
        SignalsBlocked const blocked;
        while (others.size() + 1 < most)
            others.emplace_back([&] {
                for (size_t piece = next++; piece < count; piece = next++)
                    work(piece);
            });
    }
    catch (std::system_error const&)
    {
        // Those that there are do all of it.
    }
    for (size_t piece = next++; piece < count; piece = next++)
    {
        cancellationPoint();
        work(piece);
    }
}

} // namespace tenon
