// mapPlanFile: a plan file as read-only memory.
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

struct Mapping
{
    void* data{nullptr};
    size_t bytes{0};
    ~Mapping()
    {
        if (data != nullptr)
            munmap(data, bytes);
    }
};
} // namespace

Result<MappedFile> mapPlanFile(std::string const& path)
{
    File const file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.number < 0)
        return badArgument("cannot open '{}': {}", path, std::strerror(errno));
    struct stat status
    {
    };
    if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode))
        return badArgument("'{}' is not a regular file", path);
    if (status.st_size == 0)
        return badArgument("'{}' is empty", path);
    auto mapping = std::make_shared<Mapping>();
    auto const bytes = static_cast<size_t>(status.st_size);
    // Populated at once: the checksum reads all of it anyway, and one walk costs less than a fault per page.
    void* const data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.number, 0);
    if (data == MAP_FAILED)
        return badArgument("cannot map '{}': {}", path, std::strerror(errno));
    mapping->data = data;
    mapping->bytes = bytes;
    return MappedFile{{static_cast<uint8_t const*>(data), bytes}, mapping};
}

} // namespace tenon
