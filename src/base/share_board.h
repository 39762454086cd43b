// ShareBoard: the shares of one round of work after the other, for threads that come when they can.
#pragma once

#include "base/wait_word.h"

#include <array>
#include <new>
#include <optional>

namespace tenon
{

//! A round has as many shares as the team has lanes, each of one or several pieces. A thread takes the share that is
//! its own, piece after piece, then what nobody has taken of others, so that one that is slow, comes late, or not at
//! all, holds nobody up for longer than a piece. Who finishes a round's last piece opens the next one.
class ShareBoard
{
  public:
    static constexpr int32_t kMaxShares{256};
    static constexpr int32_t kMaxPieces{UINT16_MAX};

    explicit ShareBoard(SpinTime spin) noexcept
        : mSpin{spin}
    {
    }
    ShareBoard(ShareBoard const&) = delete;
    ShareBoard& operator=(ShareBoard const&) = delete;

    //! For the rounds of some threads that are not there yet. Nothing is open.
    void start(int32_t shares) noexcept;
    //! By the thread that calls start(), then by those that finish a round. Without `wakes` threads that sleep are left
    //! alone, in a round for all: for those that are over before they would be there. `pieces`: of each share, at least
    //! one.
    void open(bool isForAll, bool wakes, int32_t pieces = 1) noexcept;
    //! By a thread that goes while rounds are open: those who sleep see what was opened without them.
    void wake() noexcept
    {
        mRound.wake();
    }
    //! In place of another round: all threads are to go.
    void close() noexcept;

    //! The round that is open; none when the board is closed.
    std::optional<uint32_t> round() const noexcept
    {
        uint32_t const round = mRound.value();
        return mIsClosed.load(std::memory_order_acquire) ? std::nullopt : std::optional{round};
    }
    //! The share's next piece, which is the calling thread's: the round stays open until it has called finish() for it.
    //! None: others have them, or the round is over.
    std::optional<int32_t> take(int32_t share, uint32_t round) noexcept;
    //! The same for a share that is another thread's, which rounds for all allow.
    std::optional<int32_t> takeOther(int32_t share, uint32_t round) noexcept
    {
        if (!mIsForAll.load(std::memory_order_relaxed))
            return std::nullopt;
        return take(share, round); // Of a later round: take() says no.
    }
    //! True: it was the round's last piece.
    bool finish() noexcept
    {
        return mLeft.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    //! Until the round is over; one that waits longer than the time to spin sleeps.
    void wait(uint32_t round, SpinHistory& history) noexcept
    {
        mRound.waitWhile(round, mSpin, history);
    }
    //! Whether it is over within a moment.
    bool isOverSoon(uint32_t round) const noexcept;

  private:
    //! The last round of which a piece has been taken, how many there are, and how many are taken.
    struct alignas(64) Claim
    {
        std::atomic<uint64_t> taken;
    };

    Claim& claim(int32_t share) noexcept
    {
        return *std::launder(reinterpret_cast<Claim*>(mClaims.data()) + share);
    }

    SpinTime const mSpin;
    int32_t mShares{0};
    std::atomic<int32_t> mPieces{1};
    std::atomic<bool> mIsClosed{false};
    std::atomic<bool> mIsForAll{true};
    WaitWord mRound;
    alignas(64) std::atomic<int32_t> mLeft{0};
    //! Of those shares alone that there are: a run need not touch the others.
    alignas(64) std::array<std::byte, sizeof(Claim) * static_cast<size_t>(kMaxShares)> mClaims;
};

} // namespace tenon
