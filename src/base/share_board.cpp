// ShareBoard: claims hold numbers of rounds, so that a thread that is a round behind takes nothing.
#include "base/share_board.h"

namespace tenon
{

namespace
{
//! Threads that are awake have taken their shares by then.
constexpr SpinTime kMoment{1};

//! What a claim holds, in one word.
struct Taken
{
    uint32_t round;
    uint16_t pieces;
    uint16_t count;
};

constexpr uint64_t wordOf(Taken taken) noexcept
{
    return uint64_t{taken.round} << 32 | uint64_t{taken.pieces} << 16 | taken.count;
}

constexpr Taken takenOf(uint64_t word) noexcept
{
    return {static_cast<uint32_t>(word >> 32), static_cast<uint16_t>(word >> 16), static_cast<uint16_t>(word)};
}
} // namespace

void ShareBoard::start(int32_t shares) noexcept
{
    mShares = shares;
    mIsClosed.store(false, std::memory_order_relaxed);
    for (int32_t share = 0; share < shares; ++share)
        new (reinterpret_cast<Claim*>(mClaims.data()) + share) Claim{wordOf({mRound.value(), 0, 0})};
}

// Whoever takes a share of the round has seen its number: all that was written before it, and all of the round before.
void ShareBoard::open(bool isForAll, bool wakes, int32_t pieces) noexcept
{
    mIsForAll.store(isForAll, std::memory_order_relaxed);
    mPieces.store(pieces, std::memory_order_relaxed);
    mLeft.store(mShares * pieces, std::memory_order_relaxed);
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

// How many pieces the round has is read while it may be over and the next one open: whoever takes the first piece has
// read what holds for the round, for it was open then, and the others go by what that one wrote.
std::optional<int32_t> ShareBoard::take(int32_t share, uint32_t round) noexcept
{
    std::atomic<uint64_t>& claimed = claim(share).taken;
    for (uint64_t word = claimed.load(std::memory_order_relaxed);;)
    {
        Taken const before = takenOf(word);
        Taken after{round, before.pieces, static_cast<uint16_t>(before.count + 1)};
        if (before.round == round - 1)
            after = {round, static_cast<uint16_t>(mPieces.load(std::memory_order_relaxed)), 1};
        else if (before.round != round || before.count == before.pieces)
            return std::nullopt;
        if (claimed.compare_exchange_weak(word, wordOf(after), std::memory_order_acq_rel, std::memory_order_relaxed))
            return after.count - 1;
    }
}

bool ShareBoard::isOverSoon(uint32_t round) const noexcept
{
    return mRound.spinWhile(round, kMoment);
}

} // namespace tenon
