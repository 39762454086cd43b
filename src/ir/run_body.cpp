// runBody: nodes in their order, values by their ids.
#include "ir/run_body.h"

#include "base/cancellation.h"

namespace tenon
{

namespace
{
class BodyRun
{
  public:
    explicit BodyRun(Graph const& body)
        : mBody{body},
          mValues(body.valueCount()),
          mGiven(body.valueCount(), nullptr)
    {
    }

    Result<std::vector<HostTensor>> run(HostTensors const& in)
    {
        for (size_t i = 0; i < mBody.inputs().size() && i < in.size(); ++i)
            mGiven[static_cast<size_t>(mBody.inputs()[i])] = in[i];
        for (NodeId const id : mBody.order())
        {
            cancellationPoint();
            TENON_TRY(runNode(mBody.node(id)));
        }
        std::vector<HostTensor> outputs;
        for (GraphOutput const& output : mBody.outputs())
        {
            HostTensor const* const value = valueOf(output.value);
            if (value == nullptr)
                return badArgument("output '{}' of a body has no value", output.name);
            outputs.push_back(*value);
        }
        return outputs;
    }

  private:
    Result<Done> runNode(Node const& node)
    {
        HostTensors operands;
        for (ValueId const input : node.inputs)
            operands.push_back(input == kNone ? nullptr : valueOf(input));
        auto made = node.layer->reference(operands);
        if (!made)
            return std::move(made).error().in(fmt::format("[layer '{}']", node.name));
        for (size_t i = 0; i < node.outputs.size() && i < made->size(); ++i)
        {
            auto const at = static_cast<size_t>(node.outputs[i]);
            mValues[at] = std::move((*made)[i]);
            mGiven[at] = &mValues[at];
        }
        return Done{};
    }

    HostTensor const* valueOf(ValueId id)
    {
        auto const at = static_cast<size_t>(id);
        if (mGiven[at] == nullptr && mBody.constantOf(id) != nullptr)
        {
            mValues[at] = HostTensor::fromConstant(*mBody.constantOf(id));
            mGiven[at] = &mValues[at];
        }
        return mGiven[at];
    }

    Graph const& mBody;
    std::vector<HostTensor> mValues;
    std::vector<HostTensor const*> mGiven;
};
} // namespace

Result<std::vector<HostTensor>> runBody(Graph const& body, HostTensors const& in)
{
    return BodyRun{body}.run(in);
}

} // namespace tenon
