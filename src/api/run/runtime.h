// Runtime: loads plans.
#pragma once

#include "api/handle.h"
#include "api/not_implemented.h"
#include "api/plugins/plugin_registry.h"
#include "api/reporting.h"
#include "api/run/cuda_engine.h"
#include "api/run/plan_libraries.h"
#include "backend/device_choice.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace tenon::api
{

class Runtime final : public missing::Runtime,
                      public Fronted<nvinfer1::IRuntime, Runtime>,
                      public std::enable_shared_from_this<Runtime>
{
  public:
    Runtime(nvinfer1::ILogger& logger, DeviceChoice device);

    Reporting const& reporting() const noexcept
    {
        return mReporting;
    }
    //! A plan in a file, which may be changed or go afterwards.
    nvinfer1::ICudaEngine* deserializeFile(char const* path) noexcept;
    //! A plan in memory that `owner` keeps as long as the engine lives: not copied.
    nvinfer1::ICudaEngine* deserializeShared(ByteView blob, std::shared_ptr<void const> owner) noexcept;

    nvinfer1::IRuntime* getPImpl() noexcept override;
    nvinfer1::ICudaEngine* deserializeCudaEngine(void const* blob, size_t size) noexcept override;
    nvinfer1::ICudaEngine* deserializeCudaEngine(nvinfer1::IStreamReader& streamReader) noexcept override;
    nvinfer1::ICudaEngine* deserializeCudaEngineV2(nvinfer1::IStreamReaderV2& streamReader) noexcept override;
    void setDLACore(int32_t dlaCore) noexcept override;
    int32_t getDLACore() const noexcept override;
    int32_t getNbDLACores() const noexcept override;
    void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    nvinfer1::ILogger* getLogger() const noexcept override;
    bool setMaxThreads(int32_t maxThreads) noexcept override;
    int32_t getMaxThreads() const noexcept override;
    void setTemporaryDirectory(char const* path) noexcept override;
    char const* getTemporaryDirectory() const noexcept override;
    void setTempfileControlFlags(uint32_t flags) noexcept override;
    uint32_t getTempfileControlFlags() const noexcept override;
    nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override;
    void setPluginRegistryParent(nvinfer1::IPluginRegistry* parent) noexcept override;
    nvinfer1::IRuntime* loadRuntime(char const* path) noexcept override;
    void setEngineHostCodeAllowed(bool allowed) noexcept override;
    bool getEngineHostCodeAllowed() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting.notImplemented(call);
    }

  private:
    //! Empty: not set.
    std::string temporaryDirectory() const;
    Result<nvinfer1::ICudaEngine*> load(
        ByteView blob, std::shared_ptr<void const> owner, std::shared_ptr<PagedMemory> pages = nullptr);
    //! Whether there may be a temporary file, which streamed weights lie in.
    bool mayPageWeights() const noexcept;
    //! From what `read` gives.
    Result<nvinfer1::ICudaEngine*> loadFrom(std::function<int64_t(void* to, int64_t bytes)> const& read);

    Reporting mReporting;
    PluginRegistry mPlugins{&globalRegistry()};
    PlanLibraries mLibraries;
    DeviceChoice mDevice;
    // Other threads load meanwhile.
    std::atomic<nvinfer1::IGpuAllocator*> mAllocator{nullptr};
    std::atomic<int32_t> mMaxThreads{0};                   //!< 0: not set (rule B9).
    std::atomic<char const*> mTemporaryDirectory{nullptr}; //!< Null: not set; else one of the next.
    std::mutex mDirectoriesMutex;
    std::set<std::string> mDirectories; //!< All that were set: whoever has asked for one keeps its address.
    std::atomic<uint32_t> mTempfileFlags{0b11};
    std::atomic<bool> mHostCodeAllowed{false};
};

} // namespace tenon::api
