// NonZero: one pass that counts, one that writes.
#include "layers/non_zero.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/step_kernel.h"

#include <array>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfNonZero(Problem const& problem)
{
    if (movableBytes(problem.input(0).dtype) == 0)
        return refuse("passes", "elements are smaller than a byte");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.input(0))));
    return std::vector<Offer>{{.candidate = "passes",
        .inputs = {Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, elements * 50.0, elements * 8.0)}};
}

template <typename Bits, typename Index>
void writePositions(std::vector<int64_t> const& extents, Bits mask, Bits const* x, Index* out, int64_t found)
{
    std::array<int64_t, nvinfer1::Dims::MAX_DIMS> at{};
    size_t const rank = extents.size();
    int64_t const elements = volumeOf(extents);
    int64_t column{0};
    for (int64_t i = 0; i < elements && column < found; ++i)
    {
        if ((x[i] & mask) != 0)
        {
            for (size_t axis = 0; axis < rank; ++axis)
                out[static_cast<int64_t>(axis) * found + column] = static_cast<Index>(at[axis]);
            ++column;
        }
        for (size_t axis = rank; axis-- > 0;)
        {
            if (++at[axis] < extents[axis])
                break;
            at[axis] = 0;
        }
    }
}

//! `Bits` of elements: those within the mask say whether one is zero; the sign of a floating zero does not.
template <typename Bits, typename Index>
Step nonZeroStep(TensorArg const& x, int64_t room)
{
    constexpr Bits kAll{static_cast<Bits>(~Bits{0})};
    Bits const mask = isFloating(x.dtype) ? static_cast<Bits>(kAll >> 1) : kAll;
    return singleStep([extents = x.extents, mask, room](Call const& call, Lane const&) -> Result<Done> {
        auto const* from = static_cast<Bits const*>(call.inputs[0]);
        int64_t const elements = volumeOf(extents);
        int64_t found{0};
        for (int64_t i = 0; i < elements; ++i)
            found += (from[i] & mask) != 0 ? 1 : 0;
        if (found > room)
            return badArgument("{} elements are not zero where the plan has room for {}", found, room);
        if (call.produced != nullptr)
            call.produced[0] = found;
        writePositions(extents, mask, from, static_cast<Index*>(call.outputs[0]), found);
        return Done{};
    });
}

Step stepOfNonZero(StepOf<NonZero> const& from)
{
    TensorArg const& x = from.inputs[0];
    TensorArg const& out = from.outputs[0];
    if (!from.areAllIn(Layout::kLinear) || movableBytes(x.dtype) == 0 || x.extents.size() > nvinfer1::Dims::MAX_DIMS)
        return badArgument("the kernel of NonZero takes row-major elements of whole bytes");
    return withBits(x.dtype, [&]<typename Bits>(Bits) {
        return withIndex(out.dtype, [&]<typename Index>(Index) { return nonZeroStep<Bits, Index>(x, out.extents[1]); });
    });
}

using NonZeroFile = StepFile<"non_zero", "passes", offersOfNonZero, stepOfNonZero>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(NonZero, NonZeroFile::kCandidates, NonZeroFile::kKernels);
