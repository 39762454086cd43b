// Generations: which versions of the API a caller may have been compiled for.
#pragma once

#include "base/result.h"

#include <cstdint>

namespace tenon::api
{

//! The version argument of the create… functions, checked; the error says what to do.
Result<Done> checkCallerVersion(int32_t version);

} // namespace tenon::api
