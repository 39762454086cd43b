// Network: names of weights, and which of them a refit may replace.
#include "api/boundary.h"
#include "api/network/network.h"

#include "api/convert.h"

namespace tenon::api
{

std::string Network::nameOf(Weights const& weights) const
{
    auto const found = mWeightsNames.find(weights.values);
    bool const isThat = found != mWeightsNames.end() && found->second.weights.type == weights.type
        && found->second.weights.count == weights.count;
    return isThat ? found->second.name : std::string{};
}

bool Network::isMarkedRefittable(std::string const& name) const
{
    return mRefittable.contains(name);
}

bool Network::setWeightsName(Weights weights, char const* name) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::setWeightsName", [&]() -> Result<Done> {
        if (weights.values == nullptr || weights.count < 1)
            return badArgument("{} weights at {}", weights.count, weights.values);
        auto const known = mWeightsNames.find(weights.values);
        if (known != mWeightsNames.end()
            && (known->second.weights.type != weights.type || known->second.weights.count != weights.count))
            return badArgument("the weights at {} are {} of another type or number under the name '{}'", weights.values,
                known->second.weights.count, known->second.name);
        if (name == nullptr)
        {
            if (known != mWeightsNames.end())
            {
                mWeightsByName.erase(known->second.name);
                mWeightsNames.erase(known);
            }
            return Done{};
        }
        std::string wanted = TENON_TRY(checkedName(name, "weights"));
        auto const [at, isFree] = mWeightsByName.try_emplace(wanted, weights.values);
        if (!isFree && at->second != weights.values)
            return badArgument("other weights have the name '{}'", wanted);
        if (known != mWeightsNames.end() && known->second.name != wanted)
            mWeightsByName.erase(known->second.name);
        mWeightsNames.insert_or_assign(weights.values, NamedWeights{weights, std::move(wanted)});
        return Done{};
    });
}

Result<std::string> Network::knownWeights(char const* name) const
{
    std::string const wanted = TENON_TRY(checkedName(name, "weights"));
    if (!mWeightsByName.contains(wanted))
        return badArgument("no weights have the name '{}'", wanted);
    return wanted;
}

bool Network::markWeightsRefittable(char const* name) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::markWeightsRefittable", [&]() -> Result<Done> {
        mRefittable.insert(TENON_TRY(knownWeights(name)));
        return Done{};
    });
}

bool Network::unmarkWeightsRefittable(char const* name) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::unmarkWeightsRefittable", [&]() -> Result<Done> {
        mRefittable.erase(TENON_TRY(knownWeights(name)));
        return Done{};
    });
}

bool Network::areWeightsMarkedRefittable(char const* name) const noexcept
{
    return name != nullptr && mRefittable.contains(name);
}

} // namespace tenon::api
