// BuilderSettings: what a builder's configuration holds. A member that has the name of a property of IBuilderConfig is
// what its plain getter and setter are written for (tools/api_surface/generate_accessors.py).
#pragma once

#include "api/build/optimization_profile.h"
#include "api/build/timing_cache.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::api
{

//! Everything that reset() restores (rules G1, G2, G17).
struct BuilderSettings
{
    int32_t avgTimingIterations{1};
    int32_t minTimingIterations{1};
    nvinfer1::EngineCapability engineCapability{nvinfer1::EngineCapability::kSTANDARD};
    uint32_t flags{1U << static_cast<uint32_t>(nvinfer1::BuilderFlag::kTF32)};
    std::map<nvinfer1::ILayer const*, nvinfer1::DeviceType> deviceTypes;
    nvinfer1::DeviceType defaultDeviceType{nvinfer1::DeviceType::kGPU};
    int32_t dlaCore{-1};
    cudaStream_t profileStream{nullptr};
    std::vector<OptimizationProfile const*> profiles;
    nvinfer1::ProfilingVerbosity profilingVerbosity{nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY};
    nvinfer1::IInt8Calibrator* int8Calibrator{nullptr};
    OptimizationProfile const* calibrationProfile{nullptr};
    nvinfer1::IAlgorithmSelector* algorithmSelector{nullptr};
    uint32_t quantizationFlags{0};
    uint32_t tacticSources{(1U << static_cast<uint32_t>(nvinfer1::TacticSource::kEDGE_MASK_CONVOLUTIONS))
        | (1U << static_cast<uint32_t>(nvinfer1::TacticSource::kJIT_CONVOLUTIONS))};
    bool choosesSources{false}; //!< The user has said which; else a device's libraries are all used.
    std::map<int32_t, size_t> poolLimits;
    uint32_t previewFeatures{1U << static_cast<uint32_t>(nvinfer1::PreviewFeature::kPROFILE_SHARING_0806)};
    int32_t builderOptimizationLevel{3};
    nvinfer1::HardwareCompatibilityLevel hardwareCompatibilityLevel{nvinfer1::HardwareCompatibilityLevel::kNONE};
    std::vector<std::string> pluginsToSerialize;
    int32_t maxAuxStreams{-1};
    nvinfer1::IProgressMonitor* progressMonitor{nullptr};
    nvinfer1::RuntimePlatform runtimePlatform{nvinfer1::RuntimePlatform::kSAME_AS_BUILD};
    int32_t maxNbTactics{-1};
    nvinfer1::TilingOptimizationLevel tilingOptimizationLevel{nvinfer1::TilingOptimizationLevel::kNONE};
    int64_t l2LimitForTiling{-1};
    std::shared_ptr<TimingCache> timingCache;
};

} // namespace tenon::api
