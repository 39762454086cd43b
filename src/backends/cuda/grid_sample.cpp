// GridSample: a thread finds what one point reads along each axis, and sums it for a few channels: of images in rows
// several planes, of channels last a pack.
#include "layers/grid_sample.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

//! `points` and `groups` of channels per image. Strides in elements.
TENON_DEVICE_STRUCT(GridParams, unsigned const* stop; void const* x; void const* grid; void* y;
                    unsigned long long count; unsigned isSmall; unsigned long long points; unsigned long long groups;
                    long long channels; long long inImage; long long inChannel; long long outImage;
                    long long outChannel; long long outPoint; long long extents[3]; long long strides[3];);

//! Defined in front of it: AXES; TAPS along an axis (1 nearest, 2 linear, 4 cubic); EDGE (0 fill, 1 clamp, 2 reflect);
//! CORNERS.
constexpr char kGridKernel[]{R"(
//! What is outside has the weight 0, which reads nothing.
struct AxisTaps
{
    i64 index[TAPS];
    float weight[TAPS];
};

#if EDGE == 2
//! Mirrored at the edges, the outermost elements' middles or outer borders, until it lies within.
static __device__ __forceinline__ double mirroredPosition(double position, i64 extent)
{
    double const low = CORNERS ? 0.0 : -0.5;
    double const span = (double)extent - (CORNERS ? 1.0 : 0.0);
    if (span == 0.0 || !(fabs(position) <= 1.7976931348623157e308))
        return 0.0;
    double const way = fabs(position - low);
    double const rest = fmod(way, span);
    return low + (fmod(floor(way / span), 2.0) == 0.0 ? rest : span - rest);
}
static __device__ __forceinline__ i64 insideOf(i64 index, i64 extent)
{
    i64 const period = 2 * extent - (CORNERS ? 2 : 0);
    if (period == 0)
        return 0;
    i64 const at = (index % period + period) % period;
    return at < extent ? at : period - at - (CORNERS ? 0 : 1);
}
#else
static __device__ __forceinline__ i64 insideOf(i64 index, i64 extent)
{
    return minOf(maxOf(index, (i64)0), extent - 1);
}
#endif

//! The element at or below a point, or nearest to it, and how far behind that the point lies.
static __device__ __forceinline__ i64 foundAt(float point, i64 extent, float& fraction)
{
#if EDGE == 2
    double const half = CORNERS ? ((double)extent - 1.0) * 0.5 : (double)extent * 0.5;
    double const position = mirroredPosition((double)point * half + (CORNERS ? half : half - 0.5), extent);
    double const found = TAPS == 1 ? rint(position) : floor(position);
    fraction = (float)(position - found);
    return (i64)found;
#else
    // Offsets of whole or half elements are exact, so that what is left behind an element has been rounded but once.
    float const length = (float)extent;
    float const half = CORNERS ? (length - 1.0f) * 0.5f : length * 0.5f;
    float const offset = CORNERS ? half : half - 0.5f;
    float const position = fmaf(point, half, offset);
    fraction = 0.0f;
    if (!(position >= -4.0f && position <= length + 4.0f)) // Where nothing changes any more; NaN is there, too.
        return position > 0.0f ? extent + 4 : -4;
    float found = TAPS == 1 ? rintf(position) : floorf(position);
    fraction = fmaf(point, half, offset - found);
#if TAPS == 1
    found += fraction > 0.5f ? 1.0f : fraction < -0.5f ? -1.0f : 0.0f;
#else
    if (fraction < 0.0f) // The position was rounded up to the element.
    {
        found -= 1.0f;
        fraction = fmaf(point, half, offset - found);
    }
#endif
    return (i64)found;
#endif
}

//! Keys' kernel with -0.75.
static __device__ __forceinline__ float nearWeight(float t) { return (1.25f * t - 2.25f) * t * t + 1.0f; }
static __device__ __forceinline__ float farWeight(float t) { return ((-0.75f * t + 3.75f) * t - 6.0f) * t + 3.0f; }

static __device__ __forceinline__ void findTaps(float point, i64 extent, AxisTaps& taps)
{
    float fraction;
    i64 const found = foundAt(point, extent, fraction);
#if TAPS == 1
    taps.weight[0] = 1.0f;
#elif TAPS == 2
    taps.weight[0] = 1.0f - fraction;
    taps.weight[1] = fraction;
#else
    taps.weight[0] = farWeight(1.0f + fraction);
    taps.weight[1] = nearWeight(fraction);
    taps.weight[2] = nearWeight(1.0f - fraction);
    taps.weight[3] = farWeight(2.0f - fraction);
#endif
#pragma unroll
    for (int i = 0; i < TAPS; ++i)
    {
        i64 const index = found + i - (TAPS == 4 ? 1 : 0);
        taps.index[i] = insideOf(index, extent);
        if (EDGE == 0 && taps.index[i] != index)
            taps.weight[i] = 0.0f;
    }
}

template <int C, bool IsPacked>
static __device__ __forceinline__ void readPack(
    GridParams const& p, Stored const* from, i64 left, float weight, float* sums)
{
    if (IsPacked)
    {
        Pack<Stored, C> const read = *(Pack<Stored, C> const*)from;
#pragma unroll
        for (int c = 0; c < C; ++c)
            sums[c] = fmaf(weight, widen(read.v[c]), sums[c]);
        return;
    }
#pragma unroll
    for (int c = 0; c < C; ++c)
        if (c < left)
            sums[c] = fmaf(weight, widen(from[c * p.inChannel]), sums[c]);
}

template <int C, bool IsPacked>
static __device__ __forceinline__ void samplePoints(GridParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 rest = item;
        u64 const fast = takeAxis(rest, IsPacked ? p.groups : p.points, p.isSmall);
        u64 const slow = takeAxis(rest, IsPacked ? p.points : p.groups, p.isSmall);
        i64 const channel = (i64)(IsPacked ? fast : slow) * C;
        i64 const point = (i64)(IsPacked ? slow : fast);
        i64 const image = (i64)rest;
        Coordinate const* const at = (Coordinate const*)p.grid + (image * (i64)p.points + point) * AXES;
        AxisTaps taps[AXES];
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis)
            findTaps(widen(at[AXES - 1 - axis]), p.extents[axis], taps[axis]);
        Stored const* const x = (Stored const*)p.x + image * p.inImage + channel * p.inChannel;
        i64 const left = p.channels - channel;
        float sums[C] = {};
#if AXES == 3
        for (int h = 0; h < TAPS; ++h)
#endif
#pragma unroll
            for (int i = 0; i < TAPS; ++i)
#pragma unroll
                for (int j = 0; j < TAPS; ++j)
                {
                    float weight = taps[AXES - 2].weight[i] * taps[AXES - 1].weight[j];
                    i64 from = taps[AXES - 2].index[i] * p.strides[AXES - 2] + taps[AXES - 1].index[j] * p.strides[AXES - 1];
#if AXES == 3
                    weight *= taps[0].weight[h];
                    from += taps[0].index[h] * p.strides[0];
#endif
                    if (weight != 0.0f)
                        readPack<C, IsPacked>(p, x + from, left, weight, sums);
                }
        Stored* const y = (Stored*)p.y + image * p.outImage + channel * p.outChannel + point * p.outPoint;
        Pack<Stored, C> out;
#pragma unroll
        for (int c = 0; c < C; ++c)
            put(out.v[c], sums[c]);
        if (IsPacked)
            *(Pack<Stored, C>*)y = out;
        else
            for (int c = 0; c < C && c < left; ++c)
                y[c * p.outChannel] = out.v[c];
    }
}
TENON_KERNEL(planes, GridParams) { samplePoints<4, false>(p); }
TENON_KERNEL(channels, GridParams) { samplePoints<1, true>(p); }
TENON_KERNEL(packs, GridParams) { samplePoints<16 / sizeof(Stored), true>(p); }
)"};

//! For threads of so many channels.
GridParams gridParams(TensorArg const& x, TensorArg const& out, int64_t together)
{
    std::vector<int64_t> const in = stridesIn(x.layout, x.extents);
    std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
    GridParams params{};
    int64_t const points = volumeOf({out.extents.begin() + 2, out.extents.end()});
    int64_t const groups = (x.extents[1] + together - 1) / together;
    int64_t const count = x.extents[0] * groups * points;
    params.count = static_cast<uint64_t>(count);
    params.isSmall = isSmall(count) ? 1U : 0U;
    params.points = static_cast<uint64_t>(points);
    params.groups = static_cast<uint64_t>(groups);
    params.channels = x.extents[1];
    params.inImage = in[0];
    params.inChannel = in[1];
    params.outImage = to[0];
    params.outChannel = to[1];
    params.outPoint = to.back();
    std::copy(x.extents.begin() + 2, x.extents.end(), params.extents);
    std::copy(in.begin() + 2, in.end(), params.strides);
    return params;
}

//! What the text asks the layer.
std::string gridFields(GridSample const& layer, size_t axes)
{
    int const taps = layer.interpolationMode == InterpolationMode::kNEAREST ? 1
        : layer.interpolationMode == InterpolationMode::kLINEAR             ? 2
                                                                            : 4;
    int const edge = layer.sampleMode == SampleMode::kFILL ? 0 : layer.sampleMode == SampleMode::kCLAMP ? 1 : 2;
    return fmt::format("#define AXES {}\n#define TAPS {}\n#define EDGE {}\n#define CORNERS {}\n", axes, taps, edge,
        layer.alignCorners ? 1 : 0);
}

class GridSampleKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr int64_t kPlanes{4};
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        if (x.layout != out.layout || blockOf(x.layout) != 1 || inputs[1].layout != Layout::kLinear)
            return badArgument("the kernel of GridSample takes images of one layout without blocks, a row-major grid");
        if (volumeOf({x.extents.begin() + 2, x.extents.end()}) == 0)
            return badConfig("GridSample: there are no elements to read");
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kGridParamsText}
                + fmt::format("typedef {} Stored;\ntypedef {} Coordinate;\n", TENON_TRY(storageOf(x.dtype)),
                    TENON_TRY(storageOf(inputs[1].dtype)))
                + gridFields(TENON_TRY(fieldsOf<GridSample>(args())), x.extents.size() - 2) + kGridKernel)));
        auto const bind = [](GridParams& own, Call const& call) {
            own.x = call.inputs[0];
            own.grid = call.inputs[1];
            own.y = call.outputs[0];
        };
        if (x.layout == Layout::kLinear)
            return widthStep(gridParams(x, out, kPlanes), TENON_TRY(module.function("planes")), bind);
        KernelForm<GridParams> const narrow{gridParams(x, out, 1), TENON_TRY(module.function("channels"))};
        std::optional<KernelForm<GridParams>> wide;
        if (int64_t const together = elementsAtOnce(movableBytes(x.dtype)); x.extents[1] % together == 0)
            wide = {gridParams(x, out, together), TENON_TRY(module.function("packs")), kWideBytes};
        return widthStep<GridParams>(narrow, wide, 0b1, bind);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfGridSample(Problem const& problem)
{
    constexpr double kWork{16.0}; // Multiplications per element.
    if (!kRealTypes.has(problem.input(0).dtype) || !kRealTypes.has(problem.input(1).dtype))
        return refuse("points", "takes float32, float16 and bfloat16");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        if (layout != Layout::kLinear && problem.constant(0) != nullptr)
            continue; // Constants lie row-major.
        double const slower = layout == Layout::kLinear ? 2.0 : 1.0;
        Offer offer;
        offer.inputs = {layout, Layout::kLinear};
        offer.outputs = {layout};
        offer.cost = slower * costOf(problem, elements * kWork, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildGridSample(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "grid_sample", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kGridSampleCandidates[]{
    {.layer = GridSample::kName, .name = "points", .offers = offersOfGridSample, .build = buildGridSample}};
constexpr CudaKernelEntry kGridSampleKernels[]{{"grid_sample", &loadLayerKernel<GridSampleKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(GridSample, kGridSampleCandidates, kGridSampleKernels);
