// CopyStep: a step that only moves elements, as strided copies from its inputs to output 0.
#pragma once

#include "backends/cpu/layer_kernel.h"
#include "backends/cpu/strided_copy.h"
#include "device/host/host_kernel.h"
#include "ir/type.h"

namespace tenon::cpu
{

class CopyStep final : public HostPrepared
{
  public:
    struct Part
    {
        size_t input;
        StridedCopy copy;
    };
    explicit CopyStep(std::vector<Part> parts)
        : mParts{std::move(parts)}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        for (Part const& part : mParts)
            part.copy.run(call.inputs[part.input], call.outputs[0], lane);
        return Done{};
    }

  private:
    std::vector<Part> mParts;
};

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
