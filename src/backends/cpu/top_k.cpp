// TopK: the first elements of each lane in order; for one of them a scan of whole rows, for more a sort.
#include "layers/top_k.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"
#include "layers/positions.h"

#include <algorithm>
#include <cmath>

namespace tenon::cpu
{

namespace
{
bool canSort(DType type)
{
    return kRealTypes.has(type) || type == DType::kINT8 || type == DType::kINT32 || type == DType::kINT64;
}

std::variant<std::vector<Offer>, Refusal> offersOfTopK(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (!canSort(x.dtype))
        return refuse("lanes", fmt::format("takes real numbers and integers, this is {}", nameOf(x.dtype)));
    bool const hasCount = problem.node->inputs.size() > 1 && problem.hasInput(1);
    if (hasCount && !hasKnownContents(problem, 1))
        return refuse("lanes", "k is known only when it runs");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(x)));
    return std::vector<Offer>{{.candidate = "lanes",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear, Layout::kLinear},
        .cost = costOf(problem, elements * 20.0, bytesOf(problem)),
        .unread = hasCount ? 2U : 0U}};
}

//! Lanes of `length` elements, `inner` apart, of which `count` are wanted.
struct TopKPlan
{
    int64_t outer{1};
    int64_t length{1};
    int64_t inner{1};
    int64_t count{1};
    bool largest{true};
};

template <typename Element>
struct Ranked
{
    Element value;
    int32_t index;
};

//! Whether a goes before b, whatever their places; a NaN is larger than every number.
template <typename Element>
bool isBefore(Element a, Element b, bool largest)
{
    if constexpr (std::is_floating_point_v<Element>)
        if (std::isnan(a) || std::isnan(b))
            return std::isnan(a) != std::isnan(b) && std::isnan(a) == largest;
    if constexpr (kIsHalfPrecision<Element>)
        return largest ? rankOf(a) > rankOf(b) : rankOf(a) < rankOf(b);
    else
        return largest ? a > b : a < b;
}

//! Rows of one outer position side by side, so that memory is read in its order.
template <typename Element, typename Index>
void scan(TopKPlan const& plan, Element const* x, Element* values, Index* indices, int64_t first, int64_t last)
{
    for (int64_t at = first; at < last;)
    {
        int64_t const outer = at / plan.inner;
        int64_t const end = std::min(last, (outer + 1) * plan.inner);
        Element const* from = x + outer * plan.length * plan.inner + at % plan.inner;
        std::copy(from, from + (end - at), values + at);
        std::fill(indices + at, indices + end, Index{0});
        for (int64_t step = 1; step < plan.length; ++step)
        {
            from += plan.inner;
            for (int64_t i = 0; i < end - at; ++i)
                if (isBefore(from[i], values[at + i], plan.largest))
                {
                    values[at + i] = from[i];
                    indices[at + i] = static_cast<Index>(step);
                }
        }
        at = end;
    }
}

template <typename Element, typename Index>
void sortLane(
    TopKPlan const& plan, Element const* x, Element* values, Index* indices, int64_t item, Ranked<Element>* entries)
{
    int64_t const outer = item / plan.inner;
    int64_t const inner = item % plan.inner;
    Element const* from = x + outer * plan.length * plan.inner + inner;
    for (int64_t i = 0; i < plan.length; ++i)
        entries[i] = {from[i * plan.inner], static_cast<int32_t>(i)};
    bool const largest = plan.largest;
    auto const isSooner = [largest](Ranked<Element> const& a, Ranked<Element> const& b) {
        return isBefore(a.value, b.value, largest)
            || (a.index < b.index && !isBefore(b.value, a.value, largest)); // Equal ones keep their order.
    };
    constexpr int64_t kFew{16}; // Of so many elements one is wanted at most: a heap of those that are is least work.
    if (plan.count * kFew <= plan.length)
        std::partial_sort(entries, entries + plan.count, entries + plan.length, isSooner);
    else
    {
        if (plan.count < plan.length)
            std::nth_element(entries, entries + plan.count, entries + plan.length, isSooner);
        std::sort(entries, entries + plan.count, isSooner);
    }
    int64_t const to = outer * plan.count * plan.inner + inner;
    for (int64_t rank = 0; rank < plan.count; ++rank)
    {
        values[to + rank * plan.inner] = entries[rank].value;
        indices[to + rank * plan.inner] = static_cast<Index>(entries[rank].index);
    }
}

template <typename Element, typename Index>
Step topKStep(TopKPlan const& plan, int32_t threads)
{
    int64_t const entryBytes = plan.count > 1 ? plan.length * static_cast<int64_t>(sizeof(Ranked<Element>)) : 0;
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    LaneMemory const memory{threads, (entryBytes + 2 * kFloat - 1) / (2 * kFloat) * 2}; // For elements of 8 bytes.
    return sharedStep(
        {plan.outer * plan.inner, 16}, memory, [plan](Call const& call, int64_t first, int64_t last, float* scratch) {
            auto const* x = static_cast<Element const*>(call.inputs[0]);
            auto* values = static_cast<Element*>(call.outputs[0]);
            auto* indices = static_cast<Index*>(call.outputs[1]);
            if (plan.count == 1)
                scan(plan, x, values, indices, first, last);
            else if (plan.count > 1)
                for (int64_t item = first; item < last; ++item)
                    sortLane(plan, x, values, indices, item, reinterpret_cast<Ranked<Element>*>(scratch));
        });
}

Step stepOfTopK(StepOf<TopK> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!from.areAllIn(Layout::kLinear) || !canSort(x.dtype))
        return badArgument("the kernel of TopK takes row-major real numbers or integers");
    auto const axis = static_cast<size_t>(from.layer().axis());
    Lanes const lanes{x.extents, axis};
    TopKPlan const plan{.outer = lanes.outer,
        .length = lanes.length,
        .inner = lanes.inner,
        .count = from.outputs[0].extents[axis],
        .largest = from.layer().operation == nvinfer1::TopKOperation::kMAX};
    if (plan.length > INT32_MAX || plan.count > plan.length)
        return badArgument("{} elements of an axis of extent {}", plan.count, plan.length);
    return withNumber(x.dtype, [&]<typename Element>(Element) {
        return withIndex(
            from.outputs[1].dtype, [&]<typename Index>(Index) { return topKStep<Element, Index>(plan, from.threads); });
    });
}

using TopKFile = StepFile<"top_k", "lanes", offersOfTopK, stepOfTopK>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(TopK, TopKFile::kCandidates, TopKFile::kKernels);
