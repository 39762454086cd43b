// PlanLibraries: from a file to a plan, and from a plan to the loader.
#include "api/run/plan_libraries.h"

#include "plugins/kernel_code.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tenon::api
{

using nvinfer1::TempfileControlFlag;

namespace
{
constexpr char const* kHostArchitecture{"x86-64"};

Error noFile(std::string const& what)
{
    return errorOf(ErrorCode::kFAILED_ALLOCATION, "{}: {}", what, std::strerror(errno));
}

Result<Done> writeTo(int file, ByteView bytes)
{
    while (!bytes.empty())
    {
        ssize_t const written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR)
            return noFile(fmt::format("a library of {} bytes cannot be written to a temporary file", bytes.size()));
        bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
    return Done{};
}

bool allows(LibraryPlaces const& places, TempfileControlFlag flag) noexcept
{
    return ((places.tempfileFlags >> static_cast<uint32_t>(flag)) & 1U) != 0;
}

//! The path of a file in memory with these bytes; empty where the system has none. It stays as long as the process: the
//! loader tells libraries apart by path, and another file must not get this one's.
Result<std::string> pathInMemory(Sha256 const& digest, ByteView library)
{
    static auto& paths = *new std::map<Sha256, std::string>;
    static auto& mutex = *new std::mutex;
    std::scoped_lock const lock{mutex};
    if (auto const known = paths.find(digest); known != paths.end())
        return known->second;
    int const file = memfd_create("tenon-plugins", MFD_CLOEXEC);
    if (file < 0)
        return std::string{};
    if (Result<Done> written = writeTo(file, library); !written)
    {
        close(file);
        return std::move(written).error();
    }
    return paths.emplace(digest, fmt::format("/proc/self/fd/{}", file)).first->second;
}

//! A file that is there while `use` has its path.
template <typename Use>
Result<Done> withFile(std::string const& folder, ByteView library, Use const& use)
{
    std::error_code problem;
    std::filesystem::path const standard = std::filesystem::temp_directory_path(problem);
    std::string path = (!folder.empty() ? folder : problem ? "/tmp" : standard.string()) + "/tenon-plugins-XXXXXX";
    int const file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0)
        return noFile(fmt::format("no temporary file can be made as '{}'", path));
    Result<Done> done = writeTo(file, library);
    close(file);
    if (done)
        done = use(path);
    unlink(path.c_str());
    return done;
}

Result<Done> openLibrary(PlanCode const& code, LibraryPlaces const& places, PluginRegistry& registry)
{
    ByteView const bytes{static_cast<uint8_t const*>(code.data), code.bytes};
    if (allows(places, TempfileControlFlag::kALLOW_IN_MEMORY_FILES))
        if (std::string const path = TENON_TRY(pathInMemory(code.sha256, bytes)); !path.empty())
            return registry.loadFrom(path);
    if (allows(places, TempfileControlFlag::kALLOW_TEMPORARY_FILES))
        return withFile(places.folder, bytes, [&](std::string const& path) { return registry.loadFrom(path); });
    return badConfig("a library of plugins is opened from a file in memory or a temporary one, and "
                     "IRuntime::setTempfileControlFlags allows neither");
}
} // namespace

Result<PlanCode> storedLibrary(std::string const& path)
{
    std::ifstream file{path, std::ios::binary};
    auto const bytes = std::make_shared<Bytes>(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
    if (!file || bytes->empty())
        return badArgument("there is no library '{}' that can be read", path);
    if (plugins::kindOf(*bytes) != plugins::CodeKind::kObject)
        return badArgument("'{}' is no shared library for this machine, or not the whole of one", path);
    return PlanCode{.name = "library '" + std::filesystem::path{path}.filename().string() + "'",
        .form = CodeForm::kPluginLibrary,
        .target = kHostArchitecture,
        .sha256 = sha256(*bytes),
        .bytes = bytes->size(),
        .data = bytes->data(),
        .owner = bytes};
}

Result<Done> PlanLibraries::load(
    Plan const& plan, bool allowsHostCode, LibraryPlaces const& places, PluginRegistry& registry)
{
    for (PlanCode const& code : plan.code)
    {
        if (code.form != CodeForm::kPluginLibrary)
            continue;
        if (!allowsHostCode)
            return badConfig("the plan carries {}, whose code would run in this process; allow it with "
                             "IRuntime::setEngineHostCodeAllowed(true) (Python: runtime.engine_host_code_allowed = "
                             "True) if you trust where the plan comes from",
                code.name);
        std::scoped_lock const lock{mMutex};
        if (mLoaded.contains(code.sha256))
            continue;
        Result<Done> loaded = openLibrary(code, places, registry);
        if (!loaded)
            return std::move(loaded).error().in("[" + code.name + " of the plan]");
        mLoaded.emplace(code.sha256, code.name);
    }
    return Done{};
}

} // namespace tenon::api
