//! \file
//! Which devices this build has, and the switches that the environment can set.
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! The devices of this build and the one that a builder or runtime made now would take: {"chosen": name or null,
    //! "reason":
    //! text, "devices": [{"name", "description", "threads"}]}. When TENON_DEVICE names none that is usable, "chosen" is
    //! null and
    //! "reason" says why.
    TENON_CALL TenonText tenonDevices(void) TENON_NOEXCEPT;

    //! Every switch: [{"variable", "type", "default", "meaning", "value": text or null}].
    TENON_CALL TenonText tenonKnobs(void) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_DEVICE_H
