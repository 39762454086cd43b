// Knobs: every switch that the environment can set, declared once. Each is read once, when it is first used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon
{

enum class Knob : uint8_t
{
    kDevice,
    kThreads,
    kSpin,
    kIsa,
    kLog,
    kCacheDir,
    kTrace,
    kPluginTrace,
    kImplicitBatch,
    kFusion,
    kTactics,
    kCheckIndices,
    kGraphs,
    kOverlap,
    kDouble,
    kApiGeneration,
    kStockLayers,
};

struct KnobInfo
{
    Knob knob;
    std::string_view variable; //!< Environment variable.
    std::string_view type;     //!< "text", "count" (from 1), "number" (from 0), "switch".
    std::string_view standard; //!< What holds when it is unset.
    std::string_view meaning;  //!< One sentence.
    //! The values of a text, separated by blanks; empty: whoever reads it decides.
    std::string_view accepted{};
    bool isRead{true}; //!< False: not in this release, setting it has no effect.
};

std::span<KnobInfo const> allKnobs() noexcept;
//! The value as given, when the variable is set and not empty.
std::optional<std::string> knobText(Knob knob);
//! What knobText() would give, for reports: the knob is not taken for used by that.
std::optional<std::string> shownKnobText(Knob knob);
//! Why the value of this knob has no effect; none when it has, or when the knob is not set.
std::optional<std::string> problemOf(Knob knob);
//! problemOf() of each knob that has one.
std::vector<std::string> knobProblems();
//! A whole number, from 1 for a count; none when unset or not one.
std::optional<int64_t> countOf(Knob knob);
//! "1", "on", "true", "yes" are true, "0", "off", "false", "no" false; else the given value.
bool switchOf(Knob knob, bool standard);
//! The library of a tool that wants to hear ranges: NVTX's own variable, which tools set. Empty: none.
std::string nvtxToolPath();
//! Where this user's caches are, from TENON_CACHE_DIR or below the home folder; empty: nowhere.
std::string cacheFolder();

} // namespace tenon
