// Runs: every combination, tactic and point, tensors without elements, and several contexts.
#include "plugins/check/groups.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

namespace tenon::plugins::check
{

namespace
{
struct Tolerance
{
    double absolute{0.0};
    double relative{0.0};
};

Tolerance toleranceOf(DType type, Options const& options)
{
    if (options.absolute != 0.0 || options.relative != 0.0)
        return {options.absolute, options.relative};
    switch (type)
    {
    case DType::kFLOAT: return {1e-5, 1e-4};
    case DType::kHALF: return {2.5e-3, 1e-3};
    case DType::kBF16: return {2e-2, 1e-2};
    default: return {};
    }
}
} // namespace

std::string differenceBeyond(Outcome const& got, std::vector<RealTensor> const& wanted, Options const& options)
{
    for (size_t i = 0; i < wanted.size(); ++i)
    {
        Tolerance const tolerance = toleranceOf(got.outputs[i].type, options);
        auto const count = static_cast<size_t>(volumeOf(wanted[i].extents));
        for (size_t k = 0; k < count; ++k)
        {
            double const is = numberAt(got.outputs[i], k);
            double const want = numberAt(wanted[i], k);
            bool const isBoth = std::isnan(is) && std::isnan(want);
            if (!isBoth && is != want
                && !(std::abs(is - want) <= tolerance.absolute + tolerance.relative * std::abs(want)))
                return fmt::format("output {}, element {}: {:g}, not {:g}", i, k, is, want);
        }
    }
    return {};
}

namespace
{
void compareWithReference(Host& host, Bench const& bench, Outcome const& outcome)
{
    if (!host.options().reference)
        return;
    std::vector<RealTensor> inputs;
    for (RealTensor const& input : bench.inputs())
        inputs.push_back(widened(input));
    std::vector<RealTensor> wanted;
    for (RealTensor const& output : outcome.outputs)
        wanted.push_back(widened(output));
    for (RealTensor& each : wanted)
        std::ranges::fill(each.data, uint8_t{0});
    if (auto const done = host.options().reference(inputs, wanted); !done)
        return host.find(flaw::kNoReference, Ask::kRun, "the reference function failed: " + done.error().message);
    if (std::string const text = differenceBeyond(outcome, wanted, host.options()); !text.empty())
        host.find(flaw::kReference, Ask::kRun,
            fmt::format("{} as by the reference, with {}", text, portsText(bench.ports())));
}

//! One object on one bench: written, repeated, independent of what memory held before.
Result<Done> checkOne(Host& host, Bench& bench, Plugin& plugin)
{
    Outcome const first = TENON_TRY(bench.run(plugin));
    std::vector<Bytes> const plain = bench.raw();
    Outcome const second = TENON_TRY(bench.runAgain(plugin));
    if (std::string const text = second.differenceFrom(first); !text.empty())
    {
        host.find(flaw::kRepeatable, Ask::kRun,
            fmt::format(
                "a second run with the same inputs gives something else: {}, with {}", text, portsText(bench.ports())));
        return Done{};
    }
    Outcome const turned = TENON_TRY(bench.runAgain(plugin, {.isOutputInverted = true}));
    if (std::string const text = Bench::unwritten(bench, plain, bench.raw(), first); !text.empty())
        host.find(flaw::kOutputWritten, Ask::kRun, text);
    else if (std::string const other = turned.differenceFrom(first); !other.empty())
        host.find(flaw::kOutputWritten, Ask::kRun,
            "results depend on what the outputs held before: " + other + ", with " + portsText(bench.ports()));
    Outcome const garbage = TENON_TRY(bench.runAgain(plugin, {.isWorkspaceInverted = true}));
    if (std::string const text = garbage.differenceFrom(first); !text.empty())
        host.find(flaw::kWorkspaceContents, Ask::kRun,
            "results depend on what the workspace held before: " + text + ", with " + portsText(bench.ports()));
    compareWithReference(host, bench, first);
    return Done{};
}

//! Stands where a group that only runs must not tell what others tell.
Result<Outcome> quietRun(Host& host, Bench& bench, Plugin& plugin)
{
    Watch::Quiet const quiet{host.watch()};
    return bench.run(plugin);
}
} // namespace

namespace
{
constexpr size_t kMaxQuestions{64};

//! Extents within the bounds: each symbol alone at its least and best, all of them, and some in between.
std::vector<std::vector<int64_t>> smallerExtents(Form const& form, uint32_t seed)
{
    std::vector<int64_t> largest;
    for (auto const& symbol : form.symbols)
        largest.push_back(symbol[static_cast<size_t>(Point::kMax)]);
    std::vector<std::vector<int64_t>> all;
    for (Point const point : {Point::kMin, Point::kOpt})
    {
        std::vector<int64_t>& together = all.emplace_back();
        for (auto const& symbol : form.symbols)
            together.push_back(symbol[static_cast<size_t>(point)]);
        for (size_t i = 0; i < form.symbols.size() && all.size() < kMaxQuestions / 2; ++i)
            (all.emplace_back(largest))[i] = form.symbols[i][static_cast<size_t>(point)];
    }
    std::mt19937 random{seed};
    while (all.size() < kMaxQuestions)
        for (std::vector<int64_t>& between = all.emplace_back(); auto const& symbol : form.symbols)
            between.push_back(std::uniform_int_distribution<int64_t>{symbol[0], symbol[2]}(random));
    return all;
}

//! Memory is set aside for the largest extents: smaller ones must not want more.
Result<Done> checkWorkspace(Host& host, Form const& form, Ready const& ready, Combination const& combination)
{
    PluginPtr const copy = TENON_TRY(ready.plugin->clone());
    for (std::vector<int64_t> const& extents : smallerExtents(form, host.options().seed))
    {
        Ports const ports = withCombination(form.runPorts(form.withUppers(extents)), combination);
        if (host.generation() == Generation::kV2DynamicExt)
            TENON_TRY(copy->configure(ports)); // As contexts do before they ask.
        size_t const bytes = TENON_TRY(copy->workspace(ports));
        if (bytes <= ready.workspace)
            continue;
        Ports const largest = withCombination(form.runPorts(Point::kMax), combination);
        host.find(flaw::kWorkspaceLargest, Ask::kWorkspace,
            fmt::format("with {} it asks for {} bytes, and with extents up to {} for {}", portsText(ports), bytes,
                portsText(largest), ready.workspace));
        return Done{};
    }
    return Done{};
}
} // namespace

Result<Done> checkRuns(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    Form const form = TENON_TRY(host.form(*plugin));
    std::vector<Combination> const combinations = TENON_TRY(host.combinations(*plugin, form));
    for (size_t i = 0; i < combinations.size(); ++i)
    {
        Ready const ready = TENON_TRY(host.ready(form, combinations[i]));
        if (form.isDynamic())
            TENON_TRY(checkWorkspace(host, form, ready, combinations[i]));
        if (host.watch().isStopped())
            break;
        PluginPtr const attached = TENON_TRY(host.attached(*ready.plugin, ready.tactic()));
        for (Point const point : kPoints)
        {
            if (point != Point::kOpt && (i > 0 || !form.isDynamic()))
                break;
            Bench bench = TENON_TRY(Bench::make(host, form, ready, point, static_cast<uint32_t>(i)));
            TENON_TRY(checkOne(host, bench, *attached));
        }
    }
    return Done{};
}

Result<Done> checkTactics(Host& host)
{
    Scene const scene = TENON_TRY(setScene(host));
    for (int32_t const tactic : scene.ready.tactics)
    {
        PluginPtr const attached = TENON_TRY(host.attached(*scene.ready.plugin, tactic));
        Bench bench = TENON_TRY(Bench::make(host, scene.form, scene.ready, Point::kOpt));
        TENON_TRY(checkOne(host, bench, *attached));
    }
    return Done{};
}

Result<Done> checkEmpties(Host& host)
{
    bool const hasBatch = std::ranges::any_of(
        host.options().inputs, [](InputSpec const& each) { return !each.isValues && each.opt.nbDims > 0; });
    Scene const scene = TENON_TRY(setScene(host));
    if (!host.options().empties || !hasBatch)
        return Done{};
    if (isBatchless(host.generation()))
        return Done{}; // An empty batch runs nothing.
    PluginPtr const attached = TENON_TRY(host.attached(*scene.ready.plugin, scene.ready.tactic()));
    Bench full = TENON_TRY(Bench::make(host, scene.form, scene.ready, Point::kOpt));
    TENON_TRY(full.run(*attached)); // What fails anyway is no matter of empty tensors.
    Form empty;
    {
        Watch::Quiet const quiet{host.watch()};
        auto asked = host.form(*scene.ready.plugin, 0);
        if (!asked)
        {
            host.find(flaw::kEmpty, Ask::kShapes, "for inputs without elements: " + asked.error().message);
            return Done{};
        }
        empty = *std::move(asked);
    }
    Ready ready;
    ready.ports = scene.ready.ports;
    ready.workspace = scene.ready.workspace;
    ready.aliases = scene.ready.aliases;
    Bench bench = TENON_TRY(Bench::make(host, empty, ready, Point::kOpt));
    if (auto const outcome = quietRun(host, bench, *attached); !outcome)
        host.find(
            flaw::kEmpty, Ask::kRun, fmt::format("with {}: {}", portsText(bench.ports()), outcome.error().message));
    return Done{};
}

namespace
{
//! A context with its own inputs, and what it computes alone.
struct Context
{
    PluginPtr plugin;
    Bench bench;
    Outcome wanted;
    std::string wrong;
};

Result<Context> contextAt(Host& host, Scene const& scene, Point point, uint32_t salt)
{
    PluginPtr plugin = TENON_TRY(host.attached(*scene.ready.plugin, scene.ready.tactic()));
    Bench bench = TENON_TRY(Bench::make(host, scene.form, scene.ready, point, salt));
    Outcome wanted = TENON_TRY(bench.run(*plugin));
    return Context{std::move(plugin), std::move(bench), std::move(wanted), {}};
}

//! Runs until something differs, for a while, and at least a number of times.
void repeat(Context& context)
{
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{150};
    for (int32_t i = 0; context.wrong.empty() && (i < 4 || std::chrono::steady_clock::now() < end) && i < 500; ++i)
    {
        auto const outcome = context.bench.runAgain(*context.plugin);
        context.wrong = outcome ? (*outcome).differenceFrom(context.wanted) : outcome.error().message;
    }
}

void tellApart(Host& host, std::string const& wrong, char const* how)
{
    if (!wrong.empty())
        host.find(flaw::kApart, Ask::kRun, fmt::format("{}: {}", how, wrong));
}
} // namespace

Result<Done> checkContexts(Host& host)
{
    Scene const scene = TENON_TRY(setScene(host));
    Context first = TENON_TRY(contextAt(host, scene, Point::kOpt, 1));
    {
        Context second = TENON_TRY(contextAt(host, scene, Point::kMax, 2)); // Told its shapes after the first was.
        Watch::Quiet const quiet{host.watch()};
        for (Context* each : {&first, &second})
        {
            auto const outcome = each->bench.runAgain(*each->plugin);
            tellApart(host, outcome ? (*outcome).differenceFrom(each->wanted) : outcome.error().message,
                "two contexts, one after the other, disturb each other");
        }
    }
    Context other = TENON_TRY(contextAt(host, scene, Point::kOpt, 3));
    Watch::Quiet const quiet{host.watch()};
    std::thread thread{[&] { repeat(other); }};
    repeat(first);
    thread.join();
    tellApart(host, first.wrong.empty() ? other.wrong : first.wrong, "two contexts in two threads disturb each other");
    return Done{};
}

} // namespace tenon::plugins::check
