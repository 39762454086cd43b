// ControlScopes: scopes grow along the network until nothing changes.
#include "api/lowering/control_scopes.h"

#include "api/network/control_layers.h"
#include "base/cancellation.h"

namespace tenon::api
{

namespace
{
Scope const kNowhere;

bool isEntry(LayerBase const& layer)
{
    return layer.kind() == RecurrenceFields::kName || layer.kind() == IteratorFields::kName
        || layer.kind() == ConditionalInputFields::kName;
}

bool isExit(LayerBase const& layer)
{
    return layer.kind() == LoopOutputFields::kName || layer.kind() == ConditionalOutputFields::kName;
}

bool grow(Scope& scope, Scope const& by)
{
    size_t const before = scope.size();
    scope.insert(by.begin(), by.end());
    return scope.size() != before;
}
} // namespace

Scope const& ControlScopes::of(LayerBase const& layer) const
{
    auto const found = mOf.find(&layer);
    return found == mOf.end() ? kNowhere : found->second;
}

Scope const& ControlScopes::of(Tensor const& tensor) const
{
    return tensor.producer() == nullptr ? kNowhere : of(*tensor.producer());
}

Scope const& ControlScopes::around(void const* control) const
{
    auto const found = mAround.find(control);
    return found == mAround.end() ? kNowhere : found->second;
}

bool ControlScopes::cross(Tensor const* tensor, void const* control)
{
    if (tensor == nullptr)
        return false;
    Scope outside = of(*tensor);
    outside.erase(control);
    return !outside.empty() && grow(mAround[control], outside);
}

bool ControlScopes::update(LayerBase const& layer)
{
    Border const border = layer.border();
    void const* const control =
        border.loop != nullptr ? static_cast<void const*>(border.loop) : static_cast<void const*>(border.conditional);
    bool hasGrown{false};
    if (control == nullptr)
    {
        for (size_t i = 0; i < layer.inputs().size(); ++i)
            if (layer.inputs()[i] != nullptr)
                if (Scope const& scope = of(*layer.inputs()[i]); !scope.empty())
                    hasGrown = grow(mOf[&layer], Scope{scope}) || hasGrown;
        return hasGrown;
    }
    for (Tensor const* const input : layer.inputs())
        hasGrown = cross(input, control) || hasGrown;
    if (isEntry(layer))
    {
        hasGrown = grow(mOf[&layer], around(control)) || hasGrown;
        hasGrown = grow(mOf[&layer], {control}) || hasGrown;
    }
    else if (isExit(layer) && !around(control).empty())
        hasGrown = grow(mOf[&layer], around(control)) || hasGrown;
    return hasGrown;
}

Result<Done> ControlScopes::find(Network const& network)
{
    if (network.loops().empty() && network.conditionals().empty())
        return Done{};
    for (bool hasGrown{true}; hasGrown;)
    {
        hasGrown = false;
        for (LayerBase const* layer : network.order())
        {
            cancellationPoint();
            hasGrown = update(*layer) || hasGrown;
        }
    }
    for (auto const& [control, outer] : mAround)
        for (void const* each : outer)
            if (each == control || around(each).contains(control))
                return badConfig(
                    "two loops or conditionals are within each other: a tensor leaves one only by one of its "
                    "outputs");
    return Done{};
}

} // namespace tenon::api
