// Deconvolution in channels-last layout, whose windows may overlap: outputs whose positions have one remainder by the
// stride are a convolution with every stride-th element of the kernel, turned round; a line of one such phase is a
// product whose rows are windows of the input.
#include "layers/deconvolution.h"

#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"
#include "ir/host_tensor.h"

#include <algorithm>
#include <numeric>

namespace tenon::cpu
{

namespace
{
//! Outputs o with (o + padding) mod stride = remainder, along one axis: o reads inputs (o − start) / stride +
//! tap · dilation, which meet elements `first` − tap · `step` of the kernel.
struct Phase
{
    int64_t taps{0};
    int64_t dilation{1};
    int64_t first{0};
    int64_t step{1};
    int64_t start{0};
};

//! By remainder. A phase without taps is the bias alone.
std::vector<Phase> phasesOf(Window const& w, size_t axis)
{
    int64_t const stride = w.stride[axis];
    int64_t const common = std::gcd(stride, w.dilation[axis]);
    int64_t const pre = w.transposedPadding(axis).pre;
    std::vector<Phase> phases(static_cast<size_t>(stride));
    for (int64_t k = w.size[axis] - 1; k >= 0; --k)
    {
        Phase& phase = phases[static_cast<size_t>(k * w.dilation[axis] % stride)];
        if (phase.taps++ == 0)
            phase = {1, w.dilation[axis] / common, k, stride / common, k * w.dilation[axis] - pre};
    }
    return phases;
}

std::optional<std::string> whyNotByPhases(Deconvolution const& layer)
{
    Window const w = layer.window();
    if (w.rank() > 2)
        return "only 1-D and 2-D";
    if (layer.epilogue.extraInputs() > 0)
        return "the epilogue reads a tensor";
    int64_t taps{1};
    for (size_t axis = 0; axis < w.rank(); ++axis)
    {
        if (w.transposedPadding(axis).pre < 0 || w.stride[axis] > kMaxSegments)
            return "negative padding or far strides";
        int64_t most{1};
        for (Phase const& phase : phasesOf(w, axis))
            most = std::max(most, phase.taps);
        taps = std::min(taps * most, kMaxSegments + 1);
    }
    return taps > kMaxSegments ? std::optional{std::string{"too many taps of one output"}} : std::nullopt;
}

//! Kernels of all phases as panels, in the type of the weights.
struct LoadedPhases : LoadedLayer<Deconvolution>
{
    std::vector<Phase> rows;
    std::vector<Phase> columns;
    std::vector<Bytes> panels; //!< By phase of rows, of columns, and group.
    int64_t channels{0};       //!< Of a group, like maps.
    int64_t maps{0};

    Result<Done> load()
    {
        if (std::optional<std::string> const why = whyNotByPhases(layer))
            return badArgument("no kernel: {}", *why);
        Window const w = layer.window();
        LoadedWeight const& weights = kernel.weight(1);
        std::vector<int64_t> const extents = asImage(weights.arg.extents);
        bool const fits = weights.isConstant() && weights.packing.empty() && kRealTypes.has(weights.arg.dtype)
            && weights.arg.extents.size() == w.rank() + 2 && layer.nbGroups > 0 && extents[0] % layer.nbGroups == 0
            && extents[1] * layer.nbGroups == layer.nbOutputMaps && extents[3] == w.size.back()
            && extents[2] == (w.rank() == 2 ? w.size[0] : 1)
            && static_cast<int64_t>(weights.arg.bytes) >= tenon::bytesOf(weights.arg.dtype, volumeOf(extents));
        if (!fits)
            return badArgument("its weights are not those of the layer");
        rows = w.rank() == 2 ? phasesOf(w, 0) : std::vector<Phase>{{.taps = 1}};
        columns = phasesOf(w, w.rank() - 1);
        channels = extents[0] / layer.nbGroups;
        maps = extents[1];
        withStorage(weights.arg.dtype, [&]<typename T>(T) {
            for (Phase const& row : rows)
                for (Phase const& column : columns)
                    for (int64_t group = 0; group < layer.nbGroups; ++group)
                        panels.push_back(packed<T>(row, column, group, extents));
        });
        return Done{};
    }
    int64_t depthOf(Phase const& row, Phase const& column) const
    {
        return row.taps * column.taps * channels;
    }
    int64_t mostDepth() const
    {
        int64_t most{0};
        for (Phase const& row : rows)
            for (Phase const& column : columns)
                most = std::max(most, depthOf(row, column));
        return most;
    }

  private:
    template <typename T>
    Bytes packed(Phase const& row, Phase const& column, int64_t group, std::vector<int64_t> const& extents) const
    {
        int64_t const depth = depthOf(row, column);
        Bytes bytes(static_cast<size_t>(packedSize(depth, maps)) * sizeof(T));
        auto* const to = reinterpret_cast<T*>(bytes.data());
        auto const* const from = static_cast<T const*>(kernel.weight(1).arg.data);
        std::vector<int64_t> const strides = stridesOf(extents);
        int64_t d{0};
        for (int64_t y = 0; y < row.taps; ++y)
            for (int64_t x = 0; x < column.taps; ++x)
            {
                int64_t const tap = (row.first - y * row.step) * strides[2] + (column.first - x * column.step);
                for (int64_t c = 0; c < channels; ++c, ++d)
                    for (int64_t m = 0; m < maps; ++m)
                        to[(m / kPanel * depth + d) * kPanel + m % kPanel] =
                            from[(group * channels + c) * strides[0] + m * strides[1] + tap];
            }
        return bytes;
    }
};

//! What a run knows beside the loaded kernel.
struct PhasesForm
{
    std::vector<int64_t> in; //!< Images, channels, lines, columns.
    std::vector<int64_t> out;
    int64_t strideY{1};
    int64_t strideX{1};
    int64_t preY{0};
    int64_t preX{0};
    bool hasBias{false};
};

template <typename T>
class LinesByPhase
{
  public:
    LinesByPhase(std::shared_ptr<LoadedPhases const> loaded, PhasesForm form, GemmEpilogue epilogue)
        : mLoaded{std::move(loaded)},
          mForm{std::move(form)},
          mEpilogue{std::move(epilogue)},
          mZeros(static_cast<size_t>(mLoaded->channels), T{})
    {
    }
    void operator()(Call const& call, int64_t first, int64_t last, float* scratch) const
    {
        for (int64_t line = first; line < last; ++line)
        {
            int64_t const y = line % mForm.out[2];
            int64_t const remainder = (y + mForm.preY) % mForm.strideY;
            for (int64_t x = 0; x < std::min(mForm.strideX, mForm.out[3]); ++x)
                runPhase(call, line, remainder, x, scratch);
        }
    }

  private:
    //! Outputs x, x + stride, … of a line.
    void runPhase(Call const& call, int64_t line, int64_t remainder, int64_t x, float* scratch) const
    {
        LoadedPhases const& l = *mLoaded;
        auto const rowNumber = static_cast<size_t>(remainder);
        auto const columnNumber = static_cast<size_t>((x + mForm.preX) % mForm.strideX);
        Phase const& row = l.rows[rowNumber];
        Phase const& column = l.columns[columnNumber];
        int64_t const channels = mForm.in[1];
        int64_t const maps = mForm.out[1];
        int64_t const y = line % mForm.out[2];
        GemmWindow const window{.inHeight = mForm.in[2],
            .inWidth = mForm.in[3],
            .outWidth = (mForm.out[3] - 1 - x) / mForm.strideX + 1,
            .kernelHeight = row.taps,
            .kernelWidth = column.taps,
            .dilationY = row.dilation,
            .dilationX = column.dilation,
            .padTop = (row.start - y) / mForm.strideY,
            .padLeft = (column.start - x) / mForm.strideX,
            .lineStride = mForm.in[3] * channels,
            .pixelStride = channels};
        BoundEpilogue<T> epilogue = mEpilogue.bind<T>(call);
        int64_t const groups = channels / l.channels;
        bool const isBias = row.taps * column.taps == 0;
        for (int64_t group = 0; group < groups; ++group)
        {
            Gemm<T> gemm;
            gemm.rows = window.outWidth;
            gemm.columns = l.maps;
            gemm.segments = isBias ? 1 : row.taps * column.taps;
            gemm.length = isBias ? 0 : l.channels;
            gemm.a = static_cast<T const*>(call.inputs[0]) + line / mForm.out[2] * mForm.in[2] * window.lineStride
                + group * l.channels;
            gemm.window = isBias ? nullptr : &window;
            gemm.zeros = mZeros.data();
            size_t const at = (rowNumber * l.columns.size() + columnNumber) * static_cast<size_t>(groups);
            gemm.setPanels(reinterpret_cast<T const*>(l.panels[at + static_cast<size_t>(group)].data()));
            gemm.c = static_cast<T*>(call.outputs[0]) + (line * mForm.out[3] + x) * maps + group * l.maps;
            gemm.cStride = mForm.strideX * maps;
            gemm.bias = mForm.hasBias ? static_cast<T const*>(call.inputs[2]) + group * l.maps : nullptr;
            epilogue.putInto(gemm);
            storageFunctions<T>().runGemm(gemm, {0, gemm.rows, 0, panelsOf(gemm.columns)}, scratch);
            epilogue.advanceColumns(l.maps);
        }
    }

    std::shared_ptr<LoadedPhases const> mLoaded;
    PhasesForm mForm;
    GemmEpilogue mEpilogue;
    std::vector<T> mZeros;
};

Step stepOfPhases(StepSource<LoadedPhases> const& from)
{
    if (!from.areReal(Layout::kChannelsLast) || from.inputs[0].dtype != from.kernel().weight(1).arg.dtype)
        return badArgument("its operands are not channels-last real numbers of the kernel's type");
    TensorArg const& out = from.outputs[0];
    Window const w = from.layer().window();
    PhasesForm form{.in = asImage(from.inputs[0].extents), .out = asImage(out.extents)};
    form.hasBias = isPresent(from.inputs, 2);
    form.strideX = w.stride.back();
    form.preX = w.transposedPadding(w.rank() - 1).pre;
    if (w.rank() == 2)
    {
        form.strideY = w.stride[0];
        form.preY = w.transposedPadding(0).pre;
    }
    if (form.in[1] != from.loaded->channels * from.layer().nbGroups || form.out[1] != from.layer().nbOutputMaps
        || (form.hasBias && !isReal(from.inputs, 2, Layout::kLinear)))
        return badArgument("its channels are not those of the weights");
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Deconvolution::kFirstExtra, from.inputs, out, plainAxes(out.extents.size())));
    return withStorage(out.dtype, [&]<typename T>(T) {
        LaneMemory const memory{from.threads, gemmScratch<T>(from.loaded->mostDepth())};
        Items const lines{form.out[0] * form.out[2]};
        return sharedStep(lines, memory, LinesByPhase<T>{from.loaded, std::move(form), std::move(epilogue)});
    });
}

std::variant<std::vector<Offer>, Refusal> offersOfPhases(Problem const& problem)
{
    auto const& layer = problem.fields<Deconvolution>();
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("phases", "only float32, float16 and bfloat16");
    if (std::optional<std::string> why = whyNotByPhases(layer))
        return refuse("phases", *std::move(why));
    Constant const* const kernel = problem.constant(1);
    if (kernel == nullptr)
        return refuse("phases", "the kernel is not a constant");
    auto const inputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.input(0))));
    auto const each =
        static_cast<double>(kernel->count()) / static_cast<double>(std::max<int64_t>(kernel->extents[0], 1));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.inputs[0] = Layout::kChannelsLast;
    offer.outputs = {Layout::kChannelsLast};
    offer.cost = 1.2 * costOf(problem, inputs * each, bytesOf(problem)); // Behind the kernel of windows that tile.
    return std::vector<Offer>{offer};
}

using PhasesFile = StepFile<"deconvolution_phases", "phases", offersOfPhases, stepOfPhases>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(DeconvolutionPhases, PhasesFile::kCandidates, PhasesFile::kKernels);
