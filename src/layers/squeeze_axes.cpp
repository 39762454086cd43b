// Axes operands of Squeeze and Unsqueeze.
#include "layers/squeeze_axes.h"

#include "layers/check.h"

namespace tenon
{

Result<std::vector<bool>> namedAxes(Inputs const& in, std::string_view kind, int32_t rank)
{
    std::vector<bool> named(static_cast<size_t>(rank), false);
    for (int64_t const axis : TENON_TRY(constantOperand(in, kind, 1)))
    {
        int64_t const at = axis < 0 ? axis + rank : axis;
        if (at < 0 || at >= rank)
            return inputError(in, kind, 1, fmt::format("names axis {} of a tensor of rank {}", axis, rank));
        if (named[static_cast<size_t>(at)])
            return inputError(in, kind, 1, fmt::format("names axis {} twice", axis));
        named[static_cast<size_t>(at)] = true;
    }
    return named;
}

} // namespace tenon
