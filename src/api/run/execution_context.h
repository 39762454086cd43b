// ExecutionContext: the public face of a run-time context.
#pragma once

#include "api/run/cuda_engine.h"
#include "api/run/run_watch.h"
#include "api/run/runtime_config.h"
#include "runtime/context.h"

namespace tenon::api
{

//! A run with addresses by index, one per I/O tensor.
struct BindingsRun
{
    void* const* bindings{nullptr};
    void* stream{nullptr};
    void* consumed{nullptr}; //!< Event; null: none.
    ContinueCheck const* mayContinue{nullptr};
};

class ExecutionContext final : public missing::ExecutionContext,
                               public Fronted<nvinfer1::IExecutionContext, ExecutionContext>,
                               public std::enable_shared_from_this<ExecutionContext>
{
  public:
    ExecutionContext(
        std::shared_ptr<CudaEngine> engine, std::unique_ptr<Context> context, std::shared_ptr<RuntimeConfig> config);
    ~ExecutionContext() override;

    Context& context() const noexcept
    {
        return *mContext;
    }
    Reporting const& reporting() const noexcept
    {
        return mReporting;
    }
    //! Runs that many samples, bindings in I/O order; what the number means depends on the engine.
    Result<Done> runBatch(int32_t batchSize, RunRequest const& request);
    //! Runs while profiler, debug listener and trace look, where there are any.
    Result<Done> run(RunRequest request);
    Result<Done> runBindings(BindingsRun const& wanted);
    //! Values of a shape tensor by binding index, which must be of the present profile.
    Result<Done> setShapeInput(int32_t bindingIndex, std::span<int64_t const> values);
    Result<std::vector<int64_t>> shapeOf(int32_t bindingIndex) const;

    nvinfer1::IExecutionContext* getPImpl() noexcept override;
    void setDebugSync(bool sync) noexcept override;
    bool getDebugSync() const noexcept override;
    void setProfiler(nvinfer1::IProfiler* profiler) noexcept override;
    nvinfer1::IProfiler* getProfiler() const noexcept override;
    nvinfer1::ICudaEngine const& getEngine() const noexcept override;
    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override;
    void setDeviceMemory(void* memory) noexcept override;
    void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
    size_t updateDeviceMemorySizeForShapes() noexcept override;
    int32_t getOptimizationProfile() const noexcept override;
    bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
    bool allInputDimensionsSpecified() const noexcept override;
    bool allInputShapesSpecified() const noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    bool executeV2(void* const* bindings) noexcept override;
    bool enqueueV3(cudaStream_t stream) noexcept override;
    void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept override;
    bool getEnqueueEmitsProfile() const noexcept override;
    bool reportToProfiler() const noexcept override;
    bool setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override;
    nvinfer1::ProfilingVerbosity getNvtxVerbosity() const noexcept override;
    bool setInputShape(char const* tensorName, Dims const& dims) noexcept override;
    Dims getTensorShape(char const* tensorName) const noexcept override;
    Dims getTensorStrides(char const* tensorName) const noexcept override;
    bool setTensorAddress(char const* tensorName, void* data) noexcept override;
    void const* getTensorAddress(char const* tensorName) const noexcept override;
    bool setInputTensorAddress(char const* tensorName, void const* data) noexcept override;
    bool setOutputTensorAddress(char const* tensorName, void* data) noexcept override;
    void* getOutputTensorAddress(char const* tensorName) const noexcept override;
    int32_t inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept override;
    bool setInputConsumedEvent(cudaEvent_t event) noexcept override;
    cudaEvent_t getInputConsumedEvent() const noexcept override;
    bool setOutputAllocator(char const* tensorName, nvinfer1::IOutputAllocator* allocator) noexcept override;
    nvinfer1::IOutputAllocator* getOutputAllocator(char const* tensorName) noexcept override;
    int64_t getMaxOutputSize(char const* tensorName) const noexcept override;
    bool setTemporaryStorageAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override;
    nvinfer1::IGpuAllocator* getTemporaryStorageAllocator() const noexcept override;
    void setPersistentCacheLimit(size_t size) noexcept override;
    size_t getPersistentCacheLimit() const noexcept override;
    nvinfer1::IRuntimeConfig* getRuntimeConfig() const noexcept override;
    void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
    bool setDebugListener(nvinfer1::IDebugListener* listener) noexcept override;
    nvinfer1::IDebugListener* getDebugListener() noexcept override;
    bool setTensorDebugState(char const* name, bool flag) noexcept override;
    bool getDebugState(char const* name) const noexcept override;
    bool setAllTensorsDebugState(bool flag) noexcept override;
    bool setUnfusedTensorsDebugState(bool flag) noexcept override;
    bool getUnfusedTensorsDebugState() const noexcept override;
    bool setCommunicator(void* communicator) noexcept override;

    // The calls of 8.x with a batch size (implicit_batch.cpp).
    bool execute(int32_t batchSize, void* const* bindings) noexcept override;
    bool enqueue(
        int32_t batchSize, void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept override;

    // The calls of 8.x by index (legacy.cpp).
    bool enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept override;
    bool setOptimizationProfile(int32_t profileIndex) noexcept override;
    bool setBindingDimensions(int32_t bindingIndex, Dims const& dimensions) noexcept override;
    Dims getBindingDimensions(int32_t bindingIndex) const noexcept override;
    Dims getStrides(int32_t bindingIndex) const noexcept override;
    bool setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept override;
    bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting.notImplemented(call);
    }

  private:
    Result<int32_t> ioOf(int32_t bindingIndex) const; //!< An error for bindings of other profiles.
    Result<char const*> nameOf(int32_t bindingIndex) const;
    Result<Done> start(RunRequest request);
    //! Whether the engine has an input or output of the name; that it has none is reported.
    bool knows(char const* call, char const* tensorName) const noexcept;
    //! An error for an engine whose batch is implicit, which says what to use.
    Result<Done> needsExplicit(char const* instead) const;
    //! Of an engine whose batch is implicit.
    Result<Done> setBatch(int32_t batchSize) const;
    Result<Done> takeBatch(int32_t batchSize);
    //! The event that a call of 8.x names, or null.
    Result<void*> eventOf(cudaEvent_t const* event) const;
    //! Where the bindings of the present profile begin in an array with those of all.
    void* const* ofProfile(void* const* bindings) const noexcept;

    std::shared_ptr<CudaEngine> mEngine;
    Reporting mReporting;
    std::unique_ptr<Context> mContext;
    std::shared_ptr<RuntimeConfig> mConfig; //!< Null: the context was made without one.
    RunWatch mWatch;
    bool mSaidBatchIsExplicit{false};
    size_t mCacheLimit{0};
};

} // namespace tenon::api
