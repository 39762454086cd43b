// DynamicQuantize: blocks of real numbers quantized with scales that are found in the run.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x, a factor of all scales (0-D, optional: 1). Outputs: the numbers, and a scale per block. A scale is the
//! block's largest magnitude over the largest number of the type, divided by the factor and rounded to its own type; a
//! block whose scale is 0 becomes 0.
struct DynamicQuantize
{
    static constexpr std::string_view kName{"DynamicQuantize"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kDYNAMIC_QUANTIZE, .maxInputs = 2, .outputs = 2};
    int32_t axis{-1}; //!< Cut into blocks of `blockSize`, unless there is a block shape.
    int32_t blockSize{16};
    DType toType{DType::kFP4};
    DType scaleType{DType::kFP8};
    nvinfer1::Dims blockShape{-1, {}}; //!< −1: as long as the axis.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axis", &DynamicQuantize::axis), field(2, "BlockSize", &DynamicQuantize::blockSize),
            field(3, "ToType", &DynamicQuantize::toType), field(4, "ScaleType", &DynamicQuantize::scaleType),
            field(5, "BlockShape", &DynamicQuantize::blockShape)};
    }

    Result<Done> verify() const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(DynamicQuantize);
