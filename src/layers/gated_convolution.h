// GatedConvolution: a convolution of single pixels whose channels are multiplied by a gate of their image first; made
// by passes.
#pragma once

#include "layers/convolution.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: those of the convolution, x, kernel, bias, extras, and behind them the gate [n or 1, c, 1…]. The result is
//! product(gate · x, kernel, bias, extras…).
struct GatedConvolution
{
    static constexpr std::string_view kName{"GatedConvolution"};
    Convolution product;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "product", &GatedConvolution::product)};
    }

    int32_t gateInput() const noexcept
    {
        return Convolution::kFirstExtra + product.epilogue.extraInputs();
    }
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

//! Whether windows are single pixels, side by side, of all channels.
bool areSinglePixels(Convolution const& conv);

} // namespace tenon

TENON_LAYER(GatedConvolution);
