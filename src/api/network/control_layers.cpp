// Loops and conditionals: the calls that put layers at their borders.
#include "api/network/control_layers.h"

#include "api/network/add_layer.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
Result<Done> setNothing(LayerBase&)
{
    return Done{};
}

template <typename E>
Result<Done> checkKind(E kind, int32_t count, char const* what)
{
    auto const value = static_cast<int32_t>(kind);
    if (value < 0 || value >= count)
        return badArgument("{} {} does not exist", what, value);
    return Done{};
}
} // namespace

ILoop* Network::addLoop() noexcept
{
    return fenced(
        mReporting.log(), "INetworkDefinition::addLoop", static_cast<ILoop*>(nullptr), [&]() -> Result<ILoop*> {
            mLoops.push_back(std::make_unique<LoopFront>(*this, static_cast<int32_t>(mLoops.size())));
            return mLoops.back().get();
        });
}

IIfConditional* Network::addIfConditional() noexcept
{
    using Made = IIfConditional*;
    return fenced(mReporting.log(), "INetworkDefinition::addIfConditional", Made{nullptr}, [&]() -> Result<Made> {
        mConditionals.push_back(std::make_unique<ConditionalFront>(*this, static_cast<int32_t>(mConditionals.size())));
        return mConditionals.back().get();
    });
}

// ---- loops

LoopFront::LoopFront(Network& network, int32_t ordinal)
    : mNetwork{network},
      mName{fmt::format("(Unnamed Loop* {})", ordinal)}
{
    mImpl = this;
}

void LoopFront::notImplemented(char const* call) const noexcept
{
    mNetwork.reporting().notImplemented(call);
}

void LoopFront::setName(char const* name) noexcept
{
    fencedDone(mNetwork.reporting().log(), "ILoop::setName", [&]() -> Result<Done> {
        mName = TENON_TRY(checkedName(name, "a loop"));
        return Done{};
    });
}

TripLimitLayer* LoopFront::limit(TripLimit kind) const noexcept
{
    auto const found =
        std::ranges::find_if(limits, [&](TripLimitLayer const* each) { return each->getTripLimit() == kind; });
    return found == limits.end() ? nullptr : *found;
}

IRecurrenceLayer* LoopFront::addRecurrence(ITensor& initialValue) noexcept
{
    auto* const made = mNetwork.addBorder<RecurrenceLayer>("ILoop::addRecurrence", {&initialValue}, *this, setNothing);
    if (made != nullptr)
        recurrences.push_back(made);
    return made;
}

ITripLimitLayer* LoopFront::addTripLimit(ITensor& tensor, TripLimit limitKind) noexcept
{
    auto* const made = mNetwork.addBorder<TripLimitLayer>(
        "ILoop::addTripLimit", {&tensor}, *this, [&](TripLimitLayer& layer) -> Result<Done> {
            TENON_TRY(checkKind(limitKind, EnumMax<TripLimit>(), "trip limit"));
            if (limit(limitKind) != nullptr)
                return badArgument("loop '{}' has a trip limit {} already", mName,
                    limitKind == TripLimit::kCOUNT ? "kCOUNT" : "kWHILE");
            layer.fields().limit = limitKind;
            return Done{};
        });
    if (made != nullptr)
        limits.push_back(made);
    return made;
}

IIteratorLayer* LoopFront::addIterator(ITensor& tensor, int32_t axis, bool reverse) noexcept
{
    auto* const made = mNetwork.addBorder<IteratorLayer>(
        "ILoop::addIterator", {&tensor}, *this, [&](IteratorLayer& layer) -> Result<Done> {
            layer.fields() = {axis, reverse};
            return Done{};
        });
    if (made != nullptr)
        iterators.push_back(made);
    return made;
}

ILoopOutputLayer* LoopFront::addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis) noexcept
{
    auto* const made = mNetwork.addBorder<LoopOutputLayer>(
        "ILoop::addLoopOutput", {&tensor}, *this, [&](LoopOutputLayer& layer) -> Result<Done> {
            TENON_TRY(checkKind(outputKind, EnumMax<LoopOutput>(), "loop output"));
            layer.fields() = {outputKind, axis};
            return Done{};
        });
    if (made != nullptr)
        outputs.push_back(made);
    return made;
}

// ---- conditionals

ConditionalFront::ConditionalFront(Network& network, int32_t ordinal)
    : mNetwork{network},
      mName{fmt::format("(Unnamed IfConditional* {})", ordinal)}
{
    mImpl = this;
}

void ConditionalFront::notImplemented(char const* call) const noexcept
{
    mNetwork.reporting().notImplemented(call);
}

void ConditionalFront::setName(char const* name) noexcept
{
    fencedDone(mNetwork.reporting().log(), "IIfConditional::setName", [&]() -> Result<Done> {
        mName = TENON_TRY(checkedName(name, "a conditional"));
        return Done{};
    });
}

IConditionLayer* ConditionalFront::setCondition(ITensor& tensor) noexcept
{
    auto* const made = mNetwork.addBorder<ConditionLayer>("IIfConditional::setCondition", {&tensor}, *this, setNothing);
    if (made != nullptr)
        condition = made;
    return made;
}

IIfConditionalInputLayer* ConditionalFront::addInput(ITensor& input) noexcept
{
    auto* const made =
        mNetwork.addBorder<ConditionalInputLayer>("IIfConditional::addInput", {&input}, *this, setNothing);
    if (made != nullptr)
        inputs.push_back(made);
    return made;
}

IIfConditionalOutputLayer* ConditionalFront::addOutput(
    ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept
{
    auto* const made = mNetwork.addBorder<ConditionalOutputLayer>(
        "IIfConditional::addOutput", {&trueSubgraphOutput, &falseSubgraphOutput}, *this, setNothing);
    if (made != nullptr)
        outputs.push_back(made);
    return made;
}

Result<std::vector<Operand>> ConditionalOutputLayer::operands() const
{
    std::vector<Operand> found = TENON_TRY(LayerBase::operands());
    ConditionLayer const* const condition = border().conditional->condition;
    if (condition != nullptr && condition->inputs().front()->inferred.valid)
        found.push_back({condition->inputs().front(), nullptr, {}});
    return found;
}

} // namespace tenon::api
