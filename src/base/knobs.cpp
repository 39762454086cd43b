// Knobs: the table, and reading the environment.
#include "base/knobs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>

namespace tenon
{

namespace
{
constexpr std::array kKnobs{
    KnobInfo{Knob::kDevice, "TENON_DEVICE", "text", "cuda where a GPU can be used, else cpu",
        "Device of builders and runtimes made from now on: a kind, such as cpu or cuda, or kind:N for one of several, "
        "from 0."},
    KnobInfo{Knob::kThreads, "TENON_THREADS", "count", "the CPUs that this process may use",
        "Threads of a run, unless setMaxThreads says otherwise."},
    KnobInfo{Knob::kSpin, "TENON_SPIN", "number", "1000",
        "Microseconds for which a thread that waits for other threads of a run spins before it sleeps, and after a run "
        "for the next (a tenth as long), unless the runtime config of the context says otherwise; 0: not at all."},
    KnobInfo{Knob::kIsa, "TENON_ISA", "text", "what the machine has",
        "Widest instruction set to use: avx2, avx512, avx512_vnni, avx512_bf16, avx512_fp16, amx or amx_fp16. "
        "Kernels of avx2 and avx512 serve all layers, those of avx512_vnni and amx int8 products, avx512_bf16 "
        "and amx bfloat16 ones, amx and amx_fp16 float16 ones.",
        "avx2 avx512 avx512_vnni avx512_bf16 avx512_fp16 amx amx_fp16"},
    KnobInfo{Knob::kLog, "TENON_LOG", "text", "what the logger takes",
        "Also print messages of this severity and above to standard error: error, warning, info or verbose.",
        "error warning info verbose"},
    KnobInfo{Knob::kCacheDir, "TENON_CACHE_DIR", "text", "~/.cache/tenon",
        "Folder in which compiled kernels of GPUs are kept; off: nowhere."},
    KnobInfo{Knob::kTrace, "TENON_TRACE", "text", "none",
        "File that gets a Chrome trace of builds and runs; %p in it stands for the number of the process."},
    KnobInfo{
        Knob::kPluginTrace, "TENON_PLUGIN_TRACE", "text", "none", "File that gets every call made to plugins.", ""},
    KnobInfo{Knob::kImplicitBatch, "TENON_IMPLICIT_BATCH", "switch", "off",
        "Networks made without kEXPLICIT_BATCH have an implicit batch."},
    KnobInfo{Knob::kFusion, "TENON_FUSION", "switch", "on", "Off: every layer is a step of its own."},
    KnobInfo{Knob::kTactics, "TENON_TACTICS", "text", "estimate on cpu below optimization level 4",
        "How builds choose among kernels: by estimate, the same on every machine, or by time, measured on the device.",
        "estimate time"},
    KnobInfo{Knob::kCheckIndices, "TENON_CHECK_INDICES", "switch", "off",
        "Every run warns of indices of Gather layers, lengths and starts of sequences that are out of range, which "
        "give 0 "
        "or count as the nearest in silence otherwise."},
    KnobInfo{Knob::kGraphs, "TENON_GRAPHS", "switch", "on",
        "Runs on a GPU that come again for the same shapes and addresses are CUDA graphs; off: kernel after kernel."},
    KnobInfo{Knob::kOverlap, "TENON_OVERLAP", "switch", "on",
        "Kernels of such a graph may begin while those before them end, on GPUs from compute capability 9.0 on."},
    KnobInfo{Knob::kDouble, "TENON_DOUBLE", "text", "keep",
        "What ONNX models have of type double: keep computes it in float64, which is slow, float in float32.",
        "keep float"},
    KnobInfo{Knob::kApiGeneration, "TENON_API_GENERATION", "text", "10",
        "Whose numbers the members of enumerations have in Python: those of TensorRT 10, or of 8 and 9, for scripts "
        "that "
        "write numbers of BuilderFlag, LayerType, NetworkDefinitionCreationFlag or PreviewFeature themselves.",
        "8 9 10"},
    KnobInfo{Knob::kStockLayers, "TENON_STOCK_LAYERS", "switch", "on",
        "Plans have layers in the place of stock plugins whose work layers do; off: they have the plugins."},
};

//! The environment is read for each knob by itself, when it is first asked for: a program that has loaded the library,
//! as `import tensorrt` does, can still set those that nothing has used.
struct Value
{
    std::once_flag once;
    std::atomic<bool> isRead{false};
    std::optional<std::string> text;
};

constinit std::array<Value, kKnobs.size()> values;

int64_t leastOf(KnobInfo const& number) noexcept
{
    return number.type == "count" ? 1 : 0;
}

std::optional<std::string> environmentText(KnobInfo const& info)
{
    char const* const text = std::getenv(std::string{info.variable}.c_str());
    return text != nullptr && *text != '\0' ? std::optional<std::string>{text} : std::nullopt;
}

//! A whole number that the knob takes.
std::optional<int64_t> countIn(std::string const& text, KnobInfo const& info)
{
    int64_t count{0};
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (problem != std::errc{} || end != text.data() + text.size() || count < leastOf(info))
        return std::nullopt;
    return count;
}

//! Blanks between the words become commas, the last one "or".
std::string listed(std::string_view words)
{
    std::string text;
    for (size_t from = 0; from < words.size();)
    {
        size_t const to = std::min(words.find(' ', from), words.size());
        if (from > 0)
            text += to == words.size() ? " or " : ", ";
        text += words.substr(from, to - from);
        from = to + 1;
    }
    return text;
}

bool isListed(std::string_view words, std::string const& word)
{
    return word.find(' ') == std::string::npos
        && (" " + std::string{words} + " ").find(" " + word + " ") != std::string::npos;
}

KnobInfo const& infoOf(Knob knob) noexcept
{
    return kKnobs[static_cast<size_t>(knob)];
}

constexpr std::string_view kTrueWords{"1 on true yes"};
constexpr std::string_view kFalseWords{"0 off false no"};
} // namespace

std::span<KnobInfo const> allKnobs() noexcept
{
    return kKnobs;
}

std::optional<std::string> knobText(Knob knob)
{
    Value& value = values[static_cast<size_t>(knob)];
    std::call_once(value.once, [&] {
        value.text = environmentText(infoOf(knob));
        value.isRead.store(true, std::memory_order_release);
    });
    return value.text;
}

std::optional<std::string> shownKnobText(Knob knob)
{
    Value const& value = values[static_cast<size_t>(knob)];
    return value.isRead.load(std::memory_order_acquire) ? value.text : environmentText(infoOf(knob));
}

std::optional<std::string> problemOf(Knob knob)
{
    KnobInfo const& info = infoOf(knob);
    std::optional<std::string> const text = shownKnobText(knob);
    if (!text)
        return std::nullopt;
    std::string const what = std::string{info.variable} + "=" + *text + " has no effect: ";
    if (!info.isRead)
        return what + "this switch is not in this release";
    if ((info.type == "count" || info.type == "number") && !countIn(*text, info))
        return what + "it takes a whole number from " + std::to_string(leastOf(info));
    if (info.type == "switch" && !isListed(kTrueWords, *text) && !isListed(kFalseWords, *text))
        return what + "it takes " + listed(std::string{kTrueWords} + " " + std::string{kFalseWords});
    if (!info.accepted.empty() && !isListed(info.accepted, *text))
        return what + "it takes " + listed(info.accepted);
    return std::nullopt;
}

std::vector<std::string> knobProblems()
{
    std::vector<std::string> problems;
    for (KnobInfo const& info : kKnobs)
        if (std::optional<std::string> problem = problemOf(info.knob))
            problems.push_back(std::move(*problem));
    return problems;
}

std::optional<int64_t> countOf(Knob knob)
{
    std::optional<std::string> const text = knobText(knob);
    return text ? countIn(*text, infoOf(knob)) : std::nullopt;
}

std::string nvtxToolPath()
{
    char const* const path = std::getenv("NVTX_INJECTION64_PATH");
    return path == nullptr ? std::string{} : std::string{path};
}

std::string cacheFolder()
{
    static std::string const folder = []() -> std::string {
        if (std::optional<std::string> const wanted = knobText(Knob::kCacheDir))
            return *wanted == "off" ? std::string{} : *wanted;
        char const* const caches = std::getenv("XDG_CACHE_HOME");
        if (caches != nullptr && *caches != '\0')
            return std::string{caches} + "/tenon";
        char const* const home = std::getenv("HOME");
        return home != nullptr && *home != '\0' ? std::string{home} + "/.cache/tenon" : std::string{};
    }();
    return folder;
}

bool switchOf(Knob knob, bool standard)
{
    std::optional<std::string> const text = knobText(knob);
    if (!text)
        return standard;
    return isListed(standard ? kFalseWords : kTrueWords, *text) != standard;
}

} // namespace tenon
