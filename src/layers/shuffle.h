// Shuffle: a transpose, a reshape, another transpose.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

#include <array>

namespace tenon
{

//! Axis i of the result is axis order[i] of the input.
using AxisOrder = std::array<int32_t, nvinfer1::Dims::MAX_DIMS>;
inline constexpr AxisOrder kSameOrder{0, 1, 2, 3, 4, 5, 6, 7};

//! Inputs: x, reshape dimensions (1-D integers, optional: goes before the field).
struct Shuffle
{
    static constexpr std::string_view kName{"Shuffle"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSHUFFLE, .maxInputs = 2, .shapeInputs = 0b10};
    AxisOrder firstTranspose{kSameOrder};
    nvinfer1::Dims reshapeDimensions{-1, {}}; //!< nbDims −1: no reshape. 0 copies an extent, one −1 takes the rest.
    AxisOrder secondTranspose{kSameOrder};
    bool zeroIsPlaceholder{true}; //!< false: 0 is an extent of 0.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "FirstTranspose", &Shuffle::firstTranspose),
            field(2, "ReshapeDimensions", &Shuffle::reshapeDimensions).orInput(1),
            field(3, "SecondTranspose", &Shuffle::secondTranspose),
            field(4, "ZeroIsPlaceholder", &Shuffle::zeroIsPlaceholder)};
    }

    //! Only transposes: by `order`.
    static Shuffle transpose(AxisOrder const& order);
    //! Only reshapes, to extents that are all given (−1 once at most).
    static Shuffle reshape(std::vector<int64_t> const& extents);

    //! Whether elements keep their row-major order, so that input and output can share memory. `shape` is x's.
    bool isReshape(Shape const& shape) const;
    //! Shape after first transpose and reshape, before the second transpose.
    Result<Shape> reshaped(Inputs const& in) const;
    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    //! The same transposes, and a reshape of each sample of a batch to these extents.
    WithBatch reshapingSamples(std::vector<int64_t> const& extents) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

//! Whether axes of extent 1 apart, the order keeps the axes where they are.
bool isTrivialOrder(AxisOrder const& order, Shape const& shape);

} // namespace tenon

TENON_LAYER(Shuffle);
