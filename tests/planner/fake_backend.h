// A backend for tests: convolutions that like one layout, everything else in any layout of equal cost.
#pragma once

#include "backend/candidate.h"

namespace tenon::test
{

//! Convolution: kChannelsLast at cost 10, kLinear at 1000. Unary, ElementWise, Activation: either layout at cost 5, in
//! place. Shuffle: a view when it keeps the order of elements. NonZero, SoftMax, Pooling and the rest: linear. Shape
//! operands of Slice and the first of Concatenation are unread.
Backend fakeBackend();
//! The device "fake", which gains by chains in kChannelsLast.
Target fakeTarget();

} // namespace tenon::test
