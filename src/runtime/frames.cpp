// Frames: which frame the next run takes.
#include "runtime/frames.h"

#include "runtime/context_state.h"

#include <algorithm>
#include <bit>

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
    constexpr size_t kIdle{64}; //!< Those that a burst of runs leaves behind keep all that their shapes need.
    constexpr size_t kAsked{4};
    size_t found = findIdle(std::min(kAsked, mAll.size()));
    if (found == mAll.size() && mAll.size() >= kIdle && std::has_single_bit(mAll.size())) // Not for each run.
        found = findIdle(mAll.size());
    if (found < mAll.size())
    {
        if (mAll.size() > kIdle && !at(mAll.size() - 1).isUnderWay())
            dropIdle(kIdle, found);
        std::shared_ptr<Frame> frame = takeAt(found);
        frame->settle();
        return frame;
    }
    if (mAll.size() < kLimit || mContext.engine.device().isWorking())
    {
        auto frame = std::make_shared<Frame>(mContext);
        mAll.insert(mAll.begin() + static_cast<ptrdiff_t>(mOldest), frame);
        ++mOldest;
        return frame;
    }
    return at(0).wait(mayContinue) ? takeAt(0) : nullptr;
}

//! Among the first `count`, from the one that was taken longest ago; mAll.size(): none. Work of one stream ends in
//! order, and a question may be a call of a driver's: of neighbours on one stream the first is asked.
size_t Frames::findIdle(size_t count) const
{
    for (size_t i = 0; i < count; ++i)
        if ((i == 0 || at(i).stream != at(i - 1).stream) && !at(i).isUnderWay())
            return i;
    return mAll.size();
}

std::shared_ptr<Frame> Frames::takeAt(size_t i)
{
    auto const place = [&](size_t each) -> std::shared_ptr<Frame>& { return mAll[(mOldest + each) % mAll.size()]; };
    for (; i > 0; --i)
        std::swap(place(i), place(i - 1));
    std::shared_ptr<Frame> frame = place(0);
    mOldest = (mOldest + 1) % mAll.size(); // It is the last one now.
    return frame;
}

//! All but so many, and but the one at `kept`, which is the first then.
void Frames::dropIdle(size_t count, size_t& kept)
{
    std::rotate(mAll.begin(), mAll.begin() + static_cast<ptrdiff_t>(mOldest), mAll.end());
    mOldest = 0;
    Frame const* const frame = mAll[kept].get();
    auto const isIdle = [](auto const& each) { return !each->isUnderWay(); };
    if (std::ranges::count_if(mAll, isIdle) > static_cast<ptrdiff_t>(count))
        std::erase_if(mAll, [&](auto const& each) { return each.get() != frame && isIdle(each); });
    kept = static_cast<size_t>(std::ranges::find(mAll, frame, &std::shared_ptr<Frame>::get) - mAll.begin());
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
