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
        return mHaloBytes > 0 || mMembers[0].step->needsPreparing() ? 2 : 1;
    }
    //! Whether lanes share lines of the last output.
    bool isByPixels() const noexcept
    {
        return mCut == Cut::kPixels;
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
    //! Of the last output.
    struct Own
    {
        Lines lines;
        int64_t left{0}; //!< Pixels of the first line, and of the last one, that are another lane's.
        int64_t right{0};
    };
    //! One lane's.
    struct Part
    {
        char* memory;
        Own own;
        Lines touched; //!< Of the first operand, where the last output takes its place.
    };
    //! How lanes share the last output.
    enum class Cut : uint8_t
    {
        kLines,      //!< What is over goes to the last lanes,
        kFirstLines, //!< or to the first ones.
        kPixels
    };
    using Done = std::array<int64_t, kMaxSteps>;

    static Lines inputOf(LineForm const& form, Lines lines) noexcept;
    //! Whether the steps so far go together.
    bool isGood(int32_t lanes) noexcept;
    bool follows(Launch const& next, int32_t lanes) const noexcept;
    //! Strips as high as memory allows; false when not even a line fits.
    bool findHeight() noexcept;
    //! Of a lane's memory: rings, and behind them what its steps need for themselves.
    int64_t bytesAt(int64_t height) noexcept;
    //! Whether it would leave a tensor for the next chain that is larger than the one before.
    bool endsWide() const noexcept;
    bool isWorthSeams(int32_t lanes) const noexcept;
    //! Whether the last output takes the place of the first operand, each line of which is read before that line is
    //! written, but for those that other lanes write.
    bool isInPlace() const noexcept;
    //! Whether the last output shares memory with what is read while it is written.
    bool isApart() const noexcept;
    //! The way that takes the lane with most to do least.
    void findCut(int32_t lanes) noexcept;
    //! Estimated microseconds of the lane with most to do.
    double costOf(Cut cut, int32_t lanes) const noexcept;
    Own ownOf(Cut cut, Lane const& lane) const noexcept;
    Part partOf(Lane const& lane) const noexcept;
    //! Of the first operand, those that other lanes will write over.
    void keepHalo(Part const& part) const noexcept;
    void runStrip(Lines lines, Part const& part, Done& done) const;
    void runHead(Lines lines, Part const& part) const;
    void runMember(size_t index, Lines lines, Part const& part, void const* input) const;

    std::array<Member, kMaxSteps> mMembers;
    size_t mCount{0};
    int64_t mHeight{0};
    int64_t mOwnPosition{0}; //!< Of what a step needs for itself, in a lane's memory.
    int64_t mHaloBytes{0};   //!< At the end of a lane's memory.
    Cut mCut{Cut::kLines};
    size_t mFirstByPixels{0}; //!< From that member on all make the pixels of the last one; before, whole lines.
};

} // namespace tenon::cpu
