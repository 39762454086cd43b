// ReverseSequence: rows behind the later of the two axes, each from its place in the turned sequence.
#include "layers/reverse_sequence.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"
#include "layers/positions.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfReverseSequence(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, type.dtype, problem.typicalExtents(type))}};
}

//! Extents in front of the first of the axes, of it, between, of the second one, and the bytes behind it.
struct Rows
{
    int64_t outer{1};
    int64_t first{1};
    int64_t between{1};
    int64_t second{1};
    int64_t bytes{0};
    bool batchIsFirst{false};
};

Rows rowsOf(ReverseSequence const& layer, TensorArg const& x)
{
    auto const one = static_cast<size_t>(std::min(layer.batchAxis, layer.sequenceAxis));
    auto const two = static_cast<size_t>(std::max(layer.batchAxis, layer.sequenceAxis));
    Lanes const atFirst{x.extents, one};
    Lanes const atSecond{x.extents, two};
    return {.outer = atFirst.outer,
        .first = atFirst.length,
        .between = atFirst.inner / std::max<int64_t>(atSecond.length * atSecond.inner, 1),
        .second = atSecond.length,
        .bytes = atSecond.inner * static_cast<int64_t>(movableBytes(x.dtype)),
        .batchIsFirst = layer.batchAxis < layer.sequenceAxis};
}

template <typename Index>
void turnRows(Rows const& r, Call const& call, int64_t begin, int64_t end)
{
    auto const* from = static_cast<std::byte const*>(call.inputs[0]);
    auto const* lengths = static_cast<Index const*>(call.inputs[1]);
    auto* to = static_cast<std::byte*>(call.outputs[0]);
    int64_t const extent = r.batchIsFirst ? r.second : r.first;
    for (int64_t row = begin; row < end; ++row)
    {
        int64_t const inSecond = row % r.second;
        int64_t const inFirst = row / r.second / r.between % r.first;
        int64_t const at = r.batchIsFirst ? inSecond : inFirst;
        auto const given = static_cast<int64_t>(lengths[r.batchIsFirst ? inFirst : inSecond]);
        int64_t const length = std::clamp<int64_t>(given, 0, extent);
        int64_t const step = r.batchIsFirst ? 1 : r.between * r.second;
        int64_t const source = at < length ? row + (length - 1 - 2 * at) * step : row;
        std::memcpy(to + row * r.bytes, from + source * r.bytes, static_cast<size_t>(r.bytes));
    }
}

Step stepOfReverseSequence(StepOf<ReverseSequence> const& from)
{
    DType const lengths = from.inputs[1].dtype;
    if (!from.areAllIn(Layout::kLinear) || movableBytes(from.outputs[0].dtype) == 0 || !isIndex(lengths))
        return badArgument("the kernel of ReverseSequence takes row-major operands and int32 or int64 lengths");
    Rows const rows = rowsOf(from.layer(), from.inputs[0]);
    Items const items{rows.outer * rows.first * rows.between * rows.second};
    return withIndex(lengths, [&]<typename Index>(Index) {
        return sharedStep(
            items, [rows](Call const& call, int64_t first, int64_t last) { turnRows<Index>(rows, call, first, last); });
    });
}

using ReverseSequenceFile = StepFile<"reverse_sequence", "rows", offersOfReverseSequence, stepOfReverseSequence>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ReverseSequence, ReverseSequenceFile::kCandidates, ReverseSequenceFile::kKernels);
