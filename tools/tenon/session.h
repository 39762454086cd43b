// Session: what the commands share: logger, models, plans, engines and their buffers.
#pragma once

#include "commands.h"
#include "given_inputs.h"
#include "io_tensors.h"
#include "model.h"
#include "progress_bar.h"
#include "shapes.h"

#include "NvInfer.h"

#include <functional>
#include <memory>
#include <string>

namespace tenon::cli
{

//! Prints to standard error what is at least as severe as `severity`.
class Logger : public nvinfer1::ILogger
{
  public:
    explicit Logger(Severity severity)
        : mSeverity{severity}
    {
    }
    void log(Severity severity, char const* message) noexcept override;

  private:
    Severity mSeverity;
};

//! What is done to a network between reading and building it.
using NetworkChange = std::function<void(nvinfer1::INetworkDefinition&)>;

//! The bytes of a plan built from an ONNX file; null when it failed or was cancelled (the logger has said why).
std::unique_ptr<nvinfer1::IHostMemory> buildPlan(std::string const& model, Shapes const& shapes, int32_t threads,
    nvinfer1::ILogger& logger, BuildProgress& progress, NetworkChange const& change = {});
bool isOnnx(std::string const& path);

//! An engine with a context and host buffers of its own.
class Session
{
  public:
    //! Loads a plan, or builds one from an ONNX file first; throws std::runtime_error.
    Session(std::string const& path, Shapes const& shapes, Common const& common, nvinfer1::ILogger& logger,
        NetworkChange const& change = {});
    //! Throws std::invalid_argument when a shape is for no input of the engine.
    void checkShapes(Shapes const& shapes) const;
    //! As IoTensors::prepare() does; throws std::invalid_argument for a shape that is for no input.
    void prepare(Shapes const& shapes, uint32_t seed, GivenInputs const& inputs = {});
    void run();
    nvinfer1::ICudaEngine& engine()
    {
        return *mEngine;
    }
    //! Made when it is first asked for; throws std::runtime_error.
    nvinfer1::IExecutionContext& context();
    //! What a run made, or an input as it went in.
    nvinfer1::Dims outputDims(std::string const& name) const
    {
        return mTensors->dims(name);
    }
    char const* outputData(std::string const& name) const
    {
        return mTensors->data(name);
    }
    double loadMilliseconds() const
    {
        return mLoadMilliseconds;
    }

  private:
    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::unique_ptr<IoTensors> mTensors;
    double mLoadMilliseconds{0.0};
};

} // namespace tenon::cli
