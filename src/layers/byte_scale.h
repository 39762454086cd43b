// ByteScale: the scale and the zero point by which uint8 numbers reach over all elements of a tensor.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Input: x, any shape. Outputs, of rank 0: a scale (float32), and the number that stands for 0 (uint8; once more as
//! float32, for the arithmetic that quantizes), as ONNX defines them for DynamicQuantizeLinear. The least and the
//! largest element, or 0 where all are on one side of it, become 0 and 255; of zeros alone the scale is 1.
struct ByteScale
{
    static constexpr std::string_view kName{"ByteScale"};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

//! Both numbers of a tensor with this least and largest element; a NaN among the elements is both.
struct ByteScaleNumbers
{
    float scale{1.0F};
    uint8_t zeroPoint{0};
};
ByteScaleNumbers byteScaleOf(float least, float most) noexcept;

} // namespace tenon

TENON_LAYER(ByteScale);
