// Loops whose condition counts: their rounds are known before them, as a trip count's are.
#include "counted_loop.h"

#include "../network.h"
#include "../subgraph.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

//! A Loop's inputs and a body's outputs in front of the values that it carries.
constexpr int kInputsInFront{2};
constexpr int kOutputsInFront{1};

bool isCount(Value const& value)
{
    return value.exists() && !value.isSequence()
        && (value.type() == DataType::kINT32 || value.type() == DataType::kINT64)
        && std::all_of(value.shape().begin(), value.shape().end(), [](int64_t extent) { return extent == 1; });
}

//! A counter before the first round, and how far the value that is compared is ahead of it.
struct Counter
{
    Extent first;
    int64_t ahead{0};
};

class CountedLoop
{
  public:
    CountedLoop(Node& node, ::onnx::GraphProto const& body)
        : mNode{node},
          mBody{body}
    {
    }

    //! How many rounds follow the first one.
    std::optional<Extent> roundsBehindTheFirst(std::string const& condition)
    {
        ::onnx::NodeProto const* const made = behindIdentity(condition);
        if (made == nullptr || made->input_size() != 2)
        {
            return std::nullopt;
        }
        std::string const& op = made->op_type();
        if (op == "And")
        {
            std::optional<Extent> const a = roundsBehindTheFirst(made->input(0));
            std::optional<Extent> const b = a ? roundsBehindTheFirst(made->input(1)) : std::nullopt;
            return b ? std::optional{smaller(mNode, *a, *b)} : std::nullopt;
        }
        bool const isTurned = op == "Greater" || op == "GreaterOrEqual";
        if (!isTurned && op != "Less" && op != "LessOrEqual")
        {
            return std::nullopt;
        }
        std::optional<Counter> const counter = counterOf(made->input(isTurned ? 1 : 0));
        std::optional<Extent> const bound = counter ? boundOf(made->input(isTurned ? 0 : 1)) : std::nullopt;
        if (!bound)
        {
            return std::nullopt;
        }
        int64_t const more = (op.ends_with("OrEqual") ? 1 : 0) - counter->ahead;
        return larger(mNode, add(mNode, subtract(mNode, *bound, counter->first), more), 0);
    }

  private:
    ::onnx::NodeProto const* makerOf(std::string const& name) const
    {
        auto const found = std::find_if(mBody.node().begin(), mBody.node().end(), [&](::onnx::NodeProto const& node) {
            return std::find(node.output().begin(), node.output().end(), name) != node.output().end();
        });
        return found == mBody.node().end() ? nullptr : &*found;
    }
    ::onnx::NodeProto const* behindIdentity(std::string const& name) const
    {
        ::onnx::NodeProto const* made = makerOf(name);
        for (int i = 0; made != nullptr && made->op_type() == "Identity" && i < mBody.node_size(); ++i)
        {
            made = made->input_size() == 1 ? makerOf(made->input(0)) : nullptr;
        }
        return made;
    }
    //! Without the casts that comparisons of earlier opsets need, which do not change a count.
    std::string behindCasts(std::string name) const
    {
        for (int i = 0; i < mBody.node_size(); ++i)
        {
            ::onnx::NodeProto const* const made = makerOf(name);
            if (made == nullptr || made->input_size() != 1
                || (made->op_type() != "Cast" && made->op_type() != "Identity"))
            {
                break;
            }
            name = made->input(0);
        }
        return name;
    }
    //! The carried value that is the body's input of that name, or -1.
    int carriedAt(std::string const& name) const
    {
        for (int i = kInputsInFront; i < mBody.input_size(); ++i)
        {
            if (mBody.input(i).name() == name)
            {
                return i - kInputsInFront;
            }
        }
        return -1;
    }
    //! A whole number that the body holds.
    std::optional<int64_t> numberOf(std::string const& name) const
    {
        ::onnx::TensorProto const* tensor{nullptr};
        for (::onnx::TensorProto const& each : mBody.initializer())
        {
            tensor = each.name() == name ? &each : tensor;
        }
        ::onnx::NodeProto const* const made = makerOf(name);
        if (made != nullptr && made->op_type() == "Constant" && made->attribute_size() == 1
            && made->attribute(0).has_t())
        {
            tensor = &made->attribute(0).t();
        }
        if (tensor == nullptr)
        {
            return std::nullopt;
        }
        Value const value{mNode.network().model.tensor(*tensor), name};
        return isCount(value) ? std::optional{integersOf(value.constant()).at(0)} : std::nullopt;
    }
    //! What is added to the value of the first name where a name is the sum of that and a number.
    std::optional<std::pair<std::string, int64_t>> sumOf(std::string const& name) const
    {
        ::onnx::NodeProto const* const made = makerOf(name);
        if (made == nullptr || made->op_type() != "Add" || made->input_size() != 2)
        {
            return std::nullopt;
        }
        for (int i : {0, 1})
        {
            if (std::optional<int64_t> const number = numberOf(made->input(1 - i)))
            {
                return std::pair{made->input(i), *number};
            }
        }
        return std::nullopt;
    }
    std::optional<Counter> counterOf(std::string const& compared) const
    {
        std::string name = behindCasts(compared);
        Counter counter;
        if (auto const sum = sumOf(name))
        {
            name = behindCasts(sum->first);
            counter.ahead = sum->second;
        }
        if (mBody.input_size() > 0 && name == mBody.input(0).name())
        {
            counter.first = Extent{0};
            return counter;
        }
        int const at = carriedAt(name);
        if (at < 0 || !isCount(mNode.in(at + kInputsInFront)))
        {
            return std::nullopt;
        }
        auto const step = sumOf(behindCasts(mBody.output(at + kOutputsInFront).name()));
        if (!step || step->second != 1 || step->first != name)
        {
            return std::nullopt;
        }
        counter.first = elementsOf(mNode, mNode.in(at + kInputsInFront)).at(0);
        return counter;
    }
    //! A whole number that is the same in all rounds.
    std::optional<Extent> boundOf(std::string const& compared) const
    {
        std::string const name = behindCasts(compared);
        if (std::optional<int64_t> const number = numberOf(name))
        {
            return Extent{*number};
        }
        int const at = carriedAt(name);
        if (at >= 0)
        {
            Value const& given = mNode.in(at + kInputsInFront);
            bool const stays = passesOn(mBody, mBody.output(at + kOutputsInFront).name(), name);
            return stays && isCount(given) ? std::optional{elementsOf(mNode, given).at(0)} : std::nullopt;
        }
        bool const isOutside =
            makerOf(name) == nullptr && name != mBody.input(0).name() && name != mBody.input(1).name();
        return isOutside ? countOutside(name) : std::nullopt;
    }
    //! Of a value of the graphs around the body, which a graph of that one output hands in.
    std::optional<Extent> countOutside(std::string const& name) const
    {
        ::onnx::GraphProto graph;
        graph.add_output()->set_name(name);
        Value const value =
            mNode.network().subgraphs->importGraph(graph, {}, [](Value const& outside) { return outside; }).at(0);
        return isCount(value) ? std::optional{elementsOf(mNode, value).at(0)} : std::nullopt;
    }

    Node& mNode;
    ::onnx::GraphProto const& mBody;
};

} // namespace

bool passesOn(::onnx::GraphProto const& graph, std::string name, std::string const& input)
{
    for (int i = graph.node_size() - 1; i >= 0 && name != input; --i)
    {
        ::onnx::NodeProto const& node = graph.node(i);
        if (node.output_size() > 0 && node.output(0) == name)
        {
            if (node.op_type() != "Identity" || node.input_size() == 0)
            {
                return false;
            }
            name = node.input(0);
        }
    }
    return name == input;
}

std::optional<Extent> countedRounds(Node& node, ::onnx::GraphProto const& body, Value const& firstCondition)
{
    std::optional<Extent> const behind = CountedLoop{node, body}.roundsBehindTheFirst(body.output(0).name());
    if (!behind)
    {
        return std::nullopt;
    }
    Extent const first = elementsOf(node, firstCondition).at(0); // 1 or 0.
    return multiply(node, first, add(node, *behind, 1));
}

} // namespace tenon::onnx
