// Convolution over depth, lines and columns in channels-last layout: the planes that an output plane reads become the
// channels of one image, whose windows are rows of a matrix product.
#include "layers/convolution.h"

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/depth_planes.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! The kernel as panels of each group, in the type of the weights: rows by line, column, depth and channel.
struct LoadedVolumes : LoadedLayer<Convolution>
{
    std::vector<Bytes> panels;
    int64_t channels{0}; //!< Of a group, like maps.
    int64_t maps{0};

    Result<Done> load()
    {
        if (std::optional<std::string> const why = whyNotByPlanes(layer))
            return badArgument("no kernel: {}", *why);
        Window const w = layer.window();
        LoadedWeight const& weights = kernel.weight(1);
        std::vector<int64_t> const& extents = weights.arg.extents;
        bool const fits = weights.isConstant() && weights.packing.empty() && kRealTypes.has(weights.arg.dtype)
            && extents.size() == 5 && layer.nbGroups > 0 && extents[0] % layer.nbGroups == 0
            && extents[0] == layer.nbOutputMaps && std::equal(w.size.begin(), w.size.end(), extents.begin() + 2)
            && static_cast<int64_t>(weights.arg.bytes) >= tenon::bytesOf(weights.arg.dtype, volumeOf(extents));
        if (!fits)
            return badArgument("its weights are not those of the layer");
        channels = extents[1];
        maps = extents[0] / layer.nbGroups;
        withStorage(weights.arg.dtype, [&]<typename T>(T) {
            for (int64_t group = 0; group < layer.nbGroups; ++group)
                panels.push_back(packed<T>(group, extents));
        });
        return Done{};
    }
    int64_t depth() const
    {
        return kernel.weight(1).arg.extents[2] * kernel.weight(1).arg.extents[3] * kernel.weight(1).arg.extents[4]
            * channels;
    }

  private:
    template <typename T>
    Bytes packed(int64_t group, std::vector<int64_t> const& extents) const
    {
        Bytes bytes(static_cast<size_t>(packedSize(depth(), maps)) * sizeof(T));
        auto* const to = reinterpret_cast<T*>(bytes.data());
        auto const* const from = static_cast<T const*>(kernel.weight(1).arg.data);
        std::vector<int64_t> const strides = stridesOf(extents);
        int64_t d{0};
        for (int64_t pixel = 0; pixel < extents[3] * extents[4]; ++pixel)
            for (int64_t z = 0; z < extents[2]; ++z)
                for (int64_t c = 0; c < channels; ++c, ++d)
                    for (int64_t m = 0; m < maps; ++m)
                        to[(m / kPanel * depth() + d) * kPanel + m % kPanel] =
                            from[(group * maps + m) * strides[0] + c * strides[1] + z * strides[2] + pixel];
        return bytes;
    }
};

template <typename T>
class VolumeProducts
{
  public:
    VolumeProducts(std::shared_ptr<LoadedVolumes const> loaded, DepthPlanes planes, GemmWindow const& window,
        GemmEpilogue epilogue, bool hasBias, int32_t threads)
        : mLoaded{std::move(loaded)},
          mPlanes{std::move(planes)},
          mWindow{window},
          mEpilogue{std::move(epilogue)},
          mHasBias{hasBias},
          mMemory{threads,
              gemmScratch<T>({mPlanes.images * mPlanes.outDepth * mWindow.outHeight * mWindow.outWidth, mLoaded->maps,
                  mLoaded->depth()})},
          mZeros(static_cast<size_t>(mPlanes.width()), T{})
    {
    }
    size_t scratchBytes() const noexcept
    {
        return mMemory.bytes() + static_cast<size_t>(mPlanes.elements()) * sizeof(T);
    }
    int32_t stages() const noexcept
    {
        return mPlanes.isAsItIs ? 1 : 2;
    }
    void operator()(Call const& call, Lane const& lane) const
    {
        auto const* x = static_cast<T const*>(call.inputs[0]);
        if (!mPlanes.isAsItIs)
        {
            auto* const joined = reinterpret_cast<T*>(static_cast<std::byte*>(call.scratch) + mMemory.bytes());
            if (lane.stage == 0)
                return copyPlanes(mPlanes, x, joined, lane);
            x = joined;
        }
        if (std::optional<Lane> const mine = mMemory.withMemory(lane))
            multiply(call, x, *mine);
    }

  private:
    void multiply(Call const& call, T const* x, Lane const& lane) const
    {
        int64_t const rows = mPlanes.images * mPlanes.outDepth * mWindow.outHeight * mWindow.outWidth;
        int64_t const maps = mLoaded->maps;
        int64_t const depth = mWindow.kernelHeight * mWindow.kernelWidth * mPlanes.taps * mPlanes.channels;
        GemmShare const share = shareOf({rows, maps, depth, depth}, lane.index, lane.count, rowGrain<T>());
        BoundEpilogue<T> epilogue = mEpilogue.bind<T>(call);
        for (int64_t group = 0; group < mPlanes.groups; ++group)
        {
            Gemm<T> gemm;
            gemm.rows = rows;
            gemm.columns = maps;
            gemm.segments = mWindow.kernelHeight * mWindow.kernelWidth;
            gemm.length = mPlanes.taps * mPlanes.channels;
            gemm.a = x + group * gemm.length;
            gemm.window = &mWindow;
            gemm.zeros = mZeros.data();
            gemm.setPanels(reinterpret_cast<T const*>(mLoaded->panels[static_cast<size_t>(group)].data()));
            gemm.c = static_cast<T*>(call.outputs[0]) + group * maps;
            gemm.cStride = mPlanes.groups * maps;
            gemm.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) + group * maps : nullptr;
            epilogue.putInto(gemm);
            storageFunctions<T>().runGemm(gemm, share, mMemory.of(lane, call.scratch));
            epilogue.advanceColumns(maps);
        }
    }

    std::shared_ptr<LoadedVolumes const> mLoaded;
    DepthPlanes mPlanes;
    GemmWindow mWindow;
    GemmEpilogue mEpilogue;
    bool mHasBias;
    LaneMemory mMemory;
    std::vector<T> mZeros;
};

Step stepOfVolumes(StepSource<LoadedVolumes> const& from)
{
    if (!from.areReal(Layout::kChannelsLast) || from.inputs[0].dtype != from.kernel().weight(1).arg.dtype)
        return badArgument("its operands are not channels-last real numbers of the kernel's type");
    TensorArg const& out = from.outputs[0];
    std::vector<int64_t> const& in = from.inputs[0].extents;
    bool const hasBias = isPresent(from.inputs, 2);
    if (in.size() != 5 || in[1] != from.loaded->channels * from.layer().nbGroups
        || (hasBias && !isReal(from.inputs, 2, Layout::kLinear)))
        return badArgument("its channels are not those of the weights");
    Window const w = from.layer().window();
    DepthPlanes planes = DepthPlanes::ofConvolution(w, from.layer().nbGroups, in, out.extents);
    GemmWindow const window = planeWindow(w, planes.width(), in, out.extents);
    if (window.padTop < 0 || window.padLeft < 0 || w.padding(0, in[2]).pre < 0)
        return badArgument("a padding is negative");
    if (!planes.isAddressable())
        return badArgument("its planes are larger than any memory");
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Convolution::kFirstExtra, from.inputs, out, pixelAxes(out.extents.size())));
    return withStorage(out.dtype, [&]<typename T>(T) {
        VolumeProducts<T> products{from.loaded, std::move(planes), window, std::move(epilogue), hasBias, from.threads};
        size_t const scratch = products.scratchBytes();
        int32_t const stages = products.stages();
        return teamStep(std::move(products), scratch, stages);
    });
}

std::variant<std::vector<Offer>, Refusal> offersOfVolumes(Problem const& problem)
{
    auto const& layer = problem.fields<Convolution>();
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("planes", "only float32, float16 and bfloat16");
    if (std::optional<std::string> why = whyNotByPlanes(layer))
        return refuse("planes", *std::move(why));
    Constant const* const kernel = problem.constant(1);
    if (kernel == nullptr)
        return refuse("planes", "the kernel is not a constant");
    if (isDepthwise(layer, problem.input(0)))
        return refuse("planes", "depthwise: products of one column take longer than the reference");
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    auto const each = static_cast<double>(kernel->count() / std::max<int64_t>(layer.nbOutputMaps, 1));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    offer.inPlace = inPlaceOf(problem, layer.epilogue, Convolution::kFirstExtra);
    offer.cost = costOf(problem, outputs * each, bytesOf(problem));
    return std::vector<Offer>{offer};
}

using VolumesFile = StepFile<"convolution_depth", "planes", offersOfVolumes, stepOfVolumes>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ConvolutionDepth, VolumesFile::kCandidates, VolumesFile::kKernels);
