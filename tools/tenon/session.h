// Session: what the commands share: logger, progress bar, shapes on the command line, engines and buffers.
#pragma once

#include "given_inputs.h"
#include "growing_output.h"

#include "NvInfer.h"
#include "NvOnnxParser.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenon::cli
{

//! Set by Ctrl-C; builds and loops look at it.
extern std::atomic<bool> gInterrupted;
inline constexpr int kInterruptedStatus{130};

//! Prints to standard error what is at least as severe as `severity`, and remembers the last error.
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

//! A bar for the whole way from file to plan, with the present phase and the time that is left over all phases, on a
//! terminal; nothing in a pipe. Cancels the build on Ctrl-C.
class ProgressBar : public nvinfer1::IProgressMonitor
{
  public:
    explicit ProgressBar(bool wanted);
    ~ProgressBar() override;
    //! Takes the bar off its line, so that a message can stand there; the next step draws it again.
    static void clearLine() noexcept;
    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override;
    bool stepComplete(char const* phase, int32_t step) noexcept override;
    void phaseFinish(char const* phase) noexcept override;

  private:
    void advance(std::string const& label, double share);
    std::map<std::string, int32_t> mSteps; //!< Of each phase.
    std::string mLabel;
    double mShare{0.0}; //!< Of the whole way.
    std::chrono::steady_clock::time_point mStart;
    bool mShown;
};

//! Bounds of one input: name=MIN:OPT:MAX, or name=SHAPE for all three.
struct ShapeRange
{
    nvinfer1::Dims min{};
    nvinfer1::Dims opt{};
    nvinfer1::Dims max{};
};
using Shapes = std::map<std::string, ShapeRange>;

//! Parses "input=1x3x224x224:8x3x224x224:32x3x224x224,mask=1x8"; throws std::invalid_argument with the piece at fault.
Shapes parseShapes(std::vector<std::string> const& texts);
//! Throws std::invalid_argument unless each shape is that of one of these inputs.
void checkNames(Shapes const& shapes, std::vector<std::string> const& inputs);
std::string show(nvinfer1::Dims const& dims);
size_t elementsOf(nvinfer1::Dims const& dims);
size_t bytesOf(nvinfer1::DataType type, nvinfer1::Dims const& dims);

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
std::unique_ptr<nvinfer1::IHostMemory> buildPlan(
    std::string const& model, Shapes const& shapes, int32_t threads, nvinfer1::ILogger& logger, ProgressBar& progress);
//! Whether `path` is written through: a pipe, a device, or another thing in the place of a file.
bool isWrittenThrough(std::string const& path);
//! Writes beside the file that `path` names and renames, so that it is whole or absent; what is no file is written
//! through. Throws std::runtime_error.
void writeFile(std::string const& path, void const* data, size_t size);
std::vector<char> readFile(std::string const& path);
bool isOnnx(std::string const& path);

//! An engine with a context and host buffers of its own.
class Session
{
  public:
    //! Loads a plan, or builds one from an ONNX file first; throws std::runtime_error.
    Session(std::string const& path, Shapes const& shapes, int32_t threads, nvinfer1::ILogger& logger,
        bool allowsCode = false);
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
    //! Samples of a run where the engine's shapes leave the batch out: the largest batch; else 1.
    int32_t batch() const;

    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::map<std::string, std::vector<char>> mBuffers;
    std::map<std::string, GrowingOutput> mGrowing; //!< Outputs whose extents depend on data.
    double mLoadMilliseconds{0.0};
};

} // namespace tenon::cli
