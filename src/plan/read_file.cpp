// readPlanFile: a plan file in memory of our own. A mapping of the file would change with it, and end the process where
// the file has become shorter (docs/decisions/0016-plans-are-read.md); sealed memory can do neither, and is mapped.
#include "plan/format.h"
#include "plan/paged_memory.h"
#include "plan/plan.h"
#include "plan/plan_memory.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
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

//! Whether the file is memory (memfd_create) that nobody can write to or cut off any more, whoever has it open.
bool isSealed(int file) noexcept
{
    int const seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & F_SEAL_WRITE) != 0;
}

//! Whether what the file begins with is a plan whose weights are streamed.
bool streamsWeights(int file)
{
    PlanHeader header;
    auto* const bytes = reinterpret_cast<uint8_t*>(&header);
    return readAt(file, bytes, sizeof header, 0) == 0 && (planFlags({bytes, sizeof header}) & kPlanStreamsWeights) != 0;
}

//! Fills memory of either kind.
template <typename Memory>
Result<Done> readInto(Memory& memory, int file, std::string const& path)
{
    std::atomic<int> problem{0};
    memory.fill([&](uint8_t* to, size_t first, size_t count) {
        if (int const failed = readAt(file, to, count, first); failed != 0)
            problem = failed;
    });
    if (problem == ENODATA)
        return badArgument("'{}' became shorter while it was read", path);
    if (problem != 0)
        return badArgument("cannot read '{}': {}", path, std::strerror(problem));
    return Done{};
}
} // namespace

Result<PlanFile> readPlanFile(std::string const& path, std::string const* folder)
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
    bool const isShared = isSealed(file.number);
    // Between the two it may have become shorter, and never again.
    if (isShared && (fstat(file.number, &status) != 0 || static_cast<size_t>(status.st_size) != bytes))
        return badArgument("'{}' became another size while it was opened", path);
    if (folder != nullptr && !isShared && streamsWeights(file.number))
    {
        std::shared_ptr<PagedMemory> const pages = TENON_TRY(PagedMemory::make(bytes, *folder));
        TENON_TRY(readInto(*pages, file.number, path));
        return PlanFile{pages->bytes(), pages, pages};
    }
    std::shared_ptr<PlanMemory> const memory =
        isShared ? PlanMemory::sealed(file.number, bytes) : PlanMemory::make(bytes);
    if (memory == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the {} bytes of '{}'", bytes, path);
    if (!isShared)
        TENON_TRY(readInto(*memory, file.number, path));
    return PlanFile{memory->bytes(), memory, nullptr};
}

} // namespace tenon
