//! \file
//! Which devices this build has, and the switches that the environment can set.
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! The devices of this build and the one that a builder or runtime made now would take:
    //!   {"chosen": name or null, "reason": text,
    //!    "devices": [{"name", "problem": text or null, "description", "threads"}]}
    //! A kind of device that cannot be used here has a problem, and neither description nor threads.
    //! When TENON_DEVICE names none that is usable, "chosen" is null and "reason" says why.
    TENON_CALL TenonText tenonDevices(void) TENON_NOEXCEPT;

    //! Every switch of the environment:
    //!   [{"variable", "type", "default", "meaning", "read": bool, "value": text or null, "problem": text or null}]
    //! "read" is false for those that are not in this release. "problem" says why the value has no effect: the switch
    //! is not read, or does not take this value. The first builder or runtime of a process warns likewise.
    TENON_CALL TenonText tenonKnobs(void) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_DEVICE_H
