// PlanCopy: written to a file in memory by the kernel, which stops where a read of our own would end the process.
#include "plan_copy.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace tenon::python
{

namespace
{
//! How many bytes are in the file then: those that can be read. −1 where the file cannot take them.
ssize_t written(int file, char const* data, size_t size)
{
    size_t done{0};
    while (done < size)
    {
        ssize_t const step = write(file, data + done, size - done);
        if (step < 0 && errno == EFAULT)
            break;
        if (step == 0 || (step < 0 && errno != EINTR))
            return -1;
        done += step > 0 ? static_cast<size_t>(step) : 0;
    }
    return static_cast<ssize_t>(done);
}
} // namespace

std::unique_ptr<PlanCopy> PlanCopy::of(void const* data, size_t size)
{
    int const file = memfd_create("plan", MFD_CLOEXEC);
    if (file < 0)
        return nullptr;
    ssize_t const done = written(file, static_cast<char const*>(data), size);
    auto const whole = static_cast<size_t>(std::max<ssize_t>(done, 0));
    void* const copy = whole > 0 ? mmap(nullptr, whole, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0) : nullptr;
    close(file); // Nobody can open it again: what is mapped stays as it is.
    return std::unique_ptr<PlanCopy>{done < 0 || copy == MAP_FAILED ? nullptr : new PlanCopy{copy, whole}};
}

PlanCopy::~PlanCopy()
{
    if (mData != nullptr)
        munmap(mData, mSize);
}

} // namespace tenon::python
