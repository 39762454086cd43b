// EngineInspector: what an engine is made of, as text or JSON.
#pragma once

#include "api/run/execution_context.h"
#include "inspect/layer_information.h"

#include <map>
#include <mutex>
#include <thread>

namespace tenon::api
{

class EngineInspector final : public nvinfer1::apiv::VEngineInspector,
                              public Fronted<nvinfer1::IEngineInspector, EngineInspector>
{
  public:
    explicit EngineInspector(std::shared_ptr<CudaEngine const> engine);

    nvinfer1::IEngineInspector* getPImpl() noexcept override;
    bool setExecutionContext(nvinfer1::IExecutionContext const* context) noexcept override;
    nvinfer1::IExecutionContext const* getExecutionContext() const noexcept override;
    char const* getLayerInformation(
        int32_t layerIndex, nvinfer1::LayerInformationFormat format) const noexcept override;
    char const* getEngineInformation(nvinfer1::LayerInformationFormat format) const noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;

  private:
    using Registers = std::shared_ptr<std::vector<Span> const>;

    //! Concrete for the profile of the context where its shapes are set.
    Registers registersFor(int32_t profile) const;
    std::string layer(int32_t index, nvinfer1::LayerInformationFormat format, std::span<Span const> registers,
        std::string const& tag) const;
    std::string bindings() const;
    std::shared_ptr<ExecutionContext const> context() const;
    //! What the thread got last stays until it asks again (rule T5), whatever other threads ask.
    char const* keep(std::string text) const;

    std::shared_ptr<CudaEngine const> mEngine;
    Reporting mReporting;
    inspect::LayerInformation const mInformation;
    Registers const mFixed;    //!< What the plan itself tells.
    mutable std::mutex mMutex; //!< Of the members below.
    std::shared_ptr<ExecutionContext const> mContext;
    mutable std::map<std::thread::id, std::string> mTexts;
};

} // namespace tenon::api
