// The calls of ICudaEngine about streamed weights.
#include "api/boundary.h"
#include "api/run/cuda_engine.h"
#include "device/host/memory.h"
#include "runtime/weight_budget.h"

#include <algorithm>

namespace tenon::api
{

Result<Done> CudaEngine::setBudget(BudgetCalls calls, int64_t bytes)
{
    std::scoped_lock const lock{mBudgetMutex};
    if (mBudgetCalls != BudgetCalls::kNone && mBudgetCalls != calls)
        return errorOf(ErrorCode::kINVALID_STATE, "the budget of engine '{}' has been set by {}: the two do not mix",
            getName(), calls == BudgetCalls::kV1 ? "setWeightStreamingBudgetV2" : "setWeightStreamingBudget");
    if (int32_t const contexts = mContexts; contexts > 0)
        return errorOf(ErrorCode::kINVALID_STATE,
            "the budget of engine '{}' cannot change while it has {} execution context{}: set it before they are made",
            getName(), contexts, contexts == 1 ? "" : "s");
    TENON_TRY(mEngine->setWeightBudget(bytes));
    mBudgetCalls = calls;
    return Done{};
}

int64_t CudaEngine::getStreamableWeightsSize() const noexcept
{
    WeightBudget const* const budget = mEngine->weightBudget();
    return budget == nullptr ? 0 : budget->streamable();
}

bool CudaEngine::setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept
{
    return fencedDone(mReporting->log(), "ICudaEngine::setWeightStreamingBudgetV2",
        [&] { return setBudget(BudgetCalls::kV2, gpuMemoryBudget); });
}

int64_t CudaEngine::getWeightStreamingBudgetV2() const noexcept
{
    WeightBudget const* const budget = mEngine->weightBudget();
    return budget == nullptr ? 0 : budget->bytes();
}

int64_t CudaEngine::getWeightStreamingAutomaticBudget() const noexcept
{
    // Half of what is free: activations, other engines and the program itself need some, too.
    constexpr uint64_t kPart{2};
    return std::min(getStreamableWeightsSize(), static_cast<int64_t>(host::memoryLimits().free / kPart));
}

int64_t CudaEngine::getWeightStreamingScratchMemorySize() const noexcept
{
    WeightBudget const* const budget = mEngine->weightBudget();
    return budget == nullptr ? 0 : budget->passing();
}

bool CudaEngine::setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept
{
    constexpr int64_t kAutomatic{-1};
    constexpr int64_t kOff{0};
    return fencedDone(mReporting->log(), "ICudaEngine::setWeightStreamingBudget", [&]() -> Result<Done> {
        if (gpuMemoryBudget > kOff && gpuMemoryBudget < getMinimumWeightStreamingBudget())
            return badArgument(
                "a budget of {} bytes is below the least, {}", gpuMemoryBudget, getMinimumWeightStreamingBudget());
        int64_t const bytes = gpuMemoryBudget == kAutomatic ? getWeightStreamingAutomaticBudget()
            : gpuMemoryBudget == kOff                       ? getStreamableWeightsSize()
                                                            : gpuMemoryBudget;
        return setBudget(BudgetCalls::kV1, bytes);
    });
}

int64_t CudaEngine::getWeightStreamingBudget() const noexcept
{
    int64_t const bytes = getWeightStreamingBudgetV2();
    return bytes >= getStreamableWeightsSize() ? 0 : bytes; // 0: streaming is off.
}

int64_t CudaEngine::getMinimumWeightStreamingBudget() const noexcept
{
    WeightBudget const* const budget = mEngine->weightBudget();
    return budget == nullptr ? 0 : budget->least();
}

} // namespace tenon::api
