// Kept files: written beside their place and moved there.
#include "base/kept_file.h"

#include <fmt/format.h>

#include <atomic>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
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
