// Performance: trace, summary, warnings.
#include "performance.h"

#include "files.h"
#include "statistics.h"
#include "texts.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace tenon::trtexec
{

namespace
{
using Trace = std::vector<QueryTimes>;
using Metric = double (QueryTimes::*)() const;

cli::Sorted sortedBy(Trace const& trace, Metric metric)
{
    std::vector<double> times;
    for (QueryTimes const& query : trace)
        times.push_back((query.*metric)());
    return cli::Sorted{std::move(times)};
}

double meanOf(Trace const& trace, size_t from, size_t count, Metric metric)
{
    double sum{0.0};
    for (size_t i = from; i < from + count; ++i)
        sum += (trace[i].*metric)();
    return sum / static_cast<double>(count);
}

void printTrace(Trace const& trace, size_t runs, Log const& log)
{
    log.info("");
    log.info("=== Trace details ===");
    log.info(text("Trace averages of %zu runs:", runs));
    for (size_t at = 0; at + runs <= trace.size(); at += runs)
        log.info(text("Average on %zu runs - GPU latency: %.5f ms - Host latency: %.5f ms (enqueue %.5f ms)", runs,
            meanOf(trace, at, runs, &QueryTimes::compute), meanOf(trace, at, runs, &QueryTimes::latency),
            meanOf(trace, at, runs, &QueryTimes::enqueue)));
}

std::string figuresOf(cli::Sorted const& times, std::vector<double> const& percentiles)
{
    std::string line = text("min = %.5f ms, max = %.5f ms, mean = %.5f ms, median = %.5f ms", times.least(),
        times.most(), times.mean(), times.median());
    for (double const percentile : percentiles)
        line += text(", percentile(%g%%) = %.5f ms", percentile, times.quantile(percentile / 100.0));
    return line;
}

void warnOfBounds(cli::Sorted const& enqueue, cli::Sorted const& h2d, cli::Sorted const& compute,
    cli::Sorted const& d2h, Log const& log)
{
    constexpr double kNear{0.8};
    constexpr double kUnstable{0.1};
    if (enqueue.median() > kNear * compute.median())
        log.warn(
            "* Enqueuing takes about as long as the run itself, so that it may bound the throughput. --useCudaGraph "
            "enqueues less.");
    if (h2d.median() >= compute.median())
        log.warn(
            "* Copying the inputs takes as long as the run, so that it may bound the throughput. --noDataTransfers "
            "measures without copies.");
    if (d2h.median() >= compute.median())
        log.warn(
            "* Copying the outputs takes as long as the run, so that it may bound the throughput. --noDataTransfers "
            "measures without copies.");
    if (compute.variation() > kUnstable)
        log.warn(
            text("* Run times vary by %.0f%% of their mean: other programs, or the CPU's clock. --infStreams=1 on an "
                 "idle machine gives steadier ones.",
                compute.variation() * 100.0));
}

void warnOfPercentiles(size_t count, std::vector<double> const& percentiles, Log const& log)
{
    for (double const percentile : percentiles)
        if (percentile < 100.0 && !cli::isBorne(percentile / 100.0, count))
            log.warn(text("* %zu queries are too few for percentile(%g%%): it is the largest time. --duration or "
                          "--iterations gives more.",
                count, percentile));
}

void explain(Log const& log)
{
    log.verbose("=== What the figures mean ===");
    for (char const* line :
        {"H2D Latency: copying the inputs of a query from the program's memory to the device's.",
            "GPU Compute Time: the run on the device, here the CPU, from its first step to its last.",
            "D2H Latency: copying the outputs back.", "Latency: the three together, without waiting for other queries.",
            "Enqueue Time: what the calling thread spends on handing a run over.",
            "Total Host Walltime: from the first query behind the warm-up to the end of the last.",
            "Total GPU Compute Time: the sum over all queries.",
            "Throughput: queries by Total Host Walltime. With several streams queries overlap."})
        log.verbose(line);
}

void writeTimes(Trace const& trace, std::string const& path)
{
    cli::Json all = cli::Json::array();
    for (QueryTimes const& query : trace)
        all.push_back(
            {{"startEnqMs", query.enqueueStart}, {"endEnqMs", query.enqueueEnd}, {"startH2dMs", query.h2dStart},
                {"endH2dMs", query.h2dEnd}, {"startComputeMs", query.computeStart}, {"endComputeMs", query.computeEnd},
                {"startD2hMs", query.d2hStart}, {"endD2hMs", query.d2hEnd}, {"h2dMs", query.h2d()},
                {"computeMs", query.compute()}, {"d2hMs", query.d2h()}, {"latencyMs", query.latency()}});
    std::string const made = all.dump(1) + "\n";
    cli::writeFile(path, made.data(), made.size());
}

void printSummary(Trace const& trace, double seconds, ReportOptions const& options, Log const& log)
{
    cli::Sorted const enqueue = sortedBy(trace, &QueryTimes::enqueue);
    cli::Sorted const h2d = sortedBy(trace, &QueryTimes::h2d);
    cli::Sorted const compute = sortedBy(trace, &QueryTimes::compute);
    cli::Sorted const d2h = sortedBy(trace, &QueryTimes::d2h);
    cli::Sorted const latency = sortedBy(trace, &QueryTimes::latency);
    std::vector<double> const& parts = options.percentiles;
    log.info("");
    log.info("=== Performance summary ===");
    log.info(text("Throughput: %.5f qps", static_cast<double>(trace.size()) / seconds));
    log.info("Latency: " + figuresOf(latency, parts));
    log.info("Enqueue Time: " + figuresOf(enqueue, parts));
    log.info("H2D Latency: " + figuresOf(h2d, parts));
    log.info("GPU Compute Time: " + figuresOf(compute, parts));
    log.info("D2H Latency: " + figuresOf(d2h, parts));
    log.info(text("Total Host Walltime: %.5f s", seconds));
    log.info(text("Total GPU Compute Time: %.5f s", compute.sum() / 1000.0));
    warnOfBounds(enqueue, h2d, compute, d2h, log);
    warnOfPercentiles(trace.size(), parts, log);
    explain(log);
    log.info("");
}
} // namespace

void report(std::vector<QueryTimes> const& all, Options const& options, Log const& log)
{
    double const warmUp = options.inference.warmUpMilliseconds;
    Trace trace;
    std::copy_if(all.begin(), all.end(), std::back_inserter(trace),
        [&](QueryTimes const& query) { return query.enqueueStart >= warmUp; });
    if (trace.empty())
        throw std::runtime_error("no query began behind the warm-up: --iterations or --duration gives more of them");
    double end{0.0}; // Of several streams the last to begin is not the last to end.
    for (QueryTimes const& query : trace)
        end = std::max(end, query.d2hEnd);
    double const seconds = std::max(end - trace.front().h2dStart, 1e-6) / 1000.0;
    log.info(text("Warmup completed %zu queries over %g ms", all.size() - trace.size(), warmUp));
    log.info(text("Timing trace has %zu queries over %.5f s", trace.size(), seconds));
    printTrace(trace, static_cast<size_t>(options.report.averaged), log);
    printSummary(trace, seconds, options.report, log);
    if (!options.report.times.empty())
        writeTimes(trace, options.report.times);
}

} // namespace tenon::trtexec
