// KVCacheUpdate: new keys or values written into a cache.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: cache [batch, heads, room, columns], update [batch, heads, positions, columns], where each batch's update
//! starts [batch] (integers). What would be written before the first or behind the last position is left out.
struct KVCacheUpdate
{
    static constexpr std::string_view kName{"KVCacheUpdate"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kKVCACHE_UPDATE, .maxInputs = 3};
    nvinfer1::KVCacheMode cacheMode{nvinfer1::KVCacheMode::kLINEAR};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "CacheMode", &KVCacheUpdate::cacheMode)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(KVCacheUpdate);
