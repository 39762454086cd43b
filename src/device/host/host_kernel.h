// HostPrepared: what devices of the host run: a function that every lane of a team calls, or one thread.
#pragma once

#include "device/kernel.h"

#include <utility>

namespace tenon
{

//! One thread's place in the team that runs a step together.
struct Lane
{
    int32_t index{0};
    int32_t count{1};
    void (*wait)(void* team){nullptr};
    void* team{nullptr};

    //! Returns when every lane of the team has come here.
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
    //! True: every lane of the team calls run (single program, each takes its part). False: one thread calls it, and it
    //! may use the team by itself.
    virtual bool isCollective() const noexcept = 0;
    virtual Result<Done> run(Call const& call, Lane const& lane) const = 0;
};

//! What a launch on a device of the host runs: its kernels prepare nothing else.
inline HostPrepared const& hostPrepared(Prepared const& prepared) noexcept
{
    return static_cast<HostPrepared const&>(prepared);
}

} // namespace tenon
