// Values that plugins and their users exchange: fields, descriptions of tensors, and what is made of them in C++.
#pragma once

#include "bindings.h"

#include <pybind11/stl_bind.h>

#include <algorithm>

namespace tenon::python
{

//! Deletes with the GIL held: for objects that hold Python ones.
struct DeleteHeld
{
    template <typename T>
    void operator()(T* object) const
    {
        delete object;
    }
};

template <typename T>
using Plain = std::unique_ptr<T, DeleteHeld>;

//! A field that owns its name and keeps the memory of its data.
class FieldValue
{
  public:
    explicit FieldValue(std::string fieldName);
    //! Data: a NumPy array, bytes, any other buffer, or None.
    FieldValue(std::string fieldName, py::object const& data, nvinfer1::PluginFieldType type);
    //! A copy of what C++ code holds.
    explicit FieldValue(nvinfer1::PluginField const& field);

    //! Valid as long as this object, and until its data changes.
    nvinfer1::PluginField field() const;
    //! A NumPy array, or bytes for kCHAR, kUNKNOWN and the types that NumPy lacks; None where nothing is set.
    py::object data() const;
    void setData(py::object const& object);
    nvinfer1::PluginFieldType type() const noexcept
    {
        return mType;
    }
    //! The same bytes count as elements of another type from here on; ValueError when they are no whole number of them.
    void setType(nvinfer1::PluginFieldType type);
    int32_t length() const noexcept
    {
        return mLength;
    }
    //! ValueError for more elements than the data have.
    void setLength(int32_t length);
    //! Whether C++ code sees the same in both.
    bool isSameAs(FieldValue const& other) const;

    std::string name;

  private:
    nvinfer1::PluginFieldType mType{nvinfer1::PluginFieldType::kUNKNOWN};
    int32_t mLength{0};
    py::object mOwner;
    void const* mData{nullptr};
    size_t mBytes{0}; //!< Behind mData.
};

using FieldList = std::vector<FieldValue>;

//! A list as it was, in C++ form: Python code may change its own while native code reads.
class FieldView
{
  public:
    explicit FieldView(FieldList list);
    FieldView(FieldView const&) = delete;
    FieldView& operator=(FieldView const&) = delete;
    bool hasSameAs(FieldList const& list) const;
    nvinfer1::PluginFieldCollection const* get() const noexcept
    {
        return &mCollection;
    }

  private:
    FieldList mList;
    std::vector<nvinfer1::PluginField> mFields;
    nvinfer1::PluginFieldCollection mCollection{};
};

FieldList fieldsOf(nvinfer1::PluginFieldCollection const* collection);

//! A resource as Python knows it: the object of a Python class itself.
py::object heldObject(nvinfer1::IPluginResource* resource);

//! Copies, so that a list that Python code keeps stays valid. They become Python's in the call that gets them: to
//! convert an enumeration runs Python code, which may raise.
template <typename T>
std::vector<T> listOf(T const* first, int32_t count)
{
    return {first, first + std::max(count, 0)};
}

//! Addresses as ints.
inline std::vector<size_t> addressList(void const* const* first, size_t count)
{
    std::vector<size_t> list;
    for (size_t i = 0; i < count; ++i)
        list.push_back(reinterpret_cast<size_t>(first[i]));
    return list;
}

} // namespace tenon::python

PYBIND11_MAKE_OPAQUE(tenon::python::FieldList)
