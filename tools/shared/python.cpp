// Python: interpreters are asked, in processes of their own.
#include "python.h"

#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::cli
{

bool hasPackage(std::string const& interpreter, std::string const& package)
{
    constexpr char const* kFind{"import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"};
    pid_t const child = fork();
    if (child == 0)
    {
        int const nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execlp(interpreter.c_str(), interpreter.c_str(), "-c", kFind, package.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    int status{0};
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string pythonWith(std::string const& package, std::string const& chosen)
{
    constexpr char const* kUsual{"python3"};
    if (!chosen.empty() || hasPackage(kUsual, package))
        return chosen.empty() ? kUsual : chosen;
    std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::vector<std::filesystem::path> found{folder / kUsual};
    for (; folder.has_relative_path(); folder = folder.parent_path())
        found.push_back(folder / ".venv" / "bin" / kUsual);
    for (std::filesystem::path const& each : found)
        if (std::filesystem::exists(each) && hasPackage(each, package))
            return each;
    return kUsual; // Which says what it lacks.
}

} // namespace tenon::cli
