// BuilderConfig: what the user wants of a build.
#pragma once

#include "api/build/optimization_profile.h"
#include "api/build/timing_cache.h"
#include "api/handle.h"
#include "api/not_implemented.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::api
{

class Builder;

class BuilderConfig final : public missing::BuilderConfig, public Fronted<nvinfer1::IBuilderConfig, BuilderConfig>
{
  public:
    static constexpr int32_t kPools{nvinfer1::EnumMax<nvinfer1::MemoryPoolType>()};

    //! Everything that reset() restores (rules G1, G2, G17).
    struct Settings
    {
        int32_t avgTimingIterations{1};
        int32_t minTimingIterations{1};
        nvinfer1::EngineCapability capability{nvinfer1::EngineCapability::kSTANDARD};
        uint32_t flags{1U << static_cast<uint32_t>(nvinfer1::BuilderFlag::kTF32)};
        std::map<nvinfer1::ILayer const*, nvinfer1::DeviceType> deviceTypes;
        nvinfer1::DeviceType defaultDeviceType{nvinfer1::DeviceType::kGPU};
        int32_t dlaCore{-1};
        cudaStream_t profileStream{nullptr};
        std::vector<OptimizationProfile const*> profiles;
        nvinfer1::ProfilingVerbosity verbosity{nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY};
        nvinfer1::IInt8Calibrator* calibrator{nullptr};
        OptimizationProfile const* calibrationProfile{nullptr};
        uint32_t quantizationFlags{0};
        uint32_t tacticSources{(1U << static_cast<uint32_t>(nvinfer1::TacticSource::kEDGE_MASK_CONVOLUTIONS))
            | (1U << static_cast<uint32_t>(nvinfer1::TacticSource::kJIT_CONVOLUTIONS))};
        std::map<int32_t, size_t> poolLimits;
        uint32_t previewFeatures{1U << static_cast<uint32_t>(nvinfer1::PreviewFeature::kPROFILE_SHARING_0806)};
        int32_t optimizationLevel{3};
        nvinfer1::HardwareCompatibilityLevel hardwareCompatibility{nvinfer1::HardwareCompatibilityLevel::kNONE};
        std::vector<std::string> pluginsToSerialize;
        int32_t maxAuxStreams{-1};
        nvinfer1::IProgressMonitor* monitor{nullptr};
        nvinfer1::RuntimePlatform platform{nvinfer1::RuntimePlatform::kSAME_AS_BUILD};
        int32_t maxTactics{-1};
        nvinfer1::TilingOptimizationLevel tiling{nvinfer1::TilingOptimizationLevel::kNONE};
        int64_t l2Limit{-1};
        std::shared_ptr<TimingCache> timingCache;
    };

    explicit BuilderConfig(std::shared_ptr<Builder> builder);

    Settings const& settings() const noexcept
    {
        return mSettings;
    }
    bool has(nvinfer1::BuilderFlag flag) const noexcept
    {
        return ((mSettings.flags >> static_cast<uint32_t>(flag)) & 1U) != 0;
    }

    void setAvgTimingIterations(int32_t avgTiming) noexcept override;
    int32_t getAvgTimingIterations() const noexcept override;
    void setMinTimingIterations(int32_t minTiming) noexcept override;
    int32_t getMinTimingIterations() const noexcept override;
    void setEngineCapability(nvinfer1::EngineCapability capability) noexcept override;
    nvinfer1::EngineCapability getEngineCapability() const noexcept override;
    void setInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator) noexcept override;
    nvinfer1::IInt8Calibrator* getInt8Calibrator() const noexcept override;
    void setFlags(uint32_t builderFlags) noexcept override;
    uint32_t getFlags() const noexcept override;
    void clearFlag(nvinfer1::BuilderFlag builderFlag) noexcept override;
    void setFlag(nvinfer1::BuilderFlag builderFlag) noexcept override;
    bool getFlag(nvinfer1::BuilderFlag builderFlag) const noexcept override;
    void setDeviceType(nvinfer1::ILayer const* layer, nvinfer1::DeviceType deviceType) noexcept override;
    nvinfer1::DeviceType getDeviceType(nvinfer1::ILayer const* layer) const noexcept override;
    bool isDeviceTypeSet(nvinfer1::ILayer const* layer) const noexcept override;
    void resetDeviceType(nvinfer1::ILayer const* layer) noexcept override;
    bool canRunOnDLA(nvinfer1::ILayer const* layer) const noexcept override;
    void setDLACore(int32_t dlaCore) noexcept override;
    int32_t getDLACore() const noexcept override;
    void setDefaultDeviceType(nvinfer1::DeviceType deviceType) noexcept override;
    nvinfer1::DeviceType getDefaultDeviceType() const noexcept override;
    void reset() noexcept override;
    void setProfileStream(cudaStream_t stream) noexcept override;
    cudaStream_t getProfileStream() const noexcept override;
    int32_t addOptimizationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override;
    int32_t getNbOptimizationProfiles() const noexcept override;
    void setProfilingVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override;
    nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override;
    bool setCalibrationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override;
    nvinfer1::IOptimizationProfile const* getCalibrationProfile() noexcept override;
    void setQuantizationFlags(uint32_t flags) noexcept override;
    uint32_t getQuantizationFlags() const noexcept override;
    void clearQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override;
    void setQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override;
    bool getQuantizationFlag(nvinfer1::QuantizationFlag flag) const noexcept override;
    bool setTacticSources(uint32_t tacticSources) noexcept override;
    uint32_t getTacticSources() const noexcept override;
    nvinfer1::ITimingCache* createTimingCache(void const* blob, size_t size) const noexcept override;
    bool setTimingCache(nvinfer1::ITimingCache const& cache, bool ignoreMismatch) noexcept override;
    nvinfer1::ITimingCache const* getTimingCache() const noexcept override;
    void setMemoryPoolLimit(nvinfer1::MemoryPoolType pool, size_t poolSize) noexcept override;
    size_t getMemoryPoolLimit(nvinfer1::MemoryPoolType pool) const noexcept override;
    void setPreviewFeature(nvinfer1::PreviewFeature feature, bool enable) noexcept override;
    bool getPreviewFeature(nvinfer1::PreviewFeature feature) const noexcept override;
    void setBuilderOptimizationLevel(int32_t level) noexcept override;
    int32_t getBuilderOptimizationLevel() const noexcept override;
    void setHardwareCompatibilityLevel(nvinfer1::HardwareCompatibilityLevel level) noexcept override;
    nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override;
    void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept override;
    char const* getPluginToSerialize(int32_t index) const noexcept override;
    int32_t getNbPluginsToSerialize() const noexcept override;
    void setMaxAuxStreams(int32_t nbStreams) noexcept override;
    int32_t getMaxAuxStreams() const noexcept override;
    void setProgressMonitor(nvinfer1::IProgressMonitor* monitor) noexcept override;
    nvinfer1::IProgressMonitor* getProgressMonitor() const noexcept override;
    void setRuntimePlatform(nvinfer1::RuntimePlatform runtimePlatform) noexcept override;
    nvinfer1::RuntimePlatform getRuntimePlatform() const noexcept override;
    void setMaxNbTactics(int32_t maxNbTactics) noexcept override;
    int32_t getMaxNbTactics() const noexcept override;
    bool setTilingOptimizationLevel(nvinfer1::TilingOptimizationLevel level) noexcept override;
    nvinfer1::TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override;
    bool setL2LimitForTiling(int64_t size) noexcept override;
    int64_t getL2LimitForTiling() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    Log const& log() const noexcept;

    std::shared_ptr<Builder> mBuilder;
    Settings mSettings;
};

} // namespace tenon::api
