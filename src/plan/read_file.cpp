// readPlanFile: a plan file in memory of our own. A mapping of the file would change with it, and end the process where
// the file has become shorter (docs/decisions/0016-plans-are-read.md).
#include "plan/chunks.h"
#include "plan/plan.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon
{

namespace
{
//! The number of an open file, closed at the end of the scope.
struct File
{
    int number{-1};
    ~File()
    {
        if (number >= 0)
            close(number);
    }
};

//! Memory of whole pages, writable until it is filled.
struct Pages
{
    void* data{nullptr};
    size_t bytes{0};
    ~Pages()
    {
        if (data != nullptr)
            munmap(data, bytes);
    }
};

char const* kindOfMode(mode_t mode) noexcept
{
    switch (mode & S_IFMT)
    {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

//! 0, or the number of the error. A file that ends early is no plan any more.
int readAt(int file, uint8_t* to, size_t count, size_t offset)
{
    while (count > 0)
    {
        ssize_t const got = pread(file, to, count, static_cast<off_t>(offset));
        if (got == 0)
            return ENODATA;
        if (got < 0 && errno != EINTR)
            return errno;
        auto const step = static_cast<size_t>(std::max<ssize_t>(got, 0));
        to += step;
        count -= step;
        offset += step;
    }
    return 0;
}

Result<std::shared_ptr<Pages>> pagesFor(size_t bytes, std::string const& path)
{
    // Populated at once: all of it is written anyway, and one walk costs less than a fault per page.
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the {} bytes of '{}'", bytes, path);
    auto pages = std::make_shared<Pages>();
    pages->data = data;
    pages->bytes = bytes;
    return pages;
}
} // namespace

Result<PlanFile> readPlanFile(std::string const& path)
{
    // A pipe that nobody writes to would be waited for without O_NONBLOCK.
    File const file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status
    {
    };
    if (file.number < 0 || fstat(file.number, &status) != 0)
        return badArgument("cannot open '{}': {}", path, std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        return badArgument("'{}' is {}, not a plain file", path, kindOfMode(status.st_mode));
    if (status.st_size == 0)
        return badArgument("'{}' is empty", path);
    auto const bytes = static_cast<size_t>(status.st_size);
    std::shared_ptr<Pages> const pages = TENON_TRY(pagesFor(bytes, path));
    auto* const first = static_cast<uint8_t*>(pages->data);
    std::atomic<int> problem{0};
    forEachChunk(bytes, [&](size_t offset, size_t count) {
        if (int const failed = readAt(file.number, first + offset, count, offset); failed != 0)
            problem = failed;
    });
    if (problem == ENODATA)
        return badArgument("'{}' became shorter while it was read", path);
    if (problem != 0)
        return badArgument("cannot read '{}': {}", path, std::strerror(problem));
    mprotect(pages->data, bytes, PROT_READ); // Nobody writes from here on; who does should be found out.
    return PlanFile{{first, bytes}, pages};
}

} // namespace tenon
