// A model in memory: the parsed message, the files behind it, and the elements of its tensors.
#pragma once

#include "file_map.h"
#include "value.h"
#include "wire.h"

#include <functional>
#include <google/protobuf/arena.h>
#include <map>
#include <onnx.pb.h>
#include <unordered_map>

namespace tenon::onnx
{

//! Takes a sentence for the user's log.
using Warn = std::function<void(std::string const&)>;

//! Constants point into what this owns: it must live until the network is built.
class Model
{
  public:
    //! `alignsWeights`: also large ones, which else stay where they lie, for those who take weights anywhere.
    Model(Warn warn, bool alignsWeights);

    //! Maps the file. The functions that load throw Failure.
    void loadFile(std::string const& path);
    //! Copies the bytes; external data is looked for beside `path`, which may be empty.
    void loadBytes(std::span<char const> bytes, std::string const& path);

    //! The file that the user named; empty when there is none.
    std::string const& path() const noexcept
    {
        return mPath;
    }
    ::onnx::ModelProto const& proto() const noexcept
    {
        return *mProto;
    }

    //! Initializer i of the main graph, or its replacement.
    Constant initializer(int index);
    Constant tensor(::onnx::TensorProto const& tensor);
    //! An empty node that lives as long as the model: constants may point into it.
    ::onnx::NodeProto& newNode()
    {
        return *google::protobuf::Arena::CreateMessage<::onnx::NodeProto>(&mArena);
    }
    //! Elements in memory of the model's own.
    template <typename T>
    Constant own(nvinfer1::DataType type, Shape dims, std::vector<T> const& elements)
    {
        return keep(type, std::move(dims), elements.data(), elements.size() * sizeof(T));
    }
    //! Another shape over the same elements.
    static Constant reshaped(Constant constant, Shape dims);

    //! Data that stands for an initializer from now on; false when there is no such initializer or the size is wrong.
    bool replaceInitializer(std::string const& name, void const* data, size_t size);

  private:
    void parse(std::span<char const> bytes, std::string const& path);
    Constant keep(nvinfer1::DataType type, Shape dims, void const* data, size_t bytes);
    Constant over(nvinfer1::DataType type, Shape dims, std::span<char const> bytes, bool isInitializer);
    Constant typed(::onnx::TensorProto const& tensor, nvinfer1::DataType type);
    Constant held(::onnx::TensorProto const& tensor, std::optional<std::span<char const>> const& raw);
    Constant narrowedDoubles(::onnx::TensorProto const& tensor, std::span<char const> raw);
    std::span<char const> external(::onnx::TensorProto const& tensor);
    Constant read(
        ::onnx::TensorProto const& tensor, std::optional<std::span<char const>> raw, bool isInitializer = false);

    Warn mWarn;
    bool mAlignsWeights;
    std::string mFolder; //!< Of the model's file; empty when unknown.
    std::string mPath;
    bool mWarnedOfDouble{false};
    std::unique_ptr<FileMap> mFile;
    std::vector<char> mBytes;
    google::protobuf::Arena mArena;
    ::onnx::ModelProto* mProto{nullptr};
    std::vector<std::optional<std::span<char const>>> mRawData;
    std::map<std::string, std::unique_ptr<FileMap>> mExternalFiles;
    std::unordered_map<std::string, std::span<char const>> mReplacements;
    std::vector<std::unique_ptr<std::max_align_t[]>> mOwned;
};

//! Elements in memory of the model's own, in a type that may be narrower: floats are rounded to the nearest.
Constant constantOf(Model& model, std::vector<double> const& elements, nvinfer1::DataType type, Shape dims);

//! The engine's type for an ONNX one, or the one that holds it (held.h); fails by name for others. Double becomes
//! float.
nvinfer1::DataType typeOfOnnx(int32_t onnxType);
std::string nameOfOnnx(int32_t onnxType);

} // namespace tenon::onnx
