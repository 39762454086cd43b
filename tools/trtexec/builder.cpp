// Builder: config, timing cache, build.
#include "builder.h"

#include "files.h"
#include "interruption.h"
#include "model.h"
#include "progress_bar.h"
#include "stopwatch.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
void requireTaken(bool isTaken, char const* flag)
{
    if (!isTaken)
        throw std::runtime_error(std::string{flag} + " was refused: the lines above say why");
}

void applyNumbers(IBuilderConfig& config, BuildOptions const& build)
{
    if (build.averageTiming)
        config.setAvgTimingIterations(*build.averageTiming);
    if (build.level)
        config.setBuilderOptimizationLevel(*build.level);
    if (build.maxTactics)
        config.setMaxNbTactics(*build.maxTactics);
    if (build.maxAuxStreams)
        config.setMaxAuxStreams(*build.maxAuxStreams);
    if (build.tilingLevel)
        requireTaken(config.setTilingOptimizationLevel(static_cast<TilingOptimizationLevel>(*build.tilingLevel)),
            "--tilingOptimizationLevel");
    if (build.tilingCache && *build.tilingCache >= 0)
        requireTaken(config.setL2LimitForTiling(*build.tilingCache), "--l2LimitForTiling");
    for (auto const& [pool, bytes] : build.pools)
        config.setMemoryPoolLimit(pool, bytes);
}

void applySwitches(IBuilderConfig& config, BuildOptions const& build)
{
    for (BuilderFlag const flag : build.flags)
        config.setFlag(flag);
    if (!build.hasTf32)
        config.clearFlag(BuilderFlag::kTF32);
    if (config.getFlag(BuilderFlag::kSTRIP_PLAN) && !config.getFlag(BuilderFlag::kREFIT))
        config.setFlag(BuilderFlag::kREFIT_IDENTICAL);
    if (build.verbosity)
        config.setProfilingVerbosity(*build.verbosity);
    if (build.hardware)
        config.setHardwareCompatibilityLevel(*build.hardware);
    config.setRuntimePlatform(build.platform);
    if (!build.tacticSources.empty())
    {
        TacticSources sources = config.getTacticSources();
        for (auto const& [source, isOn] : build.tacticSources)
        {
            uint32_t const bit = 1U << static_cast<uint32_t>(source);
            sources = isOn ? sources | bit : sources & ~bit;
        }
        requireTaken(config.setTacticSources(sources), "--tacticSources");
    }
    for (auto const& [feature, isOn] : build.previews)
        config.setPreviewFeature(feature, isOn);
}

void applySystem(IBuilderConfig& config, SystemOptions const& system, nvonnxparser::IParser const& parser,
    BuildOptions const& build, Log const& log)
{
    if (system.dlaCore)
    {
        config.setDefaultDeviceType(DeviceType::kDLA);
        config.setDLACore(*system.dlaCore);
    }
    std::vector<std::string> stored = system.storedPlugins;
    if (build.isVersionCompatible && !system.ignoresParsedLibraries
        && !config.getFlag(BuilderFlag::kEXCLUDE_LEAN_RUNTIME))
    {
        int64_t count{0};
        char const* const* libraries = parser.getUsedVCPluginLibraries(count);
        for (int64_t i = 0; i < count; ++i)
        {
            log.info(
                std::string{"The parser names a library of plugins, which is stored in the plan: "} + libraries[i]);
            stored.emplace_back(libraries[i]);
        }
    }
    std::vector<char const*> paths;
    for (std::string const& path : stored)
        paths.push_back(path.c_str());
    if (!paths.empty())
        config.setPluginsToSerialize(paths.data(), static_cast<int32_t>(paths.size()));
}

//! The cache of the file, or an empty one where there is no file yet; null: none is asked for.
std::unique_ptr<ITimingCache> readTimingCache(IBuilderConfig& config, std::string const& path, Log const& log)
{
    if (path.empty())
        return nullptr;
    std::vector<char> bytes;
    if (std::filesystem::exists(path))
        bytes = cli::readFile(path);
    std::unique_ptr<ITimingCache> cache{config.createTimingCache(bytes.data(), bytes.size())};
    requireTaken(cache != nullptr && config.setTimingCache(*cache, false), "--timingCacheFile");
    log.info(bytes.empty() ? "The timing cache begins empty: " + path
                           : "Loaded " + std::to_string(bytes.size()) + " bytes of timing cache from " + path);
    return cache;
}

//! Adds what another program has written since; its entries of what both have timed give way.
void addStoredTimes(IBuilderConfig& config, ITimingCache& cache, std::string const& path, Log const& log)
{
    if (!std::filesystem::exists(path))
        return;
    std::vector<char> const bytes = cli::readFile(path);
    std::unique_ptr<ITimingCache> const stored{config.createTimingCache(bytes.data(), bytes.size())};
    if (stored == nullptr || !cache.combine(*stored, false))
        log.warn("What another program has written meanwhile to " + path + " is replaced: the lines above say why");
}

void writeTimingCache(IBuilderConfig& config, ITimingCache* cache, std::string const& path, Log const& log)
{
    if (cache == nullptr)
        return;
    std::optional<cli::FileLock> lock;
    if (!cli::isWrittenThrough(path))
    {
        lock.emplace(path);
        if (lock->isRefused())
            log.warn("Another program has the lock of the timing cache, " + path + ".lock, for more than "
                + std::to_string(cli::FileLock::kPatience.count())
                + " s: what it writes when it goes on may lack the times of this build");
        addStoredTimes(config, *cache, path, log);
    }
    std::unique_ptr<IHostMemory> const blob{cache->serialize()};
    requireTaken(blob != nullptr, "--timingCacheFile");
    cli::writeFile(path, blob->data(), blob->size());
    log.info("Saved " + std::to_string(blob->size()) + " bytes of timing cache to " + path);
}

void readModel(cli::Model& model, BuildOptions const& build, Log const& log)
{
    Stopwatch const watch;
    log.info("Start parsing network model.");
    model.read(build.onnx);
    log.info(text("Finished parsing network model. Parse time: %.5f", watch.seconds()));
}
} // namespace

std::unique_ptr<IHostMemory> buildPlan(Options const& options, Log& log)
{
    BuildOptions const& build = options.build;
    Stopwatch const watch;
    cli::Model model{log, {build.isStronglyTyped, build.hasNativeInstanceNorm, build.letsPluginsOverride}};
    for (std::string const& path : options.system.dynamicPlugins)
        requireTaken(model.builder().getPluginRegistry().loadLibrary(path.c_str()) != nullptr, "--dynamicPlugins");
    readModel(model, build, log);
    std::unique_ptr<IBuilderConfig> const config{model.builder().createBuilderConfig()};
    applyNumbers(*config, build);
    applySwitches(*config, build);
    applySystem(*config, options.system, model.parser(), build, log);
    std::unique_ptr<CacheCalibrator> calibrator;
    if (!build.calibrationCache.empty() && config->getFlag(BuilderFlag::kINT8))
        calibrator = std::make_unique<CacheCalibrator>(build.calibrationCache);
    applyToNetwork(model.network(), *config, build, calibrator.get(), log);
    addProfiles(model.builder(), model.network(), *config, build, log);
    if (calibrator != nullptr)
    {
        config->setInt8Calibrator(calibrator.get());
        if (IOptimizationProfile* profile = calibrationProfile(model.builder(), model.network(), build, log))
            requireTaken(config->setCalibrationProfile(profile), "--calibProfile");
    }
    std::unique_ptr<ITimingCache> const cache = readTimingCache(*config, build.timingCache, log);
    cli::BuildProgress progress{true};
    config->setProgressMonitor(&progress);
    std::unique_ptr<IHostMemory> plan{model.builder().buildSerializedNetwork(model.network(), *config)};
    if (plan == nullptr)
        throw std::runtime_error("No engine could be built from the model: the lines above say why");
    log.info(text("Engine built in %.5f sec.", watch.seconds()));
    log.info(text("Created engine with size: %.5f MiB", static_cast<double>(plan->size()) / (1 << 20)));
    writeTimingCache(*config, cache.get(), build.timingCache, log);
    if (!build.save.empty())
        cli::writeFile(build.save, plan->data(), plan->size());
    return plan;
}

} // namespace tenon::trtexec
