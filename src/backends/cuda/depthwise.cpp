// Depthwise convolution in channels-last order. A thread makes a few neighbouring results of a few channels, its weights
// in registers: `window` reads each result's own window, with all loads under way at once; `sliding` goes down the image
// and reads each input once. Which is faster for a shape is measured (tactics).
#include "backends/cuda/epilogue_text.h"
#include "layers/convolution.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(DepthwiseParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    int hasBias; int height; int width; int channels; int outHeight; int outWidth; int padY; int padX;
                    int rows; int lanes; int strips; int across; int down; int slices; int groups;
                    EpilogueOperand extra[4];);

//! Blocks: slices of channels, groups of strips, images. A strip is `Columns` columns by p.rows rows.
constexpr char kDepthwiseStart[]{R"(
constexpr int kTaps = KH * KW;

template <int Columns, int V>
struct Strip
{
    static constexpr int kInputs = (Columns - 1) * SX + (KW - 1) * DX + 1;

    __device__ explicit Strip(DepthwiseParams const& params) : p(params)
    {
        unsigned block = blockIdx.x;
        int const slice = (int)(block % (unsigned)p.slices);
        block /= (unsigned)p.slices;
        int const strip = (int)(block % (unsigned)p.groups) * p.strips + (int)threadIdx.x / p.lanes;
        image = (int)(block / (unsigned)p.groups);
        channel = (slice * p.lanes + (int)threadIdx.x % p.lanes) * V;
        firstColumn = strip % p.across * Columns;
        firstRow = strip / p.across * p.rows;
        lastRow = firstRow + p.rows < p.outHeight ? firstRow + p.rows : p.outHeight;
        left = firstColumn * SX - p.padX;
        isReal = channel < p.channels && firstRow < p.outHeight;
        input = (Stored const*)p.x + ((i64)image * p.height * p.width + left) * p.channels + channel;
        output = (Stored*)p.y + ((i64)image * p.outHeight * p.outWidth + firstColumn) * p.channels + channel;
        columns = 0u;
#pragma unroll
        for (int x = 0; x < kInputs; ++x)
            columns |= (left + x >= 0 && left + x < p.width ? 1u : 0u) << x;
    }
    //! Weights are [channel][tap]: those of a thread lie in one piece.
    __device__ void loadWeights(float (&w)[V][kTaps], float (&bias)[V]) const
    {
        Pack<Stored, V> raw[kTaps];
#pragma unroll
        for (int i = 0; i < kTaps; ++i)
            raw[i] = ((Pack<Stored, V> const*)((Stored const*)p.w + (i64)channel * kTaps))[i];
#pragma unroll
        for (int i = 0; i < V * kTaps; ++i)
            w[i / kTaps][i % kTaps] = widen(raw[i / V].v[i % V]);
#pragma unroll
        for (int i = 0; i < V; ++i)
            bias[i] = p.hasBias ? widen(((Stored const*)p.bias)[channel + i]) : 0.0f;
    }
    __device__ void loadRow(Pack<Stored, V> (&to)[kInputs], int row) const
    {
        unsigned const valid = row >= 0 && row < p.height ? columns : 0u;
        Stored const* const from = input + (i64)row * p.width * p.channels;
#pragma unroll
        for (int x = 0; x < kInputs; ++x)
            to[x] = valid >> x & 1u ? *(Pack<Stored, V> const*)(from + (i64)x * p.channels) : Pack<Stored, V>{};
    }
    //! One input joins the sums of all columns that see it under row `ky` of the window.
    __device__ static void addInput(
        float (&sums)[Columns][V], Pack<Stored, V> const& x, float const (&w)[V][kTaps], int at, int ky)
    {
#pragma unroll
        for (int kx = 0; kx < KW; ++kx)
        {
            if (at < kx * DX || (at - kx * DX) % SX != 0 || (at - kx * DX) / SX >= Columns)
                continue;
#pragma unroll
            for (int i = 0; i < V; ++i)
                sums[(at - kx * DX) / SX][i] = fmaf(widen(x.v[i]), w[i][ky * KW + kx], sums[(at - kx * DX) / SX][i]);
        }
    }
    __device__ void storeRow(float const (&sums)[Columns][V], int row) const
    {
#pragma unroll
        for (int c = 0; c < Columns; ++c)
        {
            if (firstColumn + c >= p.outWidth)
                continue;
            Pack<Stored, V> y;
#pragma unroll
            for (int i = 0; i < V; ++i)
                put(y.v[i], finish(p.extra, sums[c][i], image, channel + i, 0, row, firstColumn + c));
            *(Pack<Stored, V>*)(output + ((i64)row * p.outWidth + c) * p.channels) = y;
        }
    }

    DepthwiseParams const& p;
    int image, channel, firstColumn, firstRow, lastRow, left;
    unsigned columns; // Which of the inputs' columns are in the image.
    bool isReal;
    Stored const* input;
    Stored* output;
};
)"};

//! p.rows is 1.
constexpr char kWindowKernel[]{R"(
template <int Columns, int V>
static __device__ __forceinline__ void window(DepthwiseParams const& p)
{
    using Own = Strip<Columns, V>;
    Own const strip(p);
    if (!strip.isReal)
        return;
    Pack<Stored, V> inputs[KH][Own::kInputs];
#pragma unroll
    for (int ky = 0; ky < KH; ++ky)
        strip.loadRow(inputs[ky], strip.firstRow * SY - p.padY + ky * DY);
    float w[V][kTaps], bias[V], sums[Columns][V];
    strip.loadWeights(w, bias);
#pragma unroll
    for (int c = 0; c < Columns; ++c)
#pragma unroll
        for (int i = 0; i < V; ++i)
            sums[c][i] = bias[i];
#pragma unroll
    for (int ky = 0; ky < KH; ++ky)
#pragma unroll
        for (int x = 0; x < Own::kInputs; ++x)
            Own::addInput(sums, inputs[ky][x], w, x, ky);
    strip.storeRow(sums, strip.firstRow);
}
TENON_KERNEL(window1, DepthwiseParams) { window<1, VECTOR>(p); }
TENON_KERNEL(window2, DepthwiseParams) { window<2, VECTOR>(p); }
TENON_KERNEL(odd, DepthwiseParams) { window<2, 1>(p); }
)"};

//! A step takes the next rows of input and adds them to all rows of output that see them, whose sums are in a ring; the
//! rows of the next steps are under way. Without dilation.
constexpr char kSlidingKernel[]{R"(
template <int Columns, int V>
static __device__ __forceinline__ void sliding(DepthwiseParams const& p)
{
    using Own = Strip<Columns, V>;
    constexpr int kRing = (KH + SY - 1) / SY;
    constexpr int kLast = kRing - 1;
    Own const strip(p);
    if (!strip.isReal)
        return;
    float w[V][kTaps], bias[V];
    strip.loadWeights(w, bias);
    Pack<Stored, V> inputs[kRing][SY][Own::kInputs];
    float sums[kRing][Columns][V];
    int const top = strip.firstRow * SY - p.padY;
    int const steps = strip.lastRow - strip.firstRow + kLast;
#pragma unroll
    for (int step = 0; step < kLast; ++step)
#pragma unroll
        for (int s = 0; s < SY; ++s)
            strip.loadRow(inputs[step][s], top + step * SY + s);
    for (int turn = 0; turn < steps; turn += kRing)
    {
#pragma unroll
        for (int phase = 0; phase < kRing; ++phase)
        {
            int const step = turn + phase;
            if (step >= steps)
                return;
#pragma unroll
            for (int s = 0; s < SY; ++s)
                if (step + kLast < steps)
                    strip.loadRow(inputs[(phase + kLast) % kRing][s], top + (step + kLast) * SY + s);
#pragma unroll
            for (int c = 0; c < Columns; ++c)
#pragma unroll
                for (int i = 0; i < V; ++i)
                    sums[phase][c][i] = bias[i];
#pragma unroll
            for (int s = 0; s < SY; ++s)
            {
                int const row = top + step * SY + s;
                if (row < 0 || row >= p.height)
                    continue;
#pragma unroll
                for (int x = 0; x < Own::kInputs; ++x)
#pragma unroll
                    for (int back = 0; back < kRing; ++back)
                        if (back * SY + s < KH)
                            Own::addInput(sums[(phase - back + kRing) % kRing], inputs[phase][s][x], w, x,
                                back * SY + s);
            }
            if (step >= kLast)
                strip.storeRow(sums[(phase + 1) % kRing], strip.firstRow + step - kLast);
        }
    }
}
TENON_KERNEL(sliding2, DepthwiseParams) { sliding<2, VECTOR>(p); }
TENON_KERNEL(sliding4, DepthwiseParams) { sliding<4, VECTOR>(p); }
)"};

//! Windows of more taps than registers hold: their rows one after the other, weights read as they are needed.
constexpr char kLargeKernel[]{R"(
template <int Columns, int V>
static __device__ __forceinline__ void large(DepthwiseParams const& p)
{
    using Own = Strip<Columns, V>;
    Own const strip(p);
    if (!strip.isReal)
        return;
    float sums[Columns][V];
#pragma unroll
    for (int c = 0; c < Columns; ++c)
#pragma unroll
        for (int i = 0; i < V; ++i)
            sums[c][i] = p.hasBias ? widen(((Stored const*)p.bias)[strip.channel + i]) : 0.0f;
#pragma unroll 1
    for (int ky = 0; ky < KH; ++ky)
    {
        int const row = strip.firstRow * SY - p.padY + ky * DY;
        if (row < 0 || row >= p.height)
            continue;
        Stored const* const w = (Stored const*)p.w + (i64)strip.channel * kTaps + ky * KW;
        Stored const* const from = strip.input + (i64)row * p.width * p.channels;
        for (int kx = 0; kx < KW; ++kx)
        {
            float taps[V];
#pragma unroll
            for (int i = 0; i < V; ++i)
                taps[i] = widen(w[i * kTaps + kx]);
#pragma unroll
            for (int c = 0; c < Columns; ++c)
            {
                int const x = c * SX + kx * DX;
                if (strip.left + x < 0 || strip.left + x >= p.width)
                    continue;
                Pack<Stored, V> const value = *(Pack<Stored, V> const*)(from + (i64)x * p.channels);
#pragma unroll
                for (int i = 0; i < V; ++i)
                    sums[c][i] = fmaf(widen(value.v[i]), taps[i], sums[c][i]);
            }
        }
    }
    strip.storeRow(sums, strip.firstRow);
}
TENON_KERNEL(large4, DepthwiseParams) { large<4, VECTOR>(p); }
TENON_KERNEL(odd, DepthwiseParams) { large<2, 1>(p); }
)"};

constexpr int64_t kMaxTapsInRegisters{25};
constexpr int64_t kMaxWindow{31}; //!< A strip's columns are bits of a word.
constexpr unsigned kDepthwiseThreads{128};

//! One way of doing it: a kernel, and how many columns and rows a thread makes.
struct DepthwiseWay
{
    char const* kernel;
    int columns;
    bool isSliding;
};
constexpr DepthwiseWay kSmallWays[]{
    {"window1", 1, false}, {"window2", 2, false}, {"sliding2", 2, true}, {"sliding4", 4, true}};
constexpr DepthwiseWay kLargeWays[]{{"large4", 4, false}};

struct DepthwiseChoices
{
    int32_t tactic{0}; //!< Position among the ways.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &DepthwiseChoices::tactic)};
    }
};

//! Windows on two axes; one axis has a window of 1 in front.
struct DepthwiseWindow
{
    int64_t size[2]{1, 1};
    int64_t stride[2]{1, 1};
    int64_t dilation[2]{1, 1};

    explicit DepthwiseWindow(Window const& window)
    {
        for (size_t axis = 0; axis < window.rank() && axis < 2; ++axis)
        {
            size_t const at = axis + 2 - std::min<size_t>(window.rank(), 2);
            size[at] = window.size[axis];
            stride[at] = window.stride[axis];
            dilation[at] = window.dilation[axis];
        }
    }
    int64_t taps() const noexcept
    {
        return size[0] * size[1];
    }
    //! Columns of input that so many columns of results read.
    int64_t inputs(int64_t columns) const noexcept
    {
        return (columns - 1) * stride[1] + (size[1] - 1) * dilation[1] + 1;
    }
    bool isSmall() const noexcept
    {
        return taps() <= kMaxTapsInRegisters && inputs(2) <= 12;
    }
    bool slides() const noexcept
    {
        return isSmall() && dilation[0] == 1 && dilation[1] == 1 && stride[0] <= size[0] && inputs(4) <= 16;
    }
    //! Channels of one thread: the more taps, the fewer.
    int vector() const noexcept
    {
        return taps() <= 9 || !isSmall() ? 4 : 2;
    }
    std::span<DepthwiseWay const> ways() const noexcept
    {
        if (!isSmall())
            return kLargeWays;
        return std::span{kSmallWays}.first(slides() ? 4 : 2);
    }
};

Result<std::string> depthwiseText(Convolution const& layer, DType type)
{
    DepthwiseWindow const window{layer.window()};
    std::string text = std::string{kEpilogueOperandText} + kDepthwiseParamsText
        + fmt::format("typedef {} Stored;\nconstexpr int KH = {}, KW = {}, SY = {}, SX = {}, DY = {}, DX = {};\n"
                      "constexpr int VECTOR = {};\n",
            TENON_TRY(storageOf(type)), window.size[0], window.size[1], window.stride[0], window.stride[1],
            window.dilation[0], window.dilation[1], window.vector())
        + TENON_TRY(epilogueText(layer.epilogue)) + kDepthwiseStart;
    text += window.isSmall() ? kWindowKernel : kLargeKernel;
    return wholeText(text + (window.slides() ? kSlidingKernel : ""));
}

//! Parameters and threads for one way.
struct DepthwisePlan
{
    DepthwiseParams params{};
    Grid grid;
    void* code{nullptr};
    uintptr_t alignment{1};
};

class DepthwiseStep final : public CudaPrepared
{
  public:
    DepthwiseStep(DepthwisePlan wide, DepthwisePlan odd, EpilogueOperands extras)
        : mWide{wide},
          mOdd{odd},
          mExtras{extras}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        uintptr_t const all = reinterpret_cast<uintptr_t>(at.call.inputs[0])
            | reinterpret_cast<uintptr_t>(at.call.inputs[1]) | reinterpret_cast<uintptr_t>(at.call.outputs[0]);
        DepthwisePlan const& plan = mWide.code != nullptr && all % mWide.alignment == 0 ? mWide : mOdd;
        DepthwiseParams params = plan.params;
        params.x = at.call.inputs[0];
        params.w = at.call.inputs[1];
        params.bias = params.hasBias != 0 ? at.call.inputs[2] : nullptr;
        params.y = at.call.outputs[0];
        mExtras.put(params.extra, at.call);
        return launchKernel(at, plan.code, plan.grid, params);
    }

  private:
    DepthwisePlan mWide; //!< No code: channels are no multiple of the vectors.
    DepthwisePlan mOdd;
    EpilogueOperands mExtras;
};

//! Lanes along channels that waste few, and strips beside them up to a block.
void shareOut(DepthwisePlan& plan, int64_t images, int columns, int vector, int rows)
{
    constexpr int64_t kMostLanes{64};
    DepthwiseParams& params = plan.params;
    int64_t const vectors = params.channels / vector;
    int64_t lanes = std::min(vectors, kMostLanes);
    for (int64_t each = lanes; each >= 8; --each)
        if (vectors % each == 0)
        {
            lanes = each;
            break;
        }
    params.rows = rows;
    params.lanes = static_cast<int>(lanes);
    params.strips = std::max(1, static_cast<int>(kDepthwiseThreads / static_cast<unsigned>(lanes)));
    params.across = (params.outWidth + columns - 1) / columns;
    params.down = (params.outHeight + rows - 1) / rows;
    params.slices = static_cast<int>((vectors + lanes - 1) / lanes);
    params.groups = (params.across * params.down + params.strips - 1) / params.strips;
    plan.grid = {.x = static_cast<unsigned>(images * params.slices * params.groups),
        .block = static_cast<unsigned>(params.lanes * params.strips)};
}

//! Long strips read less, but enough of them must be there for all multiprocessors.
int rowsOf(CudaDevice const& device, DepthwiseParams const& params, int64_t images, int columns, int vector)
{
    constexpr int64_t kThreadsPerMultiprocessor{512};
    int64_t const threads = images * (params.channels / vector) * ((params.outWidth + columns - 1) / columns);
    int rows = 28;
    while (rows > 2
        && threads * ((params.outHeight + rows - 1) / rows)
            < kThreadsPerMultiprocessor * device.model().multiprocessors)
        rows /= 2;
    return std::min(rows, params.outHeight);
}

class DepthwiseKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args()));
        DepthwiseChoices const choices = TENON_TRY(choicesOf<DepthwiseChoices>(args()));
        TensorArg const& out = outputs[0];
        DepthwiseWindow const window{layer.window()};
        std::span<DepthwiseWay const> const ways = window.ways();
        if (choices.tactic < 0 || static_cast<size_t>(choices.tactic) >= ways.size())
            return badArgument("tactic {} of a depthwise convolution", choices.tactic);
        DepthwiseParams const params = TENON_TRY(paramsOf(layer, inputs, out));
        EpilogueOperands const extras =
            TENON_TRY(epilogueOperands(layer.epilogue, inputs, Convolution::kFirstExtra, out));
        Module const& module = *TENON_TRY(moduleOf(device(), TENON_TRY(depthwiseText(layer, out.dtype))));
        int64_t const images = out.extents[0];
        DepthwisePlan odd{.params = params, .code = TENON_TRY(module.function("odd"))};
        shareOut(odd, images, 2, 1, 1);
        DepthwiseWay const& way = ways[static_cast<size_t>(choices.tactic)];
        DepthwisePlan wide{.params = params};
        int const vector = window.vector();
        if (params.channels % vector == 0)
        {
            wide.code = TENON_TRY(module.function(way.kernel));
            wide.alignment = static_cast<uintptr_t>(vector * movableBytes(out.dtype));
            int const rows = way.isSliding ? rowsOf(device(), params, images, way.columns, vector) : 1;
            shareOut(wide, images, way.columns, vector, rows);
        }
        return std::shared_ptr<Prepared const>{std::make_shared<DepthwiseStep>(wide, odd, extras)};
    }

  private:
    static Result<DepthwiseParams> paramsOf(
        Convolution const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
    {
        Window const window = layer.window();
        TensorArg const& x = inputs[0];
        size_t const spatial = window.rank();
        DType const type = out.dtype;
        bool const fits = spatial >= 1 && spatial <= 2 && x.layout == Layout::kChannelsLast
            && out.layout == Layout::kChannelsLast && inputs[1].layout == Layout::kLinear && kRealTypes.has(type)
            && x.dtype == type && inputs[1].dtype == type && x.extents[1] == layer.nbGroups
            && out.extents[1] == layer.nbGroups && window.size.back() <= kMaxWindow;
        int64_t const elements = std::max(volumeOf(x.extents), volumeOf(out.extents));
        if (!fits || !isSmall(elements))
            return badArgument("the depthwise kernel takes one type of real numbers in channels-last order");
        auto const ofRow = [&](TensorArg const& arg) { return spatial == 2 ? arg.extents[2] : int64_t{1}; };
        DepthwiseParams params{};
        params.height = static_cast<int>(ofRow(x));
        params.width = static_cast<int>(x.extents.back());
        params.channels = static_cast<int>(x.extents[1]);
        params.outHeight = static_cast<int>(ofRow(out));
        params.outWidth = static_cast<int>(out.extents.back());
        params.padY = spatial == 2 ? static_cast<int>(window.padding(0, x.extents[2]).pre) : 0;
        params.padX = static_cast<int>(window.padding(spatial - 1, x.extents.back()).pre);
        params.hasBias = inputs.size() > 2 && inputs[2].present ? 1 : 0;
        return params;
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDepthwise(Problem const& problem)
{
    constexpr char kName[]{"depthwise"};
    Convolution const& layer = problem.fields<Convolution>();
    TensorType const& out = problem.output();
    ShapeExpr const channels = problem.input(0).shape[1];
    if (channels != ShapeExpr{layer.nbGroups} || layer.nbOutputMaps != layer.nbGroups || layer.nbGroups < 2)
        return refuse(kName, "takes one map per channel");
    Window const window = layer.window();
    if (window.rank() > 2 || window.size.back() > kMaxWindow)
        return refuse(kName, "takes windows of up to two axes and 31 columns");
    if (!kRealTypes.has(out.dtype) || problem.input(0).dtype != out.dtype || problem.input(1).dtype != out.dtype)
        return refuse(kName, "takes one type of real numbers");
    if (std::string const why = epilogueObjection(layer.epilogue, problem, Convolution::kFirstExtra); !why.empty())
        return refuse(kName, why);
    DepthwiseWindow const taken{window};
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(out)));
    constexpr double kManyResults{1 << 21}; // From here on reading each input once pays.
    bool const isLarge = elements > kManyResults;
    std::vector<Offer> offers;
    for (size_t i = 0; i < taken.ways().size(); ++i)
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kChannelsLast);
        offer.outputs = {Layout::kChannelsLast};
        for (size_t k = 1; k < 3 && k < offer.inputs.size(); ++k)
            offer.inputs[k] = Layout::kLinear;
        bool const isWrongKind = taken.slides() && taken.ways()[i].isSliding != isLarge;
        offer.cost = costOf(problem, elements * static_cast<double>(taken.taps()) / 2.0, bytesOf(problem))
                * (isWrongKind ? 1.5 : 1.0)
            + 0.01 * static_cast<double>(i); // Unless timed.
        offer.tactic = static_cast<int64_t>(i);
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildDepthwise(Problem const& problem, Offer const& offer)
{
    DepthwiseChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "depthwise", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

constexpr Candidate kDepthwiseCandidates[]{
    {.layer = Convolution::kName, .name = "depthwise", .offers = offersOfDepthwise, .build = buildDepthwise}};
constexpr CudaKernelEntry kDepthwiseKernels[]{{"depthwise", &loadLayerKernel<DepthwiseKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Depthwise, kDepthwiseCandidates, kDepthwiseKernels);
