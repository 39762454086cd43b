// Arena: offsets for blocks of memory that live for a span of steps, so that blocks alive together never overlap.
#pragma once

#include "base/place.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tenon
{

//! A split region in which one stream alone touches a block: no block of another stream there may overlap, as its steps
//! come in any order; those of the same stream may, by their spans.
struct OneStream
{
    int32_t region{-1}; //!< None.
    int32_t stream{0};
    int32_t last{-1}; //!< Step of the region.
};

struct ArenaBlock
{
    int64_t bytes{0};
    int32_t first{0}; //!< Step that writes it first.
    int32_t last{0};  //!< Last step that touches it, ≥ first.
    Place place{Place::kDevice};
    OneStream begin{}; //!< Where it begins ...
    OneStream end{};   //!< ... and where it ends.
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
