// IoTensors: shapes, room, contents, copies.
#include "io_tensors.h"

#include "tenon/host.h"

#include <algorithm>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::Dims;
using nvinfer1::TensorIOMode;

std::optional<size_t> bytesOf(nvinfer1::ICudaEngine const& engine, char const* name, Dims dims)
{
    int32_t const axis = engine.getTensorVectorizedDim(name);
    int64_t const lanes = engine.getTensorComponentsPerElement(name);
    if (axis >= 0 && axis < dims.nbDims && lanes > 1)
        dims.d[axis] = (dims.d[axis] + lanes - 1) / lanes * lanes;
    return bytesOf(engine.getTensorDataType(name), dims);
}

std::vector<std::string> namesOf(nvinfer1::ICudaEngine const& engine, TensorIOMode mode)
{
    std::vector<std::string> names;
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        if (char const* name = engine.getIOTensorName(i); engine.getTensorIOMode(name) == mode)
            names.emplace_back(name);
    return names;
}

IoTensors::IoTensors(
    nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, IoTensors::Options const& options)
    : mEngine{&engine},
      mContext{&context},
      mOptions{options},
      mIsOnGpu{tenonIsOnGpu(&engine) != 0}
{
}

int32_t IoTensors::batch() const
{
    return mEngine->hasImplicitBatchDimension() ? mEngine->getMaxBatchSize() : 1;
}

IoTensors::Tensor& IoTensors::makeRoom(char const* what, char const* name, Dims const& dims)
{
    std::optional<size_t> bytes = bytesOf(*mEngine, name, dims);
    if (bytes && __builtin_mul_overflow(*bytes, static_cast<size_t>(batch()), &*bytes))
        bytes.reset();
    Tensor& tensor = mTensors[name];
    std::string const text = std::string{what} + " '" + name + "' of shape " + show(dims);
    if (mIsOnGpu && !mEngine->isShapeInferenceIO(name))
    {
        tensor.host = Buffer{text, bytes};
        tensor.gpu = GpuMemory{*mEngine, text, *bytes};
        mContext->setTensorAddress(name, tensor.gpu.data());
        return tensor;
    }
    tensor.device = Buffer{text, bytes};
    if (mOptions.hasHostSide && !mEngine->isShapeInferenceIO(name)) // Those are read when a run is enqueued.
        tensor.host = Buffer{text, bytes};
    mContext->setTensorAddress(name, tensor.device.data());
    return tensor;
}

void IoTensors::prepareInput(char const* name, uint32_t seed, Shapes const& shapes, GivenInputs const& inputs)
{
    auto const contents = inputs.find(name);
    auto const shape = shapes.find(name);
    Dims const dims = contents != inputs.end() ? contents->second.dims
        : shape != shapes.end()                ? shape->second.opt
                                : mEngine->getProfileShape(name, mOptions.profile, nvinfer1::OptProfileSelector::kOPT);
    bool const isImplicit = mEngine->hasImplicitBatchDimension();
    if (isImplicit && (contents != inputs.end() || shape != shapes.end()))
        throw std::runtime_error(std::string{"input '"} + name
            + "' is one of a plan with an implicit batch, which runs with random samples of its own shape only");
    if (!isImplicit && !mContext->setInputShape(name, dims))
        throw std::runtime_error(std::string{"input '"} + name + "' refused the shape " + show(dims));
    Tensor& tensor = makeRoom("input", name, dims);
    tensor.isInput = true;
    Buffer const& filled = tensor.gpu.data() == nullptr ? tensor.device : tensor.host;
    if (contents != inputs.end())
        std::copy(contents->second.data.begin(), contents->second.data.end(), filled.data());
    else if (mEngine->isShapeInferenceIO(name))
        fillFromProfile(filled.bytes(), *mEngine, name, mOptions.profile);
    else
        fillRandom(filled.bytes(), mEngine->getTensorDataType(name), seed);
    if (tensor.gpu.data() == nullptr && tensor.host.data() != nullptr)
        std::copy(tensor.device.bytes().begin(), tensor.device.bytes().end(), tensor.host.data());
}

void IoTensors::prepareOutput(char const* name)
{
    Dims const dims = mContext->getTensorShape(name);
    if (isOpen(dims))
    {
        if (mIsOnGpu)
            mGrowing[name].useMemoryOf(*mEngine);
        mContext->setOutputAllocator(name, &mGrowing[name]);
    }
    else
        makeRoom("output", name, dims);
}

void IoTensors::prepare(Shapes const& shapes, GivenInputs const& inputs)
{
    for (auto const mode : {TensorIOMode::kINPUT, TensorIOMode::kOUTPUT})
        for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        {
            char const* name = mEngine->getIOTensorName(i);
            if (mEngine->getTensorIOMode(name) != mode)
                continue;
            if (mode == TensorIOMode::kINPUT)
                prepareInput(name, mOptions.seed + static_cast<uint32_t>(i), shapes, inputs);
            else
                prepareOutput(name); // Once the shapes of all inputs are known.
        }
    mBindings.clear();
    for (int32_t i = 0; mEngine->hasImplicitBatchDimension() && i < mEngine->getNbIOTensors(); ++i)
    {
        Tensor const& tensor = mTensors[mEngine->getIOTensorName(i)];
        mBindings.push_back(tensor.gpu.data() == nullptr ? tensor.device.data() : tensor.gpu.data());
    }
    if (mIsOnGpu)
        upload(nullptr);
}

void IoTensors::copy(bool isInput, void* stream) const
{
    for (auto const& [name, tensor] : mTensors)
    {
        if (tensor.isInput != isInput || tensor.host.data() == nullptr || tensor.host.bytes().empty())
            continue;
        size_t const bytes = tensor.host.bytes().size();
        if (void* const gpu = tensor.gpu.data(); gpu != nullptr)
        {
            if ((isInput ? tenonEngineCopyIn(mEngine, gpu, tensor.host.data(), bytes, stream)
                         : tenonEngineCopyOut(mEngine, tensor.host.data(), gpu, bytes, stream))
                == 0)
                throw std::runtime_error("tensor '" + name + "' could not be copied");
            continue;
        }
        Buffer const& from = isInput ? tensor.host : tensor.device;
        Buffer const& to = isInput ? tensor.device : tensor.host;
        if (tenonHostCopy(to.data(), from.data(), from.bytes().size(), stream) != TENON_HOST_OK)
            throw std::runtime_error("tensor '" + name + "' could not be copied: " + tenonHostProblem());
    }
}

void IoTensors::upload(void* stream) const
{
    copy(true, stream);
}

void IoTensors::download(void* stream)
{
    copy(false, stream);
    for (auto& [name, output] : mGrowing)
        if (mIsOnGpu && !output.download(bytesOf(*mEngine, name.c_str(), output.dims()).value_or(0), stream))
            throw std::runtime_error("output '" + name + "' could not be copied");
}

bool IoTensors::enqueue(void* stream)
{
    auto const handle = static_cast<cudaStream_t>(stream);
    if (mBindings.empty())
        return mContext->enqueueV3(handle);
    return stream == nullptr ? mContext->execute(batch(), mBindings.data())
                             : mContext->enqueue(batch(), mBindings.data(), handle, nullptr);
}

Dims IoTensors::dims(std::string const& name) const
{
    auto const growing = mGrowing.find(name);
    return growing == mGrowing.end() ? mContext->getTensorShape(name.c_str()) : growing->second.dims();
}

char const* IoTensors::data(std::string const& name) const
{
    if (auto const growing = mGrowing.find(name); growing != mGrowing.end())
        return growing->second.data();
    Tensor const& tensor = mTensors.at(name);
    return tensor.host.data() != nullptr ? tensor.host.data() : tensor.device.data();
}

} // namespace tenon::cli
