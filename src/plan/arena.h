// Arena: offsets for blocks of memory that live for a span of steps, so that blocks alive together never overlap.
#pragma once

#include "base/place.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tenon
{

struct ArenaBlock
{
    int64_t bytes{0};
    int32_t first{0}; //!< Step that writes it first.
    int32_t last{0};  //!< Last step that touches it, ≥ first.
    //! Where all that touches it is one stream's in one split region: no block of another stream there may overlap.
    int32_t region{-1};
    int32_t stream{0};
    Place place{Place::kDevice};
};

struct ArenaLayout
{
    std::vector<int64_t> offsets; //!< One per block, in the memory of its place; multiples of the alignment.
    int64_t bytes{0};             //!< Of the device.
    int64_t hostBytes{0};
};

//! Largest block first, each into the tightest gap that is free for its whole life. Deterministic. Blocks of no bytes
//! get offset 0.
ArenaLayout layOut(std::span<ArenaBlock const> blocks, int64_t alignment);

} // namespace tenon
