// Memory that callers hand over: plain addresses, capsules, NumPy arrays and other buffers, with what is known of them.
#pragma once

#include "bindings.h"

#include <string>

namespace tenon::python
{

struct Memory
{
    void* address{nullptr};
    int64_t bytes{-1}; //!< -1: nobody knows.
    bool isWriteable{true};
    py::object elementType; //!< NumPy's type; null where the elements have none, as in bytes.
    py::object owner;       //!< What keeps the memory; null for plain addresses.
};

//! An int, a capsule, None, a NumPy array or any other contiguous buffer; TypeError that starts with `what` otherwise.
Memory memoryOf(py::handle object, std::string const& what);

//! Memory for a tensor, also an array of the GPU that the engine runs on: TypeError for another element type and for
//! outputs that are read-only.
Memory tensorMemory(nvinfer1::ICudaEngine const& engine, std::string const& name, py::handle object);

//! ValueError when an array is smaller than its tensor with the shapes set now; what is not known yet fits.
void checkRoom(nvinfer1::IExecutionContext const& context, std::string const& name, int64_t bytes,
    void* const* bindings = nullptr);

} // namespace tenon::python
