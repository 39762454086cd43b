// Resize as products with matrices, for the forms that the engine's layer has not.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

struct ResizeAxis
{
    int64_t in{-1};
    int64_t out{-1};
    double scale{1.0};
    double start{0.0}; //!< Of the region of interest, 0 … 1.
    double end{1.0};
};

struct ResizeMatrix
{
    std::vector<ResizeAxis> axes; //!< All of the tensor's.
    std::string mode;
    std::string coordinates;
    std::string rounding;
    double cubic{-0.75};
    double extrapolation{0.0};
    bool antialias{false};
    bool excludesOutside{false};
};

//! The extents of all axes that change must be known.
Value resizeByMatrix(Node& node, Value const& x, ResizeMatrix const& form);

} // namespace tenon::onnx
