// Reaper: lets go of objects on a thread of its own, for those who hear of an end where nothing may be released or
// waited for: in a stream's work, and in callbacks of a driver.
#pragma once

#include <functional>
#include <memory>

namespace tenon
{

//! Calls `awaitEnd` (null: nothing to wait for) and drops the object, later, on the reaper's thread.
void retire(std::shared_ptr<void const> object, std::function<void()> awaitEnd);
//! Returns when all that was retired before is gone; for tests.
void awaitRetired();

} // namespace tenon
