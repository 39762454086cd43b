// PlanMemory: what a plan's bytes stand in when it has been built and while engines run it: pages of our own, or those
// of sealed memory that processes share.
#pragma once

#include "base/bytes.h"
#include "base/cpus.h"
#include "plan/chunks.h"

#include <memory>

namespace tenon
{

class PlanMemory
{
  public:
    //! Null when there is no memory. `isLoaded`: of a plan that is loaded to be run, for which large pages are asked
    //! for; one that was just built is not, though IBuilder::buildEngineWithConfig runs it where it stands.
    static std::shared_ptr<PlanMemory> make(size_t bytes, bool isLoaded = true);
    //! The pages of a file that can neither change nor become shorter, filled already; null when they cannot be mapped.
    static std::shared_ptr<PlanMemory> sealed(int file, size_t bytes);
    ~PlanMemory();
    PlanMemory(PlanMemory const&) = delete;
    PlanMemory& operator=(PlanMemory const&) = delete;

    //! Calls `write(to, first, count)` for each piece, from several threads when there are many; then nobody may write
    //! any more, and who does is found out.
    template <typename Write>
    void fill(Write const& write)
    {
        forEachChunk(mSize, usableCpus(), [&](size_t first, size_t count) {
            touch(first, count);
            write(mData + first, first, count);
        });
        seal();
    }
    //! The same from a stream: `write(to, count)` is called for one piece after the other until one is not whole. How
    //! many bytes there were.
    template <typename Write>
    Result<size_t> fillInOrder(Write const& write)
    {
        Result<size_t> const filled = forEachChunkInOrder(mSize, [&](size_t first, size_t count) -> Result<size_t> {
            touch(first, count);
            return write(mData + first, count);
        });
        seal();
        return filled;
    }
    ByteView bytes() const noexcept
    {
        return {mData, mSize};
    }
    //! Zeros at first, for one who writes them in an order of his own; they may be written to from then on, too.
    std::span<uint8_t> writable() noexcept
    {
        return {mData, mSize};
    }
    //! Pages of a piece that is about to be written, in one walk instead of a fault for each.
    void touch(size_t first, size_t count) noexcept;

  private:
    PlanMemory(uint8_t* data, size_t size) noexcept
        : mData{data},
          mSize{size}
    {
    }
    void seal() noexcept;

    uint8_t* mData;
    size_t mSize;
};

//! A copy of a plan; null when there is no memory.
std::shared_ptr<PlanMemory> copyPlan(ByteView plan);

struct Plan;
//! As writePlan, for a plan that nobody needs any more: weights that it alone holds go as soon as they are copied, so
//! that they are never there twice, in whichever of up to `maxThreads` threads.
Result<std::shared_ptr<PlanMemory>> writePlanOnce(Plan plan, int32_t maxThreads);

} // namespace tenon
