// A file mapped for reading.
#include "file_map.h"

#include "failure.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon::onnx
{
namespace
{

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

[[noreturn]] void failOn(int descriptor, std::string const& path, char const* what)
{
    std::string text = fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno));
    if (descriptor >= 0)
    {
        ::close(descriptor);
    }
    fail(nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED, std::move(text));
}

} // namespace

FileMap::FileMap(std::string const& path)
{
    // A pipe that nobody writes to would be waited for without O_NONBLOCK.
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
    {
        failOn(descriptor, path, "open");
    }
    struct stat status
    {
    };
    if (::fstat(descriptor, &status) != 0)
    {
        failOn(descriptor, path, "inspect");
    }
    if (!S_ISREG(status.st_mode))
    {
        ::close(descriptor);
        fail(nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED,
            fmt::format("'{}' is {}, not a plain file", path, kindOfMode(status.st_mode)));
    }
    mSize = static_cast<size_t>(status.st_size);
    if (mSize > 0)
    {
        void* const data = ::mmap(nullptr, mSize, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED)
        {
            failOn(descriptor, path, fmt::format("map the {} bytes of", mSize).c_str());
        }
        mData = static_cast<char const*>(data);
    }
    ::close(descriptor);
}

FileMap::~FileMap()
{
    if (mData != nullptr)
    {
        ::munmap(const_cast<char*>(mData), mSize);
    }
}

} // namespace tenon::onnx
