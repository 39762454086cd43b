// Options as text: what a run was asked for stands in its log.
#include "log.h"
#include "options.h"

#include <algorithm>

namespace tenon::trtexec
{

using nvinfer1::BuilderFlag;

namespace
{
std::string enabled(bool isEnabled)
{
    return isEnabled ? "Enabled" : "Disabled";
}

bool hasFlag(BuildOptions const& build, BuilderFlag flag)
{
    return std::find(build.flags.begin(), build.flags.end(), flag) != build.flags.end();
}

std::string extentsText(Extents const& extents)
{
    std::string text;
    for (int64_t const extent : extents)
        text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text;
}

std::string precisionText(BuildOptions const& build)
{
    if (build.isStronglyTyped)
        return "Strongly Typed";
    std::string text{"FP32"};
    constexpr std::pair<BuilderFlag, char const*> kNames[]{{BuilderFlag::kFP16, "+FP16"}, {BuilderFlag::kBF16, "+BF16"},
        {BuilderFlag::kINT8, "+INT8"}, {BuilderFlag::kFP8, "+FP8"}, {BuilderFlag::kINT4, "+INT4"},
        {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, " (obey precision constraints)"},
        {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS, " (prefer precision constraints)"}};
    for (auto const& [flag, name] : kNames)
        text += hasFlag(build, flag) ? name : "";
    return text;
}

std::string poolsText(BuildOptions const& build)
{
    std::string text;
    constexpr std::pair<nvinfer1::MemoryPoolType, char const*> kNames[]{
        {nvinfer1::MemoryPoolType::kWORKSPACE, "workspace"}, {nvinfer1::MemoryPoolType::kDLA_MANAGED_SRAM, "dlaSRAM"},
        {nvinfer1::MemoryPoolType::kDLA_LOCAL_DRAM, "dlaLocalDRAM"},
        {nvinfer1::MemoryPoolType::kDLA_GLOBAL_DRAM, "dlaGlobalDRAM"},
        {nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY, "tacticSharedMem"}};
    for (auto const& [pool, name] : kNames)
    {
        std::string size{"default"};
        for (auto const& [given, bytes] : build.pools)
            if (given == pool)
                size = trtexec::text("%g MiB", static_cast<double>(bytes) / (1 << 20));
        text += (text.empty() ? "" : ", ") + std::string{name} + ": " + size;
    }
    return text;
}

void addBuildLines(BuildOptions const& build, std::vector<std::string>& lines)
{
    lines.insert(lines.end(),
        {"=== Build Options ===", "Memory Pools: " + poolsText(build), "Precision: " + precisionText(build),
            "Calibration: " + build.calibrationCache, "Refit: " + enabled(hasFlag(build, BuilderFlag::kREFIT)),
            "Strip weights: " + enabled(hasFlag(build, BuilderFlag::kSTRIP_PLAN)),
            "Version Compatible: " + enabled(build.isVersionCompatible),
            "Sparsity: " + enabled(hasFlag(build, BuilderFlag::kSPARSE_WEIGHTS)), "Save engine: " + build.save,
            "timingCacheMode: "
                + std::string{hasFlag(build, BuilderFlag::kDISABLE_TIMING_CACHE) ? "disable"
                        : build.timingCache.empty()                              ? "local"
                                                                                 : "global"},
            "timingCacheFile: " + build.timingCache,
            "BuilderOptimizationLevel: " + (build.level ? std::to_string(*build.level) : "default"),
            "MaxTactics: " + (build.maxTactics ? std::to_string(*build.maxTactics) : "default"),
            "MaxAuxStreams: " + (build.maxAuxStreams ? std::to_string(*build.maxAuxStreams) : "default"),
            "Weight Streaming: " + enabled(hasFlag(build, BuilderFlag::kWEIGHT_STREAMING))});
    for (size_t i = 0; i < build.profiles.size(); ++i)
        for (auto const& [name, range] : build.profiles[i])
            lines.push_back("Input build shape (profile " + std::to_string(i) + "): " + name + "="
                + extentsText(range.min) + "+" + extentsText(range.opt) + "+" + extentsText(range.max));
}

void addInferenceLines(InferenceOptions const& inference, std::vector<std::string>& lines)
{
    lines.emplace_back("=== Inference Options ===");
    for (auto const& [name, extents] : inference.shapes)
        lines.push_back("Input inference shape : " + name + "=" + extentsText(extents));
    lines.insert(lines.end(),
        {text("Iterations: %lld", static_cast<long long>(inference.iterations)),
            text("Duration: %gs (+ %gms warm up)", inference.seconds, inference.warmUpMilliseconds),
            text("Sleep time: %gms", inference.sleepMilliseconds), text("Idle time: %gms", inference.idleMilliseconds),
            text("Inference Streams: %d", inference.streams), "ExposeDMA: " + enabled(!inference.isOverlapped),
            "Data transfers: " + enabled(inference.hasTransfers), "Spin-wait: " + enabled(inference.spins),
            "Multithreading: " + enabled(inference.isThreaded), "CUDA Graph: " + enabled(inference.isCaptured),
            "Separate profiling: " + enabled(inference.isProfiledApart),
            "Time Deserialize: " + enabled(inference.timesLoading), "Time Refit: " + enabled(inference.timesRefit),
            text("Optimization Profile Index: %d", inference.profile), "Inputs:"});
    for (auto const& [name, file] : inference.inputs)
        lines.push_back(name + "<-" + file);
}
} // namespace

std::vector<std::string> linesOf(Options const& options)
{
    std::vector<std::string> lines{
        "=== Model Options ===", "Format: " + std::string{options.build.onnx.empty() ? "*" : "ONNX"},
        "Model: " + options.build.onnx, "Load engine: " + options.build.load};
    if (options.build.load.empty())
        addBuildLines(options.build, lines);
    lines.emplace_back("=== System Options ===");
    lines.push_back(text("Device: %d", options.system.device));
    lines.push_back("DLACore: " + (options.system.dlaCore ? std::to_string(*options.system.dlaCore) : ""));
    std::string plugins{"Plugins:"};
    for (std::string const& plugin : options.system.plugins)
        plugins += " " + plugin;
    lines.push_back(plugins);
    addInferenceLines(options.inference, lines);
    ReportOptions const& report = options.report;
    std::string percentiles;
    for (double const part : report.percentiles)
        percentiles += (percentiles.empty() ? "" : ",") + text("%g", part);
    lines.insert(lines.end(),
        {"=== Reporting Options ===", "Verbose: " + enabled(report.isVerbose),
            text("Averages: %d inferences", report.averaged), "Percentiles: " + percentiles,
            "Dump refittable layers:" + enabled(report.dumpsRefit), "Dump output: " + enabled(report.dumpsOutput),
            "Profile: " + enabled(report.dumpsProfile), "Export timing to JSON file: " + report.times,
            "Export output to JSON file: " + report.output, "Export profile to JSON file: " + report.profile});
    return lines;
}

} // namespace tenon::trtexec
