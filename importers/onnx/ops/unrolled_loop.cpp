// Loops that carry sequences: their rounds one behind the other.
#include "unrolled_loop.h"

#include "../network.h"
#include "../subgraph.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

class UnrolledLoop
{
  public:
    static constexpr int64_t kMaxRounds{1024};

    explicit UnrolledLoop(Node& node)
        : mNode{node},
          mBody{node.graph("body")},
          mCarried{node.inputs().begin() + std::min(node.nbInputs(), 2), node.inputs().end()}
    {
    }
    Outputs run()
    {
        Integers const given = mNode.integers(0, "how often a loop that carries sequences runs");
        auto const carried = static_cast<int>(mCarried.size());
        if (mBody.input_size() != carried + 2 || mBody.output_size() < carried + 1)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("its body has {} inputs and {} outputs for {} carried values", mBody.input_size(),
                    mBody.output_size(), carried));
        }
        mScans.resize(static_cast<size_t>(mBody.output_size()) - 1 - mCarried.size());
        std::vector<uint8_t> const yes{1};
        Value condition =
            mNode.has(1) ? mNode.in(1) : mNode.named(mNode.network().model.own(DataType::kBOOL, {}, yes), "true");
        for (int64_t round = 0; round < given.at(0) && goesOn(condition); ++round)
        {
            if (round == kMaxRounds)
            {
                fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("more than {} rounds that carry sequences", kMaxRounds));
            }
            condition = walk(round, condition);
        }
        Outputs outputs{mCarried};
        for (std::vector<Value> const& scan : mScans)
        {
            outputs.push_back(stacked(scan));
        }
        return outputs;
    }

  private:
    static bool goesOn(Value const& condition)
    {
        if (!condition.isConstant())
        {
            fail(ErrorCode::kUNSUPPORTED_NODE, "it carries sequences, and only the run tells how many rounds it has");
        }
        return integersOf(condition.constant()).at(0) != 0;
    }
    //! The condition behind the round.
    Value walk(int64_t round, Value const& condition)
    {
        Capture const asItIs = [](Value const& outside) { return outside; };
        std::vector<Value> inputs{mNode.integerScalar(round), condition};
        inputs.insert(inputs.end(), mCarried.begin(), mCarried.end());
        std::vector<Value> const made = mNode.network().subgraphs->importGraph(mBody, inputs, asItIs);
        for (size_t i = 0; i < mCarried.size(); ++i)
        {
            mCarried[i] = made[i + 1];
        }
        for (size_t i = 0; i < mScans.size(); ++i)
        {
            mScans[i].push_back(made[mCarried.size() + 1 + i]);
        }
        return made[0];
    }
    Value stacked(std::vector<Value> const& rounds)
    {
        std::vector<nvinfer1::ITensor*> inputs;
        for (Value const& each : rounds)
        {
            inputs.push_back(&mNode.tensor(mNode.unsqueeze(each, {0})));
        }
        if (inputs.empty())
        {
            fail(ErrorCode::kUNSUPPORTED_NODE, "it runs not once, and nothing says what its scan outputs are like");
        }
        auto const count = static_cast<int32_t>(inputs.size());
        return mNode.output(mNode.api().addConcatenation(inputs.data(), count), "scan");
    }

    Node& mNode;
    ::onnx::GraphProto const& mBody;
    std::vector<Value> mCarried;
    std::vector<std::vector<Value>> mScans;
};

} // namespace

Outputs importUnrolled(Node& node)
{
    return UnrolledLoop{node}.run();
}

} // namespace tenon::onnx
