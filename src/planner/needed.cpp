// Needed: a walk from the outputs backwards over reads and over the symbols of shapes.
#include "planner/needed.h"

namespace tenon::planner
{

namespace
{
class Walk
{
  public:
    Walk(Graph const& graph, Choices const& choices, NeededInside const& inside)
        : mGraph{graph},
          mChoices{choices},
          mInside{inside}
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
        mNeeded.values = std::move(mSeen);
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
        for (ValueId const output : node.outputs)
            shape(mGraph.typeOf(output).shape);
        if (std::vector<Needed const*> const inside = mInside(id); !inside.empty())
            return control(node, inside);
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
    }
    //! What is known before the run, or not read inside, need not be in memory.
    void control(Node const& node, std::vector<Needed const*> const& inside)
    {
        LoopForm const* const loop = node.layer->loopForm();
        auto const known = [&](size_t operand) {
            if (node.input(operand) == kNone)
                return;
            if (std::optional<Shape> const contents = knownContents(mGraph.value(node.input(operand))))
                shape(*contents);
            else
                value(node.input(operand));
        };
        known(0);
        for (size_t i = 0; loop != nullptr && i < loop->capturedInput(); ++i)
        {
            value(node.input(i + 1));
            shape(mGraph.typeOf(node.input(i + 1)).shape);
        }
        for (size_t i = 0; loop != nullptr && i < loop->joined.size(); ++i)
            known(loop->length(i));
        size_t before{0};
        for (size_t i = 0; i < inside.size(); ++i)
        {
            Graph const& body = *node.layer->bodies()[i];
            for (size_t input = loop == nullptr ? 0 : loop->capturedInput(); input < body.inputs().size(); ++input)
                if (inside[i]->values[static_cast<size_t>(body.inputs()[input])])
                    value(node.input(operandOfBodyInput(loop, before, input)));
            before += body.inputs().size();
            for (size_t id = 0; id < inside[i]->symbols.size(); ++id)
                if (inside[i]->symbols[id])
                    symbol(static_cast<int32_t>(id));
        }
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
        if (symbol.scope != mGraph.scope()) // The graph that it is from sees to it.
            return shape({symbol.upper});
        if (Node const* producer = mGraph.producerOf(symbol.source))
            node(producer->id);
        shape({symbol.upper});
        // A step tells its values in order: one needs those before it.
        for (int32_t const other : mGraph.symbols().ofSource(SymbolKind::kData, symbol.source, symbol.scope))
            if (mGraph.symbols().at(other).index < symbol.index)
                this->symbol(other);
    }

    Graph const& mGraph;
    Choices const& mChoices;
    NeededInside const& mInside;
    Needed mNeeded;
    std::vector<bool> mSeen;
    std::vector<NodeId> mOpen;
    std::vector<int32_t> mOpenSymbols;
};
} // namespace

Needed findNeeded(Graph const& graph, Choices const& choices, NeededInside const& inside)
{
    return Walk{graph, choices, inside}.run();
}

} // namespace tenon::planner
