// tenon bench: latency of a plan or model.
#include "commands.h"
#include "session.h"

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

int bench(BenchOptions const& options, Common const& common)
{
    using Clock = std::chrono::steady_clock;
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common.threads, logger, common.allowsCode};
    session.prepare(shapes, 0);
    for (int32_t i = 0; i < options.warmup && !gInterrupted; ++i)
        session.run();
    std::vector<double> times;
    auto const start = Clock::now();
    while (!gInterrupted
        && (times.empty() || std::chrono::duration<double>(Clock::now() - start).count() < options.seconds))
    {
        auto const before = Clock::now();
        session.run();
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
    }
    if (gInterrupted)
        return kInterruptedStatus;
    std::sort(times.begin(), times.end());
    char const* format = options.json
        ? "{\"runs\": %zu, \"min_ms\": %.4f, \"median_ms\": %.4f, \"p99_ms\": %.4f, \"load_ms\": "
          "%.2f, \"rss_mib\": %.1f}\n"
        : "%zu runs: min %.3f ms, median %.3f ms, 99%% %.3f ms; load %.1f ms; resident %.1f MiB\n";
    std::printf(format, times.size(), times.front(), at(times, 0.5), at(times, 0.99), session.loadMilliseconds(),
        residentMebibytes());
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
