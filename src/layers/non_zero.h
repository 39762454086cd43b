// NonZero: the positions of elements that are not zero, one column each, in lexicographic order.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct NonZero
{
    static constexpr std::string_view kName{"NonZero"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kNON_ZERO, .reads = InputReads::kData};
    DType indicesType{DType::kINT32};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "IndicesType", &NonZero::indicesType)};
    }

    //! [rank, n] with n known at run time only.
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(NonZero);
