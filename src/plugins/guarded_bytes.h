// GuardedBytes: memory that a user's code fills, with a margin that shows when it wrote too much.
#pragma once

#include "base/bytes.h"

#include <algorithm>

namespace tenon::plugins
{

class GuardedBytes
{
  public:
    static Result<GuardedBytes> make(size_t size)
    {
        constexpr size_t kLimit{size_t{1} << 40};
        if (size > kLimit)
            return badConfig("{} bytes were asked for", size);
        return GuardedBytes{size};
    }
    void* data() noexcept
    {
        return mBytes.data();
    }
    bool isIntact() const noexcept
    {
        return std::all_of(mBytes.begin() + static_cast<std::ptrdiff_t>(mSize), mBytes.end(),
            [](uint8_t byte) { return byte == kMark; });
    }
    Bytes take() &&
    {
        mBytes.resize(mSize);
        return std::move(mBytes);
    }

  private:
    static constexpr uint8_t kMark{0xA5};
    static constexpr size_t kMargin{64};

    explicit GuardedBytes(size_t size)
        : mBytes(size + kMargin, kMark),
          mSize{size}
    {
        std::fill_n(mBytes.begin(), size, uint8_t{0}); // Bytes that the user's code leaves out are the same each time.
    }

    Bytes mBytes;
    size_t mSize;
};

} // namespace tenon::plugins
