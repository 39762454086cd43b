// A constant whose memory is written in place, once.
#pragma once

#include "ir/type.h"

#include <functional>

namespace tenon
{

//! `fill` writes all of its memory.
std::shared_ptr<Constant const> makeConstantBy(
    DType dtype, std::vector<int64_t> extents, std::function<void(void*)> const& fill);

} // namespace tenon
