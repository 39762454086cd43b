// Depthwise convolution over depth, lines and columns in channels-last layout: an output plane is the sum of depthwise
// convolutions of the planes that it reads.
#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/depthwise.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"
#include "layers/convolution.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

namespace
{
struct LoadedVolume : LoadedLayer<Convolution>
{
    std::vector<float> taps; //!< [depth][line][column][channel]
    std::vector<float> none; //!< A plane of taps that are 0.
    int64_t channels{0};

    Result<Done> load()
    {
        if (std::optional<std::string> const why = whyNotByPlanes(layer))
            return badArgument("no kernel: {}", *why);
        LoadedWeight const& weights = kernel.weight(1);
        std::vector<int64_t> const& e = weights.arg.extents;
        Window const w = layer.window();
        bool const fits = weights.isConstant() && weights.packing.empty() && weights.arg.dtype == DType::kFLOAT
            && e.size() == 5 && e[0] == layer.nbOutputMaps && e[0] == layer.nbGroups && e[1] == 1
            && std::equal(w.size.begin(), w.size.end(), e.begin() + 2)
            && static_cast<int64_t>(weights.arg.bytes) >= tenon::bytesOf(DType::kFLOAT, volumeOf(e));
        if (!fits)
            return badArgument("its weights are not one kernel per channel");
        channels = e[0];
        auto const* const from = static_cast<float const*>(weights.arg.data);
        int64_t const count = volumeOf(e) / std::max<int64_t>(channels, 1);
        taps.resize(static_cast<size_t>(volumeOf(e)));
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t tap = 0; tap < count; ++tap)
                taps[static_cast<size_t>(tap * channels + c)] = from[c * count + tap];
        none.resize(static_cast<size_t>(w.size[1] * w.size[2] * channels));
        return Done{};
    }
};

//! Planes of the input that an output plane reads: taps [first, last) of the depth.
struct DepthTaps
{
    int64_t first;
    int64_t last;
    int64_t plane; //!< Of tap 0.
};

class VolumeSums
{
  public:
    VolumeSums(std::shared_ptr<LoadedVolume const> loaded, std::vector<int64_t> const& in,
        std::vector<int64_t> const& out, GemmEpilogue epilogue, bool hasBias)
        : mLoaded{std::move(loaded)},
          mDepth{in[2]},
          mOutDepth{out[2]},
          mImages{in[0]},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias},
          mZeros(static_cast<size_t>(in[1]))
    {
        Window const w = mLoaded->layer.window();
        mPadding = w.padding(0, in[2]).pre;
        mSize = w.size[0];
        mStride = w.stride[0];
        mDilation = w.dilation[0];
        mPlane = planeWindow(w, in[1], in, out);
    }
    int64_t lines() const noexcept
    {
        return mImages * mOutDepth * mPlane.outHeight;
    }
    //! Lines [first, last) of all output planes.
    void operator()(Call const& call, int64_t first, int64_t last) const
    {
        for (int64_t line = first; line < last;)
        {
            int64_t const plane = line / mPlane.outHeight;
            int64_t const start = plane * mPlane.outHeight;
            int64_t const end = std::min(last, start + mPlane.outHeight);
            sumPlane(call, plane, line - start, end - start);
            line = end;
        }
    }

  private:
    DepthTaps tapsOf(int64_t z) const
    {
        int64_t const start = z * mStride - mPadding;
        DepthTaps taps{mSize, 0, start};
        for (int64_t tap = 0; tap < mSize; ++tap)
            if (int64_t const at = start + tap * mDilation; at >= 0 && at < mDepth)
            {
                taps.first = std::min(taps.first, tap);
                taps.last = tap + 1;
            }
        return taps;
    }
    void sumPlane(Call const& call, int64_t plane, int64_t first, int64_t last) const
    {
        DepthTaps const taps = tapsOf(plane % mOutDepth);
        int64_t const taken = std::max<int64_t>(taps.last - taps.first, 1); // Of none: zeros.
        int64_t const image = plane / mOutDepth * mDepth;
        int64_t const outPlane = mPlane.outHeight * mPlane.outWidth * mLoaded->channels;
        for (int64_t i = 0; i < taken; ++i)
        {
            int64_t const tap = taps.first + i;
            bool const isNone = taps.last == 0;
            Depthwise<float> work;
            work.window = mPlane;
            work.images = 1;
            work.channels = mLoaded->channels;
            work.zeros = mZeros.data();
            work.in = static_cast<float const*>(call.inputs[0])
                + (isNone ? 0 : image + taps.plane + tap * mDilation) * mPlane.imageStride;
            work.kernel = isNone ? mLoaded->none.data() : mLoaded->taps.data() + tap * std::ssize(mLoaded->none);
            work.out = static_cast<float*>(call.outputs[0]) + plane * outPlane;
            work.bias = mHasBias && i == 0 ? static_cast<float const*>(call.inputs[2]) : nullptr;
            BoundEpilogue<float> const epilogue = boundEpilogue(call, work, plane, i == 0, i + 1 == taken);
            epilogue.putInto(work);
            storageFunctions<float>().runDepthwise(work, first, last);
        }
    }
    //! Bias and residual come with the first plane, what follows them with the last one; between, the sums so far are
    //! added.
    BoundEpilogue<float> boundEpilogue(
        Call const& call, Depthwise<float> const& work, int64_t plane, bool isFirst, bool isLast) const
    {
        BoundEpilogue<float> epilogue = mEpilogue.bind<float>(call);
        epilogue.advance(plane * mPlane.outHeight * mPlane.outWidth);
        if (!isLast)
        {
            epilogue.low = -std::numeric_limits<float>::infinity();
            epilogue.high = std::numeric_limits<float>::infinity();
            epilogue.stepCount = 0;
        }
        if (!isFirst)
        {
            epilogue.residual = work.out;
            epilogue.residualStride = work.channels;
        }
        return epilogue;
    }

    std::shared_ptr<LoadedVolume const> mLoaded;
    int64_t mDepth;
    int64_t mOutDepth;
    int64_t mImages;
    // Of the window, along the depth.
    int64_t mPadding{0};
    int64_t mSize{1};
    int64_t mStride{1};
    int64_t mDilation{1};
    GemmWindow mPlane;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    std::vector<float> mZeros;
};

Step stepOfVolume(StepSource<LoadedVolume> const& from)
{
    bool const hasBias = isPresent(from.inputs, 2);
    std::vector<int64_t> const& in = from.inputs[0].extents;
    TensorArg const& out = from.outputs[0];
    if (!from.areReal(Layout::kChannelsLast) || from.inputs[0].dtype != DType::kFLOAT || out.dtype != DType::kFLOAT)
        return badArgument("its operands are not channels-last float32 numbers");
    if (in.size() != 5 || in[1] != from.loaded->channels || (hasBias && !isReal(from.inputs, 2, Layout::kLinear)))
        return badArgument("its channels are not those of the weights");
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Convolution::kFirstExtra, from.inputs, out, pixelAxes(out.extents.size())));
    VolumeSums sums{from.loaded, in, out.extents, std::move(epilogue), hasBias};
    int64_t const lines = sums.lines();
    return sharedStep({lines}, std::move(sums));
}

std::variant<std::vector<Offer>, Refusal> offerVolume(Problem const& problem)
{
    constexpr std::string_view kCandidateName{"planes-depthwise"};
    auto const& layer = problem.fields<Convolution>();
    if (problem.input(0).dtype != DType::kFLOAT)
        return refuse(kCandidateName, "only float32");
    if (std::optional<std::string> why = whyNotByPlanes(layer))
        return refuse(kCandidateName, *std::move(why));
    if (!isDepthwise(layer, problem.input(0)))
        return refuse(kCandidateName, "not one kernel per channel");
    Constant const* const kernel = problem.constant(1);
    if (kernel == nullptr)
        return refuse(kCandidateName, "the kernel is not a constant");
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, Convolution::kFirstExtra);
    offer.cost = costOf(problem, outputs * static_cast<double>(kernel->count() / std::max<int64_t>(layer.nbGroups, 1)),
        bytesOf(problem));
    return std::vector<Offer>{offer};
}

using DepthwiseVolumeFile = StepFile<"depthwise_volume", "planes-depthwise", offerVolume, stepOfVolume>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(DepthwiseVolume, DepthwiseVolumeFile::kCandidates, DepthwiseVolumeFile::kKernels);
