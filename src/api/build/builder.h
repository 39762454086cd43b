// Builder: makes networks and configurations, and from them plans.
#pragma once

#include "api/build/builder_config.h"
#include "api/handle.h"
#include "api/network/network.h"
#include "api/not_implemented.h"
#include "api/plugins/plugin_registry.h"
#include "api/reporting.h"
#include "backend/device_choice.h"

#include <atomic>
#include <mutex>

namespace tenon
{
class PlanMemory;
struct PlanOptions;
} // namespace tenon

namespace tenon::api
{

class ProgressAdapter;

class Builder final : public missing::Builder,
                      public Fronted<nvinfer1::IBuilder, Builder>,
                      public std::enable_shared_from_this<Builder>
{
  public:
    Builder(nvinfer1::ILogger& logger, DeviceChoice device);

    Reporting const& reporting() const noexcept
    {
        return mReporting;
    }
    DeviceChoice const& device() const noexcept
    {
        return mDevice;
    }
    //! The profile, when this builder made it. Only the address is looked at: it may be that of no object any more.
    Result<OptimizationProfile const*> profileAt(nvinfer1::IOptimizationProfile const* address) const;
    //! The plan as it will be written; weights still point into the user's memory.
    Result<Plan> buildPlan(Network& network, BuilderConfig const& config, ProgressAdapter& progress);

    //! None: nobody has set it, so that networks are explicit unless something else says otherwise.
    std::optional<int32_t> const& maxBatch() const noexcept
    {
        return mMaxBatch;
    }

    bool platformHasFastFp16() const noexcept override;
    bool platformHasFastInt8() const noexcept override;
    bool platformHasTf32() const noexcept override;
    int32_t getMaxDLABatchSize() const noexcept override;
    int32_t getNbDLACores() const noexcept override;
    void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override;
    nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override;
    nvinfer1::INetworkDefinition* createNetworkV2(uint32_t flags) noexcept override;
    nvinfer1::IOptimizationProfile* createOptimizationProfile() noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    void reset() noexcept override;
    nvinfer1::IHostMemory* buildSerializedNetwork(
        nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config) noexcept override;
    bool isNetworkSupported(
        nvinfer1::INetworkDefinition const& network, nvinfer1::IBuilderConfig const& config) const noexcept override;
    nvinfer1::ILogger* getLogger() const noexcept override;
    void setMaxBatchSize(int32_t batchSize) noexcept override;
    int32_t getMaxBatchSize() const noexcept override;
    bool setMaxThreads(int32_t maxThreads) noexcept override;
    int32_t getMaxThreads() const noexcept override;
    nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override;
    nvinfer1::ICudaEngine* buildEngineWithConfig(
        nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config) noexcept override;
    bool buildSerializedNetworkToStream(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
        nvinfer1::IStreamWriter& writer) noexcept override;
    nvinfer1::IHostMemory* buildSerializedNetworkWithKernelText(nvinfer1::INetworkDefinition& network,
        nvinfer1::IBuilderConfig& config, nvinfer1::IHostMemory*& kernelText) noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting.notImplemented(call);
    }

  private:
    Result<Done> quantize(
        Network& network, BuilderConfig const& config, GraphRequest const& given, NetworkGraph& written);
    Result<Done> narrow(Network& network, BuilderConfig const& config, NetworkGraph& written);
    int32_t threads() const;
    PlanOptions planOptions(Network const& network, BuilderConfig const& config) const;
    Result<std::shared_ptr<PlanMemory>> build(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config);
    Result<std::shared_ptr<PlanMemory>> build(Network& network, BuilderConfig const& config, ProgressAdapter& progress);

    Reporting mReporting;
    PluginRegistry mPlugins{&globalRegistry()};
    DeviceChoice mDevice;
    // Other threads build meanwhile.
    std::atomic<nvinfer1::IGpuAllocator*> mAllocator{nullptr};
    std::atomic<int32_t> mMaxThreads{0}; //!< 0: not set (rule B9).
    std::optional<int32_t> mMaxBatch;
    std::vector<std::unique_ptr<OptimizationProfile>> mProfiles;
};

} // namespace tenon::api
