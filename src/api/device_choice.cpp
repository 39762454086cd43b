// Device choice: the knob, else the first usable device of the table.
#include "api/device_choice.h"

#include "base/knobs.h"

namespace tenon::api
{

namespace
{
std::string known()
{
    std::string names;
    for (BackendEntry const& entry : allBackends())
        names += (names.empty() ? "" : ", ") + std::string{entry.name};
    return names;
}

DeviceChoice chosen(BackendEntry const& entry, std::string reason)
{
    Device& device = entry.device();
    registerDevice(&device);
    return {&entry, &device, std::move(reason)};
}
} // namespace

Result<DeviceChoice> chooseDevice()
{
    std::optional<std::string> const wanted = textOf(Knob::kDevice);
    if (!wanted)
        return chosen(allBackends().front(), "TENON_DEVICE is not set and this build has no CUDA backend");
    if (wanted->starts_with("cuda"))
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "TENON_DEVICE={}: the CUDA backend is not part of this build yet; unset TENON_DEVICE or set it to one of: "
            "{}",
            *wanted, known());
    for (BackendEntry const& entry : allBackends())
        if (entry.name == *wanted)
            return chosen(entry, "TENON_DEVICE=" + *wanted);
    return badArgument("TENON_DEVICE={}: there is no such device; known are: {}", *wanted, known());
}

std::string describe(DeviceChoice const& choice)
{
    return fmt::format("device {}: {} ({})", choice.device->name(), choice.device->describe(), choice.reason);
}

} // namespace tenon::api
