// Options of the build: types, pools, the builder's switches.
#include "flags.h"
#include "option_parts.h"
#include "options.h"

#include <algorithm>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
constexpr std::pair<char const*, BuilderFlag> kSwitches[]{{"--refit", BuilderFlag::kREFIT},
    {"--stripWeights", BuilderFlag::kSTRIP_PLAN}, {"--weightless", BuilderFlag::kSTRIP_PLAN},
    {"--stripAllWeights", BuilderFlag::kREFIT}, {"--stripAllWeights", BuilderFlag::kSTRIP_PLAN},
    {"--versionCompatible", BuilderFlag::kVERSION_COMPATIBLE}, {"--vc", BuilderFlag::kVERSION_COMPATIBLE},
    {"--excludeLeanRuntime", BuilderFlag::kEXCLUDE_LEAN_RUNTIME}, {"--monitorMemory", BuilderFlag::kMONITOR_MEMORY},
    {"--fp16", BuilderFlag::kFP16}, {"--bf16", BuilderFlag::kBF16}, {"--int8", BuilderFlag::kINT8},
    {"--fp8", BuilderFlag::kFP8}, {"--int4", BuilderFlag::kINT4}, {"--best", BuilderFlag::kFP16},
    {"--best", BuilderFlag::kBF16}, {"--best", BuilderFlag::kINT8}, {"--directIO", BuilderFlag::kDIRECT_IO},
    {"--restricted", BuilderFlag::kSAFETY_SCOPE}, {"--noBuilderCache", BuilderFlag::kDISABLE_TIMING_CACHE},
    {"--noCompilationCache", BuilderFlag::kDISABLE_COMPILATION_CACHE},
    {"--errorOnTimingCacheMiss", BuilderFlag::kERROR_ON_TIMING_CACHE_MISS},
    {"--allowWeightStreaming", BuilderFlag::kWEIGHT_STREAMING},
    {"--distributiveIndependence", BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE},
    {"--allowGPUFallback", BuilderFlag::kGPU_FALLBACK}};

constexpr std::pair<char const*, BuilderFlag> kTypeSwitches[]{{"--fp16", BuilderFlag::kFP16},
    {"--bf16", BuilderFlag::kBF16}, {"--int8", BuilderFlag::kINT8}, {"--fp8", BuilderFlag::kFP8},
    {"--int4", BuilderFlag::kINT4}};

constexpr std::pair<char const*, MemoryPoolType> kPools[]{{"workspace", MemoryPoolType::kWORKSPACE},
    {"dlaSRAM", MemoryPoolType::kDLA_MANAGED_SRAM}, {"dlaLocalDRAM", MemoryPoolType::kDLA_LOCAL_DRAM},
    {"dlaGlobalDRAM", MemoryPoolType::kDLA_GLOBAL_DRAM}, {"tacticSharedMem", MemoryPoolType::kTACTIC_SHARED_MEMORY}};

constexpr std::pair<char const*, ProfilingVerbosity> kVerbosities[]{
    {"layer_names_only", ProfilingVerbosity::kLAYER_NAMES_ONLY}, {"detailed", ProfilingVerbosity::kDETAILED},
    {"none", ProfilingVerbosity::kNONE}, {"default", ProfilingVerbosity::kLAYER_NAMES_ONLY},
    {"verbose", ProfilingVerbosity::kDETAILED}};

constexpr std::pair<char const*, TacticSource> kSources[]{{"CUBLAS", TacticSource::kCUBLAS},
    {"CUBLAS_LT", TacticSource::kCUBLAS_LT}, {"CUBLASLT", TacticSource::kCUBLAS_LT}, {"CUDNN", TacticSource::kCUDNN},
    {"EDGE_MASK_CONVOLUTIONS", TacticSource::kEDGE_MASK_CONVOLUTIONS},
    {"JIT_CONVOLUTIONS", TacticSource::kJIT_CONVOLUTIONS}};

constexpr std::pair<char const*, std::optional<PreviewFeature>> kPreviews[]{
    {"fasterDynamicShapes0805", std::nullopt}, // 8.6 had these two.
    {"disableExternalTacticSourcesForCore0805", std::nullopt},
    {"profileSharing0806", PreviewFeature::kPROFILE_SHARING_0806},
    {"aliasedPluginIO1003", PreviewFeature::kALIASED_PLUGIN_IO_10_03},
    {"runtimeActivationResize", PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10}};

constexpr std::pair<char const*, HardwareCompatibilityLevel> kHardware[]{{"none", HardwareCompatibilityLevel::kNONE},
    {"ampere+", HardwareCompatibilityLevel::kAMPERE_PLUS},
    {"samecomputecapability", HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY}};

constexpr std::pair<char const*, RuntimePlatform> kPlatforms[]{
    {"SameAsBuild", RuntimePlatform::kSAME_AS_BUILD}, {"WindowsAMD64", RuntimePlatform::kWINDOWS_AMD64}};

constexpr std::pair<char const*, Runtime> kRuntimes[]{
    {"full", Runtime::kFull}, {"lean", Runtime::kLean}, {"dispatch", Runtime::kDispatch}};

constexpr std::pair<char const*, DeviceType> kDeviceKinds[]{{"GPU", DeviceType::kGPU}, {"DLA", DeviceType::kDLA}};

std::string inCase(std::string text, int (*change)(int))
{
    std::transform(text.begin(), text.end(), text.begin(), [&](char c) { return static_cast<char>(change(c)); });
    return text;
}

void readTypes(Arguments const& arguments, BuildOptions& build, std::vector<std::string>& warnings)
{
    build.isStronglyTyped = arguments.has("--stronglyTyped");
    if (arguments.has("--best") && build.isStronglyTyped)
        throw std::invalid_argument(
            "--best and --stronglyTyped exclude each other: the network's own types hold, or not");
    if (arguments.has("--fp8") && (arguments.has("--int8") || arguments.has("--best")))
        throw std::invalid_argument("--fp8 and --int8 exclude each other");
    for (auto const& [name, flag] : kTypeSwitches)
    {
        auto const at = std::find(build.flags.begin(), build.flags.end(), flag);
        if (build.isStronglyTyped && at != build.flags.end())
        {
            build.flags.erase(at);
            warnings.push_back(
                std::string{name} + " has no effect beside --stronglyTyped: the types are the network's");
        }
    }
    build.inputFormats = formatsOf("--inputIOFormats", arguments.text("--inputIOFormats"));
    build.outputFormats = formatsOf("--outputIOFormats", arguments.text("--outputIOFormats"));
    for (auto const& [name, type] : namedOf("--layerPrecisions", arguments.text("--layerPrecisions")))
        build.layerPrecisions.emplace_back(name, typeOf("--layerPrecisions", type));
    for (auto const& [name, list] : namedOf("--layerOutputTypes", arguments.text("--layerOutputTypes")))
    {
        std::vector<DataType> types;
        for (std::string const& type : splitAt(list, '+'))
            types.push_back(typeOf("--layerOutputTypes", type));
        build.layerOutputTypes.emplace_back(name, types);
    }
    std::string const how = arguments.text("--precisionConstraints", "none");
    constexpr std::pair<char const*, int32_t> kHow[]{{"none", 0}, {"prefer", 1}, {"obey", 2}};
    int32_t const constraint = chosen("--precisionConstraints", how, kHow);
    if (constraint != 0)
        build.flags.push_back(
            constraint == 1 ? BuilderFlag::kPREFER_PRECISION_CONSTRAINTS : BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    bool const hasTypes = !build.layerPrecisions.empty() || !build.layerOutputTypes.empty();
    if (hasTypes && constraint == 0)
        warnings.emplace_back(
            "--layerPrecisions and --layerOutputTypes have no effect with --precisionConstraints=none");
    if (!hasTypes && constraint != 0)
        warnings.emplace_back("--precisionConstraints has no effect without --layerPrecisions or --layerOutputTypes");
}

void readPools(Arguments const& arguments, BuildOptions& build)
{
    auto const add = [&](std::string const& flag, std::string const& name, std::string const& size) {
        double const bytes = bytesOf(flag, size, 'M');
        if (!(bytes >= 0.0 && bytes < 9e18))
            throw std::invalid_argument(flag + ": '" + size + "' is not the size of a pool");
        build.pools.emplace_back(chosen(flag, name, kPools), static_cast<size_t>(bytes));
    };
    if (arguments.has("--workspace"))
        add("--workspace", "workspace", arguments.text("--workspace"));
    for (auto const& [name, size] : namedOf("--memPoolSize", arguments.text("--memPoolSize")))
        add("--memPoolSize", name, size);
}

void readNumbers(Arguments const& arguments, BuildOptions& build)
{
    auto const read = [&](char const* flag, int64_t least, int64_t most, auto& place) {
        if (arguments.has(flag))
            place = arguments.integer(flag, 0, least, most);
    };
    read("--avgTiming", 1, INT32_MAX, build.averageTiming);
    read("--builderOptimizationLevel", 0, 5, build.level);
    read("--maxTactics", -1, INT32_MAX, build.maxTactics);
    read("--maxAuxStreams", 0, INT32_MAX, build.maxAuxStreams);
    read("--tilingOptimizationLevel", 0, 3, build.tilingLevel);
    read("--l2LimitForTiling", -1, INT64_MAX, build.tilingCache);
}

void readChoices(Arguments const& arguments, BuildOptions& build, std::vector<std::string>& warnings)
{
    for (char const* const flag : {"--nvtxMode", "--profilingVerbosity"})
        if (arguments.has(flag))
            build.verbosity = chosen(flag, arguments.text(flag), kVerbosities);
    for (auto const& [name, isOn] : switchesOf("--tacticSources", arguments.text("--tacticSources")))
        build.tacticSources.emplace_back(chosen("--tacticSources", inCase(name, std::toupper), kSources), isOn);
    for (auto const& [name, isOn] : switchesOf("--preview", arguments.text("--preview")))
    {
        std::optional<PreviewFeature> const feature = chosen("--preview", name, kPreviews);
        if (feature)
            build.previews.emplace_back(*feature, isOn);
        if (feature != PreviewFeature::kALIASED_PLUGIN_IO_10_03)
            warnings.push_back("--preview: " + name + " has no effect: nothing here waits for it to be switched on");
    }
    if (arguments.has("--hardwareCompatibilityLevel"))
        build.hardware = chosen("--hardwareCompatibilityLevel",
            inCase(arguments.text("--hardwareCompatibilityLevel"), std::tolower), kHardware);
    build.platform = chosen("--runtimePlatform", arguments.text("--runtimePlatform", "SameAsBuild"), kPlatforms);
    build.runtime = chosen("--useRuntime", arguments.text("--useRuntime", "full"), kRuntimes);
    for (auto const& [name, kind] : namedOf("--layerDeviceTypes", arguments.text("--layerDeviceTypes")))
        build.layerDevices.emplace_back(name, chosen("--layerDeviceTypes", kind, kDeviceKinds));
    std::string const sparsity = arguments.text("--sparsity", "disable");
    constexpr std::pair<char const*, int32_t> kSparsities[]{{"disable", 0}, {"enable", 1}, {"force", 2}};
    int32_t const sparse = chosen("--sparsity", sparsity, kSparsities);
    if (sparse == 2)
        throw std::invalid_argument(
            "--sparsity=force cannot be honoured: it would change the model's weights; prune the "
            "model and use --sparsity=enable");
    if (sparse == 1)
        build.flags.push_back(BuilderFlag::kSPARSE_WEIGHTS);
}

void readTemporary(Arguments const& arguments, BuildOptions& build)
{
    build.temporaryFolder = arguments.text("--tempdir");
    if (!arguments.has("--tempfileControls"))
        return;
    constexpr std::pair<char const*, TempfileControlFlag> kControls[]{
        {"in_memory", TempfileControlFlag::kALLOW_IN_MEMORY_FILES},
        {"temporary", TempfileControlFlag::kALLOW_TEMPORARY_FILES}};
    constexpr std::pair<char const*, bool> kAnswers[]{{"allow", true}, {"deny", false}};
    TempfileControlFlags allowed{3U};
    for (auto const& [name, answer] : namedOf("--tempfileControls", arguments.text("--tempfileControls")))
    {
        uint32_t const bit = 1U << static_cast<uint32_t>(chosen("--tempfileControls", name, kControls));
        allowed = chosen("--tempfileControls", answer, kAnswers) ? allowed | bit : allowed & ~bit;
    }
    build.temporaryFiles = allowed;
}

//! What of the build's flags also concerns an engine that is loaded.
constexpr std::string_view kOfLoading[]{"--loadEngine", "--asyncFileReader", "--getPlanVersionOnly", "--skipInference",
    "--buildOnly", "--useRuntime", "--leanDLLPath", "--versionCompatible", "--vc", "--allowWeightStreaming",
    "--refitFromOnnx", "--optShapes", "--profile", "--markUnfusedTensorsAsDebugTensors"};

void warnOfBuildFlags(Arguments const& arguments, std::vector<std::string>& warnings)
{
    for (auto const& [name, value] : arguments.inOrder())
    {
        Flag const& flag = *findFlag(name);
        bool const isOfBuild = flag.section == Section::kBuild || flag.section == Section::kFormer
            || name == "--setPluginsToSerialize" || (name == "--onnx" && !arguments.has("--timeRefit"));
        if (isOfBuild && flag.fate == Fate::kWorks && std::ranges::find(kOfLoading, name) == std::end(kOfLoading))
            warnings.push_back(name + " has no effect beside --loadEngine: nothing is built");
    }
}

void checkLoading(Arguments const& arguments, BuildOptions& build, std::vector<std::string>& warnings)
{
    if (!build.load.empty() && !build.save.empty())
        throw std::invalid_argument("--loadEngine and --saveEngine exclude each other");
    if (build.load.empty() && build.onnx.empty())
        throw std::invalid_argument("there is nothing to run: give --onnx or --loadEngine");
    if (build.load.empty() && build.tellsVersionOnly)
        throw std::invalid_argument("--getPlanVersionOnly needs --loadEngine");
    if (build.load.empty() && build.runtime != Runtime::kFull)
        throw std::invalid_argument("--useRuntime=" + arguments.text("--useRuntime")
            + " builds no engines: give --loadEngine, or --useRuntime=full");
    if (build.isReadInPieces && build.load.empty())
        warnings.emplace_back("--asyncFileReader has no effect without --loadEngine");
    if (!build.load.empty())
        warnOfBuildFlags(arguments, warnings);
}
} // namespace

BuildOptions buildOptionsOf(Arguments const& arguments, std::vector<std::string>& warnings)
{
    BuildOptions build;
    build.onnx = arguments.text("--onnx");
    build.load = arguments.text("--loadEngine");
    build.save = arguments.text("--saveEngine");
    if (char const* home = std::getenv("HOME"); build.onnx.rfind("~/", 0) == 0 && home != nullptr)
        build.onnx = home + build.onnx.substr(1);
    build.profiles = profilesOf(arguments);
    for (auto const& [name, flag] : kSwitches)
        if (arguments.has(name) && std::find(build.flags.begin(), build.flags.end(), flag) == build.flags.end())
            build.flags.push_back(flag);
    build.hasTf32 = !arguments.has("--noTF32");
    build.hasNativeInstanceNorm = !arguments.has("--pluginInstanceNorm") && !arguments.has("--pi");
    build.letsPluginsOverride = arguments.has("--enablePluginOverride");
    build.isVersionCompatible = arguments.has("--versionCompatible") || arguments.has("--vc");
    readTypes(arguments, build, warnings);
    readCalibration(arguments, build, warnings);
    readPools(arguments, build);
    readNumbers(arguments, build);
    readChoices(arguments, build, warnings);
    readTemporary(arguments, build);
    build.decomposableAttentions = splitAt(arguments.text("--decomposableAttentions"), ',');
    build.debugTensors = splitAt(arguments.text("--markDebug"), ',');
    build.hasUnfusedDebugTensors = arguments.has("--markUnfusedTensorsAsDebugTensors");
    build.timingCache = arguments.text("--timingCacheFile");
    build.leanLibrary = arguments.text("--leanDLLPath");
    build.refitModel = arguments.text("--refitFromOnnx");
    build.isReadInPieces = arguments.has("--asyncFileReader");
    build.tellsVersionOnly = arguments.has("--getPlanVersionOnly");
    if (!build.hasNativeInstanceNorm && build.isVersionCompatible)
        throw std::invalid_argument("--pluginInstanceNorm and --versionCompatible exclude each other");
    if (arguments.has("--noBuilderCache") && !build.timingCache.empty())
    {
        warnings.emplace_back("--timingCacheFile has no effect beside --noBuilderCache");
        build.timingCache.clear();
    }
    checkLoading(arguments, build, warnings);
    return build;
}

} // namespace tenon::trtexec
