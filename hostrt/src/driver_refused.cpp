// The calls of the driver that need a GPU: they exist, so that every program loads, and say what they are.
#include "calls.h"

// Not of cuda.h, which gives the names of old versions to new ones. The error's number is the runtime's.
#define TENON_TABLE_ENTRY(name)                                                                                        \
    extern "C" TENON_HOSTRT_CALL int name()                                                                            \
    {                                                                                                                  \
        return ::tenon::hostrt::refused(#name, "needs a GPU; Tenon's host run-time does not have it");                 \
    }
#include "driver_refused.inc"
