// WeightBudget: what stays for how many bytes.
#include "runtime/weight_budget.h"

#include "base/step_role.h"
#include "plan/lookup.h"
#include "runtime/engine_state.h"

#include <algorithm>
#include <numeric>

namespace tenon
{

WeightBudget::WeightBudget(EngineState const& engine)
    : mWeights(engine.plan->weights.size()),
      mStreams{asSize(engine.auxStreams) + 1},
      mStays{std::make_unique<std::atomic<uint8_t>[]>(mWeights.size())}
{
    for (PlanStep const& step : engine.program->steps)
    {
        std::vector<size_t>& reads = mReadBy.emplace_back();
        mStreamOf.push_back(asSize(step.stream));
        for (int32_t const input : step.inputs)
        {
            if (input < 0 || engine.places[asSize(input)].kind != PlanTensorKind::kWeight)
                continue;
            size_t const index = asSize(engine.places[asSize(input)].index);
            if (engine.plan->weights[index].bytes < kLeastStreamed || std::ranges::find(reads, index) != reads.end())
                continue;
            reads.push_back(index);
            mWeights[index].bytes = static_cast<int64_t>(engine.plan->weights[index].bytes);
            ++mWeights[index].uses;
        }
    }
    // The code of custom layers is the user's: nobody knows when it is done with a weight.
    for (size_t i = 0; i < mReadBy.size(); ++i)
        if (isCustom(roleOf(engine.program->steps[i])))
            for (size_t const index : mReadBy[i])
                mWeights[index] = {};
    for (std::vector<size_t>& reads : mReadBy)
        std::erase_if(reads, [&](size_t index) { return !isStreamable(index); });
    for (Weight const& weight : mWeights)
        mStreamable += weight.bytes;
    set(mStreamable);
}

int64_t WeightBudget::passing() const
{
    std::vector<uint8_t> stay(mWeights.size());
    for (size_t i = 0; i < stay.size(); ++i)
        stay[i] = stays(i) ? 1 : 0;
    return passing(stay);
}

int64_t WeightBudget::passing(std::span<uint8_t const> stays) const
{
    std::vector<int64_t> most(mStreams, 0);
    for (size_t i = 0; i < mReadBy.size(); ++i)
    {
        int64_t bytes{0};
        for (size_t const index : mReadBy[i])
            bytes += stays[index] != 0 ? 0 : mWeights[index].bytes;
        most[mStreamOf[i]] = std::max(most[mStreamOf[i]], bytes);
    }
    return std::accumulate(most.begin(), most.end(), int64_t{0});
}

void WeightBudget::set(int64_t bytes)
{
    std::vector<uint8_t> stay(mWeights.size(), bytes >= mStreamable ? 1 : 0);
    std::vector<size_t> order(mWeights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        return std::pair{mWeights[a].uses, mWeights[a].bytes} > std::pair{mWeights[b].uses, mWeights[b].bytes};
    });
    int64_t kept{0};
    for (size_t const index : order)
    {
        int64_t const size = mWeights[index].bytes;
        if (stay[index] != 0 || kept + size > bytes)
            continue;
        stay[index] = 1;
        if (size == 0 || kept + size + passing(stay) <= bytes)
            kept += size;
        else
            stay[index] = 0;
    }
    std::scoped_lock const lock{mMutex};
    mBytes = bytes;
    for (size_t i = 0; i < stay.size(); ++i)
        mStays[i].store(stay[i], std::memory_order_relaxed);
}

} // namespace tenon
