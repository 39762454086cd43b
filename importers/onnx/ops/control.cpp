// Operators that run graphs: If, Loop, Scan.
#include "../network.h"
#include "../operators.h"
#include "../subgraph.h"
#include "counted_loop.h"
#include "unrolled_loop.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ILoop;
using nvinfer1::IRecurrenceLayer;
using nvinfer1::ITensor;
using nvinfer1::LoopOutput;
using nvinfer1::TripLimit;

Value captureAsIs(Value const& outside)
{
    return outside;
}

//! One element as a tensor of rank 0.
Value scalarValue(Node& node, Value const& value)
{
    return value.rank() == 0 ? value : node.reshape(value, {});
}

ILoop& addLoop(Node& node)
{
    ILoop* const loop = node.api().addLoop();
    if (loop == nullptr)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a loop" + node.network().reasons.text());
    }
    loop->setName(node.name().c_str());
    return *loop;
}

// ---- If

//! What the graph's one operator reads, if it is this one and gives the graph's one output; constants stand beside it.
std::optional<std::string> inputOfOnly(::onnx::GraphProto const& graph, std::string_view op)
{
    if (graph.node_size() < 1 || graph.output_size() != 1)
    {
        return std::nullopt;
    }
    ::onnx::NodeProto const& last = graph.node(graph.node_size() - 1);
    bool const isAlone = std::all_of(graph.node().begin(), graph.node().end() - 1,
        [](::onnx::NodeProto const& node) { return node.op_type() == "Constant"; });
    bool const isMeant = last.op_type() == op && last.input_size() > 0 && last.output_size() == 1
        && last.output(0) == graph.output(0).name();
    return isAlone && isMeant ? std::optional{last.input(0)} : std::nullopt;
}

//! What PyTorch makes of squeeze(axis): where the axis is 1, else as it is, of one tensor. Both ranks cannot be meant
//! at once: what comes behind was exported for the lower one.
std::optional<bool> squeezingBranch(Node const& node)
{
    ::onnx::GraphProto const& yes = node.graph("then_branch");
    ::onnx::GraphProto const& no = node.graph("else_branch");
    auto const squeezes = [](::onnx::GraphProto const& lower, ::onnx::GraphProto const& higher) {
        std::optional<std::string> const read = inputOfOnly(lower, "Squeeze");
        return read && read == inputOfOnly(higher, "Identity");
    };
    if (squeezes(yes, no))
    {
        return true;
    }
    return squeezes(no, yes) ? std::optional<bool>{false} : std::nullopt;
}

//! Takes one branch; an assertion fails where the condition asks for the other.
Outputs importSqueezing(Node& node, bool branch)
{
    Value condition = node.in(0);
    condition = branch ? condition : node.unary(condition, nvinfer1::UnaryOperation::kNOT);
    std::string const text = fmt::format(
        "'{}' keeps an axis that is not 1 for these shapes, which the network, made for the squeezed one, cannot",
        node.name());
    node.added(node.api().addAssertion(node.tensor(condition), text.c_str()), "assertion");
    return node.network().subgraphs->importGraph(node.graph(branch ? "then_branch" : "else_branch"), {}, captureAsIs);
}

//! Of sequences element by element: which branch is taken decides what they hold, not how many they are.
Value chosen(Node& node, nvinfer1::IIfConditional& choice, Value const& yes, Value const& no)
{
    auto const lengthOf = [](Value const& value) {
        return value.isSequence() ? static_cast<int64_t>(value.elements().size()) : -1;
    };
    if (lengthOf(yes) != lengthOf(no) || yes.isNothing() || no.isNothing())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE,
            "its branches give sequences of unlike lengths, or an optional that is empty in one of them, which only "
            "the run tells apart");
    }
    if (!yes.isSequence())
    {
        return node.output(choice.addOutput(node.tensor(yes), node.tensor(no)), "output");
    }
    std::vector<Value> elements;
    for (size_t i = 0; i < yes.elements().size(); ++i)
    {
        elements.push_back(chosen(node, choice, yes.elements()[i], no.elements()[i]));
    }
    return Value::sequence(std::move(elements));
}

Outputs importIf(Node& node)
{
    Subgraphs& graphs = *node.network().subgraphs;
    Value const condition = node.in(0);
    if (condition.isConstant())
    {
        bool const isTrue = integersOf(condition.constant()).at(0) != 0;
        return graphs.importGraph(node.graph(isTrue ? "then_branch" : "else_branch"), {}, captureAsIs);
    }
    if (std::optional<bool> const branch = squeezingBranch(node))
    {
        return importSqueezing(node, *branch);
    }
    nvinfer1::IIfConditional* const choice = node.api().addIfConditional();
    if (choice == nullptr)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a conditional" + node.network().reasons.text());
    }
    choice->setName(node.name().c_str());
    node.added(choice->setCondition(node.tensor(scalarValue(node, condition))), "condition");
    Capture const capture = [&](Value const& outside) -> Value {
        return node.added(choice->addInput(node.tensor(outside)), "input")->getOutput(0);
    };
    std::vector<Value> const yes = graphs.importGraph(node.graph("then_branch"), {}, capture);
    std::vector<Value> const no = graphs.importGraph(node.graph("else_branch"), {}, capture);
    if (yes.size() != no.size())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("its branches have {} and {} outputs", yes.size(), no.size()));
    }
    Outputs outputs;
    for (size_t i = 0; i < yes.size(); ++i)
    {
        outputs.push_back(chosen(node, *choice, yes[i], no[i]));
    }
    return outputs;
}

// ---- Loop

//! What a Loop is made of.
class LoopImport
{
  public:
    explicit LoopImport(Node& node)
        : mNode{node},
          mBody{node.graph("body")},
          mCarried{std::max(node.nbInputs() - 2, 0)}
    {
        if (mBody.input_size() != mCarried + 2 || mBody.output_size() < mCarried + 1)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("its body has {} inputs and {} outputs for {} carried values", mBody.input_size(),
                    mBody.output_size(), mCarried));
        }
    }

    Outputs run()
    {
        mLoop = &addLoop(mNode);
        findLimits();
        int const scans = mBody.output_size() - 1 - mCarried;
        bool const counts = isRead(mBody, mBody.input(0).name()) || (mIsConditional && scans > 0);
        std::vector<Value> inputs(2);
        if (counts)
        {
            mCounter = recurrence(mNode.integerScalar(0));
            inputs[0] = mCounter->getOutput(0);
        }
        IRecurrenceLayer* condition{nullptr};
        if (mIsConditional)
        {
            condition = recurrence(mFirstCondition);
            mNode.added(mLoop->addTripLimit(*condition->getOutput(0), TripLimit::kWHILE), "while");
        }
        inputs[1] = condition == nullptr ? mFirstCondition : Value{condition->getOutput(0)};
        std::vector<IRecurrenceLayer*> carried;
        for (int i = 0; i < mCarried; ++i)
        {
            carried.push_back(recurrence(mNode.in(i + 2)));
            inputs.emplace_back(carried.back()->getOutput(0));
        }
        std::vector<Value> const made = mNode.network().subgraphs->importGraph(mBody, inputs, captureAsIs);
        if (mCounter != nullptr)
        {
            Value const one = mNode.binary(mCounter->getOutput(0), mNode.integerScalar(1), ElementWiseOperation::kSUM);
            mCounter->setInput(1, mNode.tensor(one));
        }
        if (condition != nullptr)
        {
            condition->setInput(1, mNode.tensor(scalarValue(mNode, made[0])));
        }
        Outputs outputs;
        for (int i = 0; i < mCarried; ++i)
        {
            carried[static_cast<size_t>(i)]->setInput(1, mNode.tensor(made[static_cast<size_t>(i) + 1]));
            outputs.push_back(last(*carried[static_cast<size_t>(i)]));
        }
        for (int i = 0; i < scans; ++i)
        {
            outputs.push_back(joined(made[static_cast<size_t>(mCarried + i) + 1]));
        }
        return outputs;
    }

  private:
    IRecurrenceLayer* recurrence(Value const& first)
    {
        return mNode.added(mLoop->addRecurrence(mNode.tensor(first)), "carried");
    }

    void findLimits()
    {
        bool const isUnlimited =
            !mNode.has(0) || (mNode.in(0).isConstant() && integersOf(mNode.in(0).constant()).at(0) == INT64_MAX);
        if (!isUnlimited)
        {
            bool const isNegative =
                mNode.in(0).isConstant() && integersOf(mNode.in(0).constant()).at(0) < 0; // No round at all.
            limitTo(isNegative ? scalarOf(mNode, 0) : scalarValue(mNode, mNode.in(0)));
        }
        std::vector<uint8_t> const yes{1};
        mFirstCondition = mNode.has(1) ? scalarValue(mNode, mNode.in(1))
                                       : mNode.named(mNode.network().model.own(DataType::kBOOL, {}, yes), "true");
        bool const isTrue = mFirstCondition.isConstant() && integersOf(mFirstCondition.constant()).at(0) != 0;
        bool const stays = passesOn(mBody, mBody.output(0).name(), mBody.input(1).name());
        std::optional<Extent> const counted = isUnlimited ? countedRounds(mNode, mBody, mFirstCondition) : std::nullopt;
        if (counted)
        {
            limitTo(scalarOf(mNode, *counted));
        }
        mIsConditional = !counted && (isUnlimited || !isTrue || !stays);
    }

    void limitTo(Value count)
    {
        mCount = std::move(count);
        mNode.added(mLoop->addTripLimit(mNode.tensor(mCount), TripLimit::kCOUNT), "count");
    }

    Value last(IRecurrenceLayer& carried)
    {
        return mNode.output(mLoop->addLoopOutput(*carried.getOutput(0), LoopOutput::kLAST_VALUE), "last");
    }

    //! With a condition, as many as there were rounds: positions of those among all that may be.
    Value joined(Value const& value)
    {
        if (!mCount.exists())
        {
            fail(ErrorCode::kUNSUPPORTED_NODE,
                "a scan output of a Loop without a trip count is not supported: nothing says how long it may become");
        }
        nvinfer1::ILoopOutputLayer* const layer =
            mNode.added(mLoop->addLoopOutput(mNode.tensor(value), LoopOutput::kCONCATENATE), "scan");
        layer->setInput(1, mNode.tensor(mCount));
        if (!mIsConditional)
        {
            return mNode.output(layer, "scan");
        }
        if (!mPositions.exists())
        {
            Extent const most = elementsOf(mNode, mCount).front();
            Value const wasRun =
                mNode.binary(iota(mNode, most), mNode.reshape(last(*mCounter), {1}), ElementWiseOperation::kLESS);
            Value const found = mNode.output(mNode.api().addNonZero(mNode.tensor(wasRun), DataType::kINT64), "rounds");
            mPositions = mNode.reshape(found, {-1});
        }
        Value const all = mNode.output(layer, "scan");
        return mNode.output(mNode.api().addGather(mNode.tensor(all), mNode.tensor(mPositions), 0), "rounds of scan");
    }

    Node& mNode;
    ::onnx::GraphProto const& mBody;
    int mCarried;
    ILoop* mLoop{nullptr};
    Value mCount;
    Value mFirstCondition;
    Value mPositions;
    bool mIsConditional{false};
    IRecurrenceLayer* mCounter{nullptr};
};

Outputs importLoop(Node& node)
{
    bool const carriesSequences = std::any_of(node.inputs().begin(), node.inputs().end(),
        [](Value const& input) { return input.isSequence() || input.isNothing(); });
    return carriesSequences ? importUnrolled(node) : LoopImport{node}.run();
}

// ---- Scan

int64_t attributeAt(Integers const& values, int i)
{
    return static_cast<size_t>(i) < values.size() ? values[static_cast<size_t>(i)] : 0;
}

Outputs importScan(Node& node)
{
    if (node.opset() < 9)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE,
            "Scan of opset 8, which walks along the axis behind a batch, is not supported");
    }
    ::onnx::GraphProto const& body = node.graph("body");
    auto const walked = static_cast<int>(node.intOr("num_scan_inputs", 0));
    int const states = node.nbInputs() - walked;
    if (walked < 1 || states < 0 || body.input_size() != node.nbInputs() || body.output_size() < states)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} of its {} inputs are walked along, and its body has {} inputs and {} outputs", walked,
                node.nbInputs(), body.input_size(), body.output_size()));
    }
    ILoop& loop = addLoop(node);
    Integers const axes = node.intsOr("scan_input_axes", {});
    Integers const backward = node.intsOr("scan_input_directions", {});
    int32_t const first = node.axis(attributeAt(axes, 0), node.in(states).rank());
    Value const count = scalarOf(node, extentOf(node, node.in(states), first));
    node.added(loop.addTripLimit(node.tensor(count), TripLimit::kCOUNT), "count");
    std::vector<Value> inputs;
    std::vector<IRecurrenceLayer*> carried;
    for (int i = 0; i < states; ++i)
    {
        carried.push_back(node.added(loop.addRecurrence(node.tensor(node.in(i))), "state"));
        inputs.emplace_back(carried.back()->getOutput(0));
    }
    for (int i = 0; i < walked; ++i)
    {
        Value const& x = node.in(states + i);
        int32_t const axis = node.axis(attributeAt(axes, i), x.rank());
        inputs.push_back(node.output(loop.addIterator(node.tensor(x), axis, attributeAt(backward, i) != 0), "element"));
    }
    std::vector<Value> const made = node.network().subgraphs->importGraph(body, inputs, captureAsIs);
    Outputs outputs;
    for (int i = 0; i < states; ++i)
    {
        carried[static_cast<size_t>(i)]->setInput(1, node.tensor(made[static_cast<size_t>(i)]));
        outputs.push_back(node.output(
            loop.addLoopOutput(*carried[static_cast<size_t>(i)]->getOutput(0), LoopOutput::kLAST_VALUE), "last"));
    }
    Integers const outputAxes = node.intsOr("scan_output_axes", {});
    Integers const outputDirections = node.intsOr("scan_output_directions", {});
    for (int i = states; i < body.output_size(); ++i)
    {
        Value const& value = made[static_cast<size_t>(i)];
        int32_t const axis = node.axis(attributeAt(outputAxes, i - states), value.rank() + 1);
        auto const kind =
            attributeAt(outputDirections, i - states) != 0 ? LoopOutput::kREVERSE : LoopOutput::kCONCATENATE;
        nvinfer1::ILoopOutputLayer* const layer =
            node.added(loop.addLoopOutput(node.tensor(value), kind, axis), "scan");
        layer->setInput(1, node.tensor(count));
        outputs.push_back(node.output(layer, "scan"));
    }
    return outputs;
}

constexpr Operator kControlTable[]{
    {"If", importIf},
    {"Loop", importLoop},
    {"Scan", importScan},
};

} // namespace

constinit std::span<Operator const> const kControlOperators{kControlTable};

} // namespace tenon::onnx
