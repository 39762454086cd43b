// Resize: another extent per axis by nearest, linear or cubic interpolation.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, output dimensions (1-D integers, optional: goes before the fields).
struct Resize
{
    static constexpr std::string_view kName{"Resize"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kRESIZE, .maxInputs = 4, .shapeInputs = 0b10};
    nvinfer1::Dims outputDimensions{};
    std::vector<float> scales; //!< One per axis; used when there are no dimensions. Extent: floor(in · scale).
    nvinfer1::InterpolationMode resizeMode{nvinfer1::InterpolationMode::kNEAREST};
    nvinfer1::ResizeCoordinateTransformation coordinateTransformation{
        nvinfer1::ResizeCoordinateTransformation::kASYMMETRIC};
    nvinfer1::ResizeSelector selectorForSinglePixel{nvinfer1::ResizeSelector::kFORMULA};
    nvinfer1::ResizeRoundMode nearestRounding{nvinfer1::ResizeRoundMode::kFLOOR};
    float cubicCoeff{-0.75F};
    bool excludeOutside{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "OutputDimensions", &Resize::outputDimensions).orInput(1),
            field(2, "Scales", &Resize::scales), field(3, "ResizeMode", &Resize::resizeMode),
            field(4, "CoordinateTransformation", &Resize::coordinateTransformation),
            field(5, "SelectorForSinglePixel", &Resize::selectorForSinglePixel),
            field(6, "NearestRounding", &Resize::nearestRounding), field(7, "CubicCoeff", &Resize::cubicCoeff),
            field(8, "ExcludeOutside", &Resize::excludeOutside)};
    }

    //! What the output elements along one axis read: for output o, taps [o·width, (o+1)·width) of index and weight.
    struct Taps
    {
        int32_t width{1}; //!< 1 nearest, 2 linear, 4 cubic.
        std::vector<int64_t> index;
        std::vector<double> weight;
    };

    Result<Done> verify() const;
    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    //! By a scale that the user gave: 3 · 1.1 is 3 again, its points are others.
    bool isScaled(size_t axis) const noexcept
    {
        return axis < scales.size() && scales[axis] != 1.0F;
    }
    //! The one definition of coordinates and weights, for the reference and for kernels.
    Taps tapsOf(size_t axis, int64_t in, int64_t out) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Resize);
