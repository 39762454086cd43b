// HostFence: what one run has in streams of the host. Kept from run to run, so that running allocates nothing.
#pragma once

#include "device/device.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace tenon
{

class HostFence final : public Fence
{
  public:
    //! What stands in a stream until its turn comes.
    struct Part
    {
        HostFence* fence{nullptr};
        std::span<Launch const> launches;
        RunOptions options; //!< Without keeper.
        bool isPending{false};
    };

    bool isOver() const override;
    bool wait(ContinueCheck const* mayContinue) const override;

    //! A part that is pending until end().
    Part& begin(std::span<Launch const> launches, RunOptions const& options);
    //! Whether an earlier part of the run has failed.
    bool hasFailed() const;
    //! The last thing that the work does with part or fence: who waits may destroy both.
    void end(Part& part, bool hasFailed) noexcept;

  private:
    bool isOfParent() const noexcept;
    void forgetParent() noexcept;

    mutable std::mutex mMutex;
    mutable std::condition_variable mChanged;
    std::deque<Part> mParts; //!< Addresses stay.
    int32_t mPending{0};
    bool mHasFailed{false};
    std::atomic<int32_t> mGeneration{0}; //!< Of the process that began the parts: in a child of it nothing goes on.
};

} // namespace tenon
