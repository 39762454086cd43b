// Context: extents of the tensors inside, for those who look.
#include "runtime/context.h"
#include "runtime/context_state.h"

namespace tenon
{

std::vector<std::vector<int64_t>> Context::programExtents() const
{
    auto const registers = mState->registersNow();
    std::vector<std::vector<int64_t>> all;
    for (PlanTensor const& tensor : engine().program().tensors)
    {
        std::vector<int64_t>& extents = all.emplace_back();
        for (int32_t const reg : tensor.extents)
        {
            Span const extent = registers[static_cast<size_t>(reg)];
            extents.push_back(extent.isKnown() ? extent.lo : -1);
        }
    }
    return all;
}

} // namespace tenon
