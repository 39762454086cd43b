// Frames: which frame the next run takes.
#include "runtime/frames.h"

#include "runtime/context_state.h"

#include <algorithm>

namespace tenon
{

Frames::Frames(ContextState& context)
    : mContext{context}
{
    mAll.push_back(std::make_shared<Frame>(context));
}

std::shared_ptr<Frame> Frames::takeFree(ContinueCheck const* mayContinue)
{
    constexpr size_t kLimit{1024};
    constexpr ptrdiff_t kMaxIdle{64};
    auto const isIdle = [](auto const& each) { return !each->isUnderWay(); };
    if (auto const found = std::ranges::find_if(mAll, isIdle); found != mAll.end())
    {
        std::shared_ptr<Frame> frame = *found;
        frame->settle();
        // Those that a burst of runs leaves behind keep all that their shapes need.
        if (mAll.size() > asSize(kMaxIdle) && std::ranges::count_if(mAll, isIdle) > kMaxIdle)
            std::erase_if(mAll, [&](auto const& each) { return each != frame && isIdle(each); });
        return frame;
    }
    if (mAll.size() < kLimit || mContext.engine.device().isWorking())
        return mAll.emplace_back(std::make_shared<Frame>(mContext));
    std::rotate(mAll.begin(), mAll.begin() + 1, mAll.end()); // The first has been under way for longest.
    return mAll.back()->wait(mayContinue) ? mAll.back() : nullptr;
}

std::shared_ptr<Frame> Frames::takeRecording()
{
    auto frame = std::make_shared<Frame>(mContext);
    frame->capturedFrom = mContext.shared_from_this();
    mRecordings.fetch_add(1);
    std::erase_if(mRecorded, [](auto const& each) { return each.expired(); });
    mRecorded.push_back(frame);
    return frame;
}

bool Frames::areUnderWay() const
{
    return std::ranges::any_of(mAll, [](auto const& frame) { return frame->isUnderWay(); });
}

bool Frames::wait(ContinueCheck const* mayContinue) const
{
    bool const isOver = std::ranges::all_of(mAll, [&](auto const& frame) { return frame->wait(mayContinue); });
    settle();
    return isOver;
}

void Frames::awaitTimed(StepObserver const& timer) const
{
    for (std::shared_ptr<Frame> const& frame : mAll)
        if (frame->timer.get() == &timer)
        {
            frame->wait();
            frame->settle();
        }
}

void Frames::silence() const
{
    for (std::shared_ptr<Frame> const& frame : mAll)
        frame->silence();
    for (std::weak_ptr<Frame> const& each : mRecorded)
        if (std::shared_ptr<Frame> const frame = each.lock())
            frame->silence();
}

void Frames::settle() const
{
    for (std::shared_ptr<Frame> const& frame : mAll)
        frame->settle();
}

} // namespace tenon
