// Fill: a tensor of alpha + Σ beta[i]·index[i], or of random numbers.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs, each optional: dimensions (1-D integers), alpha (0-D), beta (1-D with one entry per axis; 0-D for random
//! fills). The inputs go before the fields. toType is kFLOAT, kHALF, kBF16,
//! kFloat64, kINT32 or kINT64.
struct Fill
{
    static constexpr std::string_view kName{"Fill"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kFILL, .maxInputs = 3, .shapeInputs = 0b1};
    nvinfer1::Dims dimensions{};
    nvinfer1::FillOperation operation{nvinfer1::FillOperation::kLINSPACE};
    double alpha{0.0};
    double beta{1.0};
    int64_t alphaInt64{0};
    int64_t betaInt64{1};
    bool alphaBetaInt64{false}; //!< alphaInt64 and betaInt64 hold, not alpha and beta.
    DType toType{DType::kFLOAT};
    uint64_t seed{0}; //!< Of random numbers. Plans have none: kernels give each run of a context another one (E15).

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Dimensions", &Fill::dimensions).orInput(0), field(2, "Operation", &Fill::operation),
            field(3, "Alpha", &Fill::alpha).orInput(1), field(4, "Beta", &Fill::beta).orInput(2),
            field(5, "AlphaInt64", &Fill::alphaInt64), field(6, "BetaInt64", &Fill::betaInt64),
            field(7, "AlphaBetaInt64", &Fill::alphaBetaInt64), field(8, "ToType", &Fill::toType)};
    }

    bool isRandom() const noexcept
    {
        return operation != nvinfer1::FillOperation::kLINSPACE;
    }
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Fill);
