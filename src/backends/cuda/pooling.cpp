// Pooling of images in channels-last order: a thread has 16 bytes of channels of one result, where they come out even.
#include "layers/pooling.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Channels in packs; windows by row and column.
TENON_DEVICE_STRUCT(PackedPoolingParams, unsigned const* stop; void const* x; void* y; unsigned long long count;
                    unsigned isSmall; int channels; int height; int width; int outHeight; int outWidth; int window[2];
                    int stride[2]; int pre[2]; int post[2]; int countsPadding;);

constexpr char kPackedPoolingKernel[]{R"(
static __device__ __forceinline__ int overlapOf(int low, int high, int least, int most)
{
    low = low < least ? least : low;
    high = high > most ? most : high;
    return high > low ? high - low : 0;
}
template <int N>
static __device__ __forceinline__ void pool(PackedPoolingParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        int const c = (int)takeAxis(left, p.channels, p.isSmall);
        int const x = (int)takeAxis(left, p.outWidth, p.isSmall);
        int const y = (int)takeAxis(left, p.outHeight, p.isSmall);
        int const top = y * p.stride[0] - p.pre[0];
        int const first = x * p.stride[1] - p.pre[1];
        int const bottom = top + p.window[0] < p.height ? top + p.window[0] : p.height;
        int const last = first + p.window[1] < p.width ? first + p.window[1] : p.width;
        float sum[N];
        for (int k = 0; k < N; ++k)
            sum[k] = IS_AVERAGE ? 0.0f : LEAST;
        for (int row = top < 0 ? 0 : top; row < bottom; ++row)
            for (int column = first < 0 ? 0 : first; column < last; ++column)
            {
                Pack<Stored, N> const v =
                    ((Pack<Stored, N> const*)p.x)[(((i64)left * p.height + row) * p.width + column) * p.channels + c];
                for (int k = 0; k < N; ++k)
                    sum[k] = IS_AVERAGE ? sum[k] + (float)widen(v.v[k]) : maxOf(sum[k], (float)widen(v.v[k]));
            }
        int const inside = overlapOf(top, top + p.window[0], 0, p.height)
            * overlapOf(first, first + p.window[1], 0, p.width);
        int const padded = overlapOf(top, top + p.window[0], -p.pre[0], p.height + p.post[0])
            * overlapOf(first, first + p.window[1], -p.pre[1], p.width + p.post[1]);
        int const count = p.countsPadding ? padded : inside;
        Pack<Stored, N> result;
        for (int k = 0; k < N; ++k)
            put(result.v[k], !IS_AVERAGE ? sum[k] : count > 0 ? sum[k] / (float)count : 0.0f);
        ((Pack<Stored, N>*)p.y)[item] = result;
    }
}
TENON_KERNEL(poolOne, PackedPoolingParams) { pool<1>(p); }
TENON_KERNEL(poolPacks, PackedPoolingParams) { pool<16 / sizeof(Stored)>(p); }
)"};

constexpr uintptr_t kPoolingBytes{16};

//! Maxima of int8 numbers are some of them; averages would have to be rounded.
bool canPool(Pooling const& layer, DType type)
{
    bool const isMaximum = layer.poolingType == nvinfer1::PoolingType::kMAX;
    return layer.poolingType != nvinfer1::PoolingType::kMAX_AVERAGE_BLEND
        && (kRealTypes.has(type) || (isMaximum && type == DType::kINT8));
}

class PackedPoolingStep final : public CudaPrepared
{
  public:
    //! `packs`: null where channels do not come out even.
    PackedPoolingStep(PackedPoolingParams params, int together, void* one, void* packs)
        : mParams{params},
          mTogether{together},
          mOne{one},
          mPacks{packs}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        PackedPoolingParams params = mParams;
        params.x = at.call.inputs[0];
        params.y = at.call.outputs[0];
        auto const all = reinterpret_cast<uintptr_t>(params.x) | reinterpret_cast<uintptr_t>(params.y);
        bool const isPacked = mPacks != nullptr && all % kPoolingBytes == 0;
        if (isPacked)
        {
            params.channels /= mTogether;
            params.count /= static_cast<uint64_t>(mTogether);
        }
        Grid const grid = gridFor(at.device, static_cast<int64_t>(params.count), 128);
        return launchKernel(at, isPacked ? mPacks : mOne, grid, params);
    }

  private:
    PackedPoolingParams mParams;
    int mTogether;
    void* mOne;
    void* mPacks;
};

class PackedPoolingKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Pooling const layer = TENON_TRY(fieldsOf<Pooling>(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        Window const window = layer.window();
        bool const fits = window.rank() == 2 && x.extents.size() == 4 && x.layout == Layout::kChannelsLast
            && out.layout == Layout::kChannelsLast && canPool(layer, out.dtype) && x.dtype == out.dtype
            && isSmall(volumeOf(x.extents)) && isSmall(volumeOf(out.extents));
        if (!fits)
            return badArgument(
                "the pooling kernel for packs takes images of real numbers, or maxima of int8, in channels-last order");
        PackedPoolingParams params{};
        params.count = static_cast<uint64_t>(volumeOf(out.extents));
        params.isSmall = 1;
        params.channels = static_cast<int>(x.extents[1]);
        params.height = static_cast<int>(x.extents[2]);
        params.width = static_cast<int>(x.extents[3]);
        params.outHeight = static_cast<int>(out.extents[2]);
        params.outWidth = static_cast<int>(out.extents[3]);
        params.countsPadding = layer.averageCountExcludesPadding ? 0 : 1;
        for (size_t axis = 0; axis < 2; ++axis)
        {
            WindowPadding const padding = window.padding(axis, x.extents[2 + axis]);
            params.window[axis] = static_cast<int>(window.size[axis]);
            params.stride[axis] = static_cast<int>(window.stride[axis]);
            params.pre[axis] = static_cast<int>(padding.pre);
            params.post[axis] = static_cast<int>(padding.post);
        }
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kPackedPoolingParamsText}
                + fmt::format("typedef {} Stored;\nconstexpr bool IS_AVERAGE = {};\n#define LEAST {}\n",
                    TENON_TRY(storageOf(out.dtype)), layer.poolingType == nvinfer1::PoolingType::kAVERAGE,
                    out.dtype == DType::kINT8 ? "-128.0f" : "fromBits(0xFF800000u)")
                + kPackedPoolingKernel)));
        int const together = static_cast<int>(kPoolingBytes) / movableBytes(out.dtype);
        void* const one = TENON_TRY(module.function("poolOne"));
        void* const packs = params.channels % together == 0 ? TENON_TRY(module.function("poolPacks")) : nullptr;
        return std::shared_ptr<Prepared const>{std::make_shared<PackedPoolingStep>(params, together, one, packs)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfPackedPooling(Problem const& problem)
{
    Pooling const& layer = problem.fields<Pooling>();
    if (!canPool(layer, problem.output().dtype) || problem.input(0).dtype != problem.output().dtype
        || layer.window().rank() != 2)
        return refuse("packs", "takes maxima and averages of images of real numbers, and maxima of int8");
    Offer offer;
    offer.inputs = {Layout::kChannelsLast};
    offer.outputs = {Layout::kChannelsLast};
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, elements * static_cast<double>(volumeOf(layer.window().size)) / 4.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildPackedPooling(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "packed_pooling", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kPackedPoolingCandidates[]{
    {.layer = Pooling::kName, .name = "packs", .offers = offersOfPackedPooling, .build = buildPackedPooling}};
constexpr CudaKernelEntry kPackedPoolingKernels[]{{"packed_pooling", &loadLayerKernel<PackedPoolingKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(PackedPooling, kPackedPoolingCandidates, kPackedPoolingKernels);
