// PagedMemory: a file without a name, mapped so that what is written to it need not stay in memory.
#include "plan/paged_memory.h"

#include "plan/format.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace tenon
{

namespace
{
//! Closed at the end of the scope; what is mapped of it stays.
struct Descriptor
{
    int number{-1};
    ~Descriptor()
    {
        if (number >= 0)
            close(number);
    }
};

//! Without a name where the file system can, else under one that is gone at once.
int openNameless(std::string const& folder)
{
    constexpr mode_t kOwnerOnly{0600};
    int const file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, kOwnerOnly);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    std::string path = folder + "/tenon-weights-XXXXXX";
    int const named = mkostemp(path.data(), O_CLOEXEC);
    if (named >= 0)
        unlink(path.c_str());
    return named;
}

std::string folderOrDefault(std::string const& folder)
{
    std::error_code problem;
    std::filesystem::path const standard = std::filesystem::temp_directory_path(problem);
    return !folder.empty() ? folder : problem ? "/tmp" : standard.string();
}
} // namespace

Result<std::shared_ptr<PagedMemory>> PagedMemory::make(size_t bytes, std::string const& folder)
{
    std::string const where = folderOrDefault(folder);
    auto const failed = [&](int problem) {
        return errorOf(ErrorCode::kFAILED_ALLOCATION,
            "streamed weights take {} bytes of a temporary file in '{}', which cannot be had: {}; "
            "IRuntime::setTemporaryDirectory names another folder",
            bytes, where, std::strerror(problem));
    };
    Descriptor const file{openNameless(where)};
    if (file.number < 0)
        return failed(errno);
    // All of it now: a page that the file system has no room for when it is written would be a signal.
    int problem{EINTR}; // Signals interrupt it on file systems in memory.
    while (problem == EINTR)
        problem = posix_fallocate(file.number, 0, static_cast<off_t>(bytes));
    if (problem != 0)
        return failed(problem);
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
    if (data == MAP_FAILED)
        return failed(errno);
    return std::shared_ptr<PagedMemory>{new PagedMemory{static_cast<uint8_t*>(data), bytes}};
}

PagedMemory::~PagedMemory()
{
    munmap(mData, mSize);
}

void PagedMemory::seal() noexcept
{
    mprotect(mData, mSize, PROT_READ);
}

void PagedMemory::drop(void const* from, size_t bytes) const noexcept
{
    size_t const first = static_cast<size_t>(static_cast<uint8_t const*>(from) - mData) / kPlanPage * kPlanPage;
    size_t const end = static_cast<size_t>(static_cast<uint8_t const*>(from) - mData) + bytes;
    if (end > first)
        madvise(mData + first, end - first, MADV_DONTNEED); // The file keeps what was written.
}

Result<std::shared_ptr<PagedMemory>> pagedCopy(ByteView plan, std::string const& folder)
{
    std::shared_ptr<PagedMemory> memory = TENON_TRY(PagedMemory::make(plan.size(), folder));
    memory->fill([&](uint8_t* to, size_t first, size_t count) { std::memcpy(to, plan.data() + first, count); });
    return memory;
}

} // namespace tenon
