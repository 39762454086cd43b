// Flags: the table, and the help that is made of it.
#include "flags.h"

#include <array>

namespace tenon::trtexec
{

namespace
{
using enum Section;
using enum Fate;

constexpr std::string_view kNoDla{"there is no DLA here"};
constexpr std::string_view kNoImplicitBatch{"networks have the batch in their shapes; use --shapes"};
constexpr std::string_view kOnnxOnly{"models are read from ONNX files; use --onnx"};
constexpr std::string_view kNoSafety{"there is no builder or runtime for safety here"};

constexpr Flag kFlags[]{
    {"--onnx", "<file>", kModel, "Model to build an engine from"},

    {"--minShapes", "<shapes>", kBuild, "Smallest shapes of a profile: name:1x3x224x224, several joined by commas",
        kWorks, {}, true},
    {"--optShapes", "<shapes>", kBuild, "Shapes that a profile is optimized for", kWorks, {}, true},
    {"--maxShapes", "<shapes>", kBuild, "Largest shapes of a profile", kWorks, {}, true},
    {"--minShapesCalib", "<shapes>", kBuild, "Smallest shapes while calibrating"},
    {"--optShapesCalib", "<shapes>", kBuild, "Shapes while calibrating"},
    {"--maxShapesCalib", "<shapes>", kBuild, "Largest shapes while calibrating"},
    {"--profile", "<N>", kBuild, "The shapes that follow make profile N", kWorks, {}, true},
    {"--calibProfile", "<N>", kBuild, "Profile whose shapes are those while calibrating (0)"},
    {"--inputIOFormats", "<formats>", kBuild, "Type and formats of each input, or once for all: fp16:chw+hwc8"},
    {"--outputIOFormats", "<formats>", kBuild, "The same for outputs"},
    {"--memPoolSize", "<pools>", kBuild,
        "Limits of memory pools: workspace, dlaSRAM, dlaLocalDRAM, dlaGlobalDRAM, tacticSharedMem; in MiB, or with B, "
        "K, M, G"},
    {"--profilingVerbosity", "<how>", kBuild, "What engines tell of layers: layer_names_only, detailed, none"},
    {"--avgTiming", "<N>", kBuild, "Runs whose mean is the time of a tactic (8)"},
    {"--refit", "", kBuild, "Weights can be replaced later"},
    {"--stripWeights", "", kBuild, "The plan holds no weights that can be replaced"},
    {"--stripAllWeights", "", kBuild, "--refit and --stripWeights"},
    {"--weightless", "", kBuild, "Old name of --stripWeights"},
    {"--versionCompatible", "", kBuild, "The plan loads under other versions"},
    {"--vc", "", kBuild, "Short for --versionCompatible"},
    {"--excludeLeanRuntime", "", kBuild, "With --versionCompatible: no runtime within the plan", kIdle,
        "plans are data and hold no runtime"},
    {"--pluginInstanceNorm", "", kBuild, "The parser takes a plugin for InstanceNormalization", kIdle,
        "InstanceNormalization is read as layers either way"},
    {"--pi", "", kBuild, "Short for --pluginInstanceNorm", kIdle, "InstanceNormalization is read as layers either way"},
    {"--uint8AsymmetricQuantizationDLA", "", kBuild, "Zero points of uint8, for DLA", kRefused, kNoDla},
    {"--reportCapabilityDLA", "", kBuild, "The parser asks of each node whether DLA can run it", kRefused, kNoDla},
    {"--adjustForDLA", "", kBuild, "The parser writes layers such that DLA can run more of them", kIdle, kNoDla},
    {"--enablePluginOverride", "", kBuild, "The parser takes a plugin before an operator of the same name"},
    {"--useRuntime", "<which>", kBuild, "Runtime that loads the plan: full, lean, dispatch"},
    {"--leanDLLPath", "<file>", kBuild, "Library of the lean runtime that loads a plan of another version"},
    {"--monitorMemory", "", kBuild, "The build reports its memory"},
    {"--sparsity", "<how>", kBuild, "Kernels for sparse weights: disable, enable"},
    {"--noTF32", "", kBuild, "No shortened mantissas in matrix products of float", kIdleOnCpu,
        "products of floats are never shortened there"},
    {"--fp16", "", kBuild, "Half precision is allowed"},
    {"--bf16", "", kBuild, "bfloat16 is allowed"},
    {"--int8", "", kBuild, "int8 is allowed"},
    {"--fp8", "", kBuild, "fp8 is allowed; not with --int8"},
    {"--int4", "", kBuild, "int4 weights are allowed"},
    {"--best", "", kBuild, "--fp16, --bf16 and --int8"},
    {"--stronglyTyped", "", kBuild, "The types are those of the network"},
    {"--directIO", "", kBuild, "No reorders next to inputs and outputs"},
    {"--precisionConstraints", "<how>", kBuild, "How binding the types of layers are: none, prefer, obey"},
    {"--layerPrecisions", "<types>", kBuild, "Precision of layers by name, * for any letters: conv*:fp16"},
    {"--layerOutputTypes", "<types>", kBuild, "Types of layers' outputs: split*:fp16+fp32"},
    {"--layerDeviceTypes", "<kinds>", kBuild, "Kind of device of layers: GPU or DLA"},
    {"--decomposableAttentions", "<names>", kBuild, "Attentions that may be built from single layers"},
    {"--calib", "<file>", kBuild, "Calibration cache for --int8"},
    {"--safe", "", kBuild, "An engine for safety", kRefused, kNoSafety},
    {"--dumpKernelText", "", kBuild, "Code of the kernels, with --safe", kRefused, kNoSafety},
    {"--buildDLAStandalone", "", kBuild, "A loadable for DLA", kRefused, kNoDla},
    {"--allowGPUFallback", "", kBuild, "With --useDLACore: layers that DLA cannot run go elsewhere"},
    {"--consistency", "", kBuild, "Check an engine for safety", kIdle, kNoSafety},
    {"--restricted", "", kBuild, "Check the network against the restrictions of safety"},
    {"--saveEngine", "<file>", kBuild, "Where the plan goes"},
    {"--loadEngine", "<file>", kBuild, "A plan to load instead of building"},
    {"--asyncFileReader", "", kBuild, "Read the plan piece by piece, as the engine asks for it"},
    {"--getPlanVersionOnly", "", kBuild, "Print the version that wrote the plan, and no more"},
    {"--tacticSources", "<sources>", kBuild,
        "Sources with + or -: CUBLAS, CUBLAS_LT, CUDNN, EDGE_MASK_CONVOLUTIONS, JIT_CONVOLUTIONS", kIdleOnCpu,
        "the libraries are a GPU's; all kernels there are Tenon's own"},
    {"--noBuilderCache", "", kBuild, "No timing cache"},
    {"--noCompilationCache", "", kBuild, "No compiled code in the timing cache", kIdle, "no compiled code is cached"},
    {"--timingCacheFile", "<file>", kBuild, "Timing cache to begin with, and to write"},
    {"--errorOnTimingCacheMiss", "", kBuild, "The build fails when a time is not in the cache"},
    {"--preview", "<features>", kBuild,
        "Features with + or -: profileSharing0806, aliasedPluginIO1003, runtimeActivationResize"},
    {"--builderOptimizationLevel", "<N>", kBuild, "0 to 5 (3)"},
    {"--maxTactics", "<N>", kBuild, "Tactics to time per layer (-1: the builder decides)", kIdle,
        "all candidates are timed at level 4 and above, and none below"},
    {"--hardwareCompatibilityLevel", "<level>", kBuild, "none, ampere+, sameComputeCapability"},
    {"--runtimePlatform", "<platform>", kBuild, "SameAsBuild, WindowsAMD64"},
    {"--tempdir", "<folder>", kBuild, "For temporary files, of weights that are streamed and of libraries in plans"},
    {"--tempfileControls", "<controls>", kBuild, "in_memory and temporary, each with allow or deny"},
    {"--maxAuxStreams", "<N>", kBuild, "Further streams that one run may use"},
    {"--allowWeightStreaming", "", kBuild, "Weights can be streamed; with --stronglyTyped"},
    {"--markDebug", "<tensors>", kBuild, "Debug tensors, by name"},
    {"--markUnfusedTensorsAsDebugTensors", "", kBuild, "All tensors that no fusion takes are debug tensors"},
    {"--tilingOptimizationLevel", "<N>", kBuild, "0 to 3 (0)", kIdle, "kernels choose their own tiles"},
    {"--l2LimitForTiling", "<bytes>", kBuild, "Cache for tiling (-1: all)", kIdle, "kernels choose their own tiles"},
    {"--distributiveIndependence", "", kBuild, "An entry of a batch does not depend on the others"},
    {"--remoteAutoTuningConfig", "<url>", kBuild, "Another machine times the tactics, with --safe", kRefused,
        kNoSafety},
    {"--cpuOnly", "", kBuild, "Build for that other machine alone", kRefused, kNoSafety},
    {"--refitFromOnnx", "<file>", kBuild, "Weights of this model replace those of the engine"},
    {"--skipInference", "", kBuild, "Build or load, and no more"},
    {"--buildOnly", "", kBuild, "Old name of --skipInference"},

    {"--device", "<N>", kSystem, "Device to run on (0)"},
    {"--useDLACore", "<N>", kSystem, "Core of the DLA"},
    {"--staticPlugins", "<file>", kSystem, "Library of plugins", kWorks, {}, true},
    {"--plugins", "<file>", kSystem, "Old name of --staticPlugins", kWorks, {}, true},
    {"--dynamicPlugins", "<file>", kSystem, "Library of plugins for builder and runtime", kWorks, {}, true},
    {"--setPluginsToSerialize", "<file>", kSystem, "Library to store in the plan", kWorks, {}, true},
    {"--ignoreParsedPluginLibs", "", kSystem, "Libraries that the parser names are not stored in the plan"},
    {"--safetyPlugins", "<file>", kSystem, "Library of plugins for safety", kRefused, kNoSafety, true},

    {"--shapes", "<shapes>", kInference, "Shapes of inputs: name:1x3x224x224, several joined by commas"},
    {"--loadInputs", "<files>", kInference,
        "Contents of inputs: name:file, raw bytes or .npy; random where none is given"},
    {"--iterations", "<N>", kInference, "Queries at least (10)"},
    {"--warmUp", "<ms>", kInference, "Milliseconds before measuring (200)"},
    {"--duration", "<s>", kInference, "Seconds of measuring at least (3); -1: until it is stopped"},
    {"--sleepTime", "<ms>", kInference, "Milliseconds between the first enqueue and its work (0)"},
    {"--idleTime", "<ms>", kInference, "Milliseconds between queries (0)"},
    {"--infStreams", "<N>", kInference, "Execution contexts side by side (1)"},
    {"--streams", "<N>", kInference, "Old name of --infStreams"},
    {"--exposeDMA", "", kInference, "A query begins when the one before has ended, copies included"},
    {"--noDataTransfers", "", kInference, "No copies of inputs and outputs"},
    {"--useManagedMemory", "", kInference, "One memory for host and device, without copies"},
    {"--useSpinWait", "", kInference, "Wait in a loop that asks, without sleep"},
    {"--threads", "", kInference, "A thread for each stream; refitting in several threads"},
    {"--useCudaGraph", "", kInference, "Record a run once, and launch that"},
    {"--timeDeserialize", "", kInference, "Time loading, and no more"},
    {"--timeRefit", "", kInference, "Time refitting from the model, before measuring"},
    {"--separateProfileRun", "", kInference, "Profile layers in a second run"},
    {"--persistentCacheRatio", "<ratio>", kInference, "Part of the cache to set aside, 0 to 1 (0)", kIdle,
        "no part of a CPU's cache can be set aside"},
    {"--useProfile", "<N>", kInference, "Optimization profile (0)"},
    {"--allocationStrategy", "<how>", kInference, "Memory of runs: static, profile, runtime"},
    {"--saveDebugTensors", "<files>", kInference, "Debug tensors to files: name:file"},
    {"--saveAllDebugTensors", "<forms>", kInference, "All debug tensors: summary, numpy, string, raw"},
    {"--weightStreamingBudget", "<size>", kInference,
        "Weights in memory: -2 all, -1 automatic, 0% to 100%, or bytes with B, K, M, G"},

    {"--verbose", "", kReporting, "More about what is done"},
    {"--avgRuns", "<N>", kReporting, "Queries per line of the trace (10)"},
    {"--percentile", "<list>", kReporting, "Percentiles to report (90,95,99)"},
    {"--dumpRefit", "", kReporting, "Print the weights that can be replaced"},
    {"--dumpOutput", "", kReporting, "Print the last outputs"},
    {"--dumpRawBindingsToFile", "", kReporting, "Write the last inputs and outputs to files"},
    {"--dumpProfile", "", kReporting, "Print the time of each layer"},
    {"--dumpLayerInfo", "", kReporting, "Print the engine's layers"},
    {"--dumpOptimizationProfile", "", kReporting, "Print the optimization profiles"},
    {"--exportTimes", "<file>", kReporting, "Times of all queries as JSON"},
    {"--exportOutput", "<file>", kReporting, "The last outputs as JSON"},
    {"--exportProfile", "<file>", kReporting, "Times of layers as JSON"},
    {"--exportLayerInfo", "<file>", kReporting, "The engine's layers as JSON"},

    {"--workspace", "<MiB>", kFormer, "Old name of --memPoolSize=workspace:<MiB>"},
    {"--nvtxMode", "<how>", kFormer, "Old name of --profilingVerbosity: default, verbose, none"},
    {"--minTiming", "<N>", kFormer, "Runs of a tactic at least", kIdle, "--avgTiming says how often tactics are run"},
    {"--heuristic", "", kFormer, "Tactics are chosen by estimates", kIdle,
        "they are below --builderOptimizationLevel=4, and timed from there on"},
    {"--explicitBatch", "", kFormer, "The batch is an extent", kIdle, "it always is"},
    {"--explicitPrecision", "", kFormer, "Types are those of the network", kIdle, "use --stronglyTyped"},
    {"--nativeInstanceNorm", "", kFormer, "The parser takes layers for InstanceNormalization", kIdle, "it always does"},
    {"--strictTypes", "", kFormer, "The types of layers are binding", kRefused,
        "it has become --precisionConstraints=obey"},
    {"--batch", "<N>", kFormer, "Implicit batch of a run", kRefused, kNoImplicitBatch},
    {"--maxBatch", "<N>", kFormer, "Implicit batch at most", kRefused, kNoImplicitBatch},
    {"--uff", "<file>", kFormer, "Model of TensorFlow", kRefused, kOnnxOnly},
    {"--uffInput", "<input>", kFormer, "Input of such a model", kRefused, kOnnxOnly},
    {"--uffNHWC", "", kFormer, "Its layout", kRefused, kOnnxOnly},
    {"--model", "<file>", kFormer, "Weights of a model of Caffe", kRefused, kOnnxOnly},
    {"--deploy", "<file>", kFormer, "Layers of such a model", kRefused, kOnnxOnly},
    {"--output", "<name>", kFormer, "Its outputs", kRefused, kOnnxOnly},

    {"--help", "", kHelp, "Print this"},
    {"-h", "", kHelp, "Short for --help"},
};

constexpr std::array<std::string_view, 7> kTitles{"Model Options", "Build Options", "System Options",
    "Inference Options", "Reporting Options", "Options of Releases before 10", "Help"};
} // namespace

std::span<Flag const> flags()
{
    return kFlags;
}

Flag const* findFlag(std::string_view name)
{
    for (Flag const& flag : kFlags)
        if (flag.name == name)
            return &flag;
    return nullptr;
}

std::string helpText()
{
    auto const prefixOf = [](Fate fate) {
        return fate == kIdle ? " [no effect: " : fate == kIdleOnCpu ? " [no effect on a CPU: " : " [fails: ";
    };
    constexpr size_t kColumn{38};
    std::string text;
    for (size_t section = 0; section < kTitles.size(); ++section)
    {
        text += (section == 0 ? "=== " : "\n=== ") + std::string{kTitles[section]} + " ===\n";
        for (Flag const& flag : kFlags)
        {
            if (static_cast<size_t>(flag.section) != section)
                continue;
            std::string line = "  " + std::string{flag.name};
            line += flag.value.empty() ? "" : "=" + std::string{flag.value};
            line += std::string(line.size() < kColumn ? kColumn - line.size() : 1, ' ') + std::string{flag.meaning};
            if (flag.fate != kWorks)
                line += std::string{prefixOf(flag.fate)} + std::string{flag.why} + "]";
            text += line + "\n";
        }
    }
    return text
        + "\nA value stands behind =, as in --onnx=model.onnx. Names of tensors may be put in single quotes.\n"
          "What each flag does here: docs/TRTEXEC.md. Exit status: 0 done (PASSED), 1 failed or not understood "
          "(FAILED).\n";
}

} // namespace tenon::trtexec
