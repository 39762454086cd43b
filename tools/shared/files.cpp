// Files: reading, writing aside, and writing through.
#include "files.h"

#include "interruption.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tenon::cli
{

std::vector<char> readFile(std::string const& path)
{
    std::ifstream file{path, std::ios::binary | std::ios::ate};
    if (!file)
        throw std::runtime_error("cannot read '" + path + "': " + std::strerror(errno));
    auto const size = static_cast<int64_t>(file.tellg());
    std::error_code none;
    if (std::filesystem::is_directory(path, none))
        throw std::runtime_error("cannot read '" + path + "': it is a folder");
    if (size < 0)
        throw std::runtime_error("cannot read '" + path + "': it is no plain file");
    std::vector<char> bytes;
    try
    {
        bytes.resize(static_cast<size_t>(size));
    }
    catch (std::exception const&)
    {
        throw std::runtime_error("cannot read '" + path + "': no memory for its " + std::to_string(size) + " bytes");
    }
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

bool isWrittenThrough(std::string const& path)
{
    // Names of open files, too: one that is replaced is no longer the file that is open. Those in memory are plain.
    if ((path.starts_with("/dev/") && !path.starts_with("/dev/shm/")) || path.starts_with("/proc/"))
        return true;
    std::error_code problem;
    std::filesystem::file_status const status = std::filesystem::status(path, problem);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

namespace
{
void writeTo(std::string const& path, void const* data, size_t size)
{
    constexpr size_t kPiece{size_t{1} << 22}; // An interruption is heard between pieces only.
    std::ofstream file{path, std::ios::binary};
    auto const* const bytes = static_cast<char const*>(data);
    for (size_t at = 0; at < size && file && !gInterrupted; at += kPiece)
        file.write(bytes + at, static_cast<std::streamsize>(std::min(kPiece, size - at)));
    if (gInterrupted)
        throw std::runtime_error("interrupted"); // The program says so itself.
    if (!file.flush())
        throw std::runtime_error("cannot write '" + path + "': " + std::strerror(errno));
}

//! The file behind links, whether it is there yet or not.
std::filesystem::path targetOf(std::filesystem::path path)
{
    constexpr int32_t kMaxLinks{40}; // As many as the system follows.
    for (int32_t i = 0; i < kMaxLinks && std::filesystem::is_symlink(path); ++i)
        path = path.parent_path() / std::filesystem::read_symlink(path);
    return path;
}

//! Where a file is written before it is moved to its place: a name of this process, as others may write the same file.
std::string asideOf(std::string const& target)
{
    return target + '.' + std::to_string(::getpid()) + ".part";
}
} // namespace

void expectWritable(std::string const& path)
{
    if (isWrittenThrough(path))
    {
        std::error_code none;
        if (!std::filesystem::exists(std::filesystem::path{path}, none)) // No more comes to be in these folders.
            throw std::runtime_error("cannot write '" + path + "': there is no such stream or device");
        return;
    }
    std::string const aside = asideOf(targetOf(path).string());
    if (!std::ofstream{aside, std::ios::app})
        throw std::runtime_error("cannot write '" + path + "': " + std::strerror(errno));
    std::error_code none;
    std::filesystem::remove(aside, none);
}

void writeFile(std::string const& path, void const* data, size_t size)
{
    if (isWrittenThrough(path))
        return writeTo(path, data, size);
    std::string const target = targetOf(path).string();
    std::string const aside = asideOf(target);
    HalfWritten const goesOnInterruption{aside};
    try
    {
        writeTo(aside, data, size);
    }
    catch (std::runtime_error const&)
    {
        std::error_code problem;
        std::filesystem::remove(aside, problem);
        throw;
    }
    std::filesystem::rename(aside, target);
}

FileLock::FileLock(std::string const& path)
    : mFile{::open((targetOf(path).string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)}
{
    constexpr std::chrono::milliseconds kPause{5};
    auto const end = std::chrono::steady_clock::now() + kPatience;
    while (mFile >= 0 && ::flock(mFile, LOCK_EX | LOCK_NB) != 0)
    {
        if (errno != EWOULDBLOCK && errno != EINTR) // There are no locks here.
            return;
        mIsRefused = std::chrono::steady_clock::now() >= end;
        if (mIsRefused || gInterrupted)
            return;
        std::this_thread::sleep_for(kPause);
    }
}

FileLock::~FileLock()
{
    if (mFile >= 0)
        ::close(mFile);
}

} // namespace tenon::cli
