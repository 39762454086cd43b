// Quantize and Dequantize with scales of channels and blocks, for int8 and fp8; those with one scale are expressions.
#include "layers/quantization.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"
#include "ir/host_tensor.h"
#include "layers/dequantize.h"
#include "layers/quantize.h"
#include "layers/quantized_product.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(QuantizationParams, unsigned const* stop; void const* x; void const* scale; void* y;
                    unsigned long long count; unsigned isSmall; int axes; unsigned long long extents[8];
                    long long strides[8];);

//! Items are packs of N elements along the last axis.
constexpr char kQuantizationKernel[]{R"(
template <int N>
static __device__ __forceinline__ void convertAll(QuantizationParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 at = (i64)takeAxis(left, p.extents[p.axes - 1], p.isSmall) * N * p.strides[p.axes - 1];
        for (int axis = p.axes - 2; axis >= 0; --axis)
            at += (i64)takeAxis(left, p.extents[axis], p.isSmall) * p.strides[axis];
        Pack<In, N> const x = ((Pack<In, N> const*)p.x)[item];
        Pack<Out, N> y;
        for (int k = 0; k < N; ++k)
            put(y.v[k], convert(widen(x.v[k]), widen(((ScaleType const*)p.scale)[at + k * p.strides[p.axes - 1]])));
        ((Pack<Out, N>*)p.y)[item] = y;
    }
}
TENON_KERNEL(convertOne, QuantizationParams) { convertAll<1>(p); }
TENON_KERNEL(convertFour, QuantizationParams) { convertAll<4>(p); }
)"};

constexpr int64_t kConverted{4}; //!< Elements of a pack.

//! The element's arithmetic with its scale, and where scales belong.
struct QuantizationForm
{
    Expr body;
    ScaleView view;
};

Result<QuantizationForm> quantizationForm(
    LayerArgs const& args, std::span<TensorArg const> inputs, TensorArg const& out)
{
    bool const narrows = args.layer == Quantize::kName;
    auto const made = [&](auto const& layer) {
        Expr const x = Expr::input(0);
        Expr const scale = Expr::input(1);
        return QuantizationForm{narrows ? quantizedExpr(x, scale, out.dtype, layer.zeroPoint)
                                        : dequantizedExpr(x, scale, out.dtype, layer.zeroPoint),
            viewOf(inputs[0].extents, inputs[1].extents, layer.use())};
    };
    if (narrows)
        return made(TENON_TRY(fieldsOf<Quantize>(args)));
    return made(TENON_TRY(fieldsOf<Dequantize>(args)));
}

QuantizationParams quantizationParams(ScaleView const& view, Layout layout)
{
    std::vector<int64_t> const scales = broadcastStrides(view.scale);
    std::vector<int64_t> const own = stridesIn(layout, view.x);
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> strides(2);
    for (size_t const axis : memoryAxes(layout, view.x.size()))
    {
        extents.push_back(view.x[axis]);
        strides[0].push_back(own[axis]);
        strides[1].push_back(scales[axis]);
    }
    mergeAxes(extents, strides);
    QuantizationParams params{};
    int64_t const count = volumeOf(extents);
    params.count = static_cast<uint64_t>(count);
    params.isSmall = isSmall(count) ? 1U : 0U;
    params.axes = static_cast<int>(extents.size());
    if (extents.size() <= kMaxAxes)
    {
        std::ranges::copy(extents, params.extents);
        std::ranges::copy(strides[1], params.strides);
    }
    return params;
}

class QuantizationKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        QuantizationForm const form = TENON_TRY(quantizationForm(args(), inputs, out));
        bool const isRowMajor = x.layout == Layout::kLinear;
        KernelForm<QuantizationParams> narrow;
        narrow.params = quantizationParams(form.view, x.layout);
        if (x.layout != out.layout || blockOf(x.layout) != 1 || inputs[1].layout != Layout::kLinear
            || (!isRowMajor && form.view.x.size() != x.extents.size())
            || narrow.params.axes > static_cast<int>(kMaxAxes))
            return badArgument("the kernel of quantizations takes one layout, and blocks of row-major tensors");
        TensorType const types[]{{x.dtype, {}}, {inputs[1].dtype, {}}};
        Tape const tape = TENON_TRY(makeTape(form.body, {&types[0], &types[1]}, true));
        std::vector<TapeKind> const kinds{TENON_TRY(tapeKindOf(x.dtype)), TENON_TRY(tapeKindOf(inputs[1].dtype))};
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kQuantizationParamsText}
                + fmt::format("typedef {} In;\ntypedef {} ScaleType;\ntypedef {} Out;\n", TENON_TRY(storageOf(x.dtype)),
                    TENON_TRY(storageOf(inputs[1].dtype)), TENON_TRY(storageOf(out.dtype)))
                + TENON_TRY(printFunction("convert", tape, kinds)) + kQuantizationKernel)));
        narrow.code = TENON_TRY(module.function("convertOne"));
        std::optional<KernelForm<QuantizationParams>> wide;
        if (narrow.params.extents[narrow.params.axes - 1] % kConverted == 0)
        {
            wide = narrow;
            wide->params.extents[narrow.params.axes - 1] /= kConverted;
            wide->params.count /= kConverted;
            wide->code = TENON_TRY(module.function("convertFour"));
            wide->alignment =
                static_cast<uintptr_t>(kConverted * std::max(movableBytes(x.dtype), movableBytes(out.dtype)));
        }
        return widthStep(narrow, wide, 0b1, [](QuantizationParams& params, Call const& call) {
            params.x = call.inputs[0];
            params.scale = call.inputs[1];
            params.y = call.outputs[0];
        });
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfQuantization(Problem const& problem)
{
    constexpr char kName[]{"scales"};
    bool const narrows = problem.layer().name() == Quantize::kName;
    DType const narrow = narrows ? problem.output().dtype : problem.input(0).dtype;
    DType const wide = narrows ? problem.input(0).dtype : problem.output().dtype;
    if (!isQuantizedType(narrow) || !kRealTypes.has(wide) || !kRealTypes.has(problem.input(1).dtype))
        return refuse(kName, fmt::format("takes int8 and fp8, this is {}", nameOf(narrow)));
    if (problem.hasInput(2) && problem.constant(2) == nullptr)
        return refuse(kName, "a zero point that only running tells is not looked at");
    size_t const rank = problem.input(0).shape.size();
    bool const hasBlocks = problem.input(1).rank() > 1;
    if (rank * (hasBlocks ? 2 : 1) > kMaxAxes)
        return refuse(kName, fmt::format("rank {}", rank));
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(static_cast<int32_t>(rank)))
    {
        if (hasBlocks && layout != Layout::kLinear)
            continue;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = costOf(problem, 0.0, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildQuantization(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "quantization", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kQuantizationCandidates[]{
    {.layer = Quantize::kName, .name = "scales", .offers = offersOfQuantization, .build = buildQuantization},
    {.layer = Dequantize::kName, .name = "scales", .offers = offersOfQuantization, .build = buildQuantization}};
constexpr CudaKernelEntry kQuantizationKernels[]{{"quantization", &loadLayerKernel<QuantizationKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Quantization, kQuantizationCandidates, kQuantizationKernels);
