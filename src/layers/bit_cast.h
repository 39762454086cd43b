// BitCast: the bits of elements as another type of the same width has them.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Input: x, of a type of whole bytes. Output: the same bits.
struct BitCast
{
    static constexpr std::string_view kName{"BitCast"};
    DType toType{DType::kINT32};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "ToType", &BitCast::toType)};
    }

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(BitCast);
