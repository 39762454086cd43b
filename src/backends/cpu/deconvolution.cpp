// Deconvolution whose windows do not overlap, in channels-last layout: each input line times one matrix per kernel line
// is a whole output line.
#include "layers/deconvolution.h"

#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/packing.h"

namespace tenon::cpu
{

namespace
{
constexpr Packing kDeconvolutionPacking{Packing::Kind::kDeconvolution};

struct LoadedDeconvolution
{
    LayerKernel kernel;
    Deconvolution layer;
    PackedOperand weights;
    Bytes bias; //!< In the layer's type, once per column of the kernel; empty: none.
};

struct DeconvolutionForm
{
    int64_t images{0};
    int64_t channels{0};
    int64_t maps{0};
    int64_t height{0};
    int64_t width{0};
    int64_t kernelHeight{1};
    int64_t kernelWidth{1};
};

template <typename T>
class PreparedDeconvolution final : public HostPrepared
{
  public:
    PreparedDeconvolution(std::shared_ptr<LoadedDeconvolution const> loaded, DeconvolutionForm form,
        GemmEpilogue epilogue, int32_t threads)
        : mLoaded{std::move(loaded)},
          mForm{form},
          mEpilogue{std::move(epilogue)},
          mThreads{std::max(threads, 1)}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads * gemmScratch<T>(mForm.channels)) * sizeof(float);
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        DeconvolutionForm const& f = mForm;
        // Where lanes need memory, more of them than were prepared for have none.
        int32_t const lanes = kIsFloat<T> ? lane.count : std::min(lane.count, mThreads);
        if (lane.index >= lanes)
            return Done{};
        float* const scratch = static_cast<float*>(call.scratch) + lane.index * gemmScratch<T>(f.channels);
        BoundEpilogue<T> const epilogue = mEpilogue.bind<T>(call);
        Gemm<T> gemm;
        gemm.rows = f.width;
        gemm.columns = f.kernelWidth * f.maps;
        gemm.length = f.channels;
        gemm.aStride = f.channels;
        gemm.cStride = gemm.columns;
        gemm.bias = mLoaded->bias.empty() ? nullptr : reinterpret_cast<T const*>(mLoaded->bias.data());
        epilogue.putInto(gemm);
        auto const [first, last] = Lane{lane.index, lanes, nullptr, nullptr}.part(f.images * f.height);
        GemmShare const all{0, gemm.rows, 0, panelsOf(gemm.columns)};
        for (int64_t line = first; line < last; ++line)
            for (int64_t y = 0; y < f.kernelHeight; ++y)
            {
                gemm.a = static_cast<T const*>(call.inputs[0]) + line * f.width * f.channels;
                gemm.setPanels(mLoaded->weights.template data<T>() + y * packedSize(f.channels, gemm.columns));
                gemm.c = static_cast<T*>(call.outputs[0]) + (line * f.kernelHeight + y) * f.width * gemm.columns;
                storageFunctions<T>().runGemm(gemm, all, scratch);
            }
        return Done{};
    }

  private:
    std::shared_ptr<LoadedDeconvolution const> mLoaded;
    DeconvolutionForm mForm;
    GemmEpilogue mEpilogue;
    int32_t mThreads;
};

//! Why windows overlap or leave gaps; none when they tile the output.
std::optional<std::string> whyNot(Deconvolution const& layer)
{
    Window const w = layer.window();
    if (w.rank() > 2)
        return "only 1-D and 2-D";
    if (layer.nbGroups != 1)
        return "groups";
    for (size_t i = 0; i < w.rank(); ++i)
        if (w.size[i] != w.stride[i] || w.dilation[i] != 1 || w.pre[i] != 0 || w.post[i] != 0)
            return "windows overlap, leave gaps, or are cut";
    if (layer.epilogue.extraInputs() > 0)
        return "the epilogue reads a tensor";
    return std::nullopt;
}

class DeconvolutionKernel final : public Kernel
{
  public:
    explicit DeconvolutionKernel(std::shared_ptr<LoadedDeconvolution const> loaded)
        : mLoaded{std::move(loaded)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        LayerKernel const& kernel = mLoaded->kernel;
        TENON_TRY(kernel.check(inputs, outputs));
        if (!isReal(inputs, 0, Layout::kChannelsLast) || !isReal(outputs, 0, Layout::kChannelsLast))
            return badArgument("its operands are not channels-last real numbers");
        std::vector<int64_t> const x = asImage(inputs[0].extents);
        std::vector<int64_t> const y = asImage(outputs[0].extents);
        Window const w = mLoaded->layer.window();
        DeconvolutionForm const form{x[0], x[1], y[1], x[2], x[3], w.rank() == 2 ? w.size[0] : 1, w.size.back()};
        if (y[2] != form.height * form.kernelHeight || y[3] != form.width * form.kernelWidth)
            return badArgument("its output is not tiled by windows");
        std::vector<int32_t> axes;
        for (size_t i = 0; i < outputs[0].extents.size(); ++i)
            axes.push_back(static_cast<int32_t>(i));
        GemmEpilogue epilogue = TENON_TRY(
            GemmEpilogue::make(mLoaded->layer.epilogue, Deconvolution::kFirstExtra, inputs, outputs[0], axes));
        return withStorage(inputs[0].dtype, [&]<typename T>(T) {
            return std::shared_ptr<Prepared const>{
                std::make_shared<PreparedDeconvolution<T>>(mLoaded, form, std::move(epilogue), threads)};
        });
    }

  private:
    std::shared_ptr<LoadedDeconvolution const> mLoaded;
};

Result<std::unique_ptr<Kernel>> loadDeconvolution(KernelSource const& source)
{
    auto loaded = std::make_shared<LoadedDeconvolution>();
    loaded->kernel = TENON_TRY(LayerKernel::load(source));
    loaded->layer = TENON_TRY(fieldsOf<Deconvolution>(loaded->kernel.args()));
    if (std::optional<std::string> const why = whyNot(loaded->layer))
        return badArgument("no kernel: {}", *why);
    loaded->weights = TENON_TRY(PackedOperand::load(loaded->kernel, 1, kDeconvolutionPacking));
    if (LoadedWeight const& bias = loaded->kernel.weight(2); bias.isConstant())
    {
        auto const* from = static_cast<uint8_t const*>(bias.arg.data);
        int64_t const maps = loaded->layer.nbOutputMaps;
        auto const bytes = static_cast<size_t>(tenon::bytesOf(bias.arg.dtype, maps));
        if (bias.arg.dtype != loaded->kernel.weight(1).arg.dtype || !bias.packing.empty()
            || volumeOf(bias.arg.extents) != maps || bias.arg.bytes < bytes)
            return badArgument("its bias is not {} numbers of the kernel's type", maps);
        for (int64_t i = 0; i < loaded->layer.window().size.back(); ++i)
            loaded->bias.insert(loaded->bias.end(), from, from + bytes);
    }
    return std::unique_ptr<Kernel>{std::make_unique<DeconvolutionKernel>(std::move(loaded))};
}

std::variant<std::vector<Offer>, Refusal> offerDeconvolution(Problem const& problem)
{
    auto const& layer = problem.fields<Deconvolution>();
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("lines", "only float32, float16 and bfloat16");
    if (std::optional<std::string> why = whyNot(layer))
        return refuse("lines", *std::move(why));
    if (problem.constant(1) == nullptr || (problem.hasInput(2) && problem.constant(2) == nullptr))
        return refuse("lines", "kernel or bias is not a constant");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
    offer.outputs = {Layout::kChannelsLast};
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = costOf(problem, outputs * static_cast<double>(problem.constant(1)->extents[0]), bytesOf(problem));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildDeconvolution(Problem const& problem, Offer const& offer)
{
    KernelSpec spec{.kernel = "deconvolution", .args = encodeLayerArgs(problem, offer), .packed = {}};
    spec.packed.push_back(TENON_TRY(packWeight(1, *problem.constant(1), kDeconvolutionPacking)));
    return spec;
}

constexpr Candidate kDeconvolutionCandidates[]{
    {.layer = Deconvolution::kName, .name = "lines", .offers = offerDeconvolution, .build = buildDeconvolution},
};
constexpr KernelEntry kDeconvolutionKernels[]{{"deconvolution", &loadDeconvolution}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Deconvolution, kDeconvolutionCandidates, kDeconvolutionKernels);
