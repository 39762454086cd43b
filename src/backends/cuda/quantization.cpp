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
constexpr int64_t kAlike{16};    //!< Elements of an item of one scale.

//! Of one scale, and no zero point: `count` times 16 elements, of which extents[0] are there. A product with the
//! reciprocal, mended once, is the quotient; numbers far out of range are made nearer before, so that infinities stay
//! what they are.
constexpr char kAlikeText[]{R"(
#ifdef TENON_EMULATED
static inline unsigned bytesOf(float const (&x)[4], Fp8)
{
    unsigned all = 0;
    for (int k = 0; k < 4; ++k)
    {
        Fp8 one;
        put(one, x[k]);
        all |= (unsigned)one.bits << 8 * k;
    }
    return all;
}
#else
static __device__ __forceinline__ unsigned bytesOf(float const (&x)[4], Fp8)
{
    unsigned short low = 0, high = 0;
#if __CUDA_ARCH__ >= 890
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
#endif
    return low | (unsigned)high << 16;
}
#endif
//! Between 2^23 and 2^24 the last bits of a float are a whole number.
static __device__ __forceinline__ unsigned bytesOf(float const (&x)[4], signed char)
{
    unsigned all = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        unsigned const whole = toBits(fminf(fmaxf(x[k], -128.0f), 127.0f) + 12582912.0f);
        all |= (x[k] == x[k] ? whole & 255u : 0u) << 8 * k;
    }
    return all;
}
static __device__ __forceinline__ float quotientOf(float x, float scale, float inverse)
{
    if (!(inverse > 0x1p-100f && inverse < 0x1p100f))
        return x / scale;
    float const near = fminf(fmaxf(x * inverse, -1024.0f), 1024.0f);
    return fmaf(fmaf(-near, scale, x), inverse, near);
}
TENON_KERNEL(convertAlike, QuantizationParams)
{
    constexpr int kWords = 16 * (int)sizeof(In) / 16; // Of 16 bytes.
    constexpr int kOfWord = 16 / (int)sizeof(In);
    u64 const items = p.extents[0] / 16;
    for (u64 item = firstItem(); item < items; item += itemStride())
    {
        Pack<In, kOfWord> in[kWords];
#pragma unroll
        for (int i = 0; i < kWords; ++i)
            in[i] = ((Pack<In, kOfWord> const*)p.x)[item * kWords + i];
        // While elements are on their way.
        float const scale = widen(*(ScaleType const*)p.scale), inverse = 1.0f / scale;
        Pack<unsigned, 4> out;
#pragma unroll
        for (int i = 0; i < 4; ++i)
        {
            float four[4];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                four[k] = quotientOf(widen(in[(i * 4 + k) / kOfWord].v[(i * 4 + k) % kOfWord]), scale, inverse);
            out.v[i] = bytesOf(four, Out{});
        }
        ((Pack<unsigned, 4>*)p.y)[item] = out;
    }
    u64 const left = items * 16 + firstItem();
    if (left < p.extents[0])
    {
        float const scale = widen(*(ScaleType const*)p.scale), inverse = 1.0f / scale;
        float const one[4]{quotientOf(widen(((In const*)p.x)[left]), scale, inverse)};
        unsigned const bytes = bytesOf(one, Out{});
        ((unsigned char*)p.y)[left] = (unsigned char)bytes;
    }
}
)"};

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

//! Of elements in any order, all of which have one scale.
KernelForm<QuantizationParams> alikeForm(QuantizationParams params, int64_t count, void* code)
{
    params.extents[0] = static_cast<uint64_t>(count);
    params.count = static_cast<uint64_t>((count + kAlike - 1) / kAlike);
    return {params, code, kWideBytes};
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
        bool const isAlike = isOfOneScale(inputs[1], out);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kQuantizationParamsText}
                + fmt::format("typedef {} In;\ntypedef {} ScaleType;\ntypedef {} Out;\n", TENON_TRY(storageOf(x.dtype)),
                    TENON_TRY(storageOf(inputs[1].dtype)), TENON_TRY(storageOf(out.dtype)))
                + TENON_TRY(printFunction("convert", tape, kinds)) + kQuantizationKernel
                + (isAlike ? kAlikeText : ""))));
        narrow.code = TENON_TRY(module.function("convertOne"));
        std::optional<KernelForm<QuantizationParams>> wide;
        if (isAlike)
            wide = alikeForm(narrow.params, volumeOf(x.extents), TENON_TRY(module.function("convertAlike")));
        else if (narrow.params.extents[narrow.params.axes - 1] % kConverted == 0)
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

  private:
    //! Whether all elements are quantized alike, and zero stays zero.
    bool isOfOneScale(TensorArg const& scale, TensorArg const& out) const
    {
        Result<Quantize> const layer = fieldsOf<Quantize>(args());
        return args().layer == Quantize::kName && layer && layer->zeroPoint == 0 && volumeOf(scale.extents) == 1
            && isQuantizedType(out.dtype);
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
