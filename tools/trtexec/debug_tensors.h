// DebugTensors: tensors within the network, written to files while queries run.
#pragma once

#include "log.h"
#include "options.h"
#include "texts.h"

#include "NvInfer.h"

#include <map>
#include <string>
#include <vector>

namespace tenon::trtexec
{

class DebugTensors : public nvinfer1::IDebugListener
{
  public:
    //! \param hasUnfused whether the engine was built with unfused tensors as debug tensors.
    DebugTensors(InferenceOptions const& options, bool hasUnfused, Log const& log);

    bool isWanted() const
    {
        return !mFiles.empty() || !mForms.empty();
    }
    //! Turns the tensors of the context on. Throws std::invalid_argument for one that is no debug tensor.
    void attach(nvinfer1::IExecutionContext& context);
    bool processDebugTensor(void const* addr, nvinfer1::TensorLocation location, nvinfer1::DataType type,
        nvinfer1::Dims const& shape, char const* name, cudaStream_t stream) override;
    //! Writes the summary; throws std::runtime_error for what could not be written meanwhile.
    void finish();

  private:
    void writeForms(
        std::string const& name, nvinfer1::DataType type, nvinfer1::Dims const& dims, char const* data, size_t bytes);

    Log const* mLog;
    bool mHasUnfused;
    std::map<std::string, std::string> mFiles;
    std::vector<std::string> mForms;
    std::map<std::string, cli::Json> mSummaries; //!< By name.
    std::string mProblem;
};

} // namespace tenon::trtexec
