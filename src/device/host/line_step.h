// LineStep: a step over images whose lines are made one by one, each from a few lines of the first operand.
#pragma once

#include "device/host/host_kernel.h"

namespace tenon
{

//! Which lines of the first operand a line of the output needs. Lines are counted over all images.
struct LineForm
{
    int64_t images{0};
    int64_t inHeight{0};
    int64_t outHeight{0};
    int64_t stride{1}; //!< Lines of the input from one line of the output to the next.
    int64_t padTop{0};
    int64_t reach{1}; //!< Lines of the input that one line needs.
    int64_t inLineBytes{0};
    int64_t outLineBytes{0};
    int64_t outPixels{0};    //!< Of a line, some of which it can be asked for alone; 0: lines are whole.
    bool isPointwise{false}; //!< A pixel needs that of the first operand alone.
    bool canFollow{false};   //!< It finds its input in a ring of lines, too.
    size_t ownScratch{0};    //!< What run() and prepareLines() need, at the beginning of the step's scratch memory.
    int32_t lanes{1};        //!< That it was prepared for.

    int64_t inBytes() const noexcept
    {
        return images * inHeight * inLineBytes;
    }
    int64_t outBytes() const noexcept
    {
        return images * outHeight * outLineBytes;
    }
};

//! Lines [first, last) of the output. `inRing`: line i of the input is at place i mod inRing; 0: all of them are there.
struct LineShare
{
    int64_t first{0};
    int64_t last{0};
    int64_t left{0};  //!< Pixels at the beginning of the first line that are not wanted.
    int64_t right{0}; //!< And at the end of the last one.
    int64_t inRing{0};
    void* scratch{nullptr}; //!< linesScratch() bytes of the lane, in whole cache lines.
};

class LineStep : public HostPrepared
{
  public:
    bool isCollective() const noexcept final
    {
        return true;
    }
    LineStep const* byLines() const noexcept override
    {
        return this;
    }
    virtual LineForm const& lineForm() const noexcept = 0;
    //! Whether prepareLines() does something: a stage of its own, before the first line.
    virtual bool needsPreparing() const noexcept
    {
        return false;
    }
    virtual void prepareLines(Call const& call, Lane const& lane) const
    {
        static_cast<void>(call);
        static_cast<void>(lane);
    }
    //! Bytes of memory that runLines() needs for so many lines at most, and for fewer, too.
    virtual size_t linesScratch(int64_t lines) const noexcept
    {
        static_cast<void>(lines);
        return 0;
    }
    virtual void runLines(Call const& call, LineShare const& share) const = 0;
};

} // namespace tenon
