// TopK: the k largest or smallest elements along an axis, in order, and where they stood.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

#include <bit>

namespace tenon
{

//! Inputs: x, k (0-D integer, optional: goes before the field). Outputs: values, indices. Equal elements keep their
//! order.
struct TopK
{
    static constexpr std::string_view kName{"TopK"};
    static constexpr PublicFacts kPublic{
        .type = nvinfer1::LayerType::kTOPK, .maxInputs = 2, .outputs = 2, .shapeInputs = 0b10};
    nvinfer1::TopKOperation operation{nvinfer1::TopKOperation::kMAX};
    int32_t k{1};
    uint32_t reduceAxes{1}; //!< One bit set.
    DType indicesType{DType::kINT32};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Operation", &TopK::operation), field(2, "K", &TopK::k).orInput(1),
            field(3, "ReduceAxes", &TopK::reduceAxes), field(4, "IndicesType", &TopK::indicesType)};
    }
    int32_t axis() const noexcept
    {
        return std::countr_zero(reduceAxes);
    }

    Result<Done> verify() const;
    WithBatch withBatch(SampleInputs const& samples) const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(TopK);
