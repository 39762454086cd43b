// Normalization by the root of the mean square, for the operators of both domains that do it.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

struct RootMeanSquare
{
    Value root;       //!< √(mean(x²) + ε) along the axes from `first` on, which stay with extent 1.
    Value normalized; //!< x / root · scale
};
RootMeanSquare byRootMeanSquare(Node& node, Value const& x, Value const& scale, int32_t first, float epsilon);

} // namespace tenon::onnx
