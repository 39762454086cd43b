// A plan as an ONNX model: its steps as nodes of a domain of their own, for viewers and editors of graphs.
#pragma once

#include "backend/backend_table.h"
#include "plan/plan.h"

#include <string>

namespace tenon::inspect
{

struct OnnxOptions
{
    bool hasWeights{false}; //!< With their values, as initializers; else nodes tell what they are.
    //! The row-major form of weights that are stored packed. Null: only plain ones can be given.
    decltype(BackendEntry::unpack) unpack{nullptr};
};

//! The bytes of the model. \param plan has a program; the first is shown.
Result<std::string> planOnnx(Plan const& plan, OnnxOptions const& options);

} // namespace tenon::inspect
