// PagedMemory: memory that need not stay: pages of a file of our own that has no name, which leave the process when
// told to and come back when somebody reads them (docs/decisions/0071-weights-come-and-go.md).
#pragma once

#include "base/bytes.h"
#include "base/cpus.h"
#include "plan/chunks.h"

#include <memory>
#include <string>

namespace tenon
{

class PagedMemory
{
  public:
    //! In the folder; empty: the system's for temporary files. An error when its file system has no room.
    static Result<std::shared_ptr<PagedMemory>> make(size_t bytes, std::string const& folder);
    ~PagedMemory();
    PagedMemory(PagedMemory const&) = delete;
    PagedMemory& operator=(PagedMemory const&) = delete;

    //! Calls `write(to, first, count)` for each piece, from several threads when there are many. No piece stays in
    //! memory; nobody may write any more, and who does is found out.
    template <typename Write>
    void fill(Write const& write)
    {
        forEachChunk(mSize, usableCpus(), [&](size_t first, size_t count) {
            write(mData + first, first, count);
            drop(mData + first, count);
        });
        seal();
    }
    //! The same from a stream: `write(to, count)` is called for one piece after the other until one is not whole. How
    //! many bytes there were.
    template <typename Write>
    Result<size_t> fillInOrder(Write const& write)
    {
        Result<size_t> const filled = forEachChunkInOrder(mSize, [&](size_t first, size_t count) -> Result<size_t> {
            Result<size_t> const got = write(mData + first, count);
            drop(mData + first, count);
            return got;
        });
        seal();
        return filled;
    }
    void* data() noexcept
    {
        return mData;
    }
    ByteView bytes() const noexcept
    {
        return {mData, mSize};
    }
    bool holds(void const* address) const noexcept
    {
        return address >= mData && address < mData + mSize;
    }
    //! The pages of a part leave, also those that it shares with its neighbours. Whoever reads them meanwhile brings
    //! them back.
    void drop(void const* from, size_t bytes) const noexcept;

  private:
    PagedMemory(uint8_t* data, size_t size) noexcept
        : mData{data},
          mSize{size}
    {
    }
    void seal() noexcept;

    uint8_t* mData;
    size_t mSize;
};

//! A copy of a plan.
Result<std::shared_ptr<PagedMemory>> pagedCopy(ByteView plan, std::string const& folder);

} // namespace tenon
