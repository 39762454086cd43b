// Plugin libraries: loaded by the registry.
#include "plugin_libraries.h"

#include "NvInfer.h"

#include <cerrno>
#include <cstdio>
#include <stdexcept>

namespace tenon::cli
{

namespace
{
int32_t registeredCreators()
{
    int32_t count{0};
    getPluginRegistry()->getAllCreators(&count);
    return count;
}
} // namespace

void loadPlugins(std::vector<std::string> const& paths)
{
    for (std::string const& path : paths)
    {
        int32_t const before = registeredCreators();
        if (getPluginRegistry()->loadLibrary(path.c_str()) != nullptr)
            continue;
        if (registeredCreators() == before)
            throw std::runtime_error(
                "'" + path + "' cannot be loaded as a library of plugins: the lines above say why");
        std::fprintf(stderr, "%s: '%s' has registered its plugins itself; they are used\n",
            program_invocation_short_name, path.c_str());
    }
}

} // namespace tenon::cli
