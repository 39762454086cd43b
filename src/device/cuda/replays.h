// Replays: graphs of launches that come again unchanged, so that a run is one call of the driver's.
#pragma once

#include "device/cuda/cuda_kernel.h"
#include "device/device.h"

#include <mutex>
#include <unordered_map>

namespace tenon::cuda
{

//! The steps' own numbers, and all addresses that they are launched with.
using ReplayKey = std::vector<uint64_t>;

//! Launches from one fence to the next that have streams of their own are branches of the graph, side by side.
//! Launches are known by what is in them, whichever frame they stand in: the first time they are launched one by one,
//! which loads what is loaded late; the second time they are recorded; from then on they are one graph. Where the same
//! steps come with other addresses again and again, a graph of theirs is recorded anew and patched.
class Replays
{
  public:
    //! Off: nothing is recorded. `overlaps`: kernels in a graph may begin while those before them end.
    explicit Replays(bool isOn, bool overlaps = true)
        : mIsOn{isOn},
          mOverlaps{overlaps}
    {
    }
    Replays(Replays const&) = delete;
    Replays& operator=(Replays const&) = delete;

    //! How many of the first launches can be in one graph; 0 where that is not worth it.
    size_t countFrom(std::span<Launch const> launches) const noexcept;
    //! How many come before the first that can be.
    size_t countBefore(std::span<Launch const> launches) const noexcept;
    //! Puts so many launches into the stream as a graph. False: they are not one yet, or cannot be; whoever calls
    //! launches them.
    Result<bool> launch(CudaDevice const& device, std::span<Launch const> launches, void* stream, Address stop);
    //! Lets go of graphs whose steps are gone.
    void dropDead(CudaDevice const& device);
    size_t graphs() const;

  private:
    struct Replay
    {
        ReplayKey key;
        uint64_t steps{0}; //!< A digest of the numbers alone.
        uint64_t lastUse{0};
        std::weak_ptr<void const> life; //!< Of its first step.
        void* executable{nullptr};
        bool isMade{false}; //!< The graph is that of the key.
        bool isRefused{false};
    };
    using All = std::unordered_multimap<uint64_t, Replay>; //!< By a digest of the key.

    //! What is known of these launches; null: they have come for the first time, and will be known by then.
    Replay* find(CudaDevice const& device, std::span<Launch const> launches, Address stop);
    //! What the steps have with other addresses, where these are many: the one to patch.
    All::iterator oldestOf(uint64_t steps);
    void makeRoom(CudaDevice const& device);
    //! What puts launches into the streams that are recorded.
    class Branches;
    //! For so many streams with the run's own; false: there are fewer.
    bool makeStreams(DriverApi const& api, size_t count);
    void dropStreams(DriverApi const& api);
    //! The launches as a graph; null where they cannot be recorded.
    void* recorded(CudaDevice const& device, std::span<Launch const> launches, Address stop, bool overlaps);
    bool make(CudaDevice const& device, Replay& replay, std::span<Launch const> launches, Address stop, bool overlaps);

    bool const mIsOn;
    bool const mOverlaps;
    mutable std::mutex mMutex; //!< Of all that follows, and of launches: a graph is not launched twice at once.
    All mAll;
    uint64_t mUses{0};
    ReplayKey mKey;             //!< Of the launches at hand.
    void* mStream{nullptr};     //!< What is recorded stands there.
    std::vector<void*> mAux;    //!< Streams of branches that are recorded beside it, by number from 1 on.
    std::vector<void*> mEvents; //!< Where branches begin, and by number where they end.
};

} // namespace tenon::cuda
