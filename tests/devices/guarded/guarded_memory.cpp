// GuardedMemory: blocks of anonymous files, mapped twice.
#include "devices/guarded/guarded_memory.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace tenon::test
{

namespace
{
struct Block
{
    size_t bytes{0};
    char* inside{nullptr};
};

struct Blocks
{
    std::shared_mutex mutex;
    std::map<uintptr_t, Block> all; //!< By address.
};

Blocks& blocks()
{
    static auto* const instance = new Blocks; // Never destroyed: engines of static objects release late.
    return *instance;
}

size_t wholePages(size_t bytes)
{
    constexpr size_t kPage{4096};
    return (bytes + kPage - 1) / kPage * kPage
        + kPage; // The last one is never used: what runs over the end lands there.
}
} // namespace

void* GuardedMemory::allocate(size_t bytes) noexcept
{
    size_t const size = wholePages(bytes == 0 ? 1 : bytes);
    int const file = memfd_create("guarded", MFD_CLOEXEC);
    if (file < 0)
        return nullptr;
    void* inside{MAP_FAILED};
    void* outside{MAP_FAILED};
    if (ftruncate(file, static_cast<off_t>(size)) == 0)
    {
        inside = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        outside = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
    }
    close(file);
    if (inside == MAP_FAILED || outside == MAP_FAILED)
    {
        if (inside != MAP_FAILED)
            munmap(inside, size);
        return nullptr;
    }
    std::unique_lock const lock{blocks().mutex};
    blocks().all[reinterpret_cast<uintptr_t>(outside)] = {size, static_cast<char*>(inside)};
    return outside;
}

void GuardedMemory::release(void* address) noexcept
{
    if (address == nullptr)
        return;
    std::unique_lock const lock{blocks().mutex};
    auto const found = blocks().all.find(reinterpret_cast<uintptr_t>(address));
    if (found == blocks().all.end())
        return;
    munmap(found->second.inside, found->second.bytes);
    munmap(address, found->second.bytes);
    blocks().all.erase(found);
}

void* GuardedMemory::open(void const* address) noexcept
{
    auto const at = reinterpret_cast<uintptr_t>(address);
    std::shared_lock const lock{blocks().mutex};
    auto after = blocks().all.upper_bound(at);
    if (after != blocks().all.begin())
        if (auto const& [start, block] = *std::prev(after); at - start < block.bytes)
            return block.inside + (at - start);
    return const_cast<void*>(address);
}

bool GuardedMemory::holds(void const* address) noexcept
{
    return open(address) != address;
}

} // namespace tenon::test
