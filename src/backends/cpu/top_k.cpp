// TopK: the first elements of each lane in order; for one of them a scan of whole rows, for more a partial sort.
#include "layers/top_k.h"

#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"
#include "backends/cpu/layer_kernel.h"
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

Result<KernelSpec> buildTopK(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"top_k", encodeLayerArgs(problem, offer), {}};
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

template <typename Element, typename Index>
class TopKStep final : public HostPrepared
{
  public:
    TopKStep(TopKPlan plan, int32_t threads)
        : mPlan{plan},
          mThreads{threads}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mPlan.count > 1 ? static_cast<size_t>(mThreads * mPlan.length) * sizeof(Ranked<Element>) : 0;
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const* x = static_cast<Element const*>(call.inputs[0]);
        auto* values = static_cast<Element*>(call.outputs[0]);
        auto* indices = static_cast<Index*>(call.outputs[1]);
        auto const [first, last] = lane.part(mPlan.outer * mPlan.inner, 16);
        if (mPlan.count == 1)
            scan(x, values, indices, first, last);
        else if (mPlan.count > 1)
        {
            auto* entries = static_cast<Ranked<Element>*>(call.scratch) + lane.index * mPlan.length;
            for (int64_t item = first; item < last; ++item)
                sortLane(x, values, indices, item, entries);
        }
        return Done{};
    }

  private:
    //! Rows of one outer position side by side, so that memory is read in its order.
    void scan(Element const* x, Element* values, Index* indices, int64_t first, int64_t last) const
    {
        for (int64_t at = first; at < last;)
        {
            int64_t const outer = at / mPlan.inner;
            int64_t const end = std::min(last, (outer + 1) * mPlan.inner);
            Element const* from = x + outer * mPlan.length * mPlan.inner + at % mPlan.inner;
            std::copy(from, from + (end - at), values + at);
            std::fill(indices + at, indices + end, Index{0});
            for (int64_t step = 1; step < mPlan.length; ++step)
            {
                from += mPlan.inner;
                for (int64_t i = 0; i < end - at; ++i)
                    if (isBefore(from[i], values[at + i], mPlan.largest))
                    {
                        values[at + i] = from[i];
                        indices[at + i] = static_cast<Index>(step);
                    }
            }
            at = end;
        }
    }

    void sortLane(Element const* x, Element* values, Index* indices, int64_t item, Ranked<Element>* entries) const
    {
        int64_t const outer = item / mPlan.inner;
        int64_t const inner = item % mPlan.inner;
        Element const* from = x + outer * mPlan.length * mPlan.inner + inner;
        for (int64_t i = 0; i < mPlan.length; ++i)
            entries[i] = {from[i * mPlan.inner], static_cast<int32_t>(i)};
        bool const largest = mPlan.largest;
        std::partial_sort(entries, entries + mPlan.count, entries + mPlan.length,
            [largest](Ranked<Element> const& a, Ranked<Element> const& b) {
                return isBefore(a.value, b.value, largest)
                    || (a.index < b.index && !isBefore(b.value, a.value, largest)); // Equal ones keep their order.
            });
        int64_t const to = outer * mPlan.count * mPlan.inner + inner;
        for (int64_t rank = 0; rank < mPlan.count; ++rank)
        {
            values[to + rank * mPlan.inner] = entries[rank].value;
            indices[to + rank * mPlan.inner] = static_cast<Index>(entries[rank].index);
        }
    }

    TopKPlan mPlan;
    int32_t mThreads;
};

template <typename Element>
std::shared_ptr<Prepared const> stepOf(DType indices, TopKPlan const& plan, int32_t threads)
{
    if (indices == DType::kINT64)
        return std::make_shared<TopKStep<Element, int64_t> const>(plan, threads);
    return std::make_shared<TopKStep<Element, int32_t> const>(plan, threads);
}

class TopKKernel final : public Kernel
{
  public:
    TopKKernel(LayerKernel kernel, TopK layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& x = inputs[0];
        bool const isLinear =
            x.layout == Layout::kLinear && outputs[0].layout == Layout::kLinear && outputs[1].layout == Layout::kLinear;
        if (!isLinear || !canSort(x.dtype))
            return badArgument("the kernel of TopK takes row-major real numbers or integers");
        auto const axis = static_cast<size_t>(mLayer.axis());
        Lanes const lanes{x.extents, axis};
        TopKPlan const plan{.outer = lanes.outer,
            .length = lanes.length,
            .inner = lanes.inner,
            .count = outputs[0].extents[axis],
            .largest = mLayer.operation == nvinfer1::TopKOperation::kMAX};
        if (plan.length > INT32_MAX || plan.count > plan.length)
            return badArgument("{} elements of an axis of extent {}", plan.count, plan.length);
        DType const indices = outputs[1].dtype;
        switch (x.dtype)
        {
        case DType::kFLOAT: return stepOf<float>(indices, plan, threads);
        case DType::kHALF: return stepOf<Half>(indices, plan, threads);
        case DType::kBF16: return stepOf<Bfloat>(indices, plan, threads);
        case DType::kINT8: return stepOf<int8_t>(indices, plan, threads);
        case DType::kINT32: return stepOf<int32_t>(indices, plan, threads);
        default: return stepOf<int64_t>(indices, plan, threads);
        }
    }

  private:
    LayerKernel mKernel;
    TopK mLayer;
};

Result<std::unique_ptr<Kernel>> loadTopK(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    TopK const layer = TENON_TRY(fieldsOf<TopK>(kernel.args()));
    return std::make_unique<TopKKernel>(std::move(kernel), layer);
}

constexpr Candidate kTopKCandidates[]{{TopK::kName, "lanes", offersOfTopK, buildTopK}};
constexpr KernelEntry kTopKKernels[]{{"top_k", loadTopK}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(TopK, kTopKCandidates, kTopKKernels);
