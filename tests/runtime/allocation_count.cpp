// The malloc family, interposed: each call is counted and passed on to glibc.
#include "runtime/allocation_count.h"

#include <cerrno>
#include <cstddef>

namespace
{
thread_local int64_t gCount{0};
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C"
{
    void* __libc_malloc(size_t bytes);
    void* __libc_calloc(size_t count, size_t bytes);
    void* __libc_realloc(void* memory, size_t bytes);
    void* __libc_memalign(size_t alignment, size_t bytes);

    void* malloc(size_t bytes)
    {
        ++gCount;
        return __libc_malloc(bytes);
    }
    void* calloc(size_t count, size_t bytes)
    {
        ++gCount;
        return __libc_calloc(count, bytes);
    }
    void* realloc(void* memory, size_t bytes)
    {
        ++gCount;
        return __libc_realloc(memory, bytes);
    }
    void* memalign(size_t alignment, size_t bytes)
    {
        ++gCount;
        return __libc_memalign(alignment, bytes);
    }
    void* aligned_alloc(size_t alignment, size_t bytes)
    {
        ++gCount;
        return __libc_memalign(alignment, bytes);
    }
    int posix_memalign(void** memory, size_t alignment, size_t bytes)
    {
        ++gCount;
        *memory = __libc_memalign(alignment, bytes);
        return *memory == nullptr ? ENOMEM : 0;
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
    return gCount;
}
