// Loop: repeats its body; carried values go from round to round (see ir/control.h for operands and outputs).
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Loop
{
    static constexpr std::string_view kName{"Loop"};
    LoopForm loop;
    std::vector<BodyPtr> bodies; //!< One.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Form", &Loop::loop)};
    }
    LoopForm const& form() const noexcept
    {
        return loop;
    }

    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Loop);
