// Gather: rows picked by integer indices, in all three modes.
#include "layers/gather.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu
{

namespace
{
using nvinfer1::GatherMode;

std::variant<std::vector<Offer>, Refusal> offersOfGather(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    Gather const& layer = problem.fields<Gather>();
    if (layer.mode == GatherMode::kDEFAULT && layer.nbElementWiseDims != 0 && layer.gatherAxis != 1)
        return refuse("rows", "axes lie between the elementwise dimension and the gathered one");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, type.dtype, problem.typicalExtents(type), 2.0)}};
}

//! kDEFAULT and kND as: out[b, i, :] = data[b, position(b, i), :], rows of `row` bytes.
struct GatherPlan
{
    bool isWide{false};         //!< Indices are 64-bit.
    int64_t batches{1};         //!< Leading axes that data and output share one to one.
    int64_t indexBatch{0};      //!< Indices from one batch to the next; 0: all batches share them.
    int64_t dataBatch{0};       //!< Bytes of data per batch.
    int64_t count{1};           //!< Rows per batch.
    int64_t row{1};             //!< Bytes of a row.
    std::vector<int64_t> axes;  //!< Extents of the axes that an index names.
    std::vector<int64_t> steps; //!< Bytes of a step along each of them.
};

class Gathering
{
  public:
    explicit Gathering(GatherPlan plan)
        : mPlan{std::move(plan)}
    {
    }
    void operator()(Call const& call, int64_t first, int64_t last) const
    {
        auto const* data = static_cast<uint8_t const*>(call.inputs[0]);
        auto* out = static_cast<uint8_t*>(call.outputs[0]);
        auto const depth = static_cast<int64_t>(mPlan.axes.size());
        for (int64_t item = first; item < last; ++item)
        {
            int64_t const batch = item / mPlan.count;
            int64_t const i = item % mPlan.count;
            int64_t offset = batch * mPlan.dataBatch;
            bool inside{true};
            for (int64_t k = 0; k < depth; ++k)
            {
                int64_t const extent = mPlan.axes[static_cast<size_t>(k)];
                int64_t index = indexAt(call.inputs[1], batch * mPlan.indexBatch + i * depth + k);
                index = index < 0 ? index + extent : index;
                inside = inside && index >= 0 && index < extent;
                offset += inside ? index * mPlan.steps[static_cast<size_t>(k)] : 0;
            }
            copyRow(out + item * mPlan.row, inside ? data + offset : nullptr);
        }
    }

  private:
    int64_t indexAt(void const* indices, int64_t at) const
    {
        return mPlan.isWide ? static_cast<int64_t const*>(indices)[at] : static_cast<int32_t const*>(indices)[at];
    }
    //! An index out of bounds stores zeros (rule E4).
    void copyRow(uint8_t* to, uint8_t const* from) const
    {
        auto const bytes = static_cast<size_t>(mPlan.row);
        if (from != nullptr)
            std::memcpy(to, from, bytes);
        else
            std::memset(to, 0, bytes);
    }

    GatherPlan mPlan;
};

int64_t volumeBetween(std::vector<int64_t> const& extents, size_t first, size_t last)
{
    return volumeOf(
        {extents.begin() + static_cast<std::ptrdiff_t>(first), extents.begin() + static_cast<std::ptrdiff_t>(last)});
}

//! kDEFAULT: every position before the axis is a batch; with an elementwise dimension the first axis picks the indices.
GatherPlan planDefault(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    auto const axis = static_cast<size_t>(layer.gatherAxis);
    int32_t const bytes = movableBytes(data.dtype);
    GatherPlan plan;
    plan.row = volumeBetween(data.extents, axis + 1, data.extents.size()) * bytes;
    plan.axes = {data.extents[axis]};
    plan.steps = {plan.row};
    plan.batches = volumeBetween(data.extents, 0, axis);
    plan.dataBatch = data.extents[axis] * plan.row;
    plan.count = volumeOf(indices.extents);
    return plan;
}

GatherPlan planPositions(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    auto const shared = static_cast<size_t>(layer.nbElementWiseDims);
    auto const depth = static_cast<size_t>(indices.extents.back());
    GatherPlan plan;
    plan.batches = volumeBetween(data.extents, 0, shared);
    plan.dataBatch = volumeBetween(data.extents, shared, data.extents.size()) * movableBytes(data.dtype);
    plan.count = volumeBetween(indices.extents, shared, indices.extents.size() - 1);
    plan.indexBatch = plan.count * static_cast<int64_t>(depth);
    plan.row = volumeBetween(data.extents, shared + depth, data.extents.size()) * movableBytes(data.dtype);
    for (size_t k = 0; k < depth; ++k)
    {
        plan.axes.push_back(data.extents[shared + k]);
        plan.steps.push_back(
            volumeBetween(data.extents, shared + k + 1, data.extents.size()) * movableBytes(data.dtype));
    }
    return plan;
}

//! kELEMENT: one element per index; its coordinates apart from the gathered axis are the index's own.
struct ElementPlan
{
    std::vector<int64_t> extents{}; //!< Of the indices, neighbouring axes merged where data moves evenly over both.
    std::vector<int64_t> strides{}; //!< Of data, in elements, per axis of the indices; the gathered axis has 0.
    int64_t extent{0};              //!< Of the gathered axis.
    int64_t step{0};                //!< Elements of data from one position on it to the next.
};

ElementPlan planElements(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    auto const axis = static_cast<size_t>(layer.gatherAxis);
    std::vector<int64_t> strides = stridesIn(Layout::kLinear, data.extents);
    ElementPlan plan{.extent = data.extents[axis], .step = strides[axis]};
    strides[axis] = 0;
    for (size_t k = 0; k < strides.size(); ++k)
    {
        int64_t const extent = indices.extents[k];
        if (extent == 1)
            continue;
        if (!plan.extents.empty() && plan.strides.back() == strides[k] * extent)
        {
            plan.extents.back() *= extent;
            plan.strides.back() = strides[k];
            continue;
        }
        plan.extents.push_back(extent);
        plan.strides.push_back(strides[k]);
    }
    if (plan.extents.empty())
        return {{1}, {0}, plan.extent, plan.step};
    return plan;
}

template <typename Bits, typename Index>
class ElementGathering
{
  public:
    explicit ElementGathering(ElementPlan plan)
        : mPlan{std::move(plan)}
    {
    }
    void operator()(Call const& call, int64_t first, int64_t last) const
    {
        auto const* const data = static_cast<Bits const*>(call.inputs[0]);
        auto const* const indices = static_cast<Index const*>(call.inputs[1]);
        auto* const out = static_cast<Bits*>(call.outputs[0]);
        int64_t const length = mPlan.extents.back();
        for (int64_t at = first; at < last;)
        {
            int64_t const column = at % length;
            int64_t const count = std::min(length - column, last - at);
            int64_t const base = rowOffset(at / length) + column * mPlan.strides.back();
            if (mPlan.extent == 0)
                std::fill_n(out + at, count, Bits{0});
            else
                gatherRow(data + base, indices + at, out + at, count);
            at += count;
        }
    }

  private:
    int64_t rowOffset(int64_t row) const
    {
        int64_t offset{0};
        for (size_t k = mPlan.extents.size() - 1; k-- > 0;)
        {
            offset += row % mPlan.extents[k] * mPlan.strides[k];
            row /= mPlan.extents[k];
        }
        return offset;
    }
    //! An index out of bounds stores zero (rule E4); what is read for it is the row's first position, no branch.
    void gatherRow(Bits const* data, Index const* indices, Bits* out, int64_t count) const
    {
        int64_t const extent = mPlan.extent;
        int64_t const step = mPlan.step;
        int64_t const stride = mPlan.strides.back();
        for (int64_t i = 0; i < count; ++i)
        {
            auto const index = static_cast<int64_t>(indices[i]);
            int64_t const position = index < 0 ? index + extent : index;
            bool const isInside = static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
            Bits const element = data[i * stride + (isInside ? position * step : 0)];
            out[i] = isInside ? element : Bits{0};
        }
    }

    ElementPlan mPlan;
};

Step stepOfElements(Gather const& layer, TensorArg const& data, TensorArg const& indices)
{
    constexpr int64_t kGrain{64};
    ElementPlan const plan = planElements(layer, data, indices);
    Items const elements{volumeOf(indices.extents), kGrain};
    return withBits(data.dtype, [&]<typename Bits>(Bits) {
        return withIndex(indices.dtype,
            [&]<typename Index>(Index) { return sharedStep(elements, ElementGathering<Bits, Index>{plan}); });
    });
}

Step stepOfGather(StepOf<Gather> const& from)
{
    Gather const& layer = from.layer();
    TensorArg const& data = from.inputs[0];
    TensorArg const& indices = from.inputs[1];
    bool const isApart = layer.mode == GatherMode::kDEFAULT && layer.nbElementWiseDims != 0 && layer.gatherAxis != 1;
    if (isApart || movableBytes(data.dtype) == 0 || !isIndex(indices.dtype) || !from.areAllIn(Layout::kLinear))
        return badArgument("the gather kernel takes row-major data and int32 or int64 indices");
    GatherPlan plan;
    switch (layer.mode)
    {
    case GatherMode::kDEFAULT:
        plan = planDefault(layer, data, indices);
        if (layer.nbElementWiseDims == 1)
        {
            plan.count = volumeBetween(indices.extents, 1, indices.extents.size());
            plan.indexBatch = plan.count;
        }
        break;
    case GatherMode::kND: plan = planPositions(layer, data, indices); break;
    case GatherMode::kELEMENT: return stepOfElements(layer, data, indices);
    }
    plan.isWide = indices.dtype == DType::kINT64;
    Items const rows{plan.batches * plan.count};
    return sharedStep(rows, Gathering{std::move(plan)});
}

using GatherFile = StepFile<"gather", "rows", offersOfGather, stepOfGather>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Gather, GatherFile::kCandidates, GatherFile::kKernels);
