// Options: what the flags mean together.
#pragma once

#include "arguments.h"
#include "specs.h"

#include "NvInfer.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::trtexec
{

//! Names, or patterns with a *, with a value each; later ones override earlier ones.
template <typename Value>
using ByName = std::vector<std::pair<std::string, Value>>;

struct ExtentsRange
{
    Extents min;
    Extents opt;
    Extents max;
};
using ProfileShapes = ByName<ExtentsRange>;

enum class Runtime
{
    kFull,
    kLean,
    kDispatch,
};

struct BuildOptions
{
    std::string onnx;
    std::string load;
    std::string save;
    std::vector<ProfileShapes> profiles{1};
    ProfileShapes calibrationShapes;
    std::string calibrationCache;
    std::vector<IoFormat> inputFormats;
    std::vector<IoFormat> outputFormats;
    std::vector<std::pair<nvinfer1::MemoryPoolType, size_t>> pools;
    std::vector<nvinfer1::BuilderFlag> flags;
    bool hasTf32{true};
    bool isStronglyTyped{false};
    bool hasNativeInstanceNorm{true};
    bool letsPluginsOverride{false};
    bool isVersionCompatible{false};
    ByName<nvinfer1::DataType> layerPrecisions;
    ByName<std::vector<nvinfer1::DataType>> layerOutputTypes;
    ByName<nvinfer1::DeviceType> layerDevices;
    std::vector<std::string> decomposableAttentions;
    std::vector<std::string> debugTensors;
    bool hasUnfusedDebugTensors{false};
    std::optional<nvinfer1::ProfilingVerbosity> verbosity;
    std::vector<std::pair<nvinfer1::TacticSource, bool>> tacticSources;
    std::vector<std::pair<nvinfer1::PreviewFeature, bool>> previews;
    std::string timingCache;
    std::optional<int32_t> averageTiming;
    std::optional<int32_t> level;
    std::optional<int32_t> maxTactics;
    std::optional<int32_t> maxAuxStreams;
    std::optional<int32_t> tilingLevel;
    std::optional<int64_t> tilingCache;
    std::optional<nvinfer1::HardwareCompatibilityLevel> hardware;
    nvinfer1::RuntimePlatform platform{nvinfer1::RuntimePlatform::kSAME_AS_BUILD};
    std::string temporaryFolder;
    std::optional<nvinfer1::TempfileControlFlags> temporaryFiles;
    Runtime runtime{Runtime::kFull};
    std::string leanLibrary;
    std::string refitModel;
    bool isReadInPieces{false};
    bool tellsVersionOnly{false};
};

struct SystemOptions
{
    int32_t device{0};
    std::optional<int32_t> dlaCore;
    std::vector<std::string> plugins;
    std::vector<std::string> dynamicPlugins;
    std::vector<std::string> storedPlugins;
    bool ignoresParsedLibraries{false};
};

//! Of weights in memory; neither: all of them.
struct StreamingBudget
{
    std::optional<double> percent;
    std::optional<int64_t> bytes; //!< -1: automatic.
};

struct InferenceOptions
{
    NamedExtents shapes;
    Named inputs;
    int64_t iterations{10};
    double warmUpMilliseconds{200.0};
    double seconds{3.0}; //!< -1: no end.
    double sleepMilliseconds{0.0};
    double idleMilliseconds{0.0};
    int32_t streams{1};
    bool isOverlapped{true};
    bool hasTransfers{true};
    bool isManaged{false};
    bool spins{false};
    bool isThreaded{false};
    bool isCaptured{false};
    bool timesLoading{false};
    bool timesRefit{false};
    bool isProfiledApart{false};
    bool isSkipped{false};
    int32_t profile{0};
    nvinfer1::ExecutionContextAllocationStrategy allocation{nvinfer1::ExecutionContextAllocationStrategy::kSTATIC};
    StreamingBudget budget;
    Named savedDebugTensors;
    std::vector<std::string> debugForms; //!< summary, numpy, string, raw.
};

struct ReportOptions
{
    bool isVerbose{false};
    int32_t averaged{10};
    std::vector<double> percentiles{90, 95, 99};
    bool dumpsRefit{false};
    bool dumpsOutput{false};
    bool dumpsRaw{false};
    bool dumpsProfile{false};
    bool dumpsLayers{false};
    bool dumpsOptimizationProfiles{false};
    std::string times;
    std::string output;
    std::string profile;
    std::string layers;

    bool wantsProfile() const
    {
        return dumpsProfile || !profile.empty();
    }
};

struct Options
{
    BuildOptions build;
    SystemOptions system;
    InferenceOptions inference;
    ReportOptions report;
    //! For the log before anything is done: flags without effect here, and flags that stand there in vain.
    std::vector<std::string> warnings;
};

//! Throws std::invalid_argument with the flag at fault.
Options optionsOf(Arguments const& arguments);
//! The parts of it; each adds to `warnings`.
BuildOptions buildOptionsOf(Arguments const& arguments, std::vector<std::string>& warnings);
InferenceOptions inferenceOptionsOf(Arguments const& arguments, std::vector<std::string>& warnings);
//! What was asked for, section by section, a line each.
std::vector<std::string> linesOf(Options const& options);

//! The entry of a word in a table of words; throws std::invalid_argument, which lists them.
template <typename Value, size_t kCount>
Value chosen(std::string const& flag, std::string const& word, std::pair<char const*, Value> const (&table)[kCount])
{
    std::string all;
    for (auto const& [name, value] : table)
    {
        if (word == name)
            return value;
        all += (all.empty() ? "" : ", ") + std::string{name};
    }
    throw std::invalid_argument(flag + ": '" + word + "' is none of " + all);
}

} // namespace tenon::trtexec
