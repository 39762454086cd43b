// SoftMax along any axis of either layout.
#include "layers/soft_max.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kSoftMaxBlock{16}; //!< Neighbouring rows that go together when the axis is strided.

//! Scratch memory: the floats of a row or block of rows, per lane, unless the output can hold them.
template <typename T>
class PreparedSoftMax final : public HostPrepared
{
  public:
    PreparedSoftMax(SoftMaxRows<T> rows, int64_t items, int32_t threads)
        : mRows{rows},
          mItems{items},
          mThreads{std::max(threads, 1)},
          mLaneFloats{kIsFloat<T> ? 0 : rows.length * (rows.inner == 1 ? 1 : kSoftMaxBlock)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads * mLaneFloats) * sizeof(float);
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        SoftMaxRows<T> rows = mRows;
        rows.in = static_cast<T const*>(call.inputs[0]);
        rows.out = static_cast<T*>(call.outputs[0]);
        // Where lanes need memory, more of them than were prepared for have none.
        int32_t const lanes = kIsFloat<T> ? lane.count : std::min(lane.count, mThreads);
        if (lane.index >= lanes)
            return Done{};
        auto const [first, last] = Lane{lane.index, lanes, nullptr, nullptr}.part(mItems);
        float* const scratch = static_cast<float*>(call.scratch) + lane.index * mLaneFloats;
        storageFunctions<T>().runSoftMax(rows, first, last, scratch);
        return Done{};
    }

  private:
    SoftMaxRows<T> mRows;
    int64_t mItems;
    int32_t mThreads;
    int64_t mLaneFloats;
};

class SoftMaxKernel final : public Kernel
{
  public:
    SoftMaxKernel(LayerKernel kernel, SoftMax layer)
        : mKernel{std::move(kernel)},
          mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        TensorArg const& x = inputs[0];
        if (blockOf(x.layout) != 1 || !isReal(inputs, 0, x.layout) || !isReal(outputs, 0, x.layout))
            return badArgument("its operands are not real numbers of one layout");
        auto const axis = static_cast<size_t>(mLayer.axis());
        int64_t const length = x.extents.at(axis);
        int64_t const inner = stridesIn(x.layout, x.extents)[axis];
        int64_t const lanes = volumeOf(x.extents) / std::max<int64_t>(length, 1);
        int64_t const items = inner <= 1 ? lanes : lanes / inner * ((inner + kSoftMaxBlock - 1) / kSoftMaxBlock);
        return withStorage(x.dtype, [&]<typename T>(T) {
            SoftMaxRows<T> const rows{.length = length, .inner = std::max<int64_t>(inner, 1)};
            return std::shared_ptr<Prepared const>{std::make_shared<PreparedSoftMax<T>>(rows, items, threads)};
        });
    }

  private:
    LayerKernel mKernel;
    SoftMax mLayer;
};

Result<std::unique_ptr<Kernel>> loadSoftMax(KernelSource const& source)
{
    LayerKernel kernel = TENON_TRY(LayerKernel::load(source));
    SoftMax const layer = TENON_TRY(fieldsOf<SoftMax>(kernel.args()));
    return std::unique_ptr<Kernel>{std::make_unique<SoftMaxKernel>(std::move(kernel), layer)};
}

std::variant<std::vector<Offer>, Refusal> offerSoftMax(Problem const& problem)
{
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("rows", "only float32, float16 and bfloat16");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || problem.input(0).rank() >= 3)
        {
            Offer offer;
            offer.inputs = {layout};
            offer.outputs = {layout};
            offer.inPlace = {{0, 0}};
            auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
            offer.cost = costOf(problem, elements * 40.0, bytesOf(problem));
            offers.push_back(std::move(offer));
        }
    return offers;
}

Result<KernelSpec> buildSoftMax(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "soft_max", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kSoftMaxCandidates[]{
    {.layer = SoftMax::kName, .name = "rows", .offers = offerSoftMax, .build = buildSoftMax},
};
constexpr KernelEntry kSoftMaxKernels[]{{"soft_max", &loadSoftMax}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(SoftMax, kSoftMaxCandidates, kSoftMaxKernels);
