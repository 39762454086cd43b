// Session: what the commands share: logger, models, plans, engines and their buffers.
#pragma once

#include "buffer.h"
#include "commands.h"
#include "given_inputs.h"
#include "growing_output.h"
#include "progress_bar.h"
#include "shapes.h"

#include "NvInfer.h"
#include "NvOnnxParser.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

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

//! A network read from an ONNX file; throws std::runtime_error after the logger got all that is wrong with it.
class Model
{
  public:
    Model(std::string const& path, nvinfer1::ILogger& logger);
    nvinfer1::IBuilder& builder() const
    {
        return *mBuilder;
    }
    nvinfer1::INetworkDefinition& network() const
    {
        return *mNetwork;
    }

  private:
    std::unique_ptr<nvinfer1::IBuilder> mBuilder;
    std::unique_ptr<nvinfer1::INetworkDefinition> mNetwork;
    std::unique_ptr<nvonnxparser::IParser> mParser;
};

//! The bytes of a plan built from an ONNX file; null when it failed or was cancelled (the logger has said why).
std::unique_ptr<nvinfer1::IHostMemory> buildPlan(std::string const& model, Shapes const& shapes, int32_t threads,
    nvinfer1::ILogger& logger, BuildProgress& progress);
bool isOnnx(std::string const& path);

//! An engine with a context and host buffers of its own.
class Session
{
  public:
    //! Loads a plan, or builds one from an ONNX file first; throws std::runtime_error.
    Session(std::string const& path, Shapes const& shapes, Common const& common, nvinfer1::ILogger& logger);
    //! Throws std::invalid_argument when a shape is for no input of the engine.
    void checkShapes(Shapes const& shapes) const;
    //! Sets shapes and contents of inputs and makes room for outputs. Shapes: those of the given contents, else of
    //! `shapes`, else kOPT of profile 0. Contents: the given ones, of shape tensors else those of kOPT, else random.
    void prepare(Shapes const& shapes, uint32_t seed, GivenInputs const& inputs = {});
    void run();
    nvinfer1::ICudaEngine& engine()
    {
        return *mEngine;
    }
    nvinfer1::IExecutionContext& context()
    {
        return *mContext;
    }
    //! What a run made.
    nvinfer1::Dims outputDims(std::string const& name) const;
    char const* outputData(std::string const& name) const;
    double loadMilliseconds() const
    {
        return mLoadMilliseconds;
    }

  private:
    void prepareInput(char const* name, Shapes const& shapes, uint32_t seed, GivenInputs const& inputs);
    void prepareOutput(char const* name);
    //! Memory for the tensor, set as its address; throws std::runtime_error where it cannot be had.
    Buffer& makeRoom(char const* what, char const* name, nvinfer1::Dims const& dims);
    //! Samples of a run where the engine's shapes leave the batch out: the largest batch; else 1.
    int32_t batch() const;

    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::map<std::string, Buffer> mBuffers;
    std::map<std::string, GrowingOutput> mGrowing; //!< Outputs whose extents depend on data.
    double mLoadMilliseconds{0.0};
};

} // namespace tenon::cli
