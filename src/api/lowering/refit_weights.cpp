// RefitWeights: equal type, pointer and count are the same weights (rule C12).
#include "api/lowering/refit_weights.h"

#include "ir/replaceable.h"

namespace tenon::api
{

void RefitWeights::note(std::string const& layer, nvinfer1::WeightsRole role,
    std::shared_ptr<Constant const> const& constant, bool isMadeFor)
{
    DType const type = constant->dtype;
    bool const isNumber = type == DType::kINT32 || type == DType::kINT64 || type == DType::kBOOL;
    if (mMode == RefitMode::kNone || isNumber || constant->count() < 1)
        return;
    std::string const name = mNetwork.nameOf({type, constant->data, constant->count()});
    if (mMode == RefitMode::kMarked && !mNetwork.isMarkedRefittable(name))
        return;
    // What the user has marked one by one is kept apart from the program, however small it is.
    bool const isFixed = isMadeFor && mMode != RefitMode::kMarked;
    auto const [at, isNew] =
        mNumbers.try_emplace(Key{constant->data, type, constant->count()}, static_cast<int32_t>(mAll.size()));
    if (isNew)
        mAll.push_back({{name, type, constant->count(), {}, -1}, isFixed ? constant : nullptr});
    SourceWeights& weights = mAll[static_cast<size_t>(at->second)];
    weights.stored.uses.push_back({layer, static_cast<int32_t>(role)});
    if (weights.fixed == nullptr)
        Replaceable::active()->mark(constant, {at->second});
}

} // namespace tenon::api
