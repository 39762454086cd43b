//! \file
//! Builds that can be ended while they go on, also those that share a config.
#ifndef TENON_BUILD_H
#define TENON_BUILD_H

#include "tenon/run.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! Builds that the calling thread begins from now on ask this, too, where they ask the progress monitor of their
    //! config whether to go on, and where that has none: every fifth of a second, on threads of the build. 0 ends the
    //! build as the monitor's false does.
    //! \param mayContinue null: nothing is asked.
    TENON_CALL void tenonAskInBuilds(TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_BUILD_H
