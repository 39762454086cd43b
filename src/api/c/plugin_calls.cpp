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

bool tenonPluginPortCounts(int32_t* nbInputs, int32_t* nbOutputs) noexcept
{
    auto const [inputs, outputs] = tenon::plugins::UntoldCounts::now();
    if (inputs < 0 || nbInputs == nullptr || nbOutputs == nullptr)
        return false;
    *nbInputs = inputs;
    *nbOutputs = outputs;
    return true;
}

bool tenonIsTimingPlugin() noexcept
{
    return tenon::plugins::isTiming();
}
