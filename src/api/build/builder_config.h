// BuilderConfig: what the user wants of a build.
#pragma once

#include "api/build/builder_settings.h"
#include "api/flags.h"
#include "api/handle.h"
#include "api/not_implemented.h"

#include "api/builder_config_accessors.inc"

namespace tenon::api
{

class Builder;

class BuilderConfig final : public BuilderConfigAccessors, public Fronted<nvinfer1::IBuilderConfig, BuilderConfig>
{
  public:
    static constexpr int32_t kPools{nvinfer1::EnumMax<nvinfer1::MemoryPoolType>()};

    using Settings = BuilderSettings;

    explicit BuilderConfig(std::shared_ptr<Builder> builder);

    Settings const& settings() const noexcept
    {
        return mSettings;
    }
    bool has(nvinfer1::BuilderFlag flag) const noexcept
    {
        return ((mSettings.flags >> static_cast<uint32_t>(flag)) & 1U) != 0;
    }

    //! kSTRICT_TYPES of 8.x: precisions are preferred, empty selections are rejected, and inputs and outputs are used
    //! as they lie where that can be.
    bool isStrict() const noexcept
    {
        return has(nvinfer1::BuilderFlag::kSTRICT_TYPES);
    }

    void setFlags(uint32_t builderFlags) noexcept override;
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
    void reset() noexcept override;
    int32_t addOptimizationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override;
    int32_t getNbOptimizationProfiles() const noexcept override;
    bool setCalibrationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override;
    nvinfer1::IOptimizationProfile const* getCalibrationProfile() noexcept override;
    void setQuantizationFlags(uint32_t flags) noexcept override;
    void clearQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override;
    void setQuantizationFlag(nvinfer1::QuantizationFlag flag) noexcept override;
    bool getQuantizationFlag(nvinfer1::QuantizationFlag flag) const noexcept override;
    bool setTacticSources(uint32_t tacticSources) noexcept override;
    nvinfer1::ITimingCache* createTimingCache(void const* blob, size_t size) const noexcept override;
    bool setTimingCache(nvinfer1::ITimingCache const& cache, bool ignoreMismatch) noexcept override;
    nvinfer1::ITimingCache const* getTimingCache() const noexcept override;
    void setMemoryPoolLimit(nvinfer1::MemoryPoolType pool, size_t poolSize) noexcept override;
    size_t getMemoryPoolLimit(nvinfer1::MemoryPoolType pool) const noexcept override;
    void setPreviewFeature(nvinfer1::PreviewFeature feature, bool enable) noexcept override;
    bool getPreviewFeature(nvinfer1::PreviewFeature feature) const noexcept override;
    void setBuilderOptimizationLevel(int32_t level) noexcept override;
    void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept override;
    char const* getPluginToSerialize(int32_t index) const noexcept override;
    int32_t getNbPluginsToSerialize() const noexcept override;
    void setMaxAuxStreams(int32_t nbStreams) noexcept override;
    bool setRemoteAutoTuningConfig(char const* config) noexcept override;
    char const* getRemoteAutoTuningConfig() const noexcept override;
    bool setBuildRoute(char const* route) noexcept override;
    char const* getBuildRoute() const noexcept override;
    char const* getAllBuildRoutes() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    Log const& log() const noexcept override;

    std::shared_ptr<Builder> mBuilder;
};

} // namespace tenon::api
