// DepthwiseText: strips of results, and the ways of making one.
#include "backends/cuda/depthwise_text.h"

namespace tenon::cuda
{

namespace
{
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
        for (int x = 0; x < (kInputs < 32 ? kInputs : 0); ++x) // Large windows look for themselves.
            columns |= (left + x >= 0 && left + x < p.width ? 1u : 0u) << x;
    }
    //! Weights are [channel][tap]: those of a thread lie in one piece.
    __device__ void fetchWeights(Pack<Stored, V> (&raw)[kTaps + 1]) const
    {
#pragma unroll
        for (int i = 0; i < kTaps; ++i)
            raw[i] = ((Pack<Stored, V> const*)((Stored const*)p.w + (i64)channel * kTaps))[i];
        raw[kTaps] = Pack<Stored, V>{};
        if (p.hasBias)
#pragma unroll
            for (int i = 0; i < V; ++i)
                raw[kTaps].v[i] = ((Stored const*)p.bias)[channel + i];
    }
    __device__ static void widenWeights(Pack<Stored, V> const (&raw)[kTaps + 1], float (&w)[V][kTaps], float (&bias)[V])
    {
#pragma unroll
        for (int i = 0; i < V * kTaps; ++i)
            w[i / kTaps][i % kTaps] = widen(raw[i / V].v[i % V]);
#pragma unroll
        for (int i = 0; i < V; ++i)
            bias[i] = widen(raw[kTaps].v[i]);
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
    Pack<Stored, V> raw[kTaps + 1];
    if (!p.hasConstantWeights)
        awaitFormer();
    if (strip.isReal)
        strip.fetchWeights(raw); // On their way while the former kernels end.
    awaitFormer();
    if (!strip.isReal)
        return;
    Pack<Stored, V> inputs[KH][Own::kInputs];
#pragma unroll
    for (int ky = 0; ky < KH; ++ky)
        strip.loadRow(inputs[ky], strip.firstRow * SY - p.padY + ky * DY);
    float w[V][kTaps], bias[V], sums[Columns][V];
    Own::widenWeights(raw, w, bias);
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
TENON_EARLY_KERNEL(, window1, DepthwiseParams) { window<1, VECTOR>(p); }
TENON_EARLY_KERNEL(, window2, DepthwiseParams) { window<2, VECTOR>(p); }
TENON_EARLY_KERNEL(, odd, DepthwiseParams) { window<2, 1>(p); }
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
    Pack<Stored, V> raw[kTaps + 1];
    strip.fetchWeights(raw);
    Own::widenWeights(raw, w, bias);
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

constexpr DepthwiseWay kSmallWays[]{
    {"window1", 1, false}, {"window2", 2, false}, {"sliding2", 2, true}, {"sliding4", 4, true}};
constexpr DepthwiseWay kLargeWays[]{{"large4", 4, false}};
} // namespace

std::span<DepthwiseWay const> DepthwiseWindow::ways() const noexcept
{
    if (!isSmall())
        return kLargeWays;
    return std::span{kSmallWays}.first(slides() ? 4 : 2);
}

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

} // namespace tenon::cuda
