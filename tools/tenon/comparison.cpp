// Comparison: each engine has the machine to itself for a moment, again and again.
#include "comparison.h"

#include "interruption.h"
#include "machine.h"
#include "peer.h"
#include "python.h"
#include "session.h"
#include "statistics.h"
#include "texts.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace tenon::cli
{

namespace
{
using Clock = std::chrono::steady_clock;

std::vector<std::string> splitAtCommas(std::string const& text)
{
    std::vector<std::string> parts;
    std::istringstream stream{text};
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

//! An engine beside ours, in turns with it.
struct Compared
{
    std::unique_ptr<Peer> peer;
    std::vector<double> milliseconds;
    std::vector<double> ratios; //!< Per turn: our median over its.
};

std::vector<Compared> startPeers(ComparisonOptions const& options, Shapes const& shapes, int32_t threads, bool isQuiet)
{
    bool const isAll = options.engines == "all";
    std::vector<Compared> peers;
    for (std::string const& name : isAll ? Peer::all() : splitAtCommas(options.engines))
    {
        if (std::ranges::find(Peer::all(), name) == Peer::all().end())
            throw std::invalid_argument("--compare: '" + name + "' is none of onnxruntime, openvino, torch, all");
        std::string const python = pythonWith(name, options.python);
        // PyTorch reads no ONNX files itself.
        std::string const needed = name == "torch" && hasPackage(python, name) ? "onnx2torch" : name;
        if (isAll && !hasPackage(python, needed))
        {
            if (!isQuiet)
                std::fprintf(stderr, "tenon: %s is not installed for %s: %s is left out\n", needed.c_str(),
                    python.c_str(), name.c_str());
            continue;
        }
        peers.push_back({std::make_unique<Peer>(name, python, options.path, shapes, threads), {}, {}});
    }
    if (peers.empty())
        throw std::runtime_error("--compare: no other engine is installed; --python names an interpreter that has one");
    return peers;
}

//! Each engine has the machine to itself for a moment, again and again: what else the machine does meets all of them.
std::vector<double> measureInTurns(Session& session, std::vector<Compared>& peers, double seconds, bool isQuiet)
{
    constexpr double kTurn{0.15};
    constexpr int32_t kMinTurns{3};
    auto const turns =
        std::max(kMinTurns, static_cast<int32_t>(seconds / (kTurn * static_cast<double>(peers.size() + 1))));
    ProgressBar bar{!isQuiet, "Comparing turns"};
    std::vector<double> own;
    for (int32_t turn = 0; turn < turns && !gInterrupted; ++turn)
    {
        bar.advance("Comparing turns", Count{turn, turns});
        std::vector<double> times;
        for (double spent{0.0}; times.empty() || spent < kTurn * 1000;)
        {
            Clock::time_point const before = Clock::now();
            session.run();
            times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
            spent += times.back();
        }
        double const median = Sorted{times}.median();
        own.insert(own.end(), times.begin(), times.end());
        for (Compared& each : peers)
        {
            std::vector<double> const theirs = each.peer->run(kTurn);
            each.ratios.push_back(median / Sorted{theirs}.median());
            each.milliseconds.insert(each.milliseconds.end(), theirs.begin(), theirs.end());
        }
    }
    return own;
}

void printComparison(std::vector<double> const& own, std::vector<Compared> const& peers, int32_t threads)
{
    std::printf("%s; device %s, %d thread%s; in turns\n", shownName(cpuName()).c_str(), deviceName().c_str(), threads,
        threads == 1 ? "" : "s");
    std::printf("%-24s %10s %10s %8s\n", "", "median ms", "min ms", "ratio");
    Sorted const sorted{own};
    std::printf("%-24s %10.3f %10.3f\n", "tenon", sorted.median(), sorted.least());
    for (Compared const& each : peers)
    {
        Sorted const theirs{each.milliseconds};
        std::printf("%-24s %10.3f %10.3f %8.2f\n", each.peer->name().c_str(), theirs.median(), theirs.least(),
            Sorted{each.ratios}.median());
    }
    std::printf("ratio: tenon's time over the other's, the median of %zu turns; below 1 tenon is faster\n",
        peers.front().ratios.size());
}

Json comparisonJson(std::vector<double> const& own, std::vector<Compared> const& peers, int32_t threads)
{
    Sorted const sorted{own};
    Json json{{"cpu", cpuName()}, {"device", deviceName()}, {"threads", threads}, {"runs", sorted.count()},
        {"min_ms", sorted.least()}, {"median_ms", sorted.median()}, {"compared", Json::array()}};
    for (Compared const& each : peers)
    {
        Sorted const theirs{each.milliseconds};
        json["compared"].push_back({{"engine", each.peer->name()}, {"runs", theirs.count()}, {"min_ms", theirs.least()},
            {"median_ms", theirs.median()}, {"turns", each.ratios.size()}, {"ratio", Sorted{each.ratios}.median()}});
    }
    return json;
}

} // namespace

int compareEngines(ComparisonOptions const& options, Common const& common)
{
    if (!isOnnx(options.path))
        throw std::invalid_argument("--compare: other engines read models, not plans: name the .onnx file");
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    int32_t const threads = threadsOfRuns(common.threads);
    std::vector<Compared> peers = startPeers(options, shapes, threads, common.quiet);
    Session session{options.path, shapes, common, logger};
    session.prepare(shapes, 0);
    for (int32_t i = 0; i < options.warmup && !gInterrupted; ++i)
        session.run();
    std::vector<double> const own = measureInTurns(session, peers, options.seconds, common.quiet);
    if (gInterrupted)
        return kInterruptedStatus;
    if (options.json)
        std::printf("%s\n", comparisonJson(own, peers, threads).dump().c_str());
    else
        printComparison(own, peers, threads);
    return 0;
}

} // namespace tenon::cli
