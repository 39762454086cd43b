// readGraph: values by their numbers in the plan, symbols as a network's own were made.
#include "planner/read_graph.h"

#include "ir/real_expr.h"
#include "ir/replaceable.h"
#include "plan/lookup.h"

#include <algorithm>
#include <map>

namespace tenon
{

namespace
{
class GraphReader
{
  public:
    GraphReader(Plan const& plan, GraphParts const& parts)
        : mPlan{plan},
          mParts{parts},
          mValues(plan.graph.values.size(), kNone)
    {
    }

    Result<Graph> read()
    {
        for (size_t i = 0; i < mPlan.io.size(); ++i)
            if (mPlan.io[i].isInput)
                TENON_TRY(addInput(i));
        TENON_TRY(addNodes(mGraph, 0, mPlan.graph.ownNodes()));
        for (PlanIO const& io : mPlan.io)
            if (!io.isInput)
                TENON_TRY(addOutput(io));
        return std::move(mGraph);
    }

  private:
    Result<Done> addInput(size_t io)
    {
        PlanIO const& input = mPlan.io[io];
        auto const position = static_cast<int32_t>(mGraph.inputs().size());
        TensorType type{input.dtype, {}};
        for (int32_t axis = 0; axis < input.dims.nbDims; ++axis)
            type.shape.push_back(extentOf(static_cast<int32_t>(io), position, axis));
        ValueId const value = mGraph.addInput(input.name, std::move(type));
        if (input.isShape)
            TENON_TRY(addContents(static_cast<int32_t>(io), position, value));
        if (input.graphValue < 0)
            return badArgument("input '{}' is no value of the graph", input.name);
        mValues[static_cast<size_t>(input.graphValue)] = value;
        return Done{};
    }

    //! Dynamic dims have bounds in every profile: the plan has been checked.
    ShapeExpr extentOf(int32_t io, int32_t position, int32_t axis)
    {
        PlanIO const& input = mPlan.io[static_cast<size_t>(io)];
        auto const at = static_cast<size_t>(axis);
        if (input.dims.d[at] >= 0)
            return input.dims.d[at];
        std::string const name = at < input.dimensionNames.size() ? input.dimensionNames[at] : std::string{};
        if (auto const named = mNamed.find(name); !name.empty() && named != mNamed.end())
            return named->second;
        Range range{INT64_MAX, 0};
        for (PlanProfile const& profile : mPlan.profiles)
        {
            PlanProfileInput const& bounds = *boundsOf(profile, io);
            range.min = std::min(range.min, bounds.min.d[at]);
            range.max = std::max(range.max, bounds.max.d[at]);
        }
        ShapeExpr extent{range.min};
        if (range.min != range.max)
            extent = ShapeExpr::symbol(mGraph.symbols().find(SymbolKind::kInputExtent, position, axis, name, range));
        if (!name.empty())
            mNamed.emplace(name, extent);
        return extent;
    }

    Result<Done> addContents(int32_t io, int32_t position, ValueId value)
    {
        PlanIO const& input = mPlan.io[static_cast<size_t>(io)];
        PlanProfileInput const* const first = boundsOf(mPlan.profiles.front(), io);
        Shape contents;
        for (size_t i = 0; first != nullptr && i < first->minValues.size(); ++i)
        {
            Range range{INT64_MAX, INT64_MIN};
            for (PlanProfile const& profile : mPlan.profiles)
            {
                PlanProfileInput const* const bounds = boundsOf(profile, io);
                if (bounds == nullptr || i >= bounds->minValues.size() || i >= bounds->maxValues.size())
                    return badArgument("a profile has no bounds for value {} of input '{}'", i, input.name);
                range.min = std::min(range.min, bounds->minValues[i]);
                range.max = std::max(range.max, bounds->maxValues[i]);
            }
            int32_t const id = mGraph.symbols().find(SymbolKind::kInputValue, position, static_cast<int32_t>(i),
                fmt::format("{}[{}]", input.name, i), range);
            bool const isReal = input.dtype == DType::kFLOAT;
            mGraph.symbols().at(id).isReal = isReal;
            contents.push_back(isReal ? realSymbol(id) : ShapeExpr::symbol(id));
        }
        mGraph.setContents(value, std::move(contents));
        return Done{};
    }

    Result<Done> addNodes(Graph& graph, size_t first, size_t count)
    {
        for (size_t i = first; i < first + count; ++i)
        {
            PlanNode const& node = mPlan.graph.nodes[i];
            Result<Done> added = addNode(graph, node);
            if (!added)
                return std::move(added).error().in(fmt::format("[layer '{}']", node.name));
        }
        return Done{};
    }

    Result<Done> addNode(Graph& graph, PlanNode const& node)
    {
        LayerPtr layer = TENON_TRY(mParts.layer(node));
        std::vector<ValueId> inputs;
        for (int32_t const input : node.inputs)
            inputs.push_back(input < 0 ? kNone : TENON_TRY(valueOf(graph, input)));
        if (!node.bodies.empty())
            layer = TENON_TRY(withBodies(graph, *layer, node, inputs));
        NodeId const id = TENON_TRY(graph.addNode(std::move(layer), node.name, std::move(inputs), node.origins));
        std::vector<ValueId> const& outputs = graph.node(id).outputs;
        if (outputs.size() != node.outputs.size())
            return badArgument("it has {} outputs where the plan has {}", outputs.size(), node.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            auto const at = static_cast<size_t>(node.outputs[i]);
            mValues[at] = outputs[i];
            graph.rename(outputs[i], mPlan.graph.values[at].name);
        }
        return Done{};
    }

    //! Inputs of bodies have the types of the operands that they stand for.
    Result<LayerPtr> withBodies(
        Graph const& outer, Layer const& layer, PlanNode const& node, std::vector<ValueId> const& operands)
    {
        std::vector<BodyPtr> bodies;
        size_t before{0};
        for (int32_t const position : node.bodies)
        {
            PlanBody const& stored = mPlan.graph.bodies[static_cast<size_t>(position)];
            BodyPtr body = outer.makeBody();
            for (size_t i = 0; i < stored.inputs.size(); ++i)
            {
                size_t const operand = operandOfBodyInput(layer.loopForm(), before, i);
                if (operand >= operands.size() || operands[operand] == kNone)
                    return badArgument("input {} of its body stands for no operand", i);
                auto const number = static_cast<size_t>(stored.inputs[i]);
                mValues[number] = body->addBodyInput(mPlan.graph.values[number].name, outer.value(operands[operand]),
                    Graph::kindOfBodyInput(layer.loopForm(), i));
            }
            before += stored.inputs.size();
            TENON_TRY(addNodes(*body, static_cast<size_t>(stored.first), static_cast<size_t>(stored.count)));
            for (int32_t const output : stored.outputs)
            {
                ValueId const value = TENON_TRY(valueOf(*body, output));
                body->markOutput(value, fmt::format("{} {}", body->value(value).name, body->outputs().size()));
            }
            bodies.push_back(std::move(body));
        }
        LayerPtr made = layer.withBodies(std::move(bodies));
        if (made == nullptr)
            return badArgument("a layer that runs no graphs has bodies");
        return made;
    }

    //! Constants are added where they are read first. What stands for no value is for checkPlan to find.
    Result<ValueId> valueOf(Graph& graph, int32_t number)
    {
        ValueId& value = mValues[static_cast<size_t>(number)];
        if (value != kNone)
            return value;
        PlanValue const& stored = mPlan.graph.values[static_cast<size_t>(number)];
        if (stored.weight < 0)
            return badArgument("value '{}' is read and nothing makes it", stored.name);
        value = graph.addConstant(stored.name, TENON_TRY(constantOf(stored.weight)));
        return value;
    }

    Result<std::shared_ptr<Constant const>> constantOf(int32_t number)
    {
        std::shared_ptr<Constant const>& constant = mConstants[number];
        if (constant != nullptr)
            return constant;
        PlanWeight const& weight = mPlan.weights[static_cast<size_t>(number)];
        if (weight.isStripped())
            return badConfig(
                "weight '{}' was left out of the plan: refit an engine of the device that it is for", weight.name);
        if (weight.packing.empty())
            constant = std::make_shared<Constant const>(
                Constant{weight.dtype, weight.extents, weight.data, weight.owner ? weight.owner : mPlan.blob});
        else if (mParts.unpack != nullptr)
        {
            auto unpacked = mParts.unpack(weight.packing, weight.dtype, weight.extents, weight.data, weight.bytes);
            if (!unpacked)
                return std::move(unpacked).error().in(fmt::format("weight '{}'", weight.name));
            constant = *std::move(unpacked);
        }
        else
            return badArgument("weight '{}' is packed as '{}', which nothing here undoes", weight.name, weight.packing);
        if (Replaceable* const replaceable = Replaceable::active(); replaceable != nullptr && !weight.refit.empty())
            replaceable->mark(constant, weight.refit);
        return constant;
    }

    Result<Done> addOutput(PlanIO const& io)
    {
        if (io.graphValue < 0)
            return badArgument("output '{}' is no value of the graph", io.name);
        ValueId const value = TENON_TRY(valueOf(mGraph, io.graphValue));
        TensorType const& type = mGraph.typeOf(value);
        bool fits = type.dtype == io.dtype && type.rank() == io.dims.nbDims;
        for (int32_t i = 0; fits && i < type.rank(); ++i)
        {
            ShapeExpr const& extent = type.shape[static_cast<size_t>(i)];
            fits = !extent.isConstant() || io.dims.d[i] < 0 || extent == ShapeExpr{io.dims.d[i]};
        }
        if (!fits)
            return badArgument("output '{}' would be {}, which the plan does not say of it", io.name, type.show());
        mGraph.markOutput(value, io.name);
        return Done{};
    }

    Plan const& mPlan;
    GraphParts const& mParts;
    Graph mGraph;
    std::vector<ValueId> mValues;                                  //!< By number in the plan.
    std::map<int32_t, std::shared_ptr<Constant const>> mConstants; //!< By weight.
    std::map<std::string, ShapeExpr> mNamed;                       //!< By dimension name: one extent for all of it.
};
} // namespace

Result<Graph> readGraph(Plan const& plan, GraphParts const& parts)
{
    return GraphReader{plan, parts}.read();
}

} // namespace tenon
