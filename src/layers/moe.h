// MoE: a mixture of experts, of which each token goes through some.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

#include <limits>

namespace tenon
{

//! Inputs: hidden states [batch, length, hidden]; experts of each token (integers) and their scores, both [batch,
//! length, top k]; gate and up [experts, hidden, inner], down [experts, inner, hidden]; biases of the three, [experts,
//! inner], [experts, inner], [experts, hidden] (all or none); the scale of what enters the way down (optional). The
//! output is the sum over a token's experts of score · (down(h) + bias), where h = (up + beta) · a(gate); up lies
//! within ±limit, gate below it. An expert that does not exist adds nothing.
struct MoE
{
    static constexpr std::string_view kName{"MoE"};
    enum Operand : int32_t
    {
        kHidden,
        kExperts,
        kScores,
        kGate,
        kUp,
        kDown,
        kGateBias,
        kUpBias,
        kDownBias,
        kScale,
        kOperands,
    };
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kMOE, .maxInputs = kOperands};
    nvinfer1::MoEActType activationType{nvinfer1::MoEActType::kSILU};
    DType quantizationToType{DType::kFLOAT};       //!< Of h; kFLOAT: none.
    nvinfer1::Dims quantizationBlockShape{-1, {}}; //!< Scales are found in the run, one per block of h.
    DType dynQOutputScaleType{DType::kFLOAT};      //!< Of those scales, which count in steps of the given scale.
    float swigluParamLimit{std::numeric_limits<float>::infinity()};
    float swigluParamAlpha{1.0F};
    float swigluParamBeta{0.0F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "ActivationType", &MoE::activationType),
            field(2, "QuantizationToType", &MoE::quantizationToType),
            field(3, "QuantizationBlockShape", &MoE::quantizationBlockShape),
            field(4, "DynQOutputScaleType", &MoE::dynQOutputScaleType),
            field(5, "SwigluParamLimit", &MoE::swigluParamLimit), field(6, "SwigluParamAlpha", &MoE::swigluParamAlpha),
            field(7, "SwigluParamBeta", &MoE::swigluParamBeta)};
    }
    bool isQuantized() const noexcept
    {
        return quantizationToType != DType::kFLOAT;
    }
    //! By scales that are found in the run.
    bool isDynamic() const noexcept
    {
        return isQuantized() && quantizationBlockShape.nbDims > 0;
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(MoE);
