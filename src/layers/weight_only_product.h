// WeightOnlyProduct: a product with one matrix of weights that stay numbers of few bits, with a scale per block of
// them.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/epilogue.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Made by passes. Inputs: a [..., depth], weights [depth, columns] (int8 or int4), scales [blocks, columns] whose type
//! is a's, bias [columns] (optional), then the epilogue's extra inputs. `isTransposed`: weights [columns, depth] and
//! scales [columns, blocks]. A block is depth / blocks weights of one column, one behind the other. The result is
//! epilogue(alpha · a · (weights · scales) + bias).
struct WeightOnlyProduct
{
    static constexpr std::string_view kName{"WeightOnlyProduct"};
    static constexpr int32_t kFirstExtra{4};
    bool isTransposed{false};
    float alpha{1.0F};
    Epilogue epilogue;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "IsTransposed", &WeightOnlyProduct::isTransposed),
            field(2, "alpha", &WeightOnlyProduct::alpha), field(3, "epilogue", &WeightOnlyProduct::epilogue)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(WeightOnlyProduct);
