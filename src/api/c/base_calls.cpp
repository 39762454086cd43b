// C functions: version, knobs, devices, and the list of calls that are not implemented.
#include "api/c/texts.h"
#include "backend/device_choice.h"
#include "base/knobs.h"
#include "base/log.h"
#include "tenon/device.h"

#include <nlohmann/json.hpp>

namespace tenon::api
{

namespace
{
using Json = nlohmann::ordered_json;

constexpr char const* kNotImplemented[]{
#include "api/not_implemented_list.inc"
};

Result<std::string> devices()
{
    Json json;
    Result<DeviceChoice> const choice = chooseDevice();
    json["chosen"] = choice ? Json((*choice).name()) : Json();
    json["reason"] = choice ? (*choice).reason : choice.error().message;
    json["devices"] = Json::array();
    for (BackendEntry const& entry : allBackends())
    {
        Result<int32_t> const count = entry.probe();
        if (!count)
            json["devices"].push_back({{"name", entry.name}, {"problem", count.error().message}});
        for (int32_t i = 0; count && i < *count; ++i)
        {
            Device const& device = entry.device(i);
            json["devices"].push_back({{"name", deviceName(entry, i)}, {"problem", Json()},
                {"description", device.describe()}, {"threads", device.hostThreads()}});
        }
    }
    return json.dump(2);
}

Result<std::string> knobs()
{
    Json json = Json::array();
    for (KnobInfo const& knob : allKnobs())
    {
        std::optional<std::string> const value = tenon::textOf(knob.knob);
        std::optional<std::string> const problem = problemOf(knob.knob);
        json.push_back({{"variable", knob.variable}, {"type", knob.type}, {"default", knob.standard},
            {"meaning", knob.meaning}, {"read", knob.isRead}, {"value", value ? Json(*value) : Json()},
            {"problem", problem ? Json(*problem) : Json()}});
    }
    return json.dump(2);
}
} // namespace

} // namespace tenon::api

using namespace tenon::api;

void tenonFree(TenonText text) noexcept
{
    std::free(text);
}

char const* tenonVersion() noexcept
{
    return TENON_VERSION_TEXT;
}

TenonText tenonReportedError() noexcept
{
    std::string const* const message = tenon::Log::reported();
    return message == nullptr ? nullptr : textOf(*message);
}

TenonText tenonNotImplemented() noexcept
{
    return textOrProblem(nullptr, []() -> tenon::Result<std::string> {
        return nlohmann::ordered_json(std::vector<std::string>(std::begin(kNotImplemented), std::end(kNotImplemented)))
            .dump(2);
    });
}

TenonText tenonDevices() noexcept
{
    return textOrProblem(nullptr, devices);
}

TenonText tenonKnobs() noexcept
{
    return textOrProblem(nullptr, knobs);
}
