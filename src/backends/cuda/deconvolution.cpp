// Deconvolution, one thread per result, in row-major and channels-last order: the taps whose inputs reach the result.
#include "layers/deconvolution.h"
#include "backends/cuda/epilogue_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Extents and strides by image, channel and three spatial axes.
TENON_DEVICE_STRUCT(DeconvolutionParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    unsigned long long count; unsigned isSmall; int hasBias; int isChannelsLast; long long channels;
                    long long maps; unsigned long long outExtents[5]; long long outStrides[5]; long long inExtents[5];
                    long long inStrides[5]; long long window[3]; long long stride[3]; long long dilation[3];
                    long long pre[3]; EpilogueOperand extra[4];);

constexpr char kDeconvolutionKernel[]{R"(
//! The input whose tap k lands on a result; -1: none does.
static __device__ __forceinline__ i64 sourceOf(DeconvolutionParams const& p, int axis, i64 out, i64 k)
{
    i64 const at = out + p.pre[axis] - k * p.dilation[axis];
    return at >= 0 && at % p.stride[axis] == 0 && at / p.stride[axis] < p.inExtents[2 + axis] ? at / p.stride[axis]
                                                                                              : -1;
}
TENON_KERNEL(deconvolution, DeconvolutionParams)
{
    i64 const taps = p.window[0] * p.window[1] * p.window[2];
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 at[5];
        if (p.isChannelsLast)
            at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
        for (int axis = 4; axis >= 2; --axis)
            at[axis] = (i64)takeAxis(left, p.outExtents[axis], p.isSmall);
        if (!p.isChannelsLast)
            at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
        at[0] = (i64)left;
        i64 const group = at[1] / p.maps; // Weights are [channel, map of the group, window].
        Stored const* const w = (Stored const*)p.w + (group * p.channels * p.maps + at[1] % p.maps) * taps;
        Stored const* const x = (Stored const*)p.x + at[0] * p.inStrides[0] + group * p.channels * p.inStrides[1];
        float sum = p.hasBias ? widen(((Stored const*)p.bias)[at[1]]) : 0.0f;
        for (i64 kz = 0; kz < p.window[0]; ++kz)
        {
            i64 const z = sourceOf(p, 0, at[2], kz);
            for (i64 ky = 0; ky < p.window[1] && z >= 0; ++ky)
            {
                i64 const y = sourceOf(p, 1, at[3], ky);
                for (i64 kx = 0; kx < p.window[2] && y >= 0; ++kx)
                {
                    i64 const column = sourceOf(p, 2, at[4], kx);
                    if (column < 0)
                        continue;
                    Stored const* const from = x + z * p.inStrides[2] + y * p.inStrides[3] + column * p.inStrides[4];
                    Stored const* const tap = w + (kz * p.window[1] + ky) * p.window[2] + kx;
                    float part = 0.0f; // Of one tap: short sums round less than a long one.
                    for (i64 c = 0; c < p.channels; ++c)
                        part = fmaf(widen(from[c * p.inStrides[1]]), widen(tap[c * p.maps * taps]), part);
                    sum += part;
                }
            }
        }
        put(((Stored*)p.y)[at[0] * p.outStrides[0] + at[1] * p.outStrides[1] + at[2] * p.outStrides[2]
                + at[3] * p.outStrides[3] + at[4] * p.outStrides[4]],
            finish(p.extra, sum, at[0], at[1], at[2], at[3], at[4]));
    }
}
)"};

class DeconvolutionStep final : public CudaPrepared
{
  public:
    DeconvolutionStep(DeconvolutionParams params, EpilogueOperands extras, void* code)
        : mParams{params},
          mExtras{extras},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        DeconvolutionParams params = mParams;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        mExtras.put(params.extra, at.call);
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.count), 128), params);
    }

  private:
    DeconvolutionParams mParams;
    EpilogueOperands mExtras;
    void* mCode;
};

//! Numbers by tensor axis as image, channel and the last of three spatial axes.
template <typename To>
void putSpatial(std::vector<int64_t> const& from, To (&to)[5], int64_t missing)
{
    std::fill(to, to + 5, static_cast<To>(missing));
    for (size_t axis = 0; axis < from.size(); ++axis)
        to[axis < 2 ? axis : axis + 5 - from.size()] = static_cast<To>(from[axis]);
}

class DeconvolutionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Deconvolution const layer = TENON_TRY(fieldsOf<Deconvolution>(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        Window const window = layer.window();
        size_t const spatial = window.rank();
        bool const fits = spatial >= 1 && spatial <= 3 && x.extents.size() == spatial + 2 && kRealTypes.has(out.dtype)
            && x.dtype == out.dtype && inputs[1].dtype == out.dtype && inputs[1].layout == Layout::kLinear
            && blockOf(x.layout) == 1 && blockOf(out.layout) == 1;
        if (!fits)
            return badArgument("the kernel of deconvolutions takes one type of real numbers and up to three axes");
        EpilogueOperands const extras =
            TENON_TRY(epilogueOperands(layer.epilogue, inputs, Deconvolution::kFirstExtra, out));
        DeconvolutionParams params{};
        putSpatial(x.extents, params.inExtents, 1);
        putSpatial(out.extents, params.outExtents, 1);
        putSpatial(stridesIn(x.layout, x.extents), params.inStrides, 0);
        putSpatial(stridesIn(out.layout, out.extents), params.outStrides, 0);
        for (size_t k = 0; k < 3; ++k)
        {
            bool const isThere = k + spatial >= 3;
            size_t const axis = k + spatial - 3;
            params.window[k] = isThere ? window.size[axis] : 1;
            params.stride[k] = isThere ? window.stride[axis] : 1;
            params.dilation[k] = isThere ? window.dilation[axis] : 1;
            params.pre[k] = isThere ? window.transposedPadding(axis).pre : 0;
        }
        int64_t const count = volumeOf(out.extents);
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        params.isChannelsLast = out.layout == Layout::kChannelsLast ? 1 : 0;
        params.channels = x.extents[1] / layer.nbGroups;
        params.maps = out.extents[1] / layer.nbGroups;
        params.hasBias = inputs.size() > 2 && inputs[2].present ? 1 : 0;
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kEpilogueOperandText} + kDeconvolutionParamsText
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(out.dtype)))
                + TENON_TRY(epilogueText(layer.epilogue)) + kDeconvolutionKernel)));
        return std::shared_ptr<Prepared const>{
            std::make_shared<DeconvolutionStep>(params, extras, TENON_TRY(module.function("deconvolution")))};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDeconvolution(Problem const& problem)
{
    constexpr char kName[]{"direct"};
    Deconvolution const& layer = problem.fields<Deconvolution>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type) || problem.input(0).dtype != type || problem.input(1).dtype != type)
        return refuse(kName, "takes one type of real numbers");
    Window const window = layer.window();
    if (window.rank() > 3)
        return refuse(kName, "takes up to three spatial axes");
    if (std::string const why = epilogueObjection(layer.epilogue, problem, Deconvolution::kFirstExtra); !why.empty())
        return refuse(kName, why);
    std::vector<int64_t> const w = problem.typicalExtents(problem.input(1));
    auto const inputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.input(0))));
    double const products = inputs * static_cast<double>(volumeOf(w) / std::max<int64_t>(w[0], 1));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), layout);
        for (size_t k = 1; k < 3 && k < offer.inputs.size(); ++k)
            offer.inputs[k] = Layout::kLinear;
        offer.outputs = {layout};
        offer.cost = costOf(problem, 4.0 * products, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildDeconvolution(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "deconvolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kDeconvolutionCandidates[]{
    {.layer = Deconvolution::kName, .name = "direct", .offers = offersOfDeconvolution, .build = buildDeconvolution}};
constexpr CudaKernelEntry kDeconvolutionKernels[]{{"deconvolution", &loadLayerKernel<DeconvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Deconvolution, kDeconvolutionCandidates, kDeconvolutionKernels);
