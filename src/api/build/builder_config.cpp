// BuilderConfig: setters check their own argument; what hangs together is checked by the build.
#include "api/build/builder_config.h"

#include "api/boundary.h"
#include "api/build/builder.h"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
constexpr int32_t kHighestLevel{5};
constexpr char kStandardRoute[]{"standard"};
constexpr size_t kMaxShownRoute{100};

size_t physicalMemory() noexcept
{
    return static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

size_t standardLimit(MemoryPoolType pool) noexcept
{
    switch (pool)
    {
    case MemoryPoolType::kWORKSPACE:
    case MemoryPoolType::kTACTIC_DRAM: return physicalMemory();
    case MemoryPoolType::kDLA_LOCAL_DRAM: return size_t{1} << 30;
    case MemoryPoolType::kDLA_GLOBAL_DRAM: return size_t{1} << 29;
    case MemoryPoolType::kTACTIC_SHARED_MEMORY: return size_t{1} << 30;
    default: return 0;
    }
}

//! The feature's bit; 0 after a report when there is no such feature. Those of 8.x have numbers from 1000 on.
uint32_t featureBit(Log const& log, char const* call, PreviewFeature feature) noexcept
{
    switch (feature)
    {
    case PreviewFeature::kFASTER_DYNAMIC_SHAPES_0805: return 1U << 30;
    case PreviewFeature::kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805: return 1U << 31;
    default: return flagBit(log, call, feature);
    }
}
} // namespace

BuilderConfig::BuilderConfig(std::shared_ptr<Builder> builder)
    : mBuilder{std::move(builder)}
{
}

Log const& BuilderConfig::log() const noexcept
{
    return mBuilder->reporting().log();
}

void BuilderConfig::notImplemented(char const* call) const noexcept
{
    mBuilder->reporting().notImplemented(call);
}

void BuilderConfig::setFlags(uint32_t builderFlags) noexcept
{
    mSettings.flags = knownFlags<BuilderFlag>(log(), "IBuilderConfig::setFlags", builderFlags);
}

void BuilderConfig::clearFlag(BuilderFlag builderFlag) noexcept
{
    mSettings.flags &= ~flagBit(log(), "IBuilderConfig::clearFlag", builderFlag);
}

void BuilderConfig::setFlag(BuilderFlag builderFlag) noexcept
{
    mSettings.flags |= flagBit(log(), "IBuilderConfig::setFlag", builderFlag);
}

bool BuilderConfig::getFlag(BuilderFlag builderFlag) const noexcept
{
    return (mSettings.flags & flagBit(log(), "IBuilderConfig::getFlag", builderFlag)) != 0;
}

void BuilderConfig::setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept
{
    if (isKnown(log(), "IBuilderConfig::setDeviceType", deviceType))
        mSettings.deviceTypes[layer] = deviceType;
}

DeviceType BuilderConfig::getDeviceType(ILayer const* layer) const noexcept
{
    auto const at = mSettings.deviceTypes.find(layer);
    return at == mSettings.deviceTypes.end() ? mSettings.defaultDeviceType : at->second;
}

bool BuilderConfig::isDeviceTypeSet(ILayer const* layer) const noexcept
{
    return mSettings.deviceTypes.contains(layer);
}

void BuilderConfig::resetDeviceType(ILayer const* layer) noexcept
{
    mSettings.deviceTypes.erase(layer);
}

bool BuilderConfig::canRunOnDLA(ILayer const*) const noexcept
{
    return false;
}

void BuilderConfig::setDLACore(int32_t dlaCore) noexcept
{
    log().error(errorOf(ErrorCode::kUNSUPPORTED_STATE, "IBuilderConfig::setDLACore: there is no DLA core {}", dlaCore));
}

int32_t BuilderConfig::getDLACore() const noexcept
{
    return mSettings.dlaCore;
}

void BuilderConfig::reset() noexcept
{
    mSettings = Settings{};
}

int32_t BuilderConfig::addOptimizationProfile(IOptimizationProfile const* profile) noexcept
{
    return fenced(log(), "IBuilderConfig::addOptimizationProfile", int32_t{-1}, [&]() -> Result<int32_t> {
        if (profile == nullptr)
            return badArgument("the profile is null");
        OptimizationProfile const* const own = TENON_TRY(mBuilder->profileAt(profile));
        TENON_TRY(own->check());
        mSettings.profiles.push_back(own);
        return static_cast<int32_t>(mSettings.profiles.size()) - 1;
    });
}

int32_t BuilderConfig::getNbOptimizationProfiles() const noexcept
{
    return static_cast<int32_t>(mSettings.profiles.size());
}

bool BuilderConfig::setCalibrationProfile(IOptimizationProfile const* profile) noexcept
{
    return fencedDone(log(), "IBuilderConfig::setCalibrationProfile", [&]() -> Result<Done> {
        mSettings.calibrationProfile = profile == nullptr ? nullptr : TENON_TRY(mBuilder->profileAt(profile));
        return Done{};
    });
}

IOptimizationProfile const* BuilderConfig::getCalibrationProfile() noexcept
{
    return mSettings.calibrationProfile;
}

void BuilderConfig::setQuantizationFlags(uint32_t flags) noexcept
{
    mSettings.quantizationFlags = knownFlags<QuantizationFlag>(log(), "IBuilderConfig::setQuantizationFlags", flags);
}

void BuilderConfig::clearQuantizationFlag(QuantizationFlag flag) noexcept
{
    mSettings.quantizationFlags &= ~flagBit(log(), "IBuilderConfig::clearQuantizationFlag", flag);
}

void BuilderConfig::setQuantizationFlag(QuantizationFlag flag) noexcept
{
    mSettings.quantizationFlags |= flagBit(log(), "IBuilderConfig::setQuantizationFlag", flag);
}

bool BuilderConfig::getQuantizationFlag(QuantizationFlag flag) const noexcept
{
    return (mSettings.quantizationFlags & flagBit(log(), "IBuilderConfig::getQuantizationFlag", flag)) != 0;
}

bool BuilderConfig::setTacticSources(uint32_t tacticSources) noexcept
{
    constexpr uint32_t kKnown{(1U << EnumMax<TacticSource>()) - 1U};
    if ((tacticSources & ~kKnown) != 0)
    {
        log().error(
            badArgument("IBuilderConfig::setTacticSources: {:#x} names sources that do not exist", tacticSources));
        return false;
    }
    mSettings.tacticSources = tacticSources;
    mSettings.choosesSources = true;
    return true;
}

ITimingCache* BuilderConfig::createTimingCache(void const* blob, size_t size) const noexcept
{
    using Made = ITimingCache*;
    return fenced(log(), "IBuilderConfig::createTimingCache", Made{nullptr}, [&]() -> Result<Made> {
        if (blob == nullptr && size > 0)
            return badArgument("{} bytes at null", size);
        auto cache = TENON_TRY(TimingCache::read(mBuilder, {static_cast<uint8_t const*>(blob), size}));
        return new Handle<ITimingCache, TimingCache>{std::move(cache)};
    });
}

bool BuilderConfig::setTimingCache(ITimingCache const& cache, bool ignoreMismatch) noexcept
{
    return fencedDone(log(), "IBuilderConfig::setTimingCache", [&]() -> Result<Done> {
        TimingCache& own = TimingCache::of(cache);
        TENON_TRY(own.checkFits(originOf(*mBuilder), ignoreMismatch));
        mSettings.timingCache = own.shared_from_this();
        return Done{};
    });
}

ITimingCache const* BuilderConfig::getTimingCache() const noexcept
{
    return mSettings.timingCache == nullptr ? nullptr : &mSettings.timingCache->front();
}

void BuilderConfig::setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept
{
    fencedDone(log(), "IBuilderConfig::setMemoryPoolLimit", [&]() -> Result<Done> {
        auto const index = static_cast<int32_t>(pool);
        if (index < 0 || index >= kPools)
            return badArgument("pool {} does not exist", index);
        if (pool == MemoryPoolType::kDLA_LOCAL_DRAM || pool == MemoryPoolType::kDLA_GLOBAL_DRAM)
            if (poolSize < 4096)
                return badArgument("{} bytes are too few for the pool", poolSize);
        if (poolSize > physicalMemory() && pool != MemoryPoolType::kDLA_GLOBAL_DRAM)
            return errorOf(ErrorCode::kUNSUPPORTED_STATE, "{} bytes are more than the {} of this machine", poolSize,
                physicalMemory());
        if (pool == MemoryPoolType::kDLA_MANAGED_SRAM && poolSize != 0 && poolSize < 4096)
            return badArgument("{} bytes are too few for the pool", poolSize);
        mSettings.poolLimits[index] = poolSize;
        return Done{};
    });
}

size_t BuilderConfig::getMemoryPoolLimit(MemoryPoolType pool) const noexcept
{
    auto const at = mSettings.poolLimits.find(static_cast<int32_t>(pool));
    return at == mSettings.poolLimits.end() ? standardLimit(pool) : at->second;
}

void BuilderConfig::setPreviewFeature(PreviewFeature feature, bool enable) noexcept
{
    uint32_t const bit = featureBit(log(), "IBuilderConfig::setPreviewFeature", feature);
    mSettings.previewFeatures = enable ? mSettings.previewFeatures | bit : mSettings.previewFeatures & ~bit;
    mSettings.previewFeatures |= 1U << static_cast<uint32_t>(PreviewFeature::kPROFILE_SHARING_0806); // Always on.
}

bool BuilderConfig::getPreviewFeature(PreviewFeature feature) const noexcept
{
    return (mSettings.previewFeatures & featureBit(log(), "IBuilderConfig::getPreviewFeature", feature)) != 0;
}

void BuilderConfig::setBuilderOptimizationLevel(int32_t level) noexcept
{
    if (level < 0)
        log().error(badArgument("IBuilderConfig::setBuilderOptimizationLevel: {} is negative", level));
    else
        mSettings.builderOptimizationLevel = std::min(level, kHighestLevel);
}

void BuilderConfig::setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept
{
    fencedDone(log(), "IBuilderConfig::setPluginsToSerialize", [&]() -> Result<Done> {
        std::vector<std::string> checked;
        if (nbPaths < 0 || (paths == nullptr && nbPaths > 0))
            return badArgument("{} paths at {}", nbPaths, static_cast<void const*>(paths));
        for (int32_t i = 0; i < nbPaths; ++i)
        {
            std::string path = TENON_TRY(checkedName(paths[i], "a plugin library"));
            if (std::find(checked.begin(), checked.end(), path) != checked.end())
                return badArgument("plugin library '{}' is named twice", path);
            checked.push_back(std::move(path));
        }
        mSettings.pluginsToSerialize = std::move(checked);
        return Done{};
    });
}

char const* BuilderConfig::getPluginToSerialize(int32_t index) const noexcept
{
    return index < 0 || index >= getNbPluginsToSerialize()
        ? nullptr
        : mSettings.pluginsToSerialize[static_cast<size_t>(index)].c_str();
}

int32_t BuilderConfig::getNbPluginsToSerialize() const noexcept
{
    return static_cast<int32_t>(mSettings.pluginsToSerialize.size());
}

void BuilderConfig::setMaxAuxStreams(int32_t nbStreams) noexcept
{
    if (nbStreams < -1)
        log().error(badArgument("IBuilderConfig::setMaxAuxStreams: {} is negative", nbStreams));
    else
        mSettings.maxAuxStreams = nbStreams;
}

bool BuilderConfig::setRemoteAutoTuningConfig(char const* config) noexcept
{
    if (config == nullptr || *config == '\0')
        return true;
    return mBuilder->reporting().fail(errorOf(ErrorCode::kUNSUPPORTED_STATE,
        "IBuilderConfig::setRemoteAutoTuningConfig: kernels are measured on this machine alone"));
}

char const* BuilderConfig::getRemoteAutoTuningConfig() const noexcept
{
    return "";
}

//! There is one way from a network to a plan: passes, then the planner.
bool BuilderConfig::setBuildRoute(char const* route) noexcept
{
    if (route == nullptr || *route == '\0' || std::string_view{route} == kStandardRoute)
        return true;
    return mBuilder->reporting().fail(
        badArgument("IBuilderConfig::setBuildRoute: there is no route '{}'; there is '{}'",
            std::string_view{route}.substr(0, kMaxShownRoute), kStandardRoute));
}

char const* BuilderConfig::getBuildRoute() const noexcept
{
    return kStandardRoute;
}

char const* BuilderConfig::getAllBuildRoutes() const noexcept
{
    return kStandardRoute;
}

} // namespace tenon::api
