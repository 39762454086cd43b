// Known: values of a tensor by the references in double, and how far a right device may be off each of them.
#pragma once

#include "ir/graph.h"
#include "ir/host_tensor.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tenon::test
{

struct Known
{
    HostTensor value;
    //! Per element, in its own unit; 0: bit for bit; infinity: it may be anything.
    std::vector<double> error;

    Known() = default;
    explicit Known(HostTensor tensor)
        : value{std::move(tensor)},
          error(static_cast<size_t>(value.count()), 0.0)
    {
    }
    bool isExact() const
    {
        return std::ranges::all_of(error, [](double each) { return each == 0.0; });
    }
};

//! Operands of a node; null: optional one that is absent.
using Knowns = std::vector<Known const*>;

//! What the layer makes of the operands. An error where the references fail, and where a right device might make
//! something else altogether: another index, another truth value, another number of elements.
Result<std::vector<Known>> evaluateNode(Layer const& layer, Knowns const& in);

//! Outputs of a graph.
Result<std::vector<Known>> evaluateGraph(Graph const& graph, Knowns const& inputs);

//! The first element that is further off than it may be, in words.
std::optional<std::string> mismatchOf(HostTensor const& got, Known const& known);

} // namespace tenon::test
