// The malloc family, interposed: calls and live bytes of all threads are counted; the work is glibc's.
#include "support/allocation_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <malloc.h>

namespace
{
std::atomic<int64_t> gCalls{0};
std::atomic<int64_t> gLive{0};

[[maybe_unused]] void* counted(void* memory) noexcept
{
    gCalls.fetch_add(1, std::memory_order_relaxed);
    gLive.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
    return memory;
}

[[maybe_unused]] void forget(void* memory) noexcept
{
    gLive.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
}
} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C"
{
    void* __libc_malloc(size_t bytes);
    void* __libc_calloc(size_t count, size_t bytes);
    void* __libc_realloc(void* memory, size_t bytes);
    void* __libc_memalign(size_t alignment, size_t bytes);
    void __libc_free(void* memory);

    void* malloc(size_t bytes)
    {
        return counted(__libc_malloc(bytes));
    }
    void* calloc(size_t count, size_t bytes)
    {
        return counted(__libc_calloc(count, bytes));
    }
    void* realloc(void* memory, size_t bytes)
    {
        forget(memory);
        void* const moved = __libc_realloc(memory, bytes);
        return counted(moved == nullptr && bytes > 0 ? memory : moved) == nullptr ? nullptr : moved;
    }
    void* memalign(size_t alignment, size_t bytes)
    {
        return counted(__libc_memalign(alignment, bytes));
    }
    void* aligned_alloc(size_t alignment, size_t bytes)
    {
        return counted(__libc_memalign(alignment, bytes));
    }
    int posix_memalign(void** memory, size_t alignment, size_t bytes)
    {
        *memory = counted(__libc_memalign(alignment, bytes));
        return *memory == nullptr ? ENOMEM : 0;
    }
    void free(void* memory)
    {
        forget(memory);
        __libc_free(memory);
    }
}

bool tenon::test::isCounting() noexcept
{
    return true;
}
#else
bool tenon::test::isCounting() noexcept
{
    return false;
}
#endif

int64_t tenon::test::allocationCount() noexcept
{
    return gCalls.load(std::memory_order_relaxed);
}

int64_t tenon::test::liveBytes() noexcept
{
    return gLive.load(std::memory_order_relaxed);
}
