// Knobs: every switch that the environment can set, declared once. Read once per process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon
{

enum class Knob : uint8_t
{
    kDevice,
    kThreads,
    kIsa,
    kLog,
    kCacheDir,
    kTrace,
    kPluginTrace,
    kImplicitBatch,
    kFusion,
};

struct KnobInfo
{
    Knob knob;
    std::string_view variable; //!< Environment variable.
    std::string_view type;     //!< "text", "count", "switch".
    std::string_view standard; //!< What holds when it is unset.
    std::string_view meaning;  //!< One sentence.
};

std::span<KnobInfo const> allKnobs() noexcept;
//! The value as given, when the variable is set and not empty.
std::optional<std::string> textOf(Knob knob);
//! A positive number; none when unset or not one.
std::optional<int64_t> countOf(Knob knob);
//! "1", "on", "true", "yes" are true, "0", "off", "false", "no" false; else the given value.
bool switchOf(Knob knob, bool standard);

} // namespace tenon
