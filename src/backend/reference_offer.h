// isReference: which offer stands behind all others.
#pragma once

#include "backend/candidate.h"
#include "base/step_role.h"

namespace tenon
{

//! By the plain loops of the layer: taken when nothing else fits.
inline bool isReference(Offer const& offer) noexcept
{
    return offer.candidate == kernelOf(StepRole::kReference);
}

} // namespace tenon
