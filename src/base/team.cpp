// Team: the pool, and how work goes to its threads and comes back.
#include "base/team.h"

#include "base/cpus.h"
#include "base/fork.h"
#include "base/signals_blocked.h"

#include <algorithm>
#include <immintrin.h>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <utility>

namespace tenon
{

namespace
{
//! Behind a run a lane spins for this part of the time within one: there it costs a CPU that others may want, and the
//! next run comes soon or not at all.
constexpr int32_t kOfTimeWithinRuns{10};

thread_local SpinHistory tWithinRuns;
} // namespace

//! A thread of the pool. Lives as long as the process, so that whoever is late to look at its words finds them.
class TeamWorker
{
  public:
    //! Null: the system has no more threads.
    static TeamWorker* start() noexcept
    {
        SignalsBlocked const blocked;
        std::unique_ptr<TeamWorker> worker{new (std::nothrow) TeamWorker};
        pthread_t thread{};
        if (worker == nullptr || pthread_create(&thread, nullptr, &TeamWorker::main, worker.get()) != 0)
            return nullptr;
        pthread_setname_np(thread, "tenon-lane");
        pthread_detach(thread);
        return worker.release();
    }
    void give(Team& team, int32_t lane) noexcept
    {
        mTeam = &team;
        mLane = lane;
        mGiven.set(mGiven.value() + 1);
    }
    //! Until what was given last is done, or taken back if it has not begun.
    void end(SpinTime spin) noexcept
    {
        uint32_t const round = mGiven.value();
        if (decide(round))
            return;
        for (uint32_t done = mDone.value(); done != round; done = mDone.value())
            mDone.waitWhile(done, spin, tWithinRuns);
    }

    TeamWorker* next{nullptr}; //!< In the pool's list of those that have nothing to do.

  private:
    static void* main(void* self) noexcept
    {
        static_cast<TeamWorker*>(self)->serve();
        return nullptr;
    }
    void serve() noexcept
    {
        SpinTime spin{0};
        SpinHistory betweenRuns;
        for (uint32_t round = 0;;)
        {
            mGiven.waitWhile(round, spin, betweenRuns);
            round = mGiven.value();
            if (!decide(round))
                continue;
            spin = mTeam->mLease.spin / kOfTimeWithinRuns;
            _mm_setcsr(mTeam->mFloatMode);
            mTeam->runLane(mLane);
            if (mTeam->hasLeft()) // Others want the CPU.
                spin = SpinTime::zero();
            mDone.set(round); // The team may be gone from here on.
        }
    }
    //! Whether what was given begins or is taken back; true for who comes first. What was given before is decided.
    bool decide(uint32_t round) noexcept
    {
        uint32_t before = round - 1;
        return mDecided.compare_exchange_strong(before, round, std::memory_order_acq_rel);
    }

    WaitWord mGiven;
    WaitWord mDone;
    std::atomic<uint32_t> mDecided{0};
    Team* mTeam{nullptr};
    int32_t mLane{0};
};

//! The threads of a process, and how many lanes its runs have.
class TeamPool
{
  public:
    Team::Lease lend(std::span<TeamWorker*> workers, int32_t wanted, int32_t budget, SpinTime spin) noexcept
    {
        std::scoped_lock const lock{mMutex};
        int32_t const most = std::min(std::clamp(budget - mLanes, 1, std::max(wanted, 1)), Team::kMaxLanes);
        int32_t lanes{1};
        while (lanes < most && (workers[static_cast<size_t>(lanes)] = take()) != nullptr)
            ++lanes;
        mLanes += lanes;
        return {lanes, budget, mLanes <= mCpus ? spin : SpinTime::zero()};
    }
    //! Whether a lane is one too many. True: it counts no more.
    bool letGo(int32_t budget) noexcept
    {
        if (mLanes.load(std::memory_order_relaxed) <= budget)
            return false;
        std::scoped_lock const lock{mMutex};
        if (mLanes <= budget)
            return false;
        --mLanes;
        return true;
    }
    //! `present` of the lanes have not been let go.
    void takeBack(std::span<TeamWorker* const> workers, int32_t present) noexcept
    {
        std::scoped_lock const lock{mMutex};
        mLanes -= present;
        for (size_t lane = workers.size() - 1; lane > 0; --lane) // The first will be so again, while they spin still.
            workers[lane]->next = std::exchange(mIdle, workers[lane]);
    }

  private:
    TeamWorker* take() noexcept
    {
        return mIdle == nullptr ? TeamWorker::start() : std::exchange(mIdle, mIdle->next);
    }

    std::mutex mMutex;
    int32_t const mCpus{usableCpus()};
    std::atomic<int32_t> mLanes{0}; //!< Set under the lock.
    TeamWorker* mIdle{nullptr};
};

namespace
{
std::atomic<TeamPool*> gPool{nullptr}; //!< Never destroyed: threads sleep on its workers while the process ends.

TeamPool& pool() noexcept
{
    TeamPool* pool = gPool.load(std::memory_order_acquire);
    if (pool != nullptr)
        return *pool;
    auto* const made = new TeamPool;
    if (gPool.compare_exchange_strong(pool, made, std::memory_order_acq_rel))
        return *made;
    delete made;
    return *pool;
}

//! The threads stayed in the parent, and leases of other threads with them; the lock may be taken for ever.
void forgetPool() noexcept
{
    gPool.store(nullptr, std::memory_order_relaxed);
}

[[maybe_unused]] int const kForksForgetPool = pthread_atfork(nullptr, nullptr, &forgetPool);
} // namespace

void TeamBarrier::wait() noexcept
{
    uint32_t const round = mRound.value();
    if (mArrived.fetch_add(1, std::memory_order_acq_rel) + 1 < mCount)
        return mRound.waitWhile(round, mSpin, tWithinRuns);
    mArrived.store(0, std::memory_order_relaxed);
    mRound.set(round + 1);
}

Team::Team(int32_t wanted, int32_t budget, SpinTime spin) noexcept
    : mGeneration{forkGeneration()},
      mLease{pool().lend(mWorkers, wanted, budget, spin)},
      mFloatMode{_mm_getcsr()},
      mPresent{mLease.lanes},
      mBarrier{mLease.lanes, mLease.spin}
{
}

Team::~Team()
{
    if (mGeneration == forkGeneration())
        pool().takeBack({mWorkers.data(), static_cast<size_t>(mLease.lanes)}, mPresent.load(std::memory_order_relaxed));
}

void Team::run(Work work, void* context) noexcept
{
    if (mGeneration != forkGeneration())
    {
        TeamBarrier alone{1, SpinTime::zero()};
        return work(context, 0, alone);
    }
    mWork = work;
    mContext = context;
    runLane(0);
}

int32_t Team::lanes() const noexcept
{
    return mGeneration == forkGeneration() ? mBarrier.count() : 1;
}

bool Team::leaves(int32_t lane) noexcept
{
    if (mPresent.load(std::memory_order_relaxed) != lane + 1 || !pool().letGo(mLease.budget))
        return false;
    mPresent.store(lane, std::memory_order_relaxed); // Whoever comes after this lane's end, or share, sees it.
    return true;
}

SpinHistory& Team::spinHistory() noexcept
{
    return tWithinRuns;
}

//! Each lane wakes two others, and sees to the end of both: that of many threads costs their logarithm.
void Team::runLane(int32_t lane) noexcept
{
    int32_t const first = 2 * lane + 1;
    int32_t const last = std::min(first + 2, mPresent.load(std::memory_order_relaxed));
    for (int32_t child = first; child < last; ++child)
        mWorkers[static_cast<size_t>(child)]->give(*this, child);
    mWork(mContext, lane, mBarrier);
    for (int32_t child = first; child < last; ++child)
        mWorkers[static_cast<size_t>(child)]->end(mLease.spin);
}

} // namespace tenon
