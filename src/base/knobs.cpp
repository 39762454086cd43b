// Knobs: the table, and reading the environment once.
#include "base/knobs.h"

#include <array>
#include <charconv>
#include <cstdlib>

namespace tenon
{

namespace
{
constexpr std::array kKnobs{
    KnobInfo{Knob::kDevice, "TENON_DEVICE", "text", "cuda when usable, else cpu",
        "Device of builders and runtimes made from now on: cpu, ref, cuda or cuda:N."},
    KnobInfo{Knob::kThreads, "TENON_THREADS", "count", "the CPUs that this process may use",
        "Threads of a run, unless setMaxThreads says otherwise."},
    KnobInfo{Knob::kIsa, "TENON_ISA", "text", "what the machine has",
        "Widest instruction set to use: avx2, avx512, avx512_vnni, avx512_bf16, avx512_fp16 or amx."},
    KnobInfo{Knob::kLog, "TENON_LOG", "text", "what the logger takes",
        "Also print messages of this severity and above to standard error: error, warning, info or verbose."},
    KnobInfo{Knob::kCacheDir, "TENON_CACHE_DIR", "text", "none", "Folder for measured instruction rates and timings."},
    KnobInfo{Knob::kTrace, "TENON_TRACE", "text", "none", "File that gets a Chrome trace of builds and runs."},
    KnobInfo{Knob::kPluginTrace, "TENON_PLUGIN_TRACE", "text", "none", "File that gets every call made to plugins."},
    KnobInfo{Knob::kImplicitBatch, "TENON_IMPLICIT_BATCH", "switch", "off",
        "Networks made without kEXPLICIT_BATCH have an implicit batch."},
    KnobInfo{Knob::kFusion, "TENON_FUSION", "switch", "on", "Off: every layer is a step of its own."},
};

struct Values
{
    std::array<std::optional<std::string>, kKnobs.size()> texts;

    Values()
    {
        for (size_t i = 0; i < kKnobs.size(); ++i)
        {
            char const* value = std::getenv(std::string{kKnobs[i].variable}.c_str());
            if (value != nullptr && *value != '\0')
                texts[i] = value;
        }
    }
};
} // namespace

std::span<KnobInfo const> allKnobs() noexcept
{
    return kKnobs;
}

std::optional<std::string> textOf(Knob knob)
{
    static Values const values;
    return values.texts[static_cast<size_t>(knob)];
}

std::optional<int64_t> countOf(Knob knob)
{
    std::optional<std::string> const text = textOf(knob);
    if (!text)
        return std::nullopt;
    int64_t count{0};
    auto const [end, problem] = std::from_chars(text->data(), text->data() + text->size(), count);
    if (problem != std::errc{} || end != text->data() + text->size() || count < 1)
        return std::nullopt;
    return count;
}

bool switchOf(Knob knob, bool standard)
{
    std::string const text = textOf(knob).value_or("");
    if (text == "1" || text == "on" || text == "true" || text == "yes")
        return true;
    if (text == "0" || text == "off" || text == "false" || text == "no")
        return false;
    return standard;
}

} // namespace tenon
