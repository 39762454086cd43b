// RaggedAttention: attention over sequences of unlike lengths, padded or packed; and whatever else no kernel of
// Attention does.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/attention.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: query [batch, heads, length, columns], or packed [all tokens, heads, columns]; key and value likewise, with
//! heads that divide the query's and lengths of their own; all from here on optional: a mask (of padded tensors: rank
//! 4, broadcast to [batch, heads, queries, keys]; kBOOL: true may attend; floating: added to the products), the scale
//! that the normalized products are quantized by, where the sequences of a packed query begin [batch + 1], and the
//! lengths of keys (of padded ones how many count, [batch]; of packed ones where they begin, [batch + 1]). The output
//! lies as the query does. A query that sees no key gives 0.
struct RaggedAttention
{
    static constexpr std::string_view kName{"RaggedAttention"};
    enum Operand : int32_t
    {
        kQuery,
        kKey,
        kValue,
        kMask,
        kScale,
        kQueryLengths,
        kKeyValueLengths,
        kOperands,
    };
    nvinfer1::AttentionNormalizationOp normalization{nvinfer1::AttentionNormalizationOp::kSOFTMAX};
    AttentionCausal causal{AttentionCausal::kNone};
    nvinfer1::AttentionIOForm queryForm{nvinfer1::AttentionIOForm::kPADDED_BHND};
    nvinfer1::AttentionIOForm keyValueForm{nvinfer1::AttentionIOForm::kPADDED_BHND};
    DType quantizedTo{DType::kFLOAT}; //!< What the normalized products are rounded to; kFLOAT: not at all.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Normalization", &RaggedAttention::normalization),
            field(2, "Causal", &RaggedAttention::causal), field(3, "QueryForm", &RaggedAttention::queryForm),
            field(4, "KeyValueForm", &RaggedAttention::keyValueForm),
            field(5, "QuantizedTo", &RaggedAttention::quantizedTo)};
    }
    static bool isPacked(nvinfer1::AttentionIOForm form) noexcept
    {
        return form == nvinfer1::AttentionIOForm::kPACKED_NHD;
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(RaggedAttention);
