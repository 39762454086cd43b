// RaggedSoftMax: each row's softmax as long as its sequence, zeros behind it.
#include "layers/ragged_soft_max.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfRaggedSoftMax(Problem const& problem)
{
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("rows", "takes real numbers");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = {Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, elements * 40.0, bytesOf(problem)),
        .inPlace = {{0, 0}}}};
}

//! Scratch memory: the floats of a row per lane, unless the output can hold them.
template <typename T, typename Index>
class RaggedSoftMaxStep final : public HostPrepared
{
  public:
    RaggedSoftMaxStep(int64_t rows, int64_t length, int32_t threads)
        : mRows{rows},
          mLength{length},
          mThreads{std::max(threads, 1)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return kIsFloat<T> ? 0 : static_cast<size_t>(mThreads * mLength) * sizeof(float);
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        int32_t const lanes = std::min(lane.count, mThreads);
        if (lane.index >= lanes)
            return Done{};
        auto const* bounds = static_cast<Index const*>(call.inputs[1]);
        float* const scratch = kIsFloat<T> ? nullptr : static_cast<float*>(call.scratch) + lane.index * mLength;
        auto const [first, last] = Lane{lane.index, lanes}.part(mRows);
        for (int64_t row = first; row < last; ++row)
        {
            auto const length = std::clamp<int64_t>(static_cast<int64_t>(bounds[row]), 0, mLength);
            SoftMaxRows<T> const one{.length = length,
                .inner = 1,
                .in = static_cast<T const*>(call.inputs[0]) + row * mLength,
                .out = static_cast<T*>(call.outputs[0]) + row * mLength};
            if (length > 0)
                storageFunctions<T>().runSoftMax(one, 0, 1, scratch);
            std::fill(one.out + length, one.out + mLength, T{});
        }
        return Done{};
    }

  private:
    int64_t mRows;
    int64_t mLength;
    int32_t mThreads;
};

Step stepOfRaggedSoftMax(StepOf<RaggedSoftMax> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!isReal(from.inputs, 0, Layout::kLinear) || !isReal(from.outputs, 0, Layout::kLinear)
        || from.inputs[1].layout != Layout::kLinear)
        return badArgument("the kernel of RaggedSoftMax takes row-major real numbers");
    int64_t const length = x.extents.back();
    int64_t const rows = volumeOf(from.inputs[1].extents);
    bool const isWide = from.inputs[1].dtype == DType::kINT64;
    return withStorage(x.dtype, [&]<typename T>(T) -> std::shared_ptr<Prepared const> {
        if (isWide)
            return std::make_shared<RaggedSoftMaxStep<T, int64_t> const>(rows, length, from.threads);
        return std::make_shared<RaggedSoftMaxStep<T, int32_t> const>(rows, length, from.threads);
    });
}

using RaggedSoftMaxFile = StepFile<"ragged_soft_max", "rows", offersOfRaggedSoftMax, stepOfRaggedSoftMax>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(RaggedSoftMax, RaggedSoftMaxFile::kCandidates, RaggedSoftMaxFile::kKernels);
