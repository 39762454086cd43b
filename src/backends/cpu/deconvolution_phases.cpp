// Deconvolution in channels-last layout, whose windows may overlap: outputs whose positions have one remainder by the
// stride are a convolution with every stride-th element of the kernel, turned round; a line of one such phase is a
// product whose rows are windows of the input. With depth, the planes that an output plane reads are joined first.
#include "layers/deconvolution.h"

#include "backends/cpu/depth_planes.h"
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

//! Axes of a line of products; depth is in front of them.
constexpr size_t kImageAxes{2};

std::optional<std::string> whyNotByPhases(Deconvolution const& layer)
{
    Window const w = layer.window();
    if (layer.epilogue.extraInputs() > 0)
        return "the epilogue reads a tensor";
    int64_t taps{1};
    for (size_t axis = 0; axis < w.rank(); ++axis)
    {
        if (w.transposedPadding(axis).pre < 0 || w.stride[axis] > kMaxSegments)
            return "negative padding or far strides";
        if (axis + kImageAxes < w.rank())
            continue; // Planes are channels of one segment.
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
    int64_t planes{1};         //!< Elements of the kernel along depth.
    int64_t channels{0};       //!< Of a group, like maps, and of all planes.
    int64_t maps{0};

    Result<Done> load()
    {
        if (std::optional<std::string> const why = whyNotByPhases(layer))
            return badArgument("no kernel: {}", *why);
        Window const w = layer.window();
        LoadedWeight const& weights = kernel.weight(1);
        std::vector<int64_t> const& extents = weights.arg.extents;
        bool const fits = weights.isConstant() && weights.packing.empty() && kRealTypes.has(weights.arg.dtype)
            && extents.size() == w.rank() + 2 && layer.nbGroups > 0 && extents[0] % layer.nbGroups == 0
            && extents[1] * layer.nbGroups == layer.nbOutputMaps
            && std::equal(w.size.begin(), w.size.end(), extents.begin() + 2)
            && static_cast<int64_t>(weights.arg.bytes) >= tenon::bytesOf(weights.arg.dtype, volumeOf(extents));
        if (!fits)
            return badArgument("its weights are not those of the layer");
        rows = w.rank() < kImageAxes ? std::vector<Phase>{{.taps = 1}} : phasesOf(w, w.rank() - kImageAxes);
        columns = phasesOf(w, w.rank() - 1);
        planes = w.rank() > kImageAxes ? w.size[0] : 1;
        channels = planes * (extents[0] / layer.nbGroups);
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
        int64_t const line = extents.back();
        int64_t const ofPlane = channels / planes;
        int64_t d{0};
        for (int64_t y = 0; y < row.taps; ++y)
            for (int64_t x = 0; x < column.taps; ++x)
                for (int64_t c = 0; c < channels; ++c, ++d)
                {
                    int64_t const tap = (row.first - y * row.step) * line + (column.first - x * column.step);
                    int64_t const plane = c / ofPlane * (planes > 1 ? strides[2] : 0);
                    int64_t const start = (group * ofPlane + c % ofPlane) * strides[0] + plane + tap;
                    for (int64_t m = 0; m < maps; ++m)
                        to[(m / kPanel * depth + d) * kPanel + m % kPanel] = from[start + m * strides[1]];
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
        run(call, static_cast<T const*>(call.inputs[0]), first, last, scratch);
    }
    //! `images`: instead of the input.
    void run(Call const& call, T const* images, int64_t first, int64_t last, float* scratch) const
    {
        for (int64_t line = first; line < last; ++line)
        {
            int64_t const y = line % mForm.out[2];
            int64_t const remainder = (y + mForm.preY) % mForm.strideY;
            for (int64_t x = 0; x < std::min(mForm.strideX, mForm.out[3]); ++x)
                runPhase(call, images, {line, remainder, x}, scratch);
        }
    }

  private:
    //! Outputs x, x + stride, … of a line.
    struct Place
    {
        int64_t line;
        int64_t remainder;
        int64_t x;
    };
    void runPhase(Call const& call, T const* images, Place const& place, float* scratch) const
    {
        auto const [line, remainder, x] = place;
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
            gemm.a = images + line / mForm.out[2] * mForm.in[2] * window.lineStride + group * l.channels;
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

//! [n, c, d, h, w] as an image of each plane.
std::vector<int64_t> imagesOf(std::vector<int64_t> const& extents)
{
    if (extents.size() != 5)
        return asImage(extents);
    return {extents[0] * extents[2], extents[1], extents[3], extents[4]};
}

//! Joins planes in front of the products.
template <typename T>
Step joinedStep(DepthPlanes planes, Items lines, LaneMemory memory, LinesByPhase<T> products)
{
    size_t const bytes = memory.bytes() + static_cast<size_t>(planes.elements()) * sizeof(T);
    auto const run = [planes = std::move(planes), lines, memory, products = std::move(products)](
                         Call const& call, Lane const& lane) {
        auto* const joined = reinterpret_cast<T*>(static_cast<std::byte*>(call.scratch) + memory.bytes());
        if (lane.stage == 0)
            copyPlanes(planes, static_cast<T const*>(call.inputs[0]), joined, lane);
        else if (std::optional<Lane> const mine = memory.withMemory(lane))
        {
            auto const [first, last] = mine->part(lines.count, lines.grain);
            products.run(call, joined, first, last, memory.of(*mine, call.scratch));
        }
    };
    return teamStep(run, bytes, 2);
}

Step stepOfPhases(StepSource<LoadedPhases> const& from)
{
    if (!from.areReal(Layout::kChannelsLast) || from.inputs[0].dtype != from.kernel().weight(1).arg.dtype)
        return badArgument("its operands are not channels-last real numbers of the kernel's type");
    TensorArg const& out = from.outputs[0];
    Window const w = from.layer().window();
    DepthPlanes planes{.isAsItIs = true};
    if (w.rank() > kImageAxes)
        planes = DepthPlanes::ofDeconvolution(w, from.layer().nbGroups, from.inputs[0].extents, out.extents);
    if (!planes.isAddressable())
        return badArgument("its planes are larger than any memory");
    PhasesForm form{.in = imagesOf(from.inputs[0].extents), .out = imagesOf(out.extents)};
    form.in[0] = form.out[0]; // One for each output plane.
    form.in[1] *= from.loaded->planes;
    form.hasBias = isPresent(from.inputs, 2);
    form.strideX = w.stride.back();
    form.preX = w.transposedPadding(w.rank() - 1).pre;
    if (w.rank() >= kImageAxes)
    {
        form.strideY = w.stride[w.rank() - kImageAxes];
        form.preY = w.transposedPadding(w.rank() - kImageAxes).pre;
    }
    if (form.in[1] != from.loaded->channels * from.layer().nbGroups || form.out[1] != from.layer().nbOutputMaps
        || (form.hasBias && !isReal(from.inputs, 2, Layout::kLinear)))
        return badArgument("its channels are not those of the weights");
    GemmEpilogue epilogue = TENON_TRY(GemmEpilogue::make(
        from.layer().epilogue, Deconvolution::kFirstExtra, from.inputs, out, plainAxes(out.extents.size())));
    return withStorage(out.dtype, [&]<typename T>(T) {
        LaneMemory const memory{
            from.threads, gemmScratch<T>({form.out[3], from.loaded->maps, from.loaded->mostDepth()})};
        Items const lines{form.out[0] * form.out[2]};
        LinesByPhase<T> run{from.loaded, std::move(form), std::move(epilogue)};
        return planes.isAsItIs ? sharedStep(lines, memory, std::move(run))
                               : joinedStep(std::move(planes), lines, memory, std::move(run));
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
