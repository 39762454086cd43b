// The profile stream of a build (rule G9): checked in front, and waited for at the end.
#pragma once

#include "api/build/builder_config.h"

namespace tenon::api
{

Result<Done> checkProfileStream(Device const& device, BuilderConfig const& config);
//! Waits until the work that stands in the profile stream is over. A failure of it stays with the stream, for those
//! whose work it is: nothing of the build ran there.
Result<Done> awaitProfileStream(Device& device, BuilderConfig const& config);

} // namespace tenon::api
