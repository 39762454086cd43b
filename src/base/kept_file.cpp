// Kept files: written beside their place and moved there.
#include "base/kept_file.h"

#include "base/cancellation.h"
#include "base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace tenon
{

namespace fs = std::filesystem;

Bytes readKeptFile(fs::path const& path)
{
    std::error_code problem;
    if (!fs::is_regular_file(path, problem)) // A folder throws when it is read, and a pipe waits.
        return {};
    std::ifstream in{path, std::ios::binary};
    try
    {
        return Bytes{std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
    }
    catch (std::ios_base::failure const&) // The disk fails, or a server is gone.
    {
        return {};
    }
}

void keepFile(fs::path const& path, ByteView bytes)
{
    static std::atomic<uint64_t> written{0};
    std::error_code problem;
    fs::create_directories(path.parent_path(), problem);
    fs::path const own = path.string() + fmt::format(".{}.{}", getpid(), ++written);
    {
        std::ofstream out{own, std::ios::binary};
        out.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        out.close(); // Of few bytes, a full disk is told only here.
        if (!out)
            return fs::remove(own, problem), void();
    }
    fs::rename(own, path, problem);
    if (problem)
        fs::remove(own, problem);
}

Bytes readSealedFile(fs::path const& path)
{
    Bytes bytes = readKeptFile(path);
    Sha256 seal{};
    if (bytes.size() < seal.size())
        return {};
    size_t const count = bytes.size() - seal.size();
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(count), seal.size(), seal.begin());
    bytes.resize(count);
    return sha256(bytes) == seal ? std::move(bytes) : Bytes{};
}

void keepSealedFile(fs::path const& path, ByteView bytes)
{
    Bytes sealed{bytes.begin(), bytes.end()};
    Sha256 const seal = sha256(bytes);
    sealed.insert(sealed.end(), seal.begin(), seal.end());
    keepFile(path, sealed);
}

void keepNewest(fs::path const& folder, std::string_view ending, size_t count)
{
    std::error_code problem;
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    for (fs::directory_iterator each{folder, problem}; !problem && each != fs::directory_iterator{};
         each.increment(problem))
        if (std::error_code gone; each->path().native().ends_with(ending))
            if (auto const time = each->last_write_time(gone); !gone) // Another process may have removed it.
                found.emplace_back(time, each->path());
    std::ranges::sort(found, std::greater{});
    for (size_t i = count; i < found.size(); ++i)
        fs::remove(found[i].second, problem);
}

namespace
{
fs::path lockOf(fs::path const& path)
{
    return path.string() + ".lock";
}

int openedLock(fs::path const& path)
{
    std::error_code problem;
    fs::create_directories(path.parent_path(), problem);
    return open(lockOf(path).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
}

//! The number of its process stands in a file that is locked.
void writeOwner(int file)
{
    std::string const own = fmt::format("{}\n", getpid());
    if (ftruncate(file, 0) == 0) [[maybe_unused]]
        auto const written = pwrite(file, own.data(), own.size(), 0);
}

std::string ownerOf(int file)
{
    char text[24]{};
    ssize_t const count = pread(file, text, sizeof(text) - 1, 0);
    int64_t const process = count > 0 ? std::strtoll(text, nullptr, 10) : 0;
    return process > 0 ? fmt::format("process {}", process) : std::string{"another process"};
}
} // namespace

KeptFileLock::KeptFileLock(Opened opened)
    : mFile{opened.file}
{
}

// What the other constructor has made is destroyed also where waiting is cancelled.
KeptFileLock::KeptFileLock(fs::path const& path, std::chrono::milliseconds patience)
    : KeptFileLock{Opened{openedLock(path)}}
{
    constexpr std::chrono::milliseconds kPause{2};
    auto const end = std::chrono::steady_clock::now() + patience;
    while (mFile >= 0 && flock(mFile, LOCK_EX | LOCK_NB) != 0)
    {
        if (errno != EWOULDBLOCK && errno != EINTR) // There are no locks here.
            return;
        if (std::chrono::steady_clock::now() >= end)
        {
            mRefusal =
                fmt::format("{} has '{}' for more than {} ms", ownerOf(mFile), lockOf(path).string(), patience.count());
            return;
        }
        cancellationPoint();
        std::this_thread::sleep_for(kPause);
    }
    if (mFile >= 0)
        writeOwner(mFile);
}

KeptFileLock::~KeptFileLock()
{
    if (mFile < 0)
        return;
    flock(mFile, LOCK_UN); // Not by closing alone: a process forked meanwhile has the file open, too.
    close(mFile);
}

std::string loadedFileAt(void const* address)
{
    Dl_info info{};
    std::error_code problem;
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr)
        return {};
    fs::path const path = fs::canonical(info.dli_fname, problem);
    if (problem)
        return {};
    auto const bytes = fs::file_size(path, problem);
    auto const time = fs::last_write_time(path, problem);
    return problem ? std::string{}
                   : fmt::format("{} {} {}", path.filename().string(), bytes, time.time_since_epoch().count());
}

} // namespace tenon
