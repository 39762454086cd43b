// PlanMemory: pages from the system.
#include "plan/plan_memory.h"

#include "base/large_memory.h"
#include "plan/format.h"

#include <cstring>
#include <sys/mman.h>

namespace tenon
{

namespace
{
//! Mapped pages that begin at a multiple of `alignment`; null when there are none.
uint8_t* mapAligned(size_t bytes, size_t alignment)
{
    size_t const slack = alignment > kPlanPage ? alignment : 0;
    void* const mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    auto* const first = static_cast<uint8_t*>(mapped);
    size_t const before = slack == 0 ? 0 : (slack - reinterpret_cast<uintptr_t>(first) % slack) % slack;
    size_t const end = (before + bytes + kPlanPage - 1) / kPlanPage * kPlanPage;
    size_t const mappedEnd = (bytes + slack + kPlanPage - 1) / kPlanPage * kPlanPage;
    if (before > 0)
        munmap(first, before);
    if (mappedEnd > end)
        munmap(first + end, mappedEnd - end);
    return first + before;
}
} // namespace

std::shared_ptr<PlanMemory> PlanMemory::make(size_t bytes, bool isLoaded)
{
    bool const isLarge = isLoaded && bytes >= kLargePage;
    uint8_t* const data = mapAligned(bytes, isLarge ? kLargePage : kPlanPage);
    if (data == nullptr)
        return nullptr;
    if (isLarge)
        madvise(data, bytes, MADV_HUGEPAGE); // Only a hint.
    return std::shared_ptr<PlanMemory>{new PlanMemory{data, bytes}};
}

std::shared_ptr<PlanMemory> PlanMemory::sealed(int file, size_t bytes)
{
    void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    return std::shared_ptr<PlanMemory>{new PlanMemory{static_cast<uint8_t*>(mapped), bytes}};
}

PlanMemory::~PlanMemory()
{
    munmap(mData, mSize);
}

void PlanMemory::touch(size_t first, size_t count) noexcept
{
#ifdef MADV_POPULATE_WRITE
    madvise(mData + first, count, MADV_POPULATE_WRITE); // Only a hint: older kernels do not know it.
#else
    static_cast<void>(first + count);
#endif
}

void PlanMemory::seal() noexcept
{
    mprotect(mData, mSize, PROT_READ);
}

std::shared_ptr<PlanMemory> copyPlan(ByteView plan)
{
    std::shared_ptr<PlanMemory> memory = PlanMemory::make(plan.size());
    if (memory != nullptr)
        memory->fill([&](uint8_t* to, size_t first, size_t count) { std::memcpy(to, plan.data() + first, count); });
    return memory;
}

} // namespace tenon
