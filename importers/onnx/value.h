// What a name of an ONNX graph stands for: a tensor of the network, or a constant that becomes one when a layer reads
// it.
#pragma once

#include "NvInfer.h"
#include "tenon/network.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::onnx
{

//! The type of doubles, where the network takes them (own_calls.h).
inline constexpr nvinfer1::DataType kFloat64{static_cast<nvinfer1::DataType>(TENON_FLOAT64)};

//! i; fails where a list of that size has no such element.
size_t checkedIndex(size_t i, size_t size);

//! Extents, axes or an attribute's numbers. A model may give fewer of them than its node reads: asking for one that is
//! not there is the model's mistake, as a Failure.
template <typename T>
class Checked : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    Checked(std::vector<T> elements) // NOLINT: a list is a list.
        : std::vector<T>{std::move(elements)}
    {
    }

    T& operator[](size_t i)
    {
        return this->data()[checkedIndex(i, this->size())];
    }
    T const& operator[](size_t i) const
    {
        return this->data()[checkedIndex(i, this->size())];
    }
    T& at(size_t i)
    {
        return (*this)[i];
    }
    T const& at(size_t i) const
    {
        return (*this)[i];
    }
    T& front()
    {
        return (*this)[0];
    }
    T const& front() const
    {
        return (*this)[0];
    }
    T& back()
    {
        return (*this)[this->size() - 1];
    }
    T const& back() const
    {
        return (*this)[this->size() - 1];
    }
};

using Integers = Checked<int64_t>;
using Shape = Integers;

//! Elements known at import. The memory belongs to the model.
struct Constant
{
    nvinfer1::DataType type{nvinfer1::DataType::kFLOAT};
    Shape dims;
    void const* data{nullptr};
    int64_t count{0};
    int32_t held{0}; //!< The ONNX type that these elements stand for, where the engine has not got it.

    nvinfer1::Weights weights() const noexcept
    {
        return {type, count == 0 ? nullptr : data, count};
    }
};

int64_t bytesOf(nvinfer1::DataType type);
char const* nameOf(nvinfer1::DataType type);
bool isFloating(nvinfer1::DataType type);
//! int8 and uint8: no layer converts the one into the other.
bool areBothBytes(nvinfer1::DataType a, nvinfer1::DataType b);
//! What sums and products of elements of a type are made in: float, of doubles double.
nvinfer1::DataType wideOf(nvinfer1::DataType type);
//! Product of the extents; fails on a negative extent or an overflow.
int64_t volumeOf(Shape const& dims);
nvinfer1::Dims dimsOf(Shape const& shape);
Shape shapeOf(nvinfer1::Dims const& dims);
std::string shapeText(Shape const& shape);
//! Behind batch and channels; fails where there are fewer axes.
Shape spatialOf(Shape const& shape);

//! Elements in a wider type. The integers of a floating constant are truncated, as Cast does.
Integers integersOf(Constant const& constant);
std::vector<double> numbersOf(Constant const& constant);

//! Shares what it stands for with its copies, so that a constant becomes one layer however many nodes read it.
class Value
{
  public:
    Value() = default;
    Value(nvinfer1::ITensor* tensor); // NOLINT: a tensor is a value.
    Value(Constant constant, std::string name);
    //! A sequence whose length and elements are known at import, though not what they hold.
    static Value sequence(std::vector<Value> elements);
    //! An optional that has no element.
    static Value nothing();

    //! False: an optional input or output that is not there.
    bool exists() const noexcept
    {
        return mCell != nullptr;
    }
    bool isConstant() const noexcept
    {
        return mCell != nullptr && mCell->constant.has_value();
    }
    bool isSequence() const noexcept
    {
        return mCell != nullptr && mCell->elements.has_value();
    }
    //! An optional that is known to be empty.
    bool isNothing() const noexcept
    {
        return mCell != nullptr && mCell->isNothing;
    }
    //! Of a sequence.
    std::vector<Value> const& elements() const
    {
        return mCell->elements.value();
    }
    Constant const& constant() const
    {
        return mCell->constant.value();
    }
    //! The name of the constant, for its layer.
    std::string const& name() const
    {
        return mCell->name;
    }

    nvinfer1::DataType type() const;
    //! −1 for an extent that the model leaves open.
    Shape shape() const;
    int32_t rank() const;

    //! The ONNX type that the elements stand for where the engine has not got it (held.h); 0: their own.
    int32_t held() const noexcept
    {
        return mCell == nullptr ? 0 : mCell->constant ? mCell->constant->held : mCell->held;
    }
    //! The same value, said to stand for that type.
    Value marked(int32_t onnxType) const;

    //! Null while the constant is no layer yet.
    nvinfer1::ITensor* tensor() const noexcept
    {
        return mCell == nullptr ? nullptr : mCell->tensor;
    }
    void setTensor(nvinfer1::ITensor* tensor) const noexcept
    {
        mCell->tensor = tensor;
    }

    //! The tensor; fails where there is none, and says what stands there.
    nvinfer1::ITensor& some() const;

  private:
    struct Cell
    {
        std::string name;
        std::optional<Constant> constant;
        nvinfer1::ITensor* tensor{nullptr};
        int32_t held{0};
        std::optional<std::vector<Value>> elements;
        bool isNothing{false};
    };
    std::shared_ptr<Cell> mCell;
};

} // namespace tenon::onnx
