// C functions: version, knobs, devices, and the list of calls that are not implemented.
#include "api/c/texts.h"
#include "backend/device_choice.h"
#include "base/file_kind.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/trace.h"
#include "tenon/device.h"

#include <nlohmann/json.hpp>

#include <initializer_list>

namespace tenon::api
{

namespace
{
using Json = nlohmann::ordered_json;

constexpr std::initializer_list<char const*> kNotImplemented{
// Perhaps none.
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
        std::optional<std::string> const value = shownKnobText(knob.knob);
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
    return message == nullptr ? nullptr : toTenonText(*message);
}

TenonText tenonShown(char const* text, int32_t isName) noexcept
{
    if (text == nullptr)
        return nullptr;
    return textOrProblem(nullptr, [&]() -> tenon::Result<std::string> {
        return isName != 0 ? tenon::shownName(text) : tenon::shownMessage(text);
    });
}

TenonText tenonKindOfFile(void const* bytes, size_t size, int32_t wantsModel) noexcept
{
    return textOrProblem(nullptr, [&]() -> tenon::Result<std::string> {
        std::string kind = tenon::kindOfFile({static_cast<uint8_t const*>(bytes), size}, wantsModel != 0);
        if (kind.empty())
            return tenon::badArgument("nothing known");
        return kind;
    });
}

TenonText tenonTraceProblem() noexcept
{
    std::optional<std::string> const problem = tenon::Trace::problem();
    return problem ? toTenonText(tenon::shownMessage(*problem)) : nullptr;
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
