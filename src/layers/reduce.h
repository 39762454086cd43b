// Reduce: sum, product, maximum, minimum or average over some axes.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

struct Reduce
{
    static constexpr std::string_view kName{"Reduce"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kREDUCE};
    nvinfer1::ReduceOperation operation{nvinfer1::ReduceOperation::kSUM};
    uint32_t reduceAxes{0}; //!< Bit i: axis i is reduced.
    bool keepDimensions{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Operation", &Reduce::operation), field(2, "ReduceAxes", &Reduce::reduceAxes),
            field(3, "KeepDimensions", &Reduce::keepDimensions)};
    }

    Result<Done> verify() const;
    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    //! None unless the reduced extents are kept.
    std::optional<Expr> body(Expr const& x) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Reduce);
