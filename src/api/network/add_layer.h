// How a network takes a layer in: what its calls share.
#pragma once

#include "api/boundary.h"
#include "api/network/control_layers.h"
#include "api/network/network.h"

namespace tenon::api
{

template <typename L>
L* Network::take(std::unique_ptr<L> layer, std::vector<Tensor*> inputs)
{
    L* const made = layer.get();
    made->ordinal = static_cast<int32_t>(mLayers.size());
    made->firstValue = mValueCount;
    mValueCount += made->outputCount();
    made->start(std::move(inputs));
    made->place = mOrder.size();
    mOrder.push_back(made);
    mLayers.push_back(std::move(layer));
    mShapeReadsStale = true;
    noteQuantization(*made);
    return made;
}

template <typename L, typename SetUp>
L* Network::add(char const* call, std::vector<ITensor const*> inputs, SetUp&& setUp) noexcept
{
    return fenced(mReporting.log(), call, static_cast<L*>(nullptr), [&]() -> Result<L*> {
        std::vector<Tensor*> own = TENON_TRY(ownTensors(inputs));
        auto layer = std::make_unique<L>(*this);
        setUp(*layer);
        return take(std::move(layer), std::move(own));
    });
}

template <typename L, typename Front, typename SetUp>
L* Network::addBorder(char const* call, std::vector<ITensor const*> inputs, Front& front, SetUp&& setUp) noexcept
{
    return fenced(mReporting.log(), call, static_cast<L*>(nullptr), [&]() -> Result<L*> {
        std::vector<Tensor*> own = TENON_TRY(ownTensors(inputs));
        auto layer = std::make_unique<L>(*this, front);
        TENON_TRY(setUp(*layer));
        return take(std::move(layer), std::move(own));
    });
}

} // namespace tenon::api
