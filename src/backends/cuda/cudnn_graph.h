// CudnnGraph: operations as cuDNN's graph API takes them, and the plans that it makes of them.
#pragma once

#include "backends/cuda/cudnn.h"

#include <span>
#include <vector>

namespace tenon::cuda
{

//! An object of the library's. Set calls come before finalize().
class CudnnObject
{
  public:
    static Result<CudnnObject> make(CudnnApi const& api, int kind);

    Result<Done> setNumbers(int attribute, std::vector<int64_t> const& values)
    {
        return setBytes(attribute, dnn::kTypeInt64, static_cast<int64_t>(values.size()), values.data());
    }
    template <typename T>
    Result<Done> set(int attribute, int type, T const& value)
    {
        return setBytes(attribute, type, 1, &value);
    }
    Result<Done> setAddresses(int attribute, std::span<void* const> addresses)
    {
        return setBytes(attribute, dnn::kTypeAddress, static_cast<int64_t>(addresses.size()),
            static_cast<void const*>(addresses.data()));
    }
    Result<Done> setText(int attribute, std::string_view text)
    {
        return setBytes(attribute, dnn::kTypeText, static_cast<int64_t>(text.size()), text.data());
    }
    //! One object or several.
    Result<Done> setObject(int attribute, CudnnObject const& object);
    Result<Done> setObjects(int attribute, std::span<CudnnObject const> objects);
    Result<Done> finalize();
    void* get() const noexcept
    {
        return mObject.get();
    }
    CudnnApi const& api() const noexcept
    {
        return *mApi;
    }

  private:
    CudnnObject(CudnnApi const& api, void* object)
        : mApi{&api},
          mObject{object, api.cudnnBackendDestroyDescriptor}
    {
    }
    Result<Done> setBytes(int attribute, int type, int64_t count, void const* elements);

    CudnnApi const* mApi;
    std::unique_ptr<void, int (*)(void*)> mObject;
};

//! A GPU: one that is there, or one that is only described, which plans can be made for but not run.
struct CudnnMachine
{
    void* handle{nullptr};
    CudnnObject const* description{nullptr};
};

struct CudnnTensor
{
    int type{0};
    std::vector<int64_t> extents; //!< Image, channel, two or three spatial axes; or batch, row and column.
    std::vector<int64_t> strides;
    bool isVirtual{false}; //!< Never in memory.
    bool isByValue{false}; //!< A number of the host's, read when a plan is run.
};

//! Tensors of softmax(scale · q · kᵀ) · v, by their ids; all but the scale have extents [batch, heads, rows, columns].
struct CudnnAttention
{
    int64_t q, k, v, scale, out;
};

struct CudnnConvolution
{
    bool isTransposed{false};
    std::vector<int64_t> stride, dilation, pre, post;
};

struct CudnnPointwise
{
    int mode{0};
    //! (attribute, value), of those that a mode has.
    std::vector<std::pair<int, double>> parameters{};
};

//! Tensors are named by ids from 1 on, which addresses are given by.
class CudnnGraph
{
  public:
    explicit CudnnGraph(CudnnApi const& api)
        : mApi{api}
    {
    }
    Result<int64_t> addTensor(CudnnTensor const& tensor);
    Result<Done> addConvolution(CudnnConvolution const& convolution, int64_t x, int64_t filter, int64_t y);
    //! c = a · b, of matrices in the last two axes of three.
    Result<Done> addProduct(int64_t a, int64_t b, int64_t c);
    Result<Done> addAttention(CudnnAttention const& attention);
    //! y = mode(x, b); b is 0 for functions of one number.
    Result<Done> addPointwise(CudnnPointwise const& pointwise, int64_t x, int64_t b, int64_t y);
    //! No operation comes behind it.
    Result<CudnnObject> finish(CudnnMachine const& machine);

  private:
    CudnnObject const& tensor(int64_t id) const
    {
        return mTensors[static_cast<size_t>(id - 1)];
    }

    CudnnApi const& mApi;
    std::vector<CudnnObject> mTensors;
    std::vector<CudnnObject> mParts; //!< What operations refer to.
    std::vector<CudnnObject> mOperations;
};

struct CudnnWish
{
    int32_t position{0}; //!< Among the proposals; where that one cannot be had, the next that can.
    bool isExact{false}; //!< Without tensor cores, which round float32 operands.
    int64_t mostWorkspace{0};
};

struct CudnnPlan
{
    CudnnObject plan;
    size_t workspaceBytes{0};
};

//! What the library proposes for a finished graph, its best guess first: sums in float32, the same result in each run,
//! no transforms that lose digits.
Result<CudnnPlan> cudnnPlan(CudnnObject const& graph, CudnnMachine const& machine, CudnnWish const& wish);

} // namespace tenon::cuda
