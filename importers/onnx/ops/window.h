// What convolutions and poolings share: windows over spatial axes, padding, and how one spatial axis becomes two.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

//! The attributes of a window, one entry per spatial axis.
struct WindowAttributes
{
    Shape kernel;
    Shape strides;
    Shape dilations;
    Shape padsBefore;
    Shape padsAfter;
    std::string autoPad; //!< NOTSET, VALID, SAME_UPPER or SAME_LOWER.

    //! A leading spatial axis of extent 1: the engine's windows have two axes or three.
    void widen();
};

//! `kernel` may be empty: then the attribute kernel_shape is required.
WindowAttributes windowOf(Node const& node, size_t spatialAxes, Shape const& kernel);

//! Inputs of rank 3 get a spatial axis in front of their own; `narrow` takes it away again.
Value widened(Node& node, Value const& x);
Value narrowed(Node& node, Value const& x, bool wasWidened);

template <typename Layer>
void setWindow(Layer* layer, WindowAttributes const& window, nvinfer1::PaddingMode explicitMode)
{
    layer->setStrideNd(dimsOf(window.strides));
    layer->setPrePadding(dimsOf(window.padsBefore));
    layer->setPostPadding(dimsOf(window.padsAfter));
    layer->setPaddingMode(window.autoPad == "SAME_UPPER" ? nvinfer1::PaddingMode::kSAME_UPPER
            : window.autoPad == "SAME_LOWER"             ? nvinfer1::PaddingMode::kSAME_LOWER
                                                         : explicitMode);
}

} // namespace tenon::onnx
