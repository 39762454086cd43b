// PixelSum: what tiles of tensor cores do not take, and addresses that the copy engine does not.
#include "backends/cuda/pixel_sum.h"
#include "backends/cuda/epilogue_text.h"
#include "backends/cuda/window_geometry.h"

namespace tenon::cuda
{

namespace
{
//! Where in memory pixels of both images are, whose results lie alike.
TENON_DEVICE_STRUCT(PixelSumParams, unsigned const* stop; void const* x; void const* second; void const* w;
                    void const* bias; void* y; WindowGeometry g; WindowGeometry h; long long depth;
                    EpilogueOperand extras[4];);

constexpr char kPixelSumKernel[]{R"(
static __device__ __forceinline__ float partOf(
    Stored const* x, WindowGeometry const& g, i64 const* at, Stored const* w)
{
    Stored const* const in = x
        + offsetOf(g.inStrides, at[0], 0, at[2] * g.stride[0], at[3] * g.stride[1], at[4] * g.stride[2]);
    float part = 0.0f;
    for (i64 c = 0; c < g.inExtents[1]; ++c)
        part = fmaf(widen(in[c * g.inStrides[1]]), widen(w[c]), part);
    return part;
}
TENON_KERNEL(pixelSum, PixelSumParams)
{
    for (u64 item = firstItem(); item < p.g.count; item += itemStride())
    {
        i64 at[5];
        placeOf(p.g, item, at);
        Stored const* const filter = (Stored const*)p.w + at[1] * p.depth;
        float sum = partOf((Stored const*)p.x, p.g, at, filter)
            + partOf((Stored const*)p.second, p.h, at, filter + p.g.inExtents[1]);
        if (p.bias != nullptr)
            sum += widen(((Stored const*)p.bias)[at[1]]);
        put(((Stored*)p.y)[offsetOf(p.g.outStrides, at[0], at[1], at[2], at[3], at[4])],
            finish(p.extras, sum, at[0], at[1], at[2], at[3], at[4]));
    }
}
)"};

class PixelSumStep final : public CudaPrepared
{
  public:
    PixelSumStep(PixelSumParams const& params, bool hasBias, void* code)
        : mParams{params},
          mHasBias{hasBias},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        PixelSumParams params = mParams;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = mHasBias ? at.call.inputs[2] : nullptr;
        params.second = at.call.inputs[ConvolutionSum::kSecond];
        params.y = at.call.outputs[0];
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.g.count), 128), params);
    }

  private:
    PixelSumParams mParams;
    bool mHasBias;
    void* mCode;
};

//! What a plan by hand may say, and kernels do not look at.
Result<Done> checkSum(ConvolutionSum const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    TensorArg const& second = inputs[ConvolutionSum::kSecond];
    auto const gives = [&](Convolution const& each, TensorArg const& x) {
        bool isIt = x.extents.size() == 4 && out.extents.size() == 4 && x.extents[0] == out.extents[0];
        for (size_t axis = 2; isIt && axis < 4; ++axis)
            isIt = each.window().outputExtent(axis - 2, ShapeExpr{x.extents[axis]}) == ShapeExpr{out.extents[axis]};
        return isIt && x.dtype == out.dtype;
    };
    bool const fits = gives(layer.first(), inputs[0]) && gives(layer.second(), second)
        && inputs[1].extents == std::vector<int64_t>{out.extents[1], inputs[0].extents[1] + second.extents[1], 1, 1};
    return fits && inputs[1].dtype == out.dtype ? Result<Done>{Done{}}
                                                : badArgument("two convolutions that do not fit each other");
}
} // namespace

Result<std::shared_ptr<Prepared const>> pixelSum(
    CudaDevice const& device, ConvolutionSum const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    TENON_TRY(checkSum(layer, inputs, out));
    TensorArg const& second = inputs[ConvolutionSum::kSecond];
    PixelSumParams params{};
    params.g = TENON_TRY(windowGeometry(layer.first().window(), inputs[0], out));
    params.h = TENON_TRY(windowGeometry(layer.second().window(), second, out));
    params.depth = inputs[0].extents[1] + second.extents[1];
    std::string text = windowText() + kEpilogueOperandText + kPixelSumParamsText;
    text += fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(out.dtype)));
    text += TENON_TRY(epilogueText(layer.epilogue)) + kPixelSumKernel;
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(text)));
    void* const code = TENON_TRY(module.function("pixelSum"));
    bool const hasBias = inputs[2].present;
    return std::shared_ptr<Prepared const>{std::make_shared<PixelSumStep>(params, hasBias, code)};
}

} // namespace tenon::cuda
