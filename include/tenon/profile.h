//! \file
//! Optimization profiles: kMIN, kOPT and kMAX of an input in one step.
#ifndef TENON_PROFILE_H
#define TENON_PROFILE_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    typedef struct TenonNumbers
    {
        int32_t count;
        int64_t const* numbers; //!< May be null when there are none.
    } TenonNumbers;

    //! Sets the extents that a profile has for an input. They are compared with each other and not, as by
    //! IOptimizationProfile::setDimensions, with what was set before.
    //! \param profile an nvinfer1::IOptimizationProfile. \param bounds three: kMIN, kOPT, kMAX.
    //! \return 1; 0 with nothing changed, after a report to the builder's logger and recorder.
    TENON_CALL int32_t tenonSetProfileShapes(
        void* profile, char const* input, TenonNumbers const* bounds) TENON_NOEXCEPT;

    //! The same for the values of a shape tensor.
    TENON_CALL int32_t tenonSetProfileValues(
        void* profile, char const* input, TenonNumbers const* bounds) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_PROFILE_H
