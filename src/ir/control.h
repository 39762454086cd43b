// Control: what layers that run graphs of their own, their bodies, say of them.
//
// A body is a graph like any other, which shares the symbols of the graph around it. Its inputs stand for operands of
// the node; of what is computed outside it reads nothing else but constants, which it holds itself.
//
//   loop          operands:     count (may be absent), first values, walked tensors, lengths, captured tensors
//                 body inputs:  carried values, slices of the walked tensors, captured tensors
//                 body outputs: next values, the condition (if there is one), values to join
//                 outputs:      last values, joined values
//   conditional   operands:     condition, captured tensors of the first body, captured tensors of the second
//                 body inputs:  captured tensors; the first body runs where the condition is true, else the second
#pragma once

#include "base/fields.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tenon
{

class Graph;
using BodyPtr = std::shared_ptr<Graph>;

//! What a loop does around its body. The condition is computed from what a round begins with, before the rest of it.
struct LoopForm
{
    int32_t carried{0};
    std::vector<int32_t> walked; //!< Per walked tensor, along its first axis: 1 when from behind.
    bool hasCondition{false};
    std::vector<int32_t> lasts;  //!< Per output that is a last value: which of the carried ones.
    std::vector<int32_t> joined; //!< Per output that joins values along a new first axis: 1 when from behind.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Carried", &LoopForm::carried), field(2, "Walked", &LoopForm::walked),
            field(3, "HasCondition", &LoopForm::hasCondition), field(4, "Lasts", &LoopForm::lasts),
            field(5, "Joined", &LoopForm::joined)};
    }

    // ---- Positions among the operands.
    size_t firstValue(int32_t carriedIndex) const noexcept
    {
        return 1 + static_cast<size_t>(carriedIndex);
    }
    size_t walkedTensor(size_t index) const noexcept
    {
        return firstValue(carried) + index;
    }
    size_t length(size_t index) const noexcept
    {
        return walkedTensor(walked.size()) + index;
    }
    size_t captured() const noexcept
    {
        return length(joined.size());
    }
    // ---- Among the inputs and outputs of the body.
    size_t capturedInput() const noexcept
    {
        return static_cast<size_t>(carried) + walked.size();
    }
    size_t condition() const noexcept
    {
        return static_cast<size_t>(carried);
    }
    size_t joinedValue(size_t index) const noexcept
    {
        return static_cast<size_t>(carried) + (hasCondition ? 1 : 0) + index;
    }
};

//! Which operand of its node an input of a body stands for. `before`: inputs of the bodies before it.
inline size_t operandOfBodyInput(LoopForm const* loop, size_t before, size_t input) noexcept
{
    if (loop == nullptr)
        return 1 + before + input;
    return input < loop->capturedInput() ? input + 1 : input - loop->capturedInput() + loop->captured();
}

} // namespace tenon
