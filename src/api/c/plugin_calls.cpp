// C functions: bodies of plugins for the CPU.
#include "plugins/cpu_body.h"

bool tenonSetCpuBody(char const* type, char const* version, char const* nameSpace, tenon::CpuBody body) noexcept
try
{
    if (type == nullptr || version == nullptr || nameSpace == nullptr)
        return false;
    tenon::plugins::setCpuBody({type, version, nameSpace}, body);
    return true;
}
catch (...) // No memory for the entry.
{
    return false;
}

bool tenonIsTimingPlugin() noexcept
{
    return tenon::plugins::isTiming();
}
