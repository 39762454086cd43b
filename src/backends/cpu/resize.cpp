// Resize of the two spatial axes: weights and positions once per shape, channels or whole lines at a time.
#include "layers/resize.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"
#include "backends/cpu/layer_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfResize(Problem const& problem)
{
    Shape const& in = problem.input(0).shape;
    TensorType const& out = problem.output();
    if (!kRealTypes.has(out.dtype) || out.rank() != 4)
        return refuse("spatial", fmt::format("takes images of rank 4 and real numbers, this is {}", out.show()));
    if (!(in[0] == out.shape[0]) || !(in[1] == out.shape[1]))
        return refuse("spatial", "images or channels are resized too");
    bool const hasDims = problem.node->inputs.size() > 1 && problem.hasInput(1);
    if (hasDims && !hasKnownContents(problem, 1))
        return refuse("spatial", "the output dimensions are known only when it runs");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kChannelsLast, Layout::kLinear})
    {
        std::vector<Layout> inputs(problem.node->inputs.size(), Layout::kLinear);
        inputs[0] = layout;
        double const slower = layout == Layout::kLinear ? 1.5 : 1.0;
        offers.push_back({.candidate = "spatial",
            .inputs = std::move(inputs),
            .outputs = {layout},
            .cost = slower * costOf(problem, 0.0, bytesOf(problem)),
            .unread = hasDims ? 2U : 0U});
    }
    return offers;
}

Result<KernelSpec> buildResize(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"resize", encodeLayerArgs(problem, offer), {}};
}

//! Taps of one axis in the form that the kernel reads.
struct AxisTaps
{
    int64_t width{1};
    std::vector<int32_t> index;
    std::vector<float> weight;

    explicit AxisTaps(Resize::Taps const& taps)
        : width{taps.width},
          index(taps.index.begin(), taps.index.end()),
          weight(taps.weight.begin(), taps.weight.end())
    {
    }
};

//! Scratch memory: a line of floats per lane, whole vectors long.
template <typename T>
class ResizeStep final : public HostPrepared
{
  public:
    ResizeStep(Resampling<T> geometry, int64_t images, AxisTaps rows, AxisTaps columns, int32_t threads)
        : mGeometry{geometry},
          mImages{images},
          mRows{std::move(rows)},
          mColumns{std::move(columns)},
          mThreads{threads}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads * lineFloats()) * sizeof(float);
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        Resampling<T> r = mGeometry;
        r.rowTaps = mRows.width;
        r.columnTaps = mColumns.width;
        r.rows = mRows.index.data();
        r.rowWeights = mRows.weight.data();
        r.columns = mColumns.index.data();
        r.columnWeights = mColumns.weight.data();
        r.in = static_cast<T const*>(call.inputs[0]);
        r.out = static_cast<T*>(call.outputs[0]);
        auto const [first, last] = lane.part(mImages * r.outHeight);
        storageFunctions<T>().runResampling(
            r, first, last, static_cast<float*>(call.scratch) + lane.index * lineFloats());
        return Done{};
    }

  private:
    int64_t lineFloats() const noexcept
    {
        constexpr int64_t kVector{16};
        return (mGeometry.inWidth + kVector - 1) / kVector * kVector;
    }

    Resampling<T> mGeometry;
    int64_t mImages;
    AxisTaps mRows;
    AxisTaps mColumns;
    int32_t mThreads;
};

class ResizeKernel final : public Kernel
{
  public:
    explicit ResizeKernel(LayerKernel kernel)
        : mKernel{std::move(kernel)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        TENON_TRY(mKernel.check(inputs, outputs));
        Resize const* layer = as<Resize>(mKernel.layer());
        Layout const layout = inputs[0].layout;
        std::vector<int64_t> const& in = inputs[0].extents;
        std::vector<int64_t> const& out = outputs[0].extents;
        if (layer == nullptr || blockOf(layout) != 1 || !isReal(inputs, 0, layout) || !isReal(outputs, 0, layout)
            || in.size() != 4 || in[0] != out[0] || in[1] != out[1])
            return badArgument("the resize kernel takes images of real numbers whose spatial axes alone are resized");
        constexpr int64_t kFar{1 << 24};
        if (std::max({in[2], in[3], out[2], out[3]}) > kFar)
            return badArgument("a spatial extent of more than {}", kFar);
        if (volumeOf(in) == 0 && volumeOf(out) != 0)
            return badArgument("an empty image cannot be resized");
        bool const isLinear = layout == Layout::kLinear;
        return withStorage(inputs[0].dtype, [&]<typename T>(T) -> std::shared_ptr<Prepared const> {
            Resampling<T> const geometry{.channels = isLinear ? 1 : in[1],
                .inHeight = in[2],
                .inWidth = in[3],
                .outHeight = out[2],
                .outWidth = out[3]};
            return std::make_shared<ResizeStep<T> const>(geometry, isLinear ? in[0] * in[1] : in[0],
                AxisTaps{layer->tapsOf(2, in[2], out[2])}, AxisTaps{layer->tapsOf(3, in[3], out[3])}, threads);
        });
    }

  private:
    LayerKernel mKernel;
};

Result<std::unique_ptr<Kernel>> loadResize(KernelSource const& source)
{
    return std::make_unique<ResizeKernel>(TENON_TRY(LayerKernel::load(source)));
}

constexpr Candidate kResizeCandidates[]{{Resize::kName, "spatial", offersOfResize, buildResize}};
constexpr KernelEntry kResizeKernels[]{{"resize", loadResize}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Resize, kResizeCandidates, kResizeKernels);
