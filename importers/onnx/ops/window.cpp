// What convolutions and poolings share.
#include "window.h"

#include <algorithm>

namespace tenon::onnx
{

void WindowAttributes::widen()
{
    for (Shape* const list : {&kernel, &strides, &dilations})
    {
        list->insert(list->begin(), 1);
    }
    padsBefore.insert(padsBefore.begin(), 0);
    padsAfter.insert(padsAfter.begin(), 0);
}

WindowAttributes windowOf(Node const& node, size_t spatialAxes, Shape const& kernel)
{
    if (spatialAxes > nvinfer1::Dims::MAX_DIMS) // Of fewer than two axes, two less are very many.
    {
        fail(ErrorCode::kINVALID_NODE, "its input has too few axes for windows");
    }
    auto const list = [&](char const* name, int64_t otherwise, int64_t smallest) {
        Shape const result = node.intsOr(name, Shape(spatialAxes, otherwise));
        if (result.size() != spatialAxes || std::any_of(result.begin(), result.end(), [smallest](int64_t v) {
                return v < smallest || v > INT32_MAX;
            }))
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{} {} does not fit {} spatial axes", name, shapeText(result), spatialAxes));
        }
        return result;
    };
    WindowAttributes window;
    window.kernel = kernel.empty() || node.hasAttribute("kernel_shape") ? list("kernel_shape", 0, 1) : kernel;
    window.strides = list("strides", 1, 1);
    window.dilations = list("dilations", 1, 1);
    window.autoPad = node.stringOr("auto_pad", "NOTSET");
    Shape const pads = node.intsOr("pads", Shape(2 * spatialAxes, 0));
    if (pads.size() != 2 * spatialAxes
        || std::any_of(pads.begin(), pads.end(), [](int64_t v) { return v < 0 || v > INT32_MAX; }))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("pads {} do not fit {} spatial axes", shapeText(pads), spatialAxes));
    }
    bool const given = window.autoPad == "NOTSET" || window.autoPad.empty();
    if (!given && window.autoPad != "VALID" && window.autoPad != "SAME_UPPER" && window.autoPad != "SAME_LOWER")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("auto_pad '{}'", window.autoPad));
    }
    auto const middle = pads.begin() + static_cast<int64_t>(spatialAxes);
    window.padsBefore = given ? Shape(pads.begin(), middle) : Shape(spatialAxes, 0);
    window.padsAfter = given ? Shape(middle, pads.end()) : Shape(spatialAxes, 0);
    return window;
}

Value widened(Node& node, Value const& x)
{
    int32_t const rank = x.rank();
    if (rank < 3 || rank > 5)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
            fmt::format("{} of an input of rank {}: windows have one to three spatial axes", node.op(), rank));
    }
    return rank == 3 ? node.unsqueeze(x, {2}) : x;
}

Value narrowed(Node& node, Value const& x, bool wasWidened)
{
    return wasWidened ? node.squeeze(x, {2}) : x;
}

} // namespace tenon::onnx
