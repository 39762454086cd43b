// Regions: the steps from one fence of a program to the next, of which those of different streams may run side by side.
#pragma once

#include "plan/plan.h"

namespace tenon
{

inline constexpr int32_t kMaxAuxStreams{7};

struct Region
{
    int32_t first{0};
    int32_t last{0};     //!< One past.
    bool isSplit{false}; //!< It has steps of several streams.
};

//! In order; a step that tells values ends one.
std::vector<Region> regionsOf(Program const& program);

//! For each step, which region it is in.
std::vector<int32_t> regionOfSteps(std::span<Region const> regions);

//! Of a program whose tensors have been checked: no step touches memory that one of another stream, in the same region,
//! writes.
Result<Done> checkStreams(Program const& program);

} // namespace tenon
