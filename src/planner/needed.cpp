// Needed: a walk from the outputs backwards over reads and over the symbols of shapes.
#include "planner/needed.h"

namespace tenon::planner
{

namespace
{
class Walk
{
  public:
    Walk(Graph const& graph, Choices const& choices)
        : mGraph{graph},
          mChoices{choices}
    {
        size_t last{0};
        for (NodeId const id : graph.order())
            last = std::max(last, static_cast<size_t>(id) + 1);
        mNeeded.nodes.resize(last);
        mNeeded.symbols.resize(static_cast<size_t>(graph.symbols().size()));
        mSeen.resize(graph.valueCount());
    }

    Needed run()
    {
        for (ValueId const input : mGraph.inputs())
            shape(mGraph.typeOf(input).shape);
        for (GraphOutput const& output : mGraph.outputs())
            value(output.value);
        for (NodeId const id : mGraph.order())
            if (mGraph.node(id).layer->hasSideEffects())
                node(id);
        while (!mOpen.empty() || !mOpenSymbols.empty())
        {
            if (!mOpenSymbols.empty())
            {
                int32_t const id = mOpenSymbols.back();
                mOpenSymbols.pop_back();
                source(id);
                continue;
            }
            NodeId const id = mOpen.back();
            mOpen.pop_back();
            operands(id);
        }
        return std::move(mNeeded);
    }

  private:
    void value(ValueId id)
    {
        if (id == kNone || mSeen[static_cast<size_t>(id)])
            return;
        mSeen[static_cast<size_t>(id)] = true;
        Value const& value = mGraph.value(id);
        shape(value.type.shape);
        if (hasKnownContents(value))
            shape(*value.contents);
        else if (value.producer != kNone)
            node(value.producer);
        else if (value.contents && value.constant == nullptr)
            shape(*value.contents); // An input that may be an output of shape inference as well.
    }
    void node(NodeId id)
    {
        if (mNeeded.nodes[static_cast<size_t>(id)])
            return;
        mNeeded.nodes[static_cast<size_t>(id)] = true;
        mOpen.push_back(id);
    }
    void operands(NodeId id)
    {
        Node const& node = mGraph.node(id);
        Choice const* choice = mChoices.of(id);
        for (size_t i = 0; i < node.inputs.size(); ++i)
        {
            if (node.inputs[i] == kNone)
                continue;
            bool const isUnread = choice != nullptr && choice->offer().isUnread(i);
            if (!isUnread)
                value(node.inputs[i]);
            else if (std::optional<Shape> const contents = knownContents(mGraph.value(node.inputs[i])))
                shape(*contents);
        }
        for (ValueId const output : node.outputs)
            shape(mGraph.typeOf(output).shape);
    }
    void shape(Shape const& extents)
    {
        for (ShapeExpr const& extent : extents)
            for (int32_t const id : extent.symbols())
                symbol(id);
    }
    void symbol(int32_t id)
    {
        if (mNeeded.symbols[static_cast<size_t>(id)])
            return;
        mNeeded.symbols[static_cast<size_t>(id)] = true;
        mOpenSymbols.push_back(id);
    }
    void source(int32_t id)
    {
        Symbol const& symbol = mGraph.symbols().at(id);
        if (symbol.kind != SymbolKind::kData)
            return;
        if (Node const* producer = mGraph.producerOf(symbol.source))
            node(producer->id);
        shape({symbol.upper});
        // A step tells its values in order: one needs those before it.
        for (int32_t const other : mGraph.symbols().ofSource(SymbolKind::kData, symbol.source))
            if (mGraph.symbols().at(other).index < symbol.index)
                this->symbol(other);
    }

    Graph const& mGraph;
    Choices const& mChoices;
    Needed mNeeded;
    std::vector<bool> mSeen;
    std::vector<NodeId> mOpen;
    std::vector<int32_t> mOpenSymbols;
};
} // namespace

Needed findNeeded(Graph const& graph, Choices const& choices)
{
    return Walk{graph, choices}.run();
}

} // namespace tenon::planner
