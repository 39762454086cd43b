// Reduce over axes that are neighbours in memory: rows, or columns many at a time.
#include "layers/reduce.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <optional>

namespace tenon::cpu
{

namespace
{
using nvinfer1::ReduceOperation;

//! Which axes lie around the reduced ones in memory; none when the reduced ones are apart.
struct Around
{
    std::vector<size_t> outer;
    std::vector<size_t> reduced;
    std::vector<size_t> inner;
};

std::optional<Around> around(uint32_t axes, Layout layout, size_t rank)
{
    std::vector<size_t> order;
    for (size_t axis = 0; axis < rank; ++axis)
        if (axis != 1 || layout == Layout::kLinear)
            order.push_back(axis);
    if (order.size() < rank)
        order.push_back(1);
    Around found;
    for (size_t const axis : order)
    {
        bool const isReduced = (axes >> axis & 1U) != 0;
        if (isReduced && !found.inner.empty())
            return std::nullopt;
        (isReduced ? found.reduced : found.reduced.empty() ? found.outer : found.inner).push_back(axis);
    }
    return found;
}

int64_t productOf(std::vector<int64_t> const& extents, std::vector<size_t> const& axes)
{
    int64_t product{1};
    for (size_t const axis : axes)
        product *= extents[axis];
    return product;
}

//! The output in the same layout, or row-major where only images and channels are left, which is the same memory.
std::vector<Layout> outputLayouts(Reduce const& layer, Layout in, size_t rank)
{
    uint32_t const spatial = ((1U << rank) - 1U) & ~3U;
    if (in == Layout::kLinear)
        return {Layout::kLinear};
    if ((layer.reduceAxes & spatial) == spatial || (layer.reduceAxes & 2U) != 0)
        return layer.keepDimensions ? std::vector{Layout::kLinear, Layout::kChannelsLast}
                                    : std::vector{Layout::kLinear};
    return layer.keepDimensions ? std::vector{Layout::kChannelsLast} : std::vector<Layout>{};
}

bool isWhole(DType type)
{
    return type == DType::kINT8 || type == DType::kINT32 || type == DType::kINT64;
}

bool canReduce(DType type)
{
    return kRealTypes.has(type) || isWhole(type);
}

std::variant<std::vector<Offer>, Refusal> offersOfReduce(Problem const& problem)
{
    Reduce const& layer = problem.fields<Reduce>();
    TensorType const& in = problem.input(0);
    auto const rank = static_cast<size_t>(in.rank());
    if (!canReduce(in.dtype) || problem.output().dtype != in.dtype)
        return refuse(
            "neighbours", fmt::format("takes real numbers, int8, int32 and int64, this is {}", nameOf(in.dtype)));
    std::vector<Offer> offers;
    for (Layout const from : {Layout::kLinear, Layout::kChannelsLast})
    {
        if ((from == Layout::kChannelsLast && rank < 3) || !around(layer.reduceAxes, from, rank))
            continue;
        for (Layout const to : outputLayouts(layer, from, rank))
            offers.push_back({.candidate = "neighbours",
                .inputs = {from},
                .outputs = {to},
                .cost = costOf(problem, 0.0, bytesOf(problem))});
    }
    if (offers.empty())
        return refuse("neighbours", "the reduced axes lie apart in memory");
    return offers;
}

ReductionKind kindOf(ReduceOperation operation)
{
    switch (operation)
    {
    case ReduceOperation::kPROD: return ReductionKind::kProduct;
    case ReduceOperation::kMAX: return ReductionKind::kMaximum;
    case ReduceOperation::kMIN: return ReductionKind::kMinimum;
    default: return ReductionKind::kSum; // An average over nothing is 0 · inf, NaN as rule E3 wants.
    }
}

//! Columns are cut, many at a time, where there are fewer rows than lanes.
ReductionShare shareOf(Lane const& lane, int64_t outer, int64_t inner)
{
    constexpr int64_t kGrain{64}; // Columns go four vectors at a time.
    bool const cutsColumns = outer < lane.count && inner > 1;
    auto const [firstOuter, lastOuter] = cutsColumns ? std::pair<int64_t, int64_t>{0, outer} : lane.part(outer);
    auto const [firstInner, lastInner] = cutsColumns ? lane.part(inner, kGrain) : std::pair<int64_t, int64_t>{0, inner};
    return {firstOuter, lastOuter, firstInner, lastInner};
}

template <typename T>
Step reduceStep(Reduction<T> const& reduction, int64_t outer)
{
    return teamStep([reduction, outer](Call const& call, Lane const& lane) {
        Reduction<T> r = reduction;
        r.in = static_cast<T const*>(call.inputs[0]);
        r.out = static_cast<T*>(call.outputs[0]);
        ReductionShare const share = shareOf(lane, outer, r.inner);
        storageFunctions<T>().runReduction(r, share.firstOuter, share.lastOuter, share.firstInner, share.lastInner);
    });
}

//! Few long rows, whose largest or smallest element is the same however they are cut: first of the parts, a lane each,
//! then of what these found. How sums come out would depend on how many lanes there are.
template <typename T>
Step extremeStep(Reduction<T> const& reduction, int64_t outer, int32_t threads)
{
    constexpr int32_t kStages{2};
    constexpr int64_t kGrain{64};
    auto const run = [reduction, outer, threads](Call const& call, Lane const& lane) {
        int64_t const length = reduction.length;
        Lane const part{lane.index, std::min({lane.count, threads, static_cast<int32_t>(length / kGrain)})};
        auto* const found = static_cast<T*>(call.scratch);
        Reduction<T> r = reduction;
        if (lane.stage == 1)
        {
            if (lane.index > 0)
                return;
            r.in = found;
            r.length = part.count;
            r.out = static_cast<T*>(call.outputs[0]);
            storageFunctions<T>().runReduction(r, 0, outer, 0, 1);
            return;
        }
        if (part.index >= part.count)
            return;
        auto const [first, last] = part.part(length, kGrain);
        r.length = last - first;
        for (int64_t row = 0; row < outer; ++row)
        {
            r.in = static_cast<T const*>(call.inputs[0]) + row * length + first;
            r.out = found + row * part.count + part.index;
            storageFunctions<T>().runReduction(r, 0, 1, 0, 1);
        }
    };
    return teamStep(run, static_cast<size_t>(outer * threads) * sizeof(T), kStages);
}

template <typename T>
bool isExtremeOfFewRows(Reduction<T> const& reduction, int64_t outer, int32_t threads)
{
    constexpr int64_t kWork{16384}; // Elements of a lane that are worth another stage.
    return (reduction.kind == ReductionKind::kMaximum || reduction.kind == ReductionKind::kMinimum)
        && reduction.inner == 1 && outer < threads && outer * reduction.length >= kWork * threads;
}

Step integerStep(IntegerReduction const& reduction, int64_t outer)
{
    return teamStep([reduction, outer](Call const& call, Lane const& lane) {
        IntegerReduction r = reduction;
        r.in = call.inputs[0];
        r.out = call.outputs[0];
        isaFunctions().runIntegerReduction(r, shareOf(lane, outer, r.inner));
    });
}

Step stepOfReduce(StepOf<Reduce> const& from)
{
    Reduce const& layer = from.layer();
    TensorArg const& x = from.inputs[0];
    if (!canReduce(x.dtype) || blockOf(x.layout) != 1)
        return badArgument("the reduce kernel takes real numbers, int8, int32 and int64 in unblocked layouts");
    std::optional<Around> const axes = around(layer.reduceAxes, x.layout, x.extents.size());
    std::vector<Layout> const layouts = outputLayouts(layer, x.layout, x.extents.size());
    if (!axes || std::find(layouts.begin(), layouts.end(), from.outputs[0].layout) == layouts.end())
        return badArgument("the reduced axes lie apart in memory, or the output's layout does not follow");
    int64_t const length = productOf(x.extents, axes->reduced);
    if (isWhole(x.dtype))
    {
        IntegerReduction const reduction{.kind = kindOf(layer.operation),
            .isMean = layer.operation == ReduceOperation::kAVG,
            .type = x.dtype,
            .length = length,
            .inner = productOf(x.extents, axes->inner)};
        return integerStep(reduction, productOf(x.extents, axes->outer));
    }
    return withStorage(x.dtype, [&]<typename T>(T) {
        Reduction<T> const reduction{.kind = kindOf(layer.operation),
            .length = length,
            .inner = productOf(x.extents, axes->inner),
            .factor = layer.operation == ReduceOperation::kAVG ? 1.0F / static_cast<float>(length) : 1.0F};
        int64_t const outer = productOf(x.extents, axes->outer);
        return isExtremeOfFewRows(reduction, outer, from.threads) ? extremeStep(reduction, outer, from.threads)
                                                                  : reduceStep(reduction, outer);
    });
}

using ReduceFile = StepFile<"reduce", "neighbours", offersOfReduce, stepOfReduce>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Reduce, ReduceFile::kCandidates, ReduceFile::kKernels);
