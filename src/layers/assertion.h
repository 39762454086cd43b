// Assertion: fails the build or the run when its boolean input holds a false element; it has no output.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Assertion
{
    static constexpr std::string_view kName{"Assertion"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kASSERTION, .outputs = 0, .shapeInputs = 0b1};
    static constexpr bool kHasSideEffects{true};
    std::string message;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Message", &Assertion::message)};
    }

    //! No outputs. An error when the input is known to be false.
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Assertion);
