// ShareBoard: claims are numbers of rounds, so that a thread that is a round behind takes nothing.
#include "base/share_board.h"

namespace tenon
{

namespace
{
//! Threads that are awake have taken their shares by then.
constexpr SpinTime kMoment{1};
} // namespace

void ShareBoard::start(int32_t shares) noexcept
{
    mShares = shares;
    mIsClosed.store(false, std::memory_order_relaxed);
    for (int32_t share = 0; share < shares; ++share)
        new (reinterpret_cast<Claim*>(mClaims.data()) + share) Claim{mRound.value()};
}

// Whoever takes a share of the round has seen its number: all that was written before it, and all of the round before.
void ShareBoard::open(bool isForAll, bool wakes) noexcept
{
    mIsForAll.store(isForAll, std::memory_order_relaxed);
    mLeft.store(mShares, std::memory_order_relaxed);
    uint32_t const round = mRound.value() + 1;
    if (wakes || !isForAll) // Nobody else does the share of one that sleeps.
        mRound.set(round);
    else
        mRound.setQuietly(round);
}

void ShareBoard::close() noexcept
{
    mIsClosed.store(true, std::memory_order_release);
    mRound.set(mRound.value() + 1);
}

bool ShareBoard::take(int32_t share, uint32_t round) noexcept
{
    uint32_t before = round - 1;
    std::atomic<uint32_t>& last = claim(share).round;
    return last.load(std::memory_order_relaxed) == before
        && last.compare_exchange_strong(before, round, std::memory_order_acq_rel, std::memory_order_relaxed);
}

bool ShareBoard::isOverSoon(uint32_t round) const noexcept
{
    return mRound.spinWhile(round, kMoment);
}

} // namespace tenon
