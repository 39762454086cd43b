// Scatter: the data copied by all threads, then updates written in order by one: the last of a position counts.
#include "layers/scatter.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"

#include <array>
#include <cstring>

namespace tenon::cpu
{

namespace
{
using nvinfer1::ScatterMode;

std::variant<std::vector<Offer>, Refusal> offersOfScatter(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("rows", "elements are smaller than a byte");
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = copyCost(problem, type.dtype, problem.typicalExtents(type), 4.0)}};
}

//! Row r of the updates goes to the offset that its indices name, plus (kELEMENT) that of its own position.
struct ScatterPlan
{
    ScatterMode mode{ScatterMode::kELEMENT};
    bool isWide{false}; //!< Indices are 64-bit.
    int64_t bytes{0};   //!< Of the data.
    int64_t row{1};     //!< Bytes of a row of updates: of one element for kELEMENT.
    int64_t rows{0};
    std::vector<int64_t> extents;    //!< kELEMENT: of indices.
    std::vector<int64_t> strides;    //!< kELEMENT: bytes of data along each axis; 0 along the one that indices name.
    std::vector<int64_t> axes;       //!< Extents of data's axes that an index names.
    std::vector<int64_t> axisStride; //!< Bytes of a step along each of them.
};

class Scattering
{
  public:
    explicit Scattering(ScatterPlan plan)
        : mPlan{std::move(plan)}
    {
    }
    Result<Done> operator()(Call const& call, Lane const& lane) const
    {
        constexpr int64_t kGrain{4096};
        auto const [first, last] = lane.part(mPlan.bytes, kGrain);
        auto* const out = static_cast<uint8_t*>(call.outputs[0]);
        if (lane.stage == 1)
            return lane.index == 0 ? write(call, out) : Done{};
        if (first < last)
            std::memcpy(
                out + first, static_cast<uint8_t const*>(call.inputs[0]) + first, static_cast<size_t>(last - first));
        return Done{};
    }

  private:
    Result<Done> write(Call const& call, uint8_t* out) const
    {
        auto const* updates = static_cast<uint8_t const*>(call.inputs[2]);
        std::array<int64_t, nvinfer1::Dims::MAX_DIMS> at{};
        auto const depth = static_cast<int64_t>(mPlan.axes.size());
        int64_t own{0}; // Offset of the row's own position.
        for (int64_t row = 0; row < mPlan.rows; ++row)
        {
            int64_t to{own};
            for (int64_t k = 0; k < depth; ++k)
            {
                int64_t const extent = mPlan.axes[static_cast<size_t>(k)];
                int64_t const index = indexAt(call.inputs[1], row * depth + k);
                int64_t const position = index < 0 ? index + extent : index;
                if (position < 0 || position >= extent)
                    return errorOf(
                        ErrorCode::kFAILED_EXECUTION, "scatter index {} on an axis of extent {}", index, extent);
                to += position * mPlan.axisStride[static_cast<size_t>(k)];
            }
            std::memcpy(out + to, updates + row * mPlan.row, static_cast<size_t>(mPlan.row));
            for (size_t axis = mPlan.extents.size(); axis-- > 0;)
            {
                own += mPlan.strides[axis];
                if (++at[axis] < mPlan.extents[axis])
                    break;
                own -= at[axis] * mPlan.strides[axis];
                at[axis] = 0;
            }
        }
        return Done{};
    }
    int64_t indexAt(void const* indices, int64_t at) const
    {
        return mPlan.isWide ? static_cast<int64_t const*>(indices)[at] : static_cast<int32_t const*>(indices)[at];
    }

    ScatterPlan mPlan;
};

Step stepOfScatter(StepOf<Scatter> const& from)
{
    TensorArg const& data = from.inputs[0];
    TensorArg const& indices = from.inputs[1];
    int64_t const bytes = movableBytes(data.dtype);
    if (bytes == 0 || !from.areAllIn(Layout::kLinear) || !isIndex(indices.dtype)
        || data.extents.size() > nvinfer1::Dims::MAX_DIMS)
        return badArgument("the kernel of Scatter takes row-major data and int32 or int64 indices");
    std::vector<int64_t> strides = stridesIn(Layout::kLinear, data.extents);
    for (int64_t& stride : strides)
        stride *= bytes;
    ScatterPlan plan{.mode = from.layer().mode,
        .isWide = indices.dtype == DType::kINT64,
        .bytes = volumeOf(data.extents) * bytes,
        .row = bytes};
    if (plan.mode == ScatterMode::kELEMENT)
    {
        auto const axis = static_cast<size_t>(from.layer().axis);
        plan.rows = volumeOf(indices.extents);
        plan.extents = indices.extents;
        plan.axes = {data.extents[axis]};
        plan.axisStride = {strides[axis]};
        plan.strides = strides;
        plan.strides[axis] = 0;
    }
    else
    {
        auto const depth = static_cast<std::ptrdiff_t>(indices.extents.back());
        plan.rows = volumeOf(indices.extents) / std::max<int64_t>(depth, 1);
        plan.row = volumeOf({data.extents.begin() + depth, data.extents.end()}) * bytes;
        plan.axes.assign(data.extents.begin(), data.extents.begin() + depth);
        plan.axisStride.assign(strides.begin(), strides.begin() + depth);
    }
    return teamStep(Scattering{std::move(plan)}, 0, 2);
}

using ScatterFile = StepFile<"scatter", "rows", offersOfScatter, stepOfScatter>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Scatter, ScatterFile::kCandidates, ScatterFile::kKernels);
