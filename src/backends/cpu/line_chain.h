// LineChain: consecutive steps that each lane does strip by strip, so that what one hands to the next stays in the
// lane's second cache.
#pragma once

#include "device/device.h"
#include "device/host/line_step.h"

#include <array>
#include <span>

namespace tenon::cpu
{

class LineChain
{
  public:
    //! Those that begin with the first of `launches`; none (count() is 0) where fewer than two go together.
    LineChain(std::span<Launch const> launches, int32_t lanes) noexcept;
    size_t count() const noexcept
    {
        return mCount;
    }
    int32_t stages() const noexcept
    {
        return mMembers[0].step->needsPreparing() ? 2 : 1;
    }
    //! One lane's part of a stage.
    void run(Lane const& lane) const;

    //! Scratch memory of a step for the strips of a chain that begins with it.
    static size_t scratchBytes(LineForm const& form) noexcept;

  private:
    static constexpr size_t kMaxSteps{6};
    static constexpr size_t kMaxOperands{16};

    struct Member
    {
        Launch const* launch;
        LineStep const* step;
        LineForm form;
        int64_t room{0};     //!< Lines of its output that are kept; the last member keeps none.
        int64_t position{0}; //!< Bytes from the beginning of a lane's memory.
    };
    struct Lines
    {
        int64_t first;
        int64_t last;
    };
    using Done = std::array<int64_t, kMaxSteps>;

    static Lines inputOf(LineForm const& form, Lines lines) noexcept;
    bool follows(Launch const& next, int32_t lanes) const noexcept;
    //! Strips as high as memory allows; false when not even a line fits.
    bool findHeight() noexcept;
    int64_t bytesAt(int64_t height) noexcept;
    //! Whether it would leave a tensor for the next chain that is larger than the one before.
    bool endsWide() const noexcept;
    bool isWorthSeams(int32_t lanes) const noexcept;
    //! Whether the last output shares memory with what is read while it is written.
    bool isApart() const noexcept;
    void runStrip(Lines lines, char* memory, Done& done) const;
    void runMember(size_t index, Lines lines, char* memory) const;

    std::array<Member, kMaxSteps> mMembers;
    size_t mCount{0};
    int64_t mHeight{0};
};

} // namespace tenon::cpu
