// tenon bench: latency of a plan or model.
#include "commands.h"
#include "interruption.h"
#include "session.h"
#include "texts.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace tenon::cli
{

namespace
{
struct BenchOptions
{
    std::string path;
    std::vector<std::string> shapes;
    double seconds{3.0};
    int32_t warmup{5};
    bool json{false};
};

//! Resident memory of this process in MiB, from the kernel.
double residentMebibytes()
{
    std::ifstream file{"/proc/self/statm"};
    int64_t total{0};
    int64_t resident{0};
    file >> total >> resident;
    return static_cast<double>(resident) * 4096.0 / (1 << 20);
}

double at(std::vector<double> const& sorted, double part)
{
    return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

//! Below this many runs no part of a hundred lies behind the 99th.
constexpr size_t kRunsOfTail{100};

void printJson(std::vector<double> const& times, double loadMilliseconds)
{
    Json json{{"runs", times.size()}, {"min_ms", times.front()}, {"median_ms", at(times, 0.5)},
        {"max_ms", times.back()}, {"p99_ms", nullptr}, {"load_ms", loadMilliseconds}, {"rss_mib", residentMebibytes()}};
    if (times.size() >= kRunsOfTail)
        json["p99_ms"] = at(times, 0.99);
    std::printf("%s\n", json.dump().c_str());
}

//! What the number of runs bears: of one its time, of a few the extremes.
void printText(std::vector<double> const& times, double loadMilliseconds)
{
    constexpr size_t kRunsOfMedian{4};
    if (times.size() == 1)
        std::printf("1 run: %.3f ms", times.front());
    else
        std::printf("%zu runs: min %.3f ms", times.size(), times.front());
    if (times.size() >= kRunsOfMedian)
        std::printf(", median %.3f ms", at(times, 0.5));
    if (times.size() >= kRunsOfTail)
        std::printf(", 99%% %.3f ms", at(times, 0.99));
    else if (times.size() > 1)
        std::printf(", max %.3f ms", times.back());
    std::printf("; load %.1f ms; resident %.1f MiB%s\n", loadMilliseconds, residentMebibytes(),
        times.size() < kRunsOfMedian ? "; --seconds gives more runs" : "");
}

int bench(BenchOptions const& options, Common const& common)
{
    using Clock = std::chrono::steady_clock;
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common, logger};
    session.prepare(shapes, 0);
    std::vector<double> times;
    {
        ProgressBar bar{!common.quiet, "Warming up"};
        for (int32_t i = 0; i < options.warmup && !gInterrupted; ++i)
            session.run();
        auto const start = Clock::now();
        for (double spent{0.0}; !gInterrupted && (times.empty() || spent < options.seconds);)
        {
            bar.advance("Measuring", spent / options.seconds);
            auto const before = Clock::now();
            session.run();
            times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
            spent = std::chrono::duration<double>(Clock::now() - start).count();
        }
    }
    if (gInterrupted)
        return kInterruptedStatus;
    std::sort(times.begin(), times.end());
    options.json ? printJson(times, session.loadMilliseconds()) : printText(times, session.loadMilliseconds());
    return 0;
}
} // namespace

void addBench(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command = app.add_subcommand("bench", "Measure the latency of a plan (or a model, built first)");
    command->add_option("plan", options->path, "A .plan or .onnx file")->required()->check(CLI::ExistingFile);
    addShapes(*command, options->shapes, "Shape of each input; kOPT of profile 0 where none is given");
    command->add_option("--seconds", options->seconds, "How long to measure")->check(CLI::PositiveNumber);
    command->add_option("--warmup", options->warmup, "Runs before measuring")->check(CLI::NonNegativeNumber);
    command->add_flag("--json", options->json, "Print JSON");
    command->footer(R"(Example:
  tenon bench model.plan --shapes input=4x3x224x224 --threads 2 --seconds 5
Random inputs, one run after the other. A plan is read into memory; "resident" is the memory of the whole process.)");
    command->callback([options, &common, &status] { status = bench(*options, common); });
}

} // namespace tenon::cli
