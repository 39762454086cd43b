// Gather: elements, slices or lanes of the data picked by integer indices.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: data, indices. kDEFAULT: slices along gatherAxis, the first nbElementWiseDims (0 or 1) axes shared.
//! kELEMENT: indices has data's rank and names the position along gatherAxis. kND: the last axis of indices names a
//! position of the axes behind the first nbElementWiseDims. An index out of bounds gives 0; negative ones count from
//! the end.
struct Gather
{
    static constexpr std::string_view kName{"Gather"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kGATHER, .maxInputs = 2};
    int32_t gatherAxis{0};
    int32_t nbElementWiseDims{0};
    nvinfer1::GatherMode mode{nvinfer1::GatherMode::kDEFAULT};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "GatherAxis", &Gather::gatherAxis),
            field(2, "NbElementWiseDims", &Gather::nbElementWiseDims), field(3, "Mode", &Gather::mode)};
    }

    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;

    //! An index that picks nothing.
    struct Outside
    {
        int64_t position; //!< Among the indices.
        int64_t value;
        int64_t extent; //!< Of the axis that it should lie on.
    };
    std::optional<Outside> firstOutside(std::vector<int64_t> const& data, HostTensor const& indices) const;
};

} // namespace tenon

TENON_LAYER(Gather);
