// Modules: in the GNU C library, a handle is the link map.
#include "plugins/module.h"

#include <dlfcn.h>
#include <link.h>

namespace tenon::plugins
{

Module moduleAt(void const* address) noexcept
{
    Dl_info info{};
    void* map{nullptr};
    return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 ? nullptr : map;
}

void const* insideOf(Module module) noexcept
{
    return static_cast<link_map const*>(module)->l_ld;
}

} // namespace tenon::plugins
