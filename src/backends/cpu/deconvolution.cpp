// Deconvolution whose windows do not overlap, in channels-last layout: each input line times one matrix per kernel line
// is a whole output line. Where all elements of a window are a fraction of one panel, they are columns of one product.
#include "layers/deconvolution.h"

#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

namespace
{
constexpr Packing kDeconvolutionPacking{Packing::Kind::kDeconvolution};

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

//! Numbers of a whole window when that is a whole fraction of a panel, so that a panel of bias serves them wherever
//! they stand in a line of windows; 0: it is not.
int64_t narrowWindow(Deconvolution const& layer)
{
    int64_t numbers = layer.nbOutputMaps;
    for (int64_t const size : layer.window().size)
        numbers = numbers > kPanel ? 0 : numbers * size;
    return numbers > 0 && kPanel % numbers == 0 ? numbers : 0;
}

struct LoadedDeconvolution : LoadedLayer<Deconvolution>
{
    PackedOperand weights;
    Bytes columns;               //!< The bias in the layer's type, once per column of the kernel; empty: none.
    std::vector<float> window;   //!< [channels][16]: the panels of all kernel lines as one, where windows are narrow.
    std::vector<float> biases{}; //!< A panel of it, beside `window`.

    Result<Done> load()
    {
        if (std::optional<std::string> const why = whyNot(layer))
            return badArgument("no kernel: {}", *why);
        weights = TENON_TRY(PackedOperand::load(kernel, 1, kDeconvolutionPacking));
        if (LoadedWeight const& bias = kernel.weight(2); bias.isConstant())
        {
            auto const* from = static_cast<uint8_t const*>(bias.arg.data);
            int64_t const maps = layer.nbOutputMaps;
            auto const bytes = static_cast<size_t>(tenon::bytesOf(bias.arg.dtype, maps));
            if (bias.arg.dtype != kernel.weight(1).arg.dtype || !bias.packing.empty()
                || volumeOf(bias.arg.extents) != maps || bias.arg.bytes < bytes)
                return badArgument("its bias is not {} numbers of the kernel's type", maps);
            for (int64_t i = 0; i < layer.window().size.back(); ++i)
                columns.insert(columns.end(), from, from + bytes);
        }
        if (kernel.weight(1).arg.dtype == DType::kFLOAT && narrowWindow(layer) > 0)
            joinPanels();
        return Done{};
    }

  private:
    void joinPanels()
    {
        Window const w = layer.window();
        int64_t const lines = w.rank() == 2 ? w.size[0] : 1;
        int64_t const wide = w.size.back() * layer.nbOutputMaps;
        int64_t const channels = kernel.weight(1).arg.extents[0];
        window.assign(static_cast<size_t>(channels * kPanel), 0.0F);
        for (int64_t y = 0; y < lines; ++y)
            for (int64_t d = 0; d < channels; ++d)
                std::copy_n(
                    weights.data<float>() + (y * channels + d) * kPanel, wide, window.begin() + d * kPanel + y * wide);
        auto const* bias = reinterpret_cast<float const*>(columns.data());
        biases.assign(static_cast<size_t>(kPanel), 0.0F);
        for (int64_t i = 0; i < kPanel && !columns.empty(); ++i)
            biases[static_cast<size_t>(i)] = bias[i % wide];
    }
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
Step deconvolutionStep(
    StepSource<LoadedDeconvolution> const& from, DeconvolutionForm const& f, GemmEpilogue const& steps)
{
    auto const run = [loaded = from.loaded, f, steps](Call const& call, int64_t first, int64_t last, float* scratch) {
        BoundEpilogue<T> const epilogue = steps.bind<T>(call);
        Gemm<T> gemm;
        gemm.rows = f.width;
        gemm.columns = f.kernelWidth * f.maps;
        gemm.length = f.channels;
        gemm.aStride = f.channels;
        gemm.cStride = gemm.columns;
        gemm.bias = loaded->columns.empty() ? nullptr : reinterpret_cast<T const*>(loaded->columns.data());
        epilogue.putInto(gemm);
        GemmShare const all{0, gemm.rows, 0, panelsOf(gemm.columns)};
        for (int64_t line = first; line < last; ++line)
            for (int64_t y = 0; y < f.kernelHeight; ++y)
            {
                gemm.a = static_cast<T const*>(call.inputs[0]) + line * f.width * f.channels;
                gemm.setPanels(loaded->weights.template data<T>() + y * packedSize(f.channels, gemm.columns));
                gemm.c = static_cast<T*>(call.outputs[0]) + (line * f.kernelHeight + y) * f.width * gemm.columns;
                storageFunctions<T>().runGemm(gemm, all, scratch);
            }
    };
    return sharedStep({f.images * f.height},
        LaneMemory{from.threads, gemmScratch<T>({f.width, f.kernelWidth * f.maps, f.channels})}, run);
}

//! Lines of windows: one product, what follows sums on whole vectors of it, and each window's lines to their places.
Step narrowStep(StepSource<LoadedDeconvolution> const& from, DeconvolutionForm const& f, GemmEpilogue const& steps)
{
    int64_t const wide = f.kernelWidth * f.maps;
    int64_t const numbers = f.kernelHeight * wide;
    int64_t const vectors = panelsOf(f.width * numbers);
    auto const run = [loaded = from.loaded, f, steps, wide, numbers, vectors](
                         Call const& call, int64_t first, int64_t last, float* sums) {
        BoundEpilogue<float> const epilogue = steps.bind<float>(call);
        Gemm<float> product;
        product.rows = f.width;
        product.columns = numbers;
        product.length = f.channels;
        product.aStride = f.channels;
        product.setPanels(loaded->window.data());
        product.c = sums;
        product.cStride = numbers;
        product.low = -std::numeric_limits<float>::infinity();
        product.high = std::numeric_limits<float>::infinity();
        Gemm<float> rest; // Of no depth: what stands there, its bias and what follows.
        rest.rows = vectors;
        rest.columns = kPanel;
        rest.a = sums;
        rest.setPanels(loaded->window.data());
        rest.c = sums;
        rest.cStride = kPanel;
        rest.bias = loaded->biases.data();
        epilogue.putInto(rest);
        rest.residual = sums;
        rest.residualStride = kPanel;
        for (int64_t line = first; line < last; ++line)
        {
            product.a = static_cast<float const*>(call.inputs[0]) + line * f.width * f.channels;
            storageFunctions<float>().runGemm(product, {0, product.rows, 0, 1}, nullptr);
            storageFunctions<float>().runGemm(rest, {0, rest.rows, 0, 1}, nullptr);
            float* to = static_cast<float*>(call.outputs[0]) + line * f.width * numbers;
            for (int64_t y = 0; y < f.kernelHeight; ++y)
                for (int64_t x = 0; x < f.width; ++x, to += wide)
                    std::copy_n(sums + x * numbers + y * wide, wide, to);
        }
    };
    return sharedStep({f.images * f.height}, LaneMemory{from.threads, vectors * kPanel}, run);
}

Step stepOfDeconvolution(StepSource<LoadedDeconvolution> const& from)
{
    if (!from.areReal(Layout::kChannelsLast))
        return badArgument("its operands are not channels-last real numbers");
    TensorArg const& out = from.outputs[0];
    std::vector<int64_t> const x = asImage(from.inputs[0].extents);
    std::vector<int64_t> const y = asImage(out.extents);
    Window const w = from.layer().window();
    DeconvolutionForm const form{x[0], x[1], y[1], x[2], x[3], w.rank() == 2 ? w.size[0] : 1, w.size.back()};
    if (y[2] != form.height * form.kernelHeight || y[3] != form.width * form.kernelWidth)
        return badArgument("its output is not tiled by windows");
    GemmEpilogue const epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Deconvolution::kFirstExtra, from.inputs, out, plainAxes(out.extents.size())));
    if (!from.loaded->window.empty())
        return narrowStep(from, form, epilogue);
    return withStorage(out.dtype, [&]<typename T>(T) { return deconvolutionStep<T>(from, form, epilogue); });
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

using DeconvolutionFile =
    StepFile<"deconvolution", "lines", offerDeconvolution, stepOfDeconvolution, buildDeconvolution>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Deconvolution, DeconvolutionFile::kCandidates, DeconvolutionFile::kKernels);
