// Calls that a file compiled with TRT_COMPAT_MAJOR=8 makes; the objects come from files compiled without it.
#pragma once

#include <cstdint>

namespace headers
{
void createNetworkAsIn8(void* builder, uint32_t flags);
void executeV2AsIn8(void* context, void* const* bindings);
long versionOf8();
bool allocatorOf8FreesOnce();
} // namespace headers
