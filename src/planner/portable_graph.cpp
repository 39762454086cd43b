// The portable graph: numbering and copying.
#include "planner/portable_graph.h"

#include "base/cancellation.h"

namespace tenon::planner
{

namespace
{
void number(std::vector<int32_t>& ids, int32_t& next, ValueId value)
{
    if (value != kNone && ids[static_cast<size_t>(value)] < 0)
        ids[static_cast<size_t>(value)] = next++;
}
} // namespace

namespace
{
class Numbers
{
  public:
    AllGraphIds all;

    void add(Graph const& graph)
    {
        GraphIds& ids = all[&graph];
        ids.values.assign(graph.valueCount(), -1);
        for (ValueId const input : graph.inputs())
            number(ids.values, mNextValue, input);
        for (NodeId const id : graph.order())
        {
            cancellationPoint();
            if (ids.nodes.size() <= static_cast<size_t>(id))
                ids.nodes.resize(static_cast<size_t>(id) + 1, -1);
            ids.nodes[static_cast<size_t>(id)] = mNextNode++;
            for (auto const* list : {&graph.node(id).inputs, &graph.node(id).outputs})
                for (ValueId const value : *list)
                    number(ids.values, mNextValue, value);
        }
        for (GraphOutput const& output : graph.outputs()) // Constants that are outputs.
            number(ids.values, mNextValue, output.value);
        for (NodeId const id : graph.order())
            for (BodyPtr const& body : graph.node(id).layer->bodies())
                add(*body);
    }

  private:
    int32_t mNextValue{0};
    int32_t mNextNode{0};
};

class PortableWriter
{
  public:
    PortableWriter(AllGraphIds const& ids, ConstantVisitor const& weightOf)
        : mIds{ids},
          mWeightOf{weightOf}
    {
    }

    PlanGraph write(Graph const& graph)
    {
        add(graph);
        return std::move(mPlan);
    }

  private:
    void add(Graph const& graph)
    {
        GraphIds const& ids = mIds.at(&graph);
        for (NodeId const id : graph.order())
        {
            cancellationPoint();
            Node const& node = graph.node(id);
            PlanNode to{
                std::string{node.layer->name()}, node.layer->stored(), node.name, node.origins.names(), {}, {}, {}};
            for (ValueId const input : node.inputs)
                to.inputs.push_back(ids.value(input));
            for (ValueId const output : node.outputs)
                to.outputs.push_back(ids.value(output));
            mPlan.nodes.push_back(std::move(to));
        }
        addValues(graph, ids);
        for (NodeId const id : graph.order())
            for (BodyPtr const& body : graph.node(id).layer->bodies())
                addBody(*body, ids.node(id));
    }

    void addBody(Graph const& body, int32_t node)
    {
        GraphIds const& ids = mIds.at(&body);
        auto const position = mPlan.bodies.size();
        PlanBody to{static_cast<int32_t>(mPlan.nodes.size()), static_cast<int32_t>(body.order().size()), {}, {}};
        for (ValueId const input : body.inputs())
            to.inputs.push_back(ids.value(input));
        for (GraphOutput const& output : body.outputs())
            to.outputs.push_back(ids.value(output.value));
        mPlan.nodes[static_cast<size_t>(node)].bodies.push_back(static_cast<int32_t>(position));
        mPlan.bodies.push_back(std::move(to));
        add(body);
    }

    void addValues(Graph const& graph, GraphIds const& ids)
    {
        for (size_t i = 0; i < graph.valueCount(); ++i)
        {
            cancellationPoint();
            int32_t const at = ids.values[i];
            if (at < 0)
                continue;
            if (mPlan.values.size() <= static_cast<size_t>(at))
                mPlan.values.resize(static_cast<size_t>(at) + 1);
            Value const& value = graph.value(static_cast<ValueId>(i));
            mPlan.values[static_cast<size_t>(at)].name = value.name;
            if (value.constant != nullptr)
                mPlan.values[static_cast<size_t>(at)].weight = mWeightOf(value, at);
        }
    }

    AllGraphIds const& mIds;
    ConstantVisitor const& mWeightOf;
    PlanGraph mPlan;
};
} // namespace

AllGraphIds numberGraph(Graph const& graph)
{
    Numbers numbers;
    numbers.add(graph);
    return std::move(numbers.all);
}

PlanGraph portableGraph(Graph const& graph, AllGraphIds const& ids, ConstantVisitor const& weightOf)
{
    return PortableWriter{ids, weightOf}.write(graph);
}

PlanGraph portableGraph(Graph const& graph, AllGraphIds const& ids, Weights& weights)
{
    return portableGraph(graph, ids, [&](Value const& value, int32_t) {
        int32_t const known = weights.find(*value.constant);
        return known >= 0 ? known : weights.plain(*value.constant, value.constant, value.name);
    });
}

} // namespace tenon::planner
