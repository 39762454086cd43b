// NonZero: one pass that counts, one that writes.
#include "layers/non_zero.h"

#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"
#include "backends/cpu/layer_kernel.h"

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

Result<KernelSpec> buildNonZero(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"non_zero", encodeLayerArgs(problem, offer), {}};
}

//! `Bits` of elements: those within the mask say whether one is zero; the sign of a floating zero does not.
template <typename Bits, typename Index>
class NonZeroStep final : public HostPrepared
{
  public:
    NonZeroStep(std::vector<int64_t> extents, Bits mask, int64_t room)
        : mExtents{std::move(extents)},
          mMask{mask},
          mElements{volumeOf(mExtents)},
          mRoom{room}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        auto const* x = static_cast<Bits const*>(call.inputs[0]);
        int64_t found{0};
        for (int64_t i = 0; i < mElements; ++i)
            found += (x[i] & mMask) != 0 ? 1 : 0;
        if (found > mRoom)
            return badArgument("{} elements are not zero where the plan has room for {}", found, mRoom);
        if (call.produced != nullptr)
            call.produced[0] = found;
        write(x, static_cast<Index*>(call.outputs[0]), found);
        return Done{};
    }

  private:
    void write(Bits const* x, Index* out, int64_t found) const
    {
        std::array<int64_t, nvinfer1::Dims::MAX_DIMS> at{};
        size_t const rank = mExtents.size();
        int64_t column{0};
        for (int64_t i = 0; i < mElements && column < found; ++i)
        {
            if ((x[i] & mMask) != 0)
            {
                for (size_t axis = 0; axis < rank; ++axis)
                    out[static_cast<int64_t>(axis) * found + column] = static_cast<Index>(at[axis]);
                ++column;
            }
            for (size_t axis = rank; axis-- > 0;)
            {
                if (++at[axis] < mExtents[axis])
                    break;
                at[axis] = 0;
            }
        }
    }

    std::vector<int64_t> mExtents;
    Bits mMask;
    int64_t mElements;
    int64_t mRoom;
};

template <typename Bits>
std::shared_ptr<Prepared const> stepOf(TensorArg const& x, TensorArg const& out)
{
    constexpr Bits kAll{static_cast<Bits>(~Bits{0})};
    Bits const mask = isFloating(x.dtype) ? static_cast<Bits>(kAll >> 1) : kAll;
    if (out.dtype == DType::kINT64)
        return std::make_shared<NonZeroStep<Bits, int64_t> const>(x.extents, mask, out.extents[1]);
    return std::make_shared<NonZeroStep<Bits, int32_t> const>(x.extents, mask, out.extents[1]);
}

class NonZeroKernel final : public Kernel
{
  public:
    explicit NonZeroKernel(LayerKernel kernel)
        : mKernel{std::move(kernel)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        if (x.layout != Layout::kLinear || out.layout != Layout::kLinear || movableBytes(x.dtype) == 0
            || x.extents.size() > nvinfer1::Dims::MAX_DIMS)
            return badArgument("the kernel of NonZero takes row-major elements of whole bytes");
        switch (movableBytes(x.dtype))
        {
        case 1: return stepOf<uint8_t>(x, out);
        case 2: return stepOf<uint16_t>(x, out);
        case 4: return stepOf<uint32_t>(x, out);
        default: return stepOf<uint64_t>(x, out);
        }
    }

  private:
    LayerKernel mKernel;
};

Result<std::unique_ptr<Kernel>> loadNonZero(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    TENON_TRY(fieldsOf<NonZero>(kernel.args()));
    return std::make_unique<NonZeroKernel>(std::move(kernel));
}

constexpr Candidate kNonZeroCandidates[]{{NonZero::kName, "passes", offersOfNonZero, buildNonZero}};
constexpr KernelEntry kNonZeroKernels[]{{"non_zero", loadNonZero}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(NonZero, kNonZeroCandidates, kNonZeroKernels);
