// C functions: bodies of plugins for the CPU, and what callbacks say.
#include "api/c/texts.h"
#include "api/plugins/plugin_registry.h"
#include "backend/backend_table.h"
#include "plugins/cpu_body.h"
#include "plugins/failure.h"
#include "plugins/in_callback.h"

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

bool tenonPluginGpu(int32_t* index) noexcept
{
    int32_t const gpu = tenon::plugins::OnGpu::now();
    if (gpu < 0 || index == nullptr)
        return false;
    *index = gpu;
    return true;
}

bool tenonOrderStreams(void* earlier, void* later) noexcept
try
{
    int32_t const gpu = tenon::plugins::OnGpu::now();
    for (tenon::BackendEntry const& entry : tenon::allBackends())
        if (gpu >= 0 && entry.name == "cuda")
        {
            tenon::Device& device = entry.device(gpu);
            auto const event = device.createEvent();
            bool const isOrdered = event && device.recordEvent(*event, earlier) && device.waitEvent(later, *event);
            if (event)
                device.destroyEvent(*event); // When it has been recorded and waited for, the driver keeps it.
            return isOrdered;
        }
    return false;
}
catch (...) // No memory.
{
    return false;
}

size_t tenonInnermostPlugin(char* text, size_t room) noexcept
{
    return text == nullptr ? 0 : tenon::plugins::InCallback::describe(text, room);
}

void tenonExplainFailure(char const* why) noexcept
try
{
    tenon::explain(why == nullptr ? "" : why);
}
catch (...) // No memory for the text: the code says enough.
{
}

TenonText tenonTakeExplanation() noexcept
{
    std::string const why = tenon::takeExplanation();
    return why.empty() ? nullptr : tenon::api::toTenonText(why);
}

TenonText tenonMissingPlugin(
    nvinfer1::IPluginRegistry const* registry, char const* type, char const* version, char const* nameSpace) noexcept
try
{
    if (registry == nullptr || type == nullptr || version == nullptr || nameSpace == nullptr)
        return nullptr;
    auto const& plugins = static_cast<tenon::api::PluginRegistry const*>(registry)->plugins();
    std::string const why = plugins.whatIsMissing({type, version, nameSpace, {}});
    return why.empty() ? nullptr : tenon::api::toTenonText(why);
}
catch (...) // No memory for the text.
{
    return nullptr;
}

bool tenonIsTimingPlugin() noexcept
{
    return tenon::plugins::isTiming();
}
