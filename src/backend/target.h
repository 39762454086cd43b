// Target: what offers, rules and the planner may know of the device that a plan is made for. Plain data that no
// measurement changes: equal targets give equal plans on every machine.
#pragma once

#include "base/layout.h"
#include "ir/fusion_limits.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon
{

//! What bringing bytes to another place or into another order costs.
struct CopyCosts
{
    double startMicroseconds{1.0};
    double bytesPerMicrosecond{1e3};
};

struct TargetLimits
{
    int64_t alignment{64}; //!< Bytes that each tensor in the arena is aligned to.
    int32_t auxStreams{3}; //!< Beside a run's own, where the build does not say how many.
};

//! What estimates are made from. Times are of one thread, or of the whole device where it has no threads of ours.
struct TargetRates
{
    double startMicroseconds{0.5};             //!< Of one step.
    double multiplicationsPerMicrosecond{1e3}; //!< Each with its addition, in float32.
    double bytesPerMicrosecond{1e3};           //!< Read or written by a kernel that does little else.
    TypeSet fastTypes;                         //!< Element types that it multiplies faster than float32.
    bool hasTf32{false};                       //!< It multiplies float32 rounded to TF32 faster.
};

struct Target
{
    std::string device;        //!< Kind of device, as the plan's program names it: "cpu".
    std::string architecture;  //!< What machine code for it is made for: "x86-64", "sm_90".
    bool bindsPrograms{false}; //!< Programs are for the architecture: another one may lack what their kernels need.
    TargetLimits limits;
    TargetRates rates;
    CopyCosts reorder;  //!< Of a tensor into another layout; bytes are those read and those written.
    CopyCosts transfer; //!< Of a tensor to the other place, where the device has memory of its own.
    //! Kernels of the device cannot use memory of the host: places matter.
    bool hasOwnMemory{false};
    //! Layouts that connected nodes are moved to together: chains of cheap layers would stay behind otherwise.
    std::vector<Layout> layouts{Layout::kLinear};
    FusionLimits fusion;
};

//! 90 of "sm_90"; 0 where the name has no number there.
inline int32_t architectureNumber(std::string_view name) noexcept
{
    constexpr std::string_view kPrefix{"sm_"};
    int32_t number{0};
    if (name.starts_with(kPrefix))
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
    return number;
}

} // namespace tenon
