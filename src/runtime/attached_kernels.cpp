// AttachedKernels: making the copies, and telling them of extents and addresses.
#include "runtime/attached_kernels.h"

#include "device/user_code.h"

#include <algorithm>

namespace tenon
{

AttachedKernels::AttachedKernels(EngineState const& engine, Recorder recorder)
    : mEngine{engine},
      mRecorder{std::move(recorder)},
      mToldTails(engine.segments.size())
{
}

Result<Done> AttachedKernels::attach()
{
    if (mIsAttached)
        return Done{};
    size_t const count = mEngine.program->steps.size();
    mAll.clear();
    for (size_t i = 0; i < count; ++i)
    {
        if (mAllocator == nullptr)
            mAllocator = std::make_unique<ContextAllocator>(MemorySource{&mEngine.device(), mEngine.options.allocator});
        auto made = mEngine.attach(i, {mAllocator.get(), &mRecorder});
        if (!made)
            return std::move(made).error().in(stepLabel(mEngine, static_cast<int32_t>(i)));
        if (*made == nullptr)
            continue;
        mAll.resize(count);
        mAll[i] = *std::move(made);
    }
    mIsAttached = true;
    return Done{};
}

Result<Done> AttachedKernels::checkCaller() const
{
    for (size_t i = 0; UserCode::isAny() && i < mAll.size(); ++i)
        if (mAll[i] != nullptr && UserCode::isOf(&mAll[i]->prepared()))
            return errorOf(ErrorCode::kINVALID_STATE,
                "{}: the context is running this layer, whose callbacks can ask the context, but neither run it nor "
                "change its profile, memory, allocators or values of shape tensors; let the plugin run a context of "
                "its own",
                stepLabel(mEngine, static_cast<int32_t>(i)));
    return Done{};
}

bool AttachedKernels::hears(int32_t step) const
{
    return of(step) != nullptr && (mIsOtherHere || of(step)->hearsAddresses());
}

bool AttachedKernels::hasNews(
    std::shared_ptr<PreparedRun const> const& run, Segment const& segment, std::span<void* const> inputs)
{
    if (segment.index == 0)
    {
        mIsOther = mToldRun != run;
        mIsMoved = mIsOther || !std::ranges::equal(inputs, mToldInputs);
    }
    bool const isNew = segment.index > 0 && mToldTails[segment.index] != segment.kept;
    mIsOtherHere = isNew || mIsOther;
    if (!mIsMoved && !isNew)
        return false;
    auto const [first, last] = mEngine.segments[segment.index];
    for (int32_t i = first; i < last; ++i)
        if (hears(i))
            return true;
    return false;
}

Result<Done> AttachedKernels::reshape(Segment const& segment)
{
    forget(); // Until the run has succeeded: after a failure all are told again.
    auto const [first, last] = mEngine.segments[segment.index];
    for (int32_t i = first; i < last; ++i)
        if (hears(i))
        {
            PreparedStep const& step = segment.tail.steps[asSize(i - first)];
            auto told = of(i)->reshape(step.inputs, step.outputs);
            if (!told)
                return std::move(told).error().in(stepLabel(mEngine, i));
        }
    mToldTails[segment.index] = segment.index > 0 ? segment.kept : nullptr;
    return Done{};
}

void AttachedKernels::ranWith(std::shared_ptr<PreparedRun const> const& run, std::span<void* const> inputs)
{
    if (!isAny() || mToldRun != nullptr)
        return;
    mToldRun = run;
    mToldInputs.assign(inputs.begin(), inputs.end());
}

} // namespace tenon
