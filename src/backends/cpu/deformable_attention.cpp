// DeformableAttention: each lane sums some of the queries' heads, in float32.
#include "layers/deformable_attention.h"

#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
using Layer = DeformableAttention;

std::variant<std::vector<Offer>, Refusal> offersOfDeformable(Problem const& problem)
{
    constexpr double kWork{8.0}; // Multiplications per number that is read.
    std::vector<int64_t> const points = problem.typicalExtents(problem.input(Layer::kPoints));
    double const read =
        static_cast<double>(volumeOf(points)) * static_cast<double>(problem.typicalExtents(problem.output()).back());
    return std::vector<Offer>{{.candidate = "points",
        .inputs = std::vector<Layout>(Layer::kOperands, Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, read * kWork, bytesOf(problem))}};
}

struct Extents
{
    int64_t rows;
    int64_t heads;
    int64_t columns;
    int64_t queries;
    int64_t levels;
    int64_t points;
};

template <typename T>
void addPoint(Extents const& e, Call const& call, int64_t target, int64_t at, float* sums)
{
    auto const* const points = static_cast<T const*>(call.inputs[Layer::kPoints]) + 2 * at;
    auto const* const maps = static_cast<int32_t const*>(call.inputs[Layer::kMaps]);
    int64_t const level = at / e.points % e.levels;
    int64_t const start =
        target / (e.queries * e.heads) * e.rows + static_cast<int32_t const*>(call.inputs[Layer::kStarts])[level];
    auto const weight = static_cast<float>(numberOf(static_cast<T const*>(call.inputs[Layer::kWeights])[at]));
    for (Layer::Corner const& corner :
        Layer::cornersOf(numberOf(points[0]), numberOf(points[1]), maps[2 * level], maps[2 * level + 1]))
    {
        if (corner.weight == 0.0F)
            continue;
        float const factor = corner.weight * weight;
        T const* const from = static_cast<T const*>(call.inputs[Layer::kValues])
            + ((start + corner.row) * e.heads + target % e.heads) * e.columns;
        for (int64_t i = 0; i < e.columns; ++i)
            sums[i] += factor * static_cast<float>(numberOf(from[i]));
    }
}

Step stepOfDeformable(StepOf<Layer> const& from)
{
    for (TensorArg const& input : from.inputs)
        if (input.layout != Layout::kLinear)
            return badArgument("the kernel of DeformableAttention takes row-major tensors");
    std::vector<int64_t> const& values = from.inputs[Layer::kValues].extents;
    std::vector<int64_t> const& points = from.inputs[Layer::kPoints].extents;
    Extents const e{values[1], values[2], values[3], points[1], points[3], points[4]};
    constexpr int64_t kGrain{4};
    return withStorage(from.inputs[Layer::kValues].dtype, [&]<typename T>(T) -> Step {
        LaneMemory const memory{from.threads, e.columns};
        Items const items{values[0] * e.queries * e.heads, kGrain};
        return teamStep(
            [e, memory, items](Call const& call, Lane const& lane) -> Result<Done> {
                if (!Layer::areInside(static_cast<int32_t const*>(call.inputs[Layer::kMaps]),
                        static_cast<int32_t const*>(call.inputs[Layer::kStarts]), e.levels, e.rows))
                    return errorOf(ErrorCode::kFAILED_EXECUTION, "a map of the levels lies outside of the values");
                std::optional<Lane> const mine = memory.withMemory(lane);
                if (!mine)
                    return Done{};
                float* const sums = memory.of(*mine, call.scratch);
                auto const [first, last] = mine->part(items.count, items.grain);
                for (int64_t target = first; target < last; ++target)
                {
                    std::fill_n(sums, e.columns, 0.0F);
                    for (int64_t at = target * e.levels * e.points; at < (target + 1) * e.levels * e.points; ++at)
                        addPoint<T>(e, call, target, at, sums);
                    T* const to = static_cast<T*>(call.outputs[0]) + target * e.columns;
                    for (int64_t i = 0; i < e.columns; ++i)
                        to[i] = storedAs<T>(static_cast<double>(sums[i]));
                }
                return Done{};
            },
            memory.bytes());
    });
}

using DeformableFile = StepFile<"deformable_attention", "points", offersOfDeformable, stepOfDeformable>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(DeformableAttention, DeformableFile::kCandidates, DeformableFile::kKernels);
