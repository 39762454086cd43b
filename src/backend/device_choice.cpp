// Device choice: the knob, else the first usable device of the table.
#include "backend/device_choice.h"

#include "base/knobs.h"
#include "device/host/host_device.h"

#include <atomic>
#include <charconv>

namespace tenon
{

namespace
{
//! TENON_DEVICE taken apart.
struct DeviceName
{
    std::string_view kind;
    int32_t index{0};
};

Result<DeviceName> nameFrom(std::string_view text)
{
    size_t const colon = text.find(':');
    DeviceName name{text.substr(0, colon)};
    if (colon == std::string_view::npos)
        return name;
    std::string_view const digits = text.substr(colon + 1);
    auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), name.index);
    if (problem != std::errc{} || end != digits.data() + digits.size() || name.index < 0)
        return badArgument("TENON_DEVICE={}: '{}' is no number of a device; write a kind of device, or kind:index, "
                           "the first being 0",
            text, digits);
    return name;
}

std::string known(std::span<BackendEntry const> backends)
{
    std::string names;
    for (BackendEntry const& entry : backends)
        names += (names.empty() ? "" : ", ") + std::string{entry.name};
    return names;
}

DeviceChoice chosen(BackendEntry const& entry, int32_t index, std::string reason)
{
    return {&entry, index, &entry.device(index), std::move(reason)};
}

Result<DeviceChoice> chooseByName(std::span<BackendEntry const> backends, std::string const& wanted)
{
    DeviceName const name = TENON_TRY(nameFrom(wanted));
    for (BackendEntry const& entry : backends)
    {
        if (entry.name != name.kind)
            continue;
        Result<int32_t> const count = entry.probe();
        if (!count)
            return errorOf(ErrorCode::kUNSUPPORTED_STATE, "TENON_DEVICE={}: {}", wanted, count.error().message);
        if (name.index >= *count)
            return badArgument("TENON_DEVICE={}: there {} of kind '{}'", wanted,
                *count == 1 ? std::string{"is one device"} : fmt::format("are {} devices", *count), name.kind);
        if (entry.open != nullptr)
            if (auto const opened = entry.open(name.index); !opened)
                return errorOf(ErrorCode::kUNSUPPORTED_STATE, "TENON_DEVICE={}: {}", wanted, opened.error().message);
        return chosen(entry, name.index, "TENON_DEVICE=" + wanted);
    }
    return badArgument("TENON_DEVICE={}: this build has no such device; unset TENON_DEVICE or set it to one of: {}",
        wanted, known(backends));
}
//! The one that the calling thread is at, which alone has what the program will pass; else the first that can be used.
Result<int32_t> unnamedDevice(BackendEntry const& entry)
{
    int32_t const count = TENON_TRY(entry.probe());
    if (entry.open == nullptr)
        return 0;
    if (std::optional<int32_t> const current = entry.current != nullptr ? entry.current() : std::nullopt)
    {
        TENON_TRY(entry.open(*current));
        return *current;
    }
    Result<Done> first = entry.open(0);
    if (first)
        return 0;
    for (int32_t index = 1; index < count; ++index)
        if (entry.open(index))
            return index;
    return first.error();
}
} // namespace

std::string deviceName(BackendEntry const& backend, int32_t index)
{
    return index == 0 ? std::string{backend.name} : fmt::format("{}:{}", backend.name, index);
}

Result<DeviceChoice> chooseDevice(
    std::span<BackendEntry const> backends, std::optional<std::string> const& wanted, bool isHostsProgram)
{
    if (wanted)
        return chooseByName(backends, *wanted);
    std::string unusable;
    for (BackendEntry const& entry : backends)
    {
        if (entry.isOnlyByName)
            continue;
        if (isHostsProgram && entry.hasOwnMemory)
        {
            unusable += fmt::format("; not {}: the host answers this program's CUDA calls", entry.name);
            continue;
        }
        Result<int32_t> const index = unnamedDevice(entry);
        if (index)
            return chosen(entry, *index, "TENON_DEVICE is not set" + unusable);
        unusable += fmt::format("; not {}: {}", entry.name, index.error().message);
    }
    return errorOf(ErrorCode::kUNSUPPORTED_STATE, "no device can be used{}", unusable);
}

Result<DeviceChoice> chooseDevice()
{
    // What has been chosen for a program stays right for it: a library that comes later is not the program.
    static std::atomic<bool> isElsewhere{false};
    std::optional<std::string> const wanted = knobText(Knob::kDevice);
    Result<DeviceChoice> choice = chooseDevice(allBackends(), wanted, host::answersCudaCalls() && !isElsewhere);
    if (choice && !wanted && (*choice).backend->hasOwnMemory)
        isElsewhere = true;
    return choice;
}

std::string describe(DeviceChoice const& choice)
{
    return fmt::format("device {}: {} ({})", choice.name(), choice.device->describe(), choice.reason);
}

} // namespace tenon
