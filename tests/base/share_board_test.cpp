// The board of shares: each is done once, by whoever is there. Runs under ThreadSanitizer, too.
#include "base/share_board.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace tenon::test
{

namespace
{
using namespace std::chrono_literals;

//! Rounds in which each piece of a share adds up what all pieces of the round before wrote: plain memory, ordered by
//! the board alone. Rounds differ in how many pieces there are; some threads are late at times.
class Sums
{
  public:
    Sums(int32_t shares, uint32_t rounds, SpinTime spin)
        : mShares{shares},
          mRounds{rounds},
          mBoard{spin},
          mValues{{std::vector<int64_t>(static_cast<size_t>(shares), 1), {}}}
    {
        mBoard.start(shares);
        open();
    }
    void work(int32_t own, bool isLate)
    {
        std::minstd_rand random{static_cast<uint32_t>(own) + 1};
        SpinHistory history;
        while (std::optional<uint32_t> const round = mBoard.round())
        {
            if (isLate && random() % 8 == 0)
                std::this_thread::sleep_for(200us);
            while (std::optional<int32_t> const piece = mBoard.take(own, *round))
                run(own, *piece);
            for (int32_t i = 1; i < mShares; ++i)
                while (std::optional<int32_t> const piece = mBoard.takeOther((own + i) % mShares, *round))
                {
                    taken.fetch_add(1);
                    EXPECT_TRUE(mIsForAll);
                    run((own + i) % mShares, *piece);
                }
            mBoard.wait(*round, history);
        }
    }
    int64_t result() const
    {
        return mValues[mRounds % 2][0];
    }

    //! Pieces of each share.
    static int32_t piecesOf(uint32_t round)
    {
        return round % 4 == 1 ? 3 : 1 + static_cast<int32_t>(round % 2);
    }

    std::atomic<int32_t> taken{0}; //!< From others.

  private:
    void open()
    {
        mIsForAll = mRound % 5 != 4;
        mPieces = piecesOf(mRound);
        mValues[(mRound + 1) % 2].assign(static_cast<size_t>(mShares * mPieces), 0);
        mBoard.open(mIsForAll, mRound % 3 != 0, mPieces);
    }
    void run(int32_t share, int32_t piece)
    {
        std::vector<int64_t> const& from = mValues[mRound % 2];
        mValues[(mRound + 1) % 2][static_cast<size_t>(share * mPieces + piece)] =
            std::accumulate(from.begin(), from.end(), int64_t{0}) % 1000003;
        if (!mBoard.finish())
            return;
        if (++mRound == mRounds)
            return mBoard.close();
        open();
    }

    int32_t mShares;
    uint32_t mRounds;
    ShareBoard mBoard;
    std::array<std::vector<int64_t>, 2> mValues;
    uint32_t mRound{0};
    int32_t mPieces{1};
    bool mIsForAll{true};
};

int64_t sumsByHand(int32_t shares, uint32_t rounds)
{
    int64_t value{shares}; // Of ones.
    for (uint32_t i = 1; i < rounds; ++i)
        value = value * shares * Sums::piecesOf(i - 1) % 1000003;
    return value;
}
} // namespace

TEST(ShareBoard, everyShareIsDoneOnceAndRoundsAreInOrder)
{
    for (SpinTime const spin : {SpinTime{0}, SpinTime{20}, SpinTime{1000}})
        for (int32_t const shares : {2, 3, 5})
        {
            constexpr uint32_t kRounds{300};
            Sums sums{shares, kRounds, spin};
            {
                std::vector<std::jthread> threads;
                for (int32_t own = 1; own < shares; ++own)
                    threads.emplace_back([&, own] { sums.work(own, own % 2 == 1); });
                sums.work(0, false);
            }
            EXPECT_EQ(sums.result(), sumsByHand(shares, kRounds)) << shares << " shares";
            EXPECT_GT(sums.taken, 0);
        }
}

TEST(ShareBoard, whoIsAloneDoesAllShares)
{
    constexpr int32_t kShares{4};
    ShareBoard board{SpinTime{0}};
    for (int32_t again = 0; again < 3; ++again)
    {
        board.start(kShares);
        board.open(true, false);
        uint32_t const round = board.round().value();
        EXPECT_EQ(board.take(0, round), 0);
        EXPECT_FALSE(board.take(0, round)) << "twice";
        EXPECT_FALSE(board.take(1, round - 1)) << "a round behind";
        for (int32_t share = 1; share < kShares; ++share)
        {
            EXPECT_FALSE(board.finish());
            EXPECT_EQ(board.takeOther(share, round), 0);
        }
        EXPECT_TRUE(board.finish());
        board.open(false, false);
        uint32_t const next = board.round().value();
        EXPECT_FALSE(board.take(1, round)) << "late for a round that is over";
        EXPECT_FALSE(board.takeOther(1, next)) << "whose lanes meet";
        for (int32_t share = 0; share < kShares; ++share)
        {
            EXPECT_EQ(board.take(share, next), 0);
            EXPECT_EQ(board.finish(), share == kShares - 1);
        }
        board.open(true, false, 3);
        uint32_t const last = board.round().value();
        for (int32_t piece = 0; piece < 3; ++piece)
            for (int32_t share = 0; share < kShares; ++share)
            {
                EXPECT_FALSE(board.take(share, next)) << "of a round that had fewer pieces";
                EXPECT_EQ(board.take(share, last), piece);
                EXPECT_EQ(board.finish(), piece == 2 && share == kShares - 1);
            }
        EXPECT_FALSE(board.take(1, last)) << "more pieces than there are";
        board.close();
        EXPECT_FALSE(board.round());
    }
}

TEST(ShareBoard, aRoundThatLastsIsNotOverSoon)
{
    ShareBoard board{SpinTime{0}};
    board.start(1);
    board.open(true, true);
    uint32_t const round = board.round().value();
    EXPECT_FALSE(board.isOverSoon(round));
    board.close();
    EXPECT_TRUE(board.isOverSoon(round));
}

} // namespace tenon::test
