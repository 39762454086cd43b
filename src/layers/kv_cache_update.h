// KVCacheUpdate: new keys or values written into a cache.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: cache [batch, heads, room, columns], update [batch, heads, positions, columns] or, packed, [all positions,
//! heads, columns], where each batch's update starts [batch] (integers), where a packed update's sequences begin
//! [batch + 1] (integers). What would be written before the first or behind the last position is left out.
struct KVCacheUpdate
{
    static constexpr std::string_view kName{"KVCacheUpdate"};
    static constexpr int32_t kLengths{3}; //!< The input.
    static constexpr int32_t kOperands{4};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kKVCACHE_UPDATE, .maxInputs = kOperands};
    nvinfer1::KVCacheMode cacheMode{nvinfer1::KVCacheMode::kLINEAR};
    nvinfer1::AttentionIOForm updateForm{nvinfer1::AttentionIOForm::kPADDED_BHND};

    static constexpr auto fields()
    {
        return std::tuple{
            field(1, "CacheMode", &KVCacheUpdate::cacheMode), field(2, "UpdateForm", &KVCacheUpdate::updateForm)};
    }
    bool isPacked() const noexcept
    {
        return updateForm == nvinfer1::AttentionIOForm::kPACKED_NHD;
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(KVCacheUpdate);
