// IoTensors: memory of the inputs and outputs of one execution context, and what inputs are filled with.
#pragma once

#include "buffer.h"
#include "given_inputs.h"
#include "gpu_memory.h"
#include "growing_output.h"
#include "shapes.h"

#include "NvInfer.h"

#include <map>
#include <string>

namespace tenon::cli
{

class IoTensors
{
  public:
    struct Options
    {
        int32_t profile{0};      //!< That the context uses.
        uint32_t seed{0};        //!< Of inputs that are not given.
        bool hasHostSide{false}; //!< Tensors once more, as the program's own memory, from and to which is copied.
    };

    IoTensors(nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, Options const& options);
    //! Sets shapes and contents of inputs and makes room for outputs. Shapes: those of the given contents, else of
    //! `shapes`, else kOPT of the profile. Contents: the given ones, of shape tensors else those of kOPT, else random.
    //! Throws std::runtime_error, which names the tensor.
    void prepare(Shapes const& shapes, GivenInputs const& inputs);

    //! Whether tensors are memory of a device's own: then there is a program's side always.
    bool isOnGpu() const noexcept
    {
        return mIsOnGpu;
    }
    //! Copies between the two sides, in the order of the stream. Outputs whose extents depend on data stay where they
    //! are: their memory grows within runs.
    void upload(void* stream) const;
    void download(void* stream);
    bool enqueue(void* stream);

    //! Of the program's side where there are two.
    nvinfer1::Dims dims(std::string const& name) const;
    char const* data(std::string const& name) const;

  private:
    struct Tensor
    {
        Buffer device; //!< Where memory is the program's, and of shape tensors.
        GpuMemory gpu;
        Buffer host;
        bool isInput{false};
    };
    void prepareInput(char const* name, uint32_t seed, Shapes const& shapes, GivenInputs const& inputs);
    void prepareOutput(char const* name);
    //! Memory for the tensor, set as its address; throws std::runtime_error where it cannot be had.
    Tensor& makeRoom(char const* what, char const* name, nvinfer1::Dims const& dims);
    void copy(bool isInput, void* stream) const;
    //! Samples of a run where the engine's shapes leave the batch out: the largest batch; else 1.
    int32_t batch() const;

    nvinfer1::ICudaEngine* mEngine;
    nvinfer1::IExecutionContext* mContext;
    Options mOptions;
    bool mIsOnGpu{false};
    std::map<std::string, Tensor> mTensors;
    std::map<std::string, GrowingOutput> mGrowing; //!< Outputs whose extents depend on data.
    std::vector<void*> mBindings;                  //!< Where the engine's shapes leave the batch out.
};

//! Bytes of the tensor in the format that the engine has it in; none: more than can be counted.
std::optional<size_t> bytesOf(nvinfer1::ICudaEngine const& engine, char const* name, nvinfer1::Dims dims);
//! Names of the inputs or of the outputs, in the engine's order.
std::vector<std::string> namesOf(nvinfer1::ICudaEngine const& engine, nvinfer1::TensorIOMode mode);

} // namespace tenon::cli
