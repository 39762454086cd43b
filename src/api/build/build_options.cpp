// The options by kind: types, engines of another kind, refitting and streaming, pools, and what only GPUs have.
#include "api/build/build_options.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
struct FlagNote
{
    BuilderFlag flag;
    char const* name;
    char const* consequence; //!< Instead of what was asked for, and why.
};

struct TypeFlag
{
    BuilderFlag flag;
    char const* name;
    DType type;
    bool isRounded{false}; //!< Layers of float32 may be rounded to it as they are; others come of Quantize layers.
};

//! The first that is fast is taken: float16 has more digits than bfloat16.
constexpr TypeFlag kTypes[]{
    {BuilderFlag::kFP16, "kFP16", DType::kHALF, true},
    {BuilderFlag::kBF16, "kBF16", DType::kBF16, true},
    {BuilderFlag::kFP8, "kFP8", DType::kFP8},
    {BuilderFlag::kINT4, "kINT4", DType::kINT4},
    {BuilderFlag::kFP4, "kFP4", DType::kFP4},
};

//! Without them results are the same.
constexpr FlagNote kWithoutEffect[]{
    {BuilderFlag::kMONITOR_MEMORY, "kMONITOR_MEMORY", "the build's memory is not monitored"},
};

struct PoolNote
{
    MemoryPoolType pool;
    char const* name;
    char const* consequence;
};

constexpr char const* kNoPool{"this device does not have the pool"};

constexpr PoolNote kPoolNotes[]{
    {MemoryPoolType::kWORKSPACE, "kWORKSPACE",
        "the limit holds for custom layers; on the CPU scratch is memory of the process, and our own kernels take the "
        "little that they need"},
    {MemoryPoolType::kDLA_MANAGED_SRAM, "kDLA_MANAGED_SRAM", kNoPool},
    {MemoryPoolType::kDLA_LOCAL_DRAM, "kDLA_LOCAL_DRAM", kNoPool},
    {MemoryPoolType::kDLA_GLOBAL_DRAM, "kDLA_GLOBAL_DRAM", kNoPool},
    {MemoryPoolType::kTACTIC_DRAM, "kTACTIC_DRAM",
        "the limit has no effect: on the CPU only tactics of custom layers are timed, on memory of the process"},
    {MemoryPoolType::kTACTIC_SHARED_MEMORY, "kTACTIC_SHARED_MEMORY", kNoPool},
};

Result<Done> checkKind(BuilderConfig const& config)
{
    BuilderConfig::Settings const& settings = config.settings();
    if (settings.engineCapability != EngineCapability::kSTANDARD)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "IBuilderConfig::setEngineCapability({}): only kSTANDARD can be built",
            settings.engineCapability == EngineCapability::kSAFETY ? "kSAFETY" : "kDLA_STANDALONE");
    if (config.has(BuilderFlag::kSAFETY_SCOPE))
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "BuilderFlag::kSAFETY_SCOPE: nothing checks a network against the restrictions of safety");
    if (settings.runtimePlatform != RuntimePlatform::kSAME_AS_BUILD)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "IBuilderConfig::setRuntimePlatform(kWINDOWS_AMD64): plans can be built for this platform only");
    if (config.has(BuilderFlag::kREFIT_INDIVIDUAL)
        && (config.has(BuilderFlag::kREFIT) || config.has(BuilderFlag::kREFIT_IDENTICAL)))
        return badConfig("BuilderFlag::kREFIT_INDIVIDUAL excludes kREFIT and kREFIT_IDENTICAL");
    bool const isRefittable = config.has(BuilderFlag::kREFIT) || config.has(BuilderFlag::kREFIT_IDENTICAL)
        || config.has(BuilderFlag::kREFIT_INDIVIDUAL) || config.has(BuilderFlag::kSTRIP_PLAN);
    if (isRefittable && settings.profiles.size() > 1)
        return badConfig("an engine that can be refitted has one optimization profile, and there are {} (rule of "
                         "IBuilderConfig::addOptimizationProfile)",
            settings.profiles.size());
    return Done{};
}

//! Without kGPU_FALLBACK a layer for DLA must run there.
Result<Done> checkDeviceTypes(Log const& log, BuilderConfig const& config)
{
    BuilderConfig::Settings const& settings = config.settings();
    auto const layers = std::count_if(settings.deviceTypes.begin(), settings.deviceTypes.end(),
        [](auto const& each) { return each.second == DeviceType::kDLA; });
    if (settings.defaultDeviceType != DeviceType::kDLA && layers == 0)
        return Done{};
    std::string const what = settings.defaultDeviceType == DeviceType::kDLA
        ? "IBuilderConfig::setDefaultDeviceType(kDLA)"
        : fmt::format("IBuilderConfig::setDeviceType(kDLA) for {} layers", layers);
    if (!config.has(BuilderFlag::kGPU_FALLBACK))
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "{}: this device has no DLA; BuilderFlag::kGPU_FALLBACK lets the layers run without", what);
    log.warning(what + ": this device has no DLA, its layers run as all others (kGPU_FALLBACK)");
    return Done{};
}

void warnOfTypes(Log const& log, BuilderConfig const& config, TypeSet fastTypes)
{
    std::string names;
    std::optional<DType> const narrow = narrowType(config, fastTypes);
    bool const isOffered = config.has(BuilderFlag::kFP16) || config.has(BuilderFlag::kBF16);
    for (TypeFlag const& each : kTypes)
        if (config.has(each.flag) && narrow != each.type)
            names += (names.empty() ? "BuilderFlag::" : ", ") + std::string{each.name};
    if (!names.empty())
        log.warning(names
            + ": on this device weakly typed layers are not faster by it, and compute in the types that the network "
              "gives them, or in the precisions that they ask for under kOBEY_ or kPREFER_PRECISION_CONSTRAINTS"
            + (isOffered ? "; only custom layers are offered the reduced ones" : ""));
}
} // namespace

std::optional<DType> narrowType(BuilderConfig const& config, TypeSet fastTypes)
{
    for (TypeFlag const& each : kTypes)
        if (each.isRounded && config.has(each.flag) && fastTypes.has(each.type))
            return each.type;
    return std::nullopt;
}

Result<Done> checkOptions(Log const& log, BuilderConfig const& config, Target const& target)
{
    TypeSet const fastTypes = target.rates.fastTypes;
    TENON_TRY(checkKind(config));
    TENON_TRY(checkDeviceTypes(log, config));
    warnOfTypes(log, config, fastTypes);
    for (FlagNote const& each : kWithoutEffect)
        if (config.has(each.flag))
            log.warning(fmt::format("BuilderFlag::{}: {}", each.name, each.consequence));
    for (PoolNote const& each : kPoolNotes)
        if (config.settings().poolLimits.contains(static_cast<int32_t>(each.pool)))
        {
            std::string const note =
                fmt::format("IBuilderConfig::setMemoryPoolLimit({}): {}", each.name, each.consequence);
            // Nearly every program sets the workspace, and misses nothing: no warning.
            each.pool == MemoryPoolType::kWORKSPACE ? log.info(note) : log.warning(note);
        }
    if (config.settings().hardwareCompatibilityLevel != HardwareCompatibilityLevel::kNONE && !target.bindsPrograms)
        log.warning("IBuilderConfig::setHardwareCompatibilityLevel: no effect: the levels are about GPUs, for which a "
                    "plan holds no code, and a plan runs on every CPU whose instructions it was built for");
    return Done{};
}

} // namespace tenon::api
