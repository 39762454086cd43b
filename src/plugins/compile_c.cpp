// compileC: the C compiler of this machine, in a folder of its own.
#include "plugins/kernel_code.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tenon::plugins
{

namespace
{
constexpr char const* kHeader{
#include "plugins/plugin_kernel_header.inc"
};
constexpr size_t kMaxWords{4000}; //!< Of what a compiler says.

class TemporaryFolder
{
  public:
    TemporaryFolder()
    {
        std::error_code problem;
        std::filesystem::path const parent = std::filesystem::temp_directory_path(problem);
        std::string path = (problem ? std::filesystem::path{"/tmp"} : parent) / "tenon-kernel-XXXXXX";
        if (mkdtemp(path.data()) != nullptr)
            mPath = path;
    }
    ~TemporaryFolder()
    {
        std::error_code ignored;
        if (!mPath.empty())
            std::filesystem::remove_all(mPath, ignored);
    }
    TemporaryFolder(TemporaryFolder const&) = delete;
    TemporaryFolder& operator=(TemporaryFolder const&) = delete;

    std::filesystem::path const& path() const noexcept
    {
        return mPath;
    }

  private:
    std::filesystem::path mPath;
};

bool writeFile(std::filesystem::path const& path, std::string_view text)
{
    std::ofstream file{path, std::ios::binary};
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    return file.good();
}

std::string readFile(std::filesystem::path const& path)
{
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

//! The exit status; none when the program could not be started.
std::optional<int> run(std::vector<std::string> const& words, std::filesystem::path const& folder)
{
    std::vector<char*> arguments;
    for (std::string const& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    std::string const output = folder / "output.txt";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child{0};
    int const problem = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0)
        return std::nullopt;
    int status{0};
    while (waitpid(child, &status, 0) < 0)
        if (errno == ECHILD)
            return 0; // This process ignores the ends of its children: what it wrote tells.
        else if (errno != EINTR)
            return std::nullopt;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::vector<std::string> wordsOf(std::string const& text)
{
    std::istringstream words{text};
    return {std::istream_iterator<std::string>{words}, {}};
}

//! Ways of starting a compiler, in order of preference.
std::vector<std::vector<std::string>> compilers()
{
    char const* const named = std::getenv("CC");
    std::vector<std::string> const own = wordsOf(named == nullptr ? "" : named);
    if (!own.empty())
        return {own};
    return {{"cc"}, {"gcc"}, {"clang"}};
}
} // namespace

Result<Bytes> compileC(ByteView source)
{
    TemporaryFolder const folder;
    std::filesystem::path const& path = folder.path();
    std::error_code problem;
    bool isWritten = !path.empty() && std::filesystem::create_directory(path / "tenon", problem);
    std::string_view text{reinterpret_cast<char const*>(source.data()), source.size()};
    if (text.ends_with('\0'))
        text.remove_suffix(1);
    isWritten = isWritten && writeFile(path / "kernel.c", text) && writeFile(path / "tenon/plugin_kernel.h", kHeader);
    if (!isWritten)
        return badConfig("its C source cannot be compiled: no folder for temporary files can be written to");
    std::string tried;
    for (std::vector<std::string> words : compilers())
    {
        std::string const compiler = words.front();
        std::string const object = path / "kernel.so";
        for (std::string const& option : {std::string{"-O2"}, std::string{"-shared"}, std::string{"-fPIC"},
                 "-I" + path.string(), std::string{"-include"}, std::string{"tenon/plugin_kernel.h"}, std::string{"-o"},
                 object, std::string{path / "kernel.c"}, std::string{"-lm"}})
            words.push_back(option);
        std::optional<int> const status = run(words, path);
        std::string const said = readFile(path / "output.txt");
        if (!status || *status == 127) // Shells and emulations of posix_spawn say 127 for what is not there.
        {
            tried += (tried.empty() ? "" : ", ") + compiler;
            continue;
        }
        std::string const made = *status == 0 ? readFile(object) : "";
        if (made.empty())
            return badConfig(
                "its C source does not compile: {} ended with {}: {}", compiler, *status, said.substr(0, kMaxWords));
        return Bytes(made.begin(), made.end());
    }
    return badConfig(
        "its C source cannot be compiled: there is no C compiler here (tried {}); install one, name one in CC, or let "
        "aot_impl return a shared object",
        tried);
}

} // namespace tenon::plugins
