// fuse-pointwise: a pointwise node takes in the pointwise nodes that only it reads, and scalar constants: one pass over
// memory for all of them.
#include "ir/replaceable.h"
#include "layers/pointwise.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
//! Inputs of the fused node, each once, and the expressions of operands over them.
class Region
{
  public:
    explicit Region(Graph const& graph)
        : mGraph{graph}
    {
    }
    Expr operand(ValueId value)
    {
        Constant const* constant = mGraph.constantOf(value);
        if (constant != nullptr && constant->count() == 1 && isSafeInline(*constant) && !isReplaceable(*constant))
            return Expr::constant(HostTensor::fromConstant(*constant).real(0), constant->dtype);
        auto at = std::find(mInputs.begin(), mInputs.end(), value);
        if (at == mInputs.end())
            at = mInputs.insert(mInputs.end(), value);
        return Expr::input(static_cast<int32_t>(at - mInputs.begin()));
    }
    std::vector<Expr> operands(Node const& node)
    {
        std::vector<Expr> list;
        for (ValueId const input : node.inputs)
            list.push_back(input == kNone ? Expr{} : operand(input));
        return list;
    }
    std::vector<ValueId> const& inputs() const
    {
        return mInputs;
    }

  private:
    //! A double holds the value exactly.
    static bool isSafeInline(Constant const& constant)
    {
        switch (constant.dtype)
        {
        case DType::kFLOAT:
        case DType::kHALF:
        case DType::kBF16:
        case DType::kINT8:
        case DType::kUINT8:
        case DType::kINT32:
        case DType::kBOOL: return true;
        case DType::kINT64:
        {
            constexpr int64_t kWhole{int64_t{1} << 53};
            int64_t const number = HostTensor::fromConstant(constant).integer(0);
            return number >= -kWhole && number <= kWhole;
        }
        default: return false;
        }
    }

    Graph const& mGraph;
    std::vector<ValueId> mInputs;
};

//! The producer of the operand when it may become part of the node.
Node const* fusable(Graph const& graph, Node const& node, ValueId operand)
{
    Node const* producer = operand == kNone ? nullptr : graph.producerOf(operand);
    if (producer == nullptr || !pointwiseBody(graph, *producer) || onlyReader(graph, operand) != &node)
        return nullptr;
    // A smaller operand would be computed again for each element that it is broadcast to.
    return graph.typeOf(operand).shape == graph.typeOf(node.output()).shape ? producer : nullptr;
}
} // namespace

Rewrite fusePointwise(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<Expr> const body = pointwiseBody(graph, node);
    if (!body)
        return skip();
    Region region{graph};
    std::vector<Expr> with;
    std::vector<NodeId> covered;
    for (ValueId const input : node.inputs)
    {
        Node const* producer = fusable(graph, node, input);
        if (producer == nullptr)
        {
            with.push_back(input == kNone ? Expr{} : region.operand(input));
            continue;
        }
        if (std::find(covered.begin(), covered.end(), producer->id) == covered.end())
            covered.push_back(producer->id);
        with.push_back(pointwiseBody(graph, *producer)->compose(region.operands(*producer)));
    }
    if (covered.empty())
        return skip();
    Expr const expr = body->compose(with);
    if (region.inputs().size() > limits.pointwiseInputs || expr.nodes.size() > limits.pointwiseOperations)
        return skip("the region would have too many inputs or operations");
    if (region.inputs().empty())
        return skip();
    covered.push_back(node.id);
    Patch patch{graph, node};
    patch.covers(std::move(covered));
    patch.replace(node.output(), patch.add(Pointwise{expr}, region.inputs()));
    return patch;
}

} // namespace tenon::passes
