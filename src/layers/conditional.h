// Conditional: runs one of its two bodies (see ir/control.h for operands and outputs).
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Conditional
{
    static constexpr std::string_view kName{"Conditional"};
    std::vector<BodyPtr> bodies; //!< Two: where the condition is true, and where it is false.

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    //! Extents that differ between the bodies are known when one has run, unless the condition is known before.
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Conditional);
