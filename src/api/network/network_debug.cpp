// Network: what the user wants to see of its runs: debug tensors, and metadata of layers for inspectors.
#include "api/boundary.h"
#include "api/network/network.h"

#include <algorithm>

namespace tenon::api
{

bool Network::markDebug(nvinfer1::ITensor& tensor) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::markDebug", [&]() -> Result<Done> {
        Tensor const* const own = TENON_TRY(ownTensors({&tensor})).front();
        if (!isDebugTensor(tensor))
            mDebugTensors.push_back(own);
        return Done{};
    });
}

bool Network::unmarkDebug(nvinfer1::ITensor& tensor) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::unmarkDebug", [&]() -> Result<Done> {
        std::erase(mDebugTensors, TENON_TRY(ownTensors({&tensor})).front());
        return Done{};
    });
}

bool Network::isDebugTensor(nvinfer1::ITensor const& tensor) const noexcept
{
    return std::find(mDebugTensors.begin(), mDebugTensors.end(), &Tensor::of(tensor)) != mDebugTensors.end();
}

bool Network::markUnfusedTensorsAsDebugTensors() noexcept
{
    mDebugsUnfused = true;
    return true;
}

bool Network::unmarkUnfusedTensorsAsDebugTensors() noexcept
{
    mDebugsUnfused = false;
    return true;
}

std::vector<PlanNote> Network::notes() const
{
    std::vector<PlanNote> notes;
    for (LayerBase const* layer : mOrder)
        if (!layer->metadata().empty())
            notes.push_back({layer->name(), layer->metadata()});
    return notes;
}

} // namespace tenon::api
