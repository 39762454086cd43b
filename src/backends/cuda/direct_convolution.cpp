// Convolution and deconvolution, one thread per result, in row-major and channels-last order: correct for every window,
// without a library. Libraries and faster kernels are asked before them, and have them for shapes that they refuse.
#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/window_geometry.h"

namespace tenon::cuda
{

namespace
{
//! wMap, wTap and wChannel: strides of the filter in elements.
TENON_DEVICE_STRUCT(DirectParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    WindowGeometry g; int hasBias; long long perGroup; long long mapsPerGroup; long long wMap;
                    long long wTap; long long wChannel; EpilogueOperand extras[4];);

constexpr char kConvolutionKernel[]{R"(
TENON_KERNEL(convolution, DirectParams)
{
    for (u64 item = firstItem(); item < p.g.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p.g, item, at);
        i64 const first = at[1] / p.mapsPerGroup * p.perGroup;
        Stored const* const filter = (Stored const*)p.w + at[1] * p.wMap;
        float sum = 0.0f;
        for (i64 kz = 0; kz < p.g.window[0]; ++kz)
        {
            i64 const z = at[2] * p.g.stride[0] - p.g.pre[0] + kz * p.g.dilation[0];
            if (z < 0 || z >= p.g.inExtents[2])
                continue;
            for (i64 ky = 0; ky < p.g.window[1]; ++ky)
            {
                i64 const y = at[3] * p.g.stride[1] - p.g.pre[1] + ky * p.g.dilation[1];
                if (y < 0 || y >= p.g.inExtents[3])
                    continue;
                for (i64 kx = 0; kx < p.g.window[2]; ++kx)
                {
                    i64 const x = at[4] * p.g.stride[2] - p.g.pre[2] + kx * p.g.dilation[2];
                    if (x < 0 || x >= p.g.inExtents[4])
                        continue;
                    sum += tapOf(p, at[0], first, z, y, x,
                        filter + ((kz * p.g.window[1] + ky) * p.g.window[2] + kx) * p.wTap);
                }
            }
        }
        store(p, at, sum);
    }
}
)"};

constexpr char kDeconvolutionKernel[]{R"(
//! Whether tap k of a result at position `at` meets an element, and which.
static __device__ __forceinline__ bool meets(DirectParams const& p, i64 at, i64 k, int axis, i64& from)
{
    i64 const reached = at + p.g.pre[axis] - k * p.g.dilation[axis];
    from = reached / p.g.stride[axis];
    return reached >= 0 && reached % p.g.stride[axis] == 0 && from < p.g.inExtents[axis + 2];
}
TENON_KERNEL(deconvolution, DirectParams)
{
    for (u64 item = firstItem(); item < p.g.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p.g, item, at);
        i64 const first = at[1] / p.mapsPerGroup * p.perGroup;
        Stored const* const filter = (Stored const*)p.w + first * p.wChannel + at[1] % p.mapsPerGroup * p.wMap;
        float sum = 0.0f;
        i64 z;
        i64 y;
        i64 x;
        for (i64 kz = 0; kz < p.g.window[0]; ++kz)
            for (i64 ky = 0; ky < p.g.window[1]; ++ky)
                for (i64 kx = 0; kx < p.g.window[2]; ++kx)
                    if (meets(p, at[2], kz, 0, z) && meets(p, at[3], ky, 1, y) && meets(p, at[4], kx, 2, x))
                        sum += tapOf(p, at[0], first, z, y, x,
                            filter + ((kz * p.g.window[1] + ky) * p.g.window[2] + kx) * p.wTap);
        store(p, at, sum);
    }
}
)"};

constexpr char kDirectStart[]{R"(
//! Of one tap: short sums round less than a long one.
static __device__ __forceinline__ float tapOf(
    DirectParams const& p, i64 n, i64 first, i64 z, i64 y, i64 x, Stored const* w)
{
    Stored const* const in = (Stored const*)p.x + offsetOf(p.g.inStrides, n, first, z, y, x);
    float part = 0.0f;
    for (i64 c = 0; c < p.perGroup; ++c)
        part = fmaf(widen(in[c * p.g.inStrides[1]]), widen(w[c * p.wChannel]), part);
    return part;
}
static __device__ __forceinline__ void store(DirectParams const& p, i64 const* at, float sum)
{
    if (p.hasBias)
        sum += widen(((Stored const*)p.bias)[at[1]]);
    put(((Stored*)p.y)[offsetOf(p.g.outStrides, at[0], at[1], at[2], at[3], at[4])],
        finish(p.extras, sum, at[0], at[1], at[2], at[3], at[4]));
}
)"};

class DirectStep final : public CudaPrepared
{
  public:
    DirectStep(DirectParams params, EpilogueOperands const& operands, void* code)
        : mParams{params},
          mOperands{operands},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        DirectParams params = mParams;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        mOperands.put(params.extras, at.call);
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.g.count), 128), params);
    }

  private:
    DirectParams mParams;
    EpilogueOperands mOperands;
    void* mCode;
};

//! A filter is [maps][channels per group][taps], of a deconvolution [channels][maps per group][taps], or both with
//! taps in front of the second axis.
void putFilterStrides(DirectParams& params, ConvolutionShape const& shape)
{
    int64_t const taps = volumeOf(shape.window.size);
    int64_t const second = shape.isTransposed ? params.mapsPerGroup : params.perGroup;
    int64_t const inSecond = shape.isChannelsLast ? 1 : taps;
    params.wTap = shape.isChannelsLast ? second : 1;
    params.wMap = shape.isTransposed ? inSecond : second * taps;
    params.wChannel = shape.isTransposed ? second * taps : inSecond;
}

class DirectKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        return directConvolution(device(), TENON_TRY(convolutionShape(inputs, outputs)), inputs, outputs[0]);
    }
};
} // namespace

Result<std::shared_ptr<Prepared const>> directConvolution(
    CudaDevice const& device, ConvolutionShape const& shape, std::span<TensorArg const> inputs, TensorArg const& out)
{
    DirectParams params{};
    params.g = TENON_TRY(windowGeometry(shape.window, inputs[0], out, shape.isTransposed));
    params.perGroup = inputs[0].extents[1] / shape.groups;
    params.mapsPerGroup = out.extents[1] / shape.groups;
    params.hasBias = shape.hasBias ? 1 : 0;
    putFilterStrides(params, shape);
    EpilogueOperands const operands = TENON_TRY(epilogueOperands(shape.epilogue, inputs, kFirstExtra, out));
    std::string text = windowText() + kEpilogueOperandText + kDirectParamsText;
    text += fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(out.dtype)));
    text += TENON_TRY(epilogueText(shape.epilogue)) + kDirectStart;
    text += shape.isTransposed ? kDeconvolutionKernel : kConvolutionKernel;
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(text)));
    void* const code = TENON_TRY(module.function(shape.isTransposed ? "deconvolution" : "convolution"));
    return std::shared_ptr<Prepared const>{std::make_shared<DirectStep>(params, operands, code)};
}

namespace
{
template <typename L>
std::variant<std::vector<Offer>, Refusal> offersOfDirect(Problem const& problem)
{
    constexpr bool kIsTransposed{std::is_same_v<L, Deconvolution>};
    L const& layer = problem.fields<L>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return refuse("direct", std::move(reason));
    std::vector<Offer> offers = windowOffers(problem, 4.0 * convolutionWork(problem, kIsTransposed));
    for (Offer& offer : offers)
        putExtraLayouts(offer, problem, offer.outputs[0]);
    return offers;
}

Result<KernelSpec> buildDirect(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "convolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kDirectCandidates[]{
    {.layer = Convolution::kName, .name = "direct", .offers = offersOfDirect<Convolution>, .build = buildDirect},
    {.layer = Deconvolution::kName, .name = "direct", .offers = offersOfDirect<Deconvolution>, .build = buildDirect}};
constexpr CudaKernelEntry kDirectKernels[]{{"convolution", &loadPackableKernel<DirectKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(DirectConvolution, kDirectCandidates, kDirectKernels);
