// Rule: one row of the pipeline, and the questions that rules ask of a graph.
#pragma once

#include "ir/fusion_limits.h"
#include "ir/graph.h"
#include "ir/patch.h"
#include "layers/layer_table.h"

#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace tenon
{

enum class RuleKind : uint8_t
{
    kFold,     //!< Computes at build time what does not depend on inputs. Runs always.
    kSimplify, //!< Takes out what does nothing, or says the same in fewer words.
    kFuse,     //!< Makes one step out of several layers.
    kUndo,     //!< Makes several layers of a fused one, for a device that does not take it.
};

//! Portable rules look at the graph alone, rules for a target also at what its kernels can do.
using PortableRule = Rewrite (*)(Graph const& graph, Node const& node);
using TargetRule = Rewrite (*)(Graph const& graph, Node const& node, FusionLimits const& limits);

struct Rule
{
    std::string_view name;
    RuleKind kind{RuleKind::kSimplify};
    std::string_view sentence;
    std::variant<PortableRule, TargetRule> apply;

    bool isPortable() const noexcept
    {
        return std::holds_alternative<PortableRule>(apply);
    }
};

//! Rules that run together until none of them applies.
struct PassRow
{
    std::string_view name;
    std::span<Rule const> rules;
};

//! The pipeline: first the rows that do the same for every device, then those that fuse for one, each in order.
std::span<PassRow const> portableRows() noexcept;
std::span<PassRow const> targetRows() noexcept;
//! What undoes fusions, in a plan that is made for another device than it was optimized for.
PassRow const& undoing() noexcept;

namespace passes
{

template <typename L>
L const* layerOf(Node const* node) noexcept
{
    return node != nullptr ? as<L>(*node->layer) : nullptr;
}

//! The value is read once: fusing its producer into the reader computes nothing twice.
inline bool isReadOnce(Graph const& graph, ValueId value)
{
    return graph.readerCount(value) == 1;
}
//! The one node that reads the value; null when there are several reads or the value is an output.
Node const* onlyReader(Graph const& graph, ValueId value);
//! The element of a floating or integer constant whose elements are all the same; at most 64 Ki elements are compared.
std::optional<double> splatOf(Graph const& graph, ValueId value);
//! A floating constant with one element, of any rank.
std::optional<double> scalarOf(Graph const& graph, ValueId value);
//! Whether a refit can replace values that the node reads: what is decided for it must hold for any.
bool readsReplaceable(Graph const& graph, Node const& node);
//! The meaning of a node with one output as an expression without reductions; none for shape arithmetic whose result is
//! known without running.
std::optional<Expr> pointwiseBody(Graph const& graph, Node const& node);
//! A node's operands as its layer's rules see them.
Inputs operandsOf(Graph const& graph, Node const& node);
//! In the order of the graph.
std::vector<NodeId> inOrder(Graph const& graph, std::vector<NodeId> nodes);
//! A constant of one element.
std::shared_ptr<Constant const> splat(DType dtype, size_t rank, double value);
//! The same data under other extents.
std::shared_ptr<Constant const> reshapedConstant(
    std::shared_ptr<Constant const> const& from, std::vector<int64_t> extents);

} // namespace passes

} // namespace tenon
