// HostPrepared: what devices of the host run: a function that every lane of a team calls, or one thread.
#pragma once

#include "device/kernel.h"

#include <utility>

namespace tenon
{

//! One of the shares that a step is cut into, one per lane of a team. Which thread does it does not matter.
struct Lane
{
    int32_t index{0};
    int32_t count{1};
    int32_t stage{0}; //!< Of the step's.
    void (*wait)(void* team){nullptr};
    void* team{nullptr};
    int32_t piece{0}; //!< Of the lane's share, where the step has several.
    int32_t pieces{1};
    int32_t thread{0}; //!< Which of `count` threads does it: memory that pieces write in between is by thread then.

    //! Returns when every lane of the team has come here, in steps whose lanes meet.
    void barrier() const
    {
        if (count > 1)
            wait(team);
    }
    //! This lane's part [first, last) of `total` items, in multiples of `grain` but for the end.
    std::pair<int64_t, int64_t> part(int64_t total, int64_t grain = 1) const noexcept
    {
        int64_t const blocks = (total + grain - 1) / grain;
        int64_t const first = blocks * index / count * grain;
        int64_t const last = blocks * (index + 1) / count * grain;
        return {first < total ? first : total, last < total ? last : total};
    }
};

class LineStep;

class HostPrepared : public Prepared
{
  public:
    //! Not null: lanes can also do the step line by line.
    virtual LineStep const* byLines() const noexcept
    {
        return nullptr;
    }
    //! True: run is called for every lane of the team (single program, each takes its part). False: one thread calls
    //! it.
    virtual bool isCollective() const noexcept = 0;
    //! How often run is called for each lane: all lanes are through a stage before the next one begins.
    virtual int32_t stages(int32_t lanes) const noexcept
    {
        static_cast<void>(lanes);
        return 1;
    }
    //! Into how many pieces each lane's share of the last stage is cut, for other threads to take up when they are
    //! through with theirs: of a step that takes long, on a machine whose threads are not equally fast. What it makes
    //! does not depend on it.
    virtual int32_t pieces(int32_t lanes) const noexcept
    {
        static_cast<void>(lanes);
        return 1;
    }
    //! Lanes wait for each other within a stage, so that each needs a thread of its own: for steps that would have too
    //! many stages. All others go on without a thread that is late.
    virtual bool meets(int32_t lanes) const noexcept
    {
        static_cast<void>(lanes);
        return false;
    }
    virtual Result<Done> run(Call const& call, Lane const& lane) const = 0;
    //! A run has ended early, maybe between two stages of this step: what the last one would have given back goes now.
    //! Other runs may be within the step.
    virtual void abandon() const noexcept {}
    //! The whole step on the calling thread.
    Result<Done> runAlone(Call const& call) const
    {
        for (Lane lane; lane.stage < stages(1); ++lane.stage)
            TENON_TRY(run(call, lane));
        return Done{};
    }
};

//! What a launch on a device of the host runs: its kernels prepare nothing else.
inline HostPrepared const& hostPrepared(Prepared const& prepared) noexcept
{
    return static_cast<HostPrepared const&>(prepared);
}

} // namespace tenon
