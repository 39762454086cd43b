// CudaEngine: the public face of a loaded plan.
#pragma once

#include "api/convert.h"
#include "api/handle.h"
#include "api/not_implemented.h"
#include "api/reporting.h"
#include "api/run/debug_tensors.h"
#include "backend/device_choice.h"
#include "runtime/engine.h"

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace tenon::api
{

class RuntimeConfig;

class CudaEngine final : public missing::CudaEngine,
                         public Fronted<nvinfer1::ICudaEngine, CudaEngine>,
                         public std::enable_shared_from_this<CudaEngine>
{
  public:
    using Select = nvinfer1::OptProfileSelector;
    using Strategy = nvinfer1::ExecutionContextAllocationStrategy;

    CudaEngine(std::shared_ptr<Engine> engine, DeviceChoice device, Reporting const& parent,
        std::shared_ptr<void const> blobOwner, ByteView blob);
    ~CudaEngine() override;

    Engine& engine() const noexcept
    {
        return *mEngine;
    }
    std::shared_ptr<Engine> const& sharedEngine() const noexcept
    {
        return mEngine;
    }
    Reporting const& reporting() const noexcept
    {
        return *mReporting;
    }
    DeviceChoice const& device() const noexcept
    {
        return mDevice;
    }
    size_t planBytes() const noexcept
    {
        return mBlob.size();
    }
    DebugTensors const& debugTensors() const noexcept
    {
        return mDebugTensors;
    }
    //! How many execution contexts there are: as long as there are any the budget stays (rule Q23).
    void countContext(int32_t change) noexcept
    {
        mContexts += change;
    }
    //! What profilers call the step: its name, or its number when the build was told to store no names (rule T3).
    std::string profiledName(int32_t step) const;
    //! The user's dims leave out the extent in front of each I/O tensor (implicit_batch.cpp).
    bool isImplicit() const noexcept;
    //! Dims as the user has them.
    Dims dimsOfSample(Dims const& dims) const noexcept;
    //! I/O index and profile of an 8.x binding index; an error when it is out of range.
    Result<std::pair<int32_t, int32_t>> bindingOf(int32_t bindingIndex) const;
    //! I/O index of a binding for a question about a profile: of that profile, or of the first, whose bindings stand
    //! for all.
    Result<int32_t> bindingIn(int32_t bindingIndex, int32_t profileIndex) const;

    nvinfer1::ICudaEngine* getPImpl() noexcept override;
    int32_t getNbLayers() const noexcept override;
    nvinfer1::IHostMemory* serialize() const noexcept override;
    nvinfer1::IExecutionContext* createExecutionContext(Strategy strategy) noexcept override;
    nvinfer1::IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
    nvinfer1::IExecutionContext* createExecutionContextWithRuntimeConfig(
        nvinfer1::IRuntimeConfig* runtimeConfig) noexcept override;
    nvinfer1::IRuntimeConfig* createRuntimeConfig() noexcept override;
    nvinfer1::ISerializationConfig* createSerializationConfig() noexcept override;
    nvinfer1::IHostMemory* serializeWithConfig(nvinfer1::ISerializationConfig& config) const noexcept override;
    size_t getDeviceMemorySize() const noexcept override;
    int64_t getDeviceMemorySizeV2() const noexcept override;
    size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
    int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
    bool isRefittable() const noexcept override;
    nvinfer1::IRefitter* createRefitter(nvinfer1::ILogger& logger) noexcept override;
    char const* getName() const noexcept override;
    int32_t getNbOptimizationProfiles() const noexcept override;
    int32_t const* getProfileTensorValues(
        char const* tensorName, int32_t profileIndex, Select select) const noexcept override;
    int64_t const* getProfileTensorValuesV2(
        char const* tensorName, int32_t profileIndex, Select select) const noexcept override;
    nvinfer1::EngineCapability getEngineCapability() const noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    bool hasImplicitBatchDimension() const noexcept override;
    uint32_t getTacticSources() const noexcept override;
    nvinfer1::ProfilingVerbosity getProfilingVerbosity() const noexcept override;
    nvinfer1::IEngineInspector* createEngineInspector() const noexcept override;
    Dims getTensorShape(char const* tensorName) const noexcept override;
    nvinfer1::DataType getTensorDataType(char const* tensorName) const noexcept override;
    nvinfer1::TensorLocation getTensorLocation(char const* tensorName) const noexcept override;
    bool isShapeInferenceIO(char const* tensorName) const noexcept override;
    nvinfer1::TensorIOMode getTensorIOMode(char const* tensorName) const noexcept override;
    int32_t getTensorBytesPerComponent(char const* tensorName) const noexcept override;
    int32_t getTensorComponentsPerElement(char const* tensorName) const noexcept override;
    nvinfer1::TensorFormat getTensorFormat(char const* tensorName) const noexcept override;
    char const* getTensorFormatDesc(char const* tensorName) const noexcept override;
    int32_t getTensorVectorizedDim(char const* tensorName) const noexcept override;
    int32_t getTensorBytesPerComponentV2(char const* tensorName, int32_t profileIndex) const noexcept override;
    int32_t getTensorComponentsPerElementV2(char const* tensorName, int32_t profileIndex) const noexcept override;
    nvinfer1::TensorFormat getTensorFormatV2(char const* tensorName, int32_t profileIndex) const noexcept override;
    char const* getTensorFormatDescV2(char const* tensorName, int32_t profileIndex) const noexcept override;
    int32_t getTensorVectorizedDimV2(char const* tensorName, int32_t profileIndex) const noexcept override;
    Dims getProfileShape(char const* tensorName, int32_t profileIndex, Select select) const noexcept override;
    int32_t getNbIOTensors() const noexcept override;
    char const* getIOTensorName(int32_t index) const noexcept override;
    nvinfer1::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override;
    int32_t getNbAuxStreams() const noexcept override;
    bool isDebugTensor(char const* name) const noexcept override;
    bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
    int64_t getWeightStreamingBudget() const noexcept override;
    int64_t getMinimumWeightStreamingBudget() const noexcept override;
    int64_t getStreamableWeightsSize() const noexcept override;
    bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
    int64_t getWeightStreamingBudgetV2() const noexcept override;
    int64_t getWeightStreamingAutomaticBudget() const noexcept override;
    int64_t getWeightStreamingScratchMemorySize() const noexcept override;
    int64_t getEngineStat(nvinfer1::EngineStat stat) const noexcept override;
    char const* getAliasedInputTensor(char const* tensorName) const noexcept override;

    // The calls of 8.x, by index (legacy.cpp).
    int32_t getNbBindings() const noexcept override;
    int32_t getBindingIndex(char const* name) const noexcept override;
    char const* getBindingName(int32_t bindingIndex) const noexcept override;
    bool bindingIsInput(int32_t bindingIndex) const noexcept override;
    Dims getBindingDimensions(int32_t bindingIndex) const noexcept override;
    nvinfer1::DataType getBindingDataType(int32_t bindingIndex) const noexcept override;
    int32_t getMaxBatchSize() const noexcept override;
    nvinfer1::TensorLocation getLocation(int32_t bindingIndex) const noexcept override;
    int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept override;
    int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept override;
    nvinfer1::TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept override;
    char const* getBindingFormatDesc(int32_t bindingIndex) const noexcept override;
    int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept override;
    Dims getProfileDimensions(int32_t bindingIndex, int32_t profileIndex, Select select) const noexcept override;
    int32_t const* getProfileShapeValues(
        int32_t profileIndex, int32_t inputIndex, Select select) const noexcept override;
    bool isShapeBinding(int32_t bindingIndex) const noexcept override;
    bool isExecutionBinding(int32_t bindingIndex) const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting->notImplemented(call);
    }

  private:
    nvinfer1::IHostMemory* serializeStripped() const noexcept;
    //! Whether it came without the weights that a refit gives.
    bool isStripped() const noexcept;
    //! Such an engine with its weights, which stay as they are from then on (rule O8).
    nvinfer1::IHostMemory* serializeComplete() const noexcept;
    nvinfer1::IExecutionContext* createContext(Strategy strategy, std::shared_ptr<RuntimeConfig> config);
    //! The calls of both generations do not mix (rule V1).
    enum class BudgetCalls : uint8_t
    {
        kNone,
        kV1,
        kV2,
    };
    Result<Done> setBudget(BudgetCalls calls, int64_t bytes);
    //! Rule P1: queries answer for names that they do not know, too. What is wrong is reported, and -1 the answer.
    int32_t find(char const* call, char const* tensorName) const noexcept;
    //! The same for queries of a profile.
    int32_t find(char const* call, char const* tensorName, int32_t profileIndex) const noexcept;
    //! kLinear for names that are not there.
    Layout layoutOf(char const* call, char const* tensorName, int32_t profileIndex) const noexcept;
    int32_t findBinding(char const* call, int32_t bindingIndex) const noexcept;
    Result<Dims> profileShape(char const* tensorName, int32_t profileIndex, Select select) const;
    int32_t const* narrowValues(int32_t io, int32_t profileIndex, Select select) const;
    //! Rule P4: says once per call that profile 0 answers when there are several.
    void warnOfProfiles(char const* call, char const* tensorName) const;
    void narrowValues(int32_t profile, int32_t io);

    std::shared_ptr<Engine> mEngine;
    DeviceChoice mDevice;
    std::shared_ptr<Reporting> const mReporting; //!< Also of objects that nobody can give a recorder of their own.
    std::shared_ptr<void const> mBlobOwner;
    ByteView mBlob;
    DebugTensors mDebugTensors;
    std::atomic<int32_t> mContexts{0};
    std::mutex mBudgetMutex;
    std::atomic<BudgetCalls> mBudgetCalls{BudgetCalls::kNone};
    std::vector<std::string> mBindingNames; //!< By 8.x index, with the suffix of their profile.
    //! By 8.x index: kMIN, kOPT and kMAX of values that were given as 32 bits.
    std::map<int32_t, std::array<std::vector<int32_t>, 3>> mNarrowValues;
};

//! What loading a plan takes.
struct LoadRequest
{
    ByteView blob;
    std::shared_ptr<void const> owner; //!< Keeps the blob.
    Reporting const& reporting;
    DeviceChoice const& device;
    nvinfer1::IGpuAllocator* allocator{nullptr};
    int32_t threads{0};
    PluginSource const* plugins{nullptr};
    std::shared_ptr<void const> parent;
    bool allowsHostCode{false};
    std::string temporaryFolder{};
    //! Asked before the plan's plugins are; null: it carries no libraries.
    std::function<Result<Done>(Plan const& plan)> openLibraries{};
    std::shared_ptr<PagedMemory> pages{}; //!< What the blob stands in already; null: memory that stays.
};

//! A new public engine over the plan in the blob.
Result<nvinfer1::ICudaEngine*> deserializeEngine(LoadRequest const& request);

} // namespace tenon::api
