// KernelCode: a file in memory and the loader of shared objects.
#include "plugins/kernel_code.h"

#include <algorithm>
#include <cerrno>
#include <elf.h>
#include <string_view>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tenon::plugins
{

namespace
{
constexpr uint32_t kFatbinMagic{0xBA55ED50};
constexpr uint16_t kCudaMachine{190};
#if defined(__x86_64__)
constexpr uint16_t kThisMachine{EM_X86_64};
#elif defined(__aarch64__)
constexpr uint16_t kThisMachine{EM_AARCH64};
#endif

//! The text behind white space and comments.
std::string_view firstWords(std::string_view text) noexcept
{
    for (;;)
    {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        std::string_view const end = text.starts_with("//") ? "\n" : text.starts_with("/*") ? "*/" : "";
        if (end.empty())
            return text;
        size_t const at = text.find(end, 2);
        if (at == std::string_view::npos)
            return {};
        text.remove_prefix(at + end.size());
    }
}

//! Whether every segment lies within the file: the loader maps them unseen, and pages behind the end are fatal.
bool isWhole(Elf64_Ehdr const& header, ByteView code) noexcept
{
    for (uint64_t i = 0; i < header.e_phnum; ++i)
    {
        Elf64_Phdr segment{};
        uint64_t const at = header.e_phoff + i * sizeof(segment);
        if (header.e_phentsize != sizeof(segment) || at > code.size() || code.size() - at < sizeof(segment))
            return false;
        std::memcpy(&segment, code.data() + at, sizeof(segment));
        if (segment.p_offset > code.size() || code.size() - segment.p_offset < segment.p_filesz)
            return false;
    }
    return header.e_phnum > 0;
}

CodeKind kindOfElf(ByteView code) noexcept
{
    Elf64_Ehdr header{};
    if (code.size() < sizeof(header))
        return CodeKind::kOtherMachine;
    std::memcpy(&header, code.data(), sizeof(header));
    if (header.e_machine == kCudaMachine)
        return CodeKind::kDevice;
    bool const fits = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == kThisMachine
        && header.e_type == ET_DYN && isWhole(header, code);
    return fits ? CodeKind::kObject : CodeKind::kOtherMachine;
}

std::string lastLoaderError()
{
    char const* const why = dlerror();
    return why == nullptr ? "no reason given" : why;
}

bool writeAll(int file, ByteView bytes) noexcept
{
    while (!bytes.empty())
    {
        ssize_t const written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return true;
}

//! Through a file on disk, where there are none in memory or the loader does not reach them.
void* openFromDisk(ByteView object)
{
    char const* const folder = std::getenv("TMPDIR");
    std::string path = std::string{folder == nullptr || *folder == '\0' ? "/tmp" : folder} + "/tenon-kernel-XXXXXX";
    int const file = mkstemp(path.data());
    if (file < 0)
        return nullptr;
    void* const handle = writeAll(file, object) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path.c_str());
    close(file);
    return handle;
}
} // namespace

CodeKind kindOf(ByteView code) noexcept
{
    std::string_view const text{reinterpret_cast<char const*>(code.data()), code.size()};
    if (text.starts_with(ELFMAG))
        return kindOfElf(code);
    uint32_t magic{0};
    if (code.size() >= sizeof(magic))
        std::memcpy(&magic, code.data(), sizeof(magic));
    std::string_view const words = firstWords(text);
    if (magic == kFatbinMagic || words.starts_with(".version") || words.starts_with(".target")
        || words.starts_with(".address_size"))
        return CodeKind::kDevice;
    bool const isText =
        !words.empty() && text.substr(0, text.size() - (text.ends_with('\0') ? 1 : 0)).find('\0') == text.npos;
    return isText ? CodeKind::kSource : CodeKind::kUnknown;
}

bool isPtx(ByteView code) noexcept
{
    return firstWords({reinterpret_cast<char const*>(code.data()), code.size()}).starts_with(".");
}

KernelCode::KernelCode(int file, void* handle)
    : mFile{file},
      mHandle{handle}
{
}

KernelCode::~KernelCode()
{
    dlclose(mHandle);
    if (mFile >= 0)
        close(mFile);
}

Result<std::shared_ptr<KernelCode const>> KernelCode::load(ByteView object)
{
    if (kindOf(object) != CodeKind::kObject)
        return badArgument("its code is no shared object for this machine, or not the whole of one");
    int file = memfd_create("tenon-kernel", MFD_CLOEXEC);
    void* handle{nullptr};
    if (file >= 0 && writeAll(file, object))
        handle = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
    std::string const why = handle == nullptr ? lastLoaderError() : "";
    if (handle == nullptr)
    {
        if (file >= 0)
            close(std::exchange(file, -1));
        handle = openFromDisk(object);
    }
    if (handle == nullptr)
        return badArgument("its code cannot be loaded: {}", why);
    // The file stays open: the loader tells libraries apart by path, and another file must not get this one's.
    return std::shared_ptr<KernelCode const>{new KernelCode{file, handle}};
}

Result<tenon_kernel> KernelCode::function(std::string const& name) const
{
    void* const found = dlsym(mHandle, name.c_str());
    if (found == nullptr)
        return badArgument("its code exports no function '{}'", name);
    return reinterpret_cast<tenon_kernel>(found);
}

} // namespace tenon::plugins
