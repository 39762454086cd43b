// copyStep: a step that only moves elements, as strided copies from its inputs to output 0.
#pragma once

#include "backends/cpu/step_kernel.h"
#include "backends/cpu/strided_copy.h"
#include "ir/type.h"

namespace tenon::cpu
{

//! One copy of an input into output 0.
struct CopyPart
{
    size_t input;
    StridedCopy copy;
};

inline Step copyStep(std::vector<CopyPart> parts)
{
    return teamStep([parts = std::move(parts)](Call const& call, Lane const& lane) {
        for (CopyPart const& part : parts)
            part.copy.run(call.inputs[part.input], call.outputs[0], lane);
    });
}

//! Estimated microseconds of moving so many bytes once in and once out, one thread.
inline double copyCost(Problem const& problem, DType type, std::vector<int64_t> const& extents, double factor = 1.0)
{
    constexpr double kStart{0.3}; // Less than other kernels take: there is nothing to set up.
    return kStart
        + factor * static_cast<double>(tenon::bytesOf(type, volumeOf(extents)))
        / problem.target->rates.bytesPerMicrosecond;
}

//! Layouts that kernels moving data offer for a tensor of this rank.
inline std::vector<Layout> movableLayouts(int32_t rank)
{
    return rank >= 3 ? std::vector{Layout::kLinear, Layout::kChannelsLast} : std::vector{Layout::kLinear};
}

} // namespace tenon::cpu
