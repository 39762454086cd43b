// inParallel: numbered pieces of work that some threads share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tenon
{

//! Calls `work(piece)` for each piece below `count`, in any order: from this thread, which has a cancellation point
//! before each of its pieces, and from up to `threads` − 1 others, in which nothing may be thrown. All have ended when
//! it returns, and when it throws.
void inParallel(size_t count, int32_t threads, std::function<void(size_t piece)> const& work);

} // namespace tenon
