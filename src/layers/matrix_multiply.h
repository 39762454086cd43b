// MatrixMultiply: products of the matrices in the last two axes; other axes are batches, broadcast along extents of 1.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/epilogue.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: a, b, bias (optional; made by passes; rank 1, one element per output column), then the epilogue's extra
//! inputs from index 3 on. The result is epilogue(alpha · op0(a) · op1(b) + bias).
struct MatrixMultiply
{
    static constexpr std::string_view kName{"MatrixMultiply"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kMATRIX_MULTIPLY, .maxInputs = 2};
    static constexpr bool kKeepsFrontAxes{true};
    static constexpr int32_t kFirstExtra{3};
    nvinfer1::MatrixOperation operation0{nvinfer1::MatrixOperation::kNONE};
    nvinfer1::MatrixOperation operation1{nvinfer1::MatrixOperation::kNONE};
    float alpha{1.0F};
    Epilogue epilogue;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "operation0", &MatrixMultiply::operation0),
            field(2, "operation1", &MatrixMultiply::operation1), field(3, "alpha", &MatrixMultiply::alpha),
            field(4, "epilogue", &MatrixMultiply::epilogue)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(MatrixMultiply);
