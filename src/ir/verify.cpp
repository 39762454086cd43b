// verify: the checks one by one.
#include "ir/verify.h"

#include "base/cancellation.h"

#include <set>

namespace tenon
{

namespace
{
class Verifier
{
  public:
    explicit Verifier(Graph& graph)
        : mGraph{graph},
          mReads(graph.valueCount(), 0),
          mMade(graph.valueCount(), false)
    {
    }
    Result<Done> run()
    {
        if (mGraph.scope() == 0) // Inputs and outputs of bodies go by their positions.
            TENON_TRY(checkNames());
        for (ValueId const input : mGraph.inputs())
            mMade[static_cast<size_t>(input)] = true;
        for (NodeId const id : mGraph.order())
        {
            cancellationPoint();
            if (!mGraph.isAlive(id))
                return broken("node {} is in the order but erased", id);
            TENON_TRY(checkNode(mGraph.node(id)));
        }
        for (GraphOutput const& output : mGraph.outputs())
            TENON_TRY(checkRead(output.value, "output '" + output.name + "'"));
        for (size_t i = 0; i < mReads.size(); ++i)
            if (mGraph.readerCount(static_cast<ValueId>(i)) != mReads[i])
                return broken("tensor '{}' has {} reads but lists {}", mGraph.value(static_cast<ValueId>(i)).name,
                    mReads[i], mGraph.readerCount(static_cast<ValueId>(i)));
        return Done{};
    }

  private:
    template <typename... Args>
    static Error broken(fmt::format_string<Args...> format, Args&&... args)
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, format, std::forward<Args>(args)...);
    }
    Result<Done> checkNames() const
    {
        std::set<std::string> inputs;
        for (ValueId const input : mGraph.inputs())
            if (!inputs.insert(mGraph.value(input).name).second)
                return broken("two inputs are called '{}'", mGraph.value(input).name);
        std::set<std::string> outputs;
        for (GraphOutput const& output : mGraph.outputs())
            if (!outputs.insert(output.name).second)
                return broken("two outputs are called '{}'", output.name);
        return Done{};
    }
    Result<Done> checkRead(ValueId value, std::string const& reader)
    {
        if (value < 0 || static_cast<size_t>(value) >= mGraph.valueCount())
            return broken("{} reads the unknown value {}", reader, value);
        ++mReads[static_cast<size_t>(value)];
        if (mGraph.constantOf(value) == nullptr && !mMade[static_cast<size_t>(value)])
            return broken("{} reads tensor '{}' before it is made", reader, mGraph.value(value).name);
        return Done{};
    }
    Result<Done> checkNode(Node const& node)
    {
        for (ValueId const input : node.inputs)
            if (input != kNone)
                TENON_TRY(checkRead(input, "layer '" + node.name + "'"));
        ValueId const first = node.outputs.empty() ? kNone : node.outputs.front();
        Result<std::vector<TensorType>> types = node.layer->infer(mGraph.inputsOf(node.inputs, node.name, first));
        if (!types)
            return std::move(types).error();
        if (types->size() != node.outputs.size())
            return broken("layer '{}' has {} outputs but infers {}", node.name, node.outputs.size(), types->size());
        for (size_t i = 0; i < types->size(); ++i)
        {
            Value const& output = mGraph.value(node.outputs[i]);
            if (output.producer != node.id || output.outputIndex != static_cast<int32_t>(i))
                return broken("tensor '{}' does not know that layer '{}' makes it", output.name, node.name);
            if (output.type != (*types)[i])
                return broken("tensor '{}' is {} but layer '{}' makes {}", output.name, output.type.show(), node.name,
                    (*types)[i].show());
            if (mMade[static_cast<size_t>(output.id)])
                return broken("tensor '{}' is made twice", output.name);
            mMade[static_cast<size_t>(output.id)] = true;
        }
        for (BodyPtr const& body : node.layer->bodies())
            if (Result<Done> sound = verify(*body); !sound)
                return std::move(sound).error().in("body of layer '" + node.name + "'");
        return Done{};
    }

    Graph& mGraph;
    std::vector<int32_t> mReads;
    std::vector<bool> mMade;
};
} // namespace

Result<Done> verify(Graph& graph)
{
    return Verifier{graph}.run();
}

} // namespace tenon
