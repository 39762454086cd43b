// Engine: loaded, with the runtime that it belongs to.
#pragma once

#include "log.h"
#include "options.h"

#include "NvInfer.h"

#include <memory>
#include <vector>

namespace tenon::trtexec
{

//! The version that wrote a plan, from its first bytes; throws std::runtime_error where they tell none.
std::string planVersion(std::string const& path);

class Engine
{
  public:
    //! Builds the plan, or reads it from its file. Throws std::runtime_error.
    Engine(Options const& options, Log& log);

    //! Loaded when it is first asked for; throws std::runtime_error.
    nvinfer1::ICudaEngine& get();
    //! Loads it again and again, and logs how long that takes.
    void timeLoading();

  private:
    std::unique_ptr<nvinfer1::ICudaEngine> load();
    void makeRuntime();

    Options const* mOptions;
    Log* mLog;
    std::unique_ptr<nvinfer1::IHostMemory> mBuilt;
    std::vector<char> mRead;
    std::unique_ptr<nvinfer1::IRuntime> mParent; //!< Of one that another library has.
    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
};

//! Weights that can be replaced, to the log.
void dumpRefittable(nvinfer1::ICudaEngine& engine, Log& log);
//! Takes the weights of an ONNX file; throws std::runtime_error. \param times how often, for the log.
void refit(nvinfer1::ICudaEngine& engine, std::string const& model, bool isThreaded, int32_t times, Log& log);
//! Sets how much of the weights stays in memory; throws std::runtime_error where the engine refuses.
void applyBudget(nvinfer1::ICudaEngine& engine, StreamingBudget const& budget, Log const& log);

} // namespace tenon::trtexec
