// BitCast: bytes stay where they are, or are copied.
#include "layers/bit_cast.h"

#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"

#include <cstring>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfBitCast(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    return std::vector<Offer>{{.candidate = "bytes",
        .inputs = {Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, x.dtype, problem.typicalExtents(x)),
        .inPlace = {{0, 0}}}};
}

Step stepOfBitCast(StepOf<BitCast> const& from)
{
    if (!from.areAllIn(Layout::kLinear))
        return badArgument("the kernel of BitCast takes row-major elements");
    constexpr int64_t kGrain{4096};
    Items const bytes{tenon::bytesOf(from.outputs[0].dtype, volumeOf(from.outputs[0].extents)), kGrain};
    return sharedStep(bytes, [](Call const& call, int64_t first, int64_t last) {
        auto const* x = static_cast<uint8_t const*>(call.inputs[0]);
        auto* out = static_cast<uint8_t*>(call.outputs[0]);
        if (out != x && last > first)
            std::memcpy(out + first, x + first, static_cast<size_t>(last - first));
    });
}

using BitCastFile = StepFile<"bit_cast", "bytes", offersOfBitCast, stepOfBitCast>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(BitCast, BitCastFile::kCandidates, BitCastFile::kKernels);
