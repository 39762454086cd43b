// DepthwiseText: strips of results, and the ways of making one.
#include "backends/cuda/depthwise_text.h"

#include "backends/cuda/matrix_text.h"

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
    __device__ void fetchWeights(Pack<Stored, V> (&raw)[kTaps + 1]) const { fetchWeights(raw, p, channel); }
    //! Weights are [channel][tap]: those of a thread lie in one piece.
    __device__ static void fetchWeights(Pack<Stored, V> (&raw)[kTaps + 1], DepthwiseParams const& p, int channel)
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

//! Blocks: slices of channels, tiles of p.strips times C columns by p.rows rows, images. What a tile reads lies in
//! shared memory, zeros where there is no image; a thread goes down it with two channels of C columns.
constexpr char kStagedKernel[]{R"(
#ifdef TENON_EMULATED
static Pack<u64, 2> stagedPixels[227 * 1024 / 16];
#else
extern __shared__ Pack<u64, 2> stagedPixels[];
#endif
//! Where a block's tile is.
struct StagedTile
{
    int image, channel0, row0, column0, rows, inRows, inColumns;

    __device__ StagedTile(DepthwiseParams const& p, int columns)
    {
        unsigned block = blockIdx.x;
        channel0 = (int)(block % (unsigned)p.slices) * LANES * 2;
        block /= (unsigned)p.slices;
        column0 = (int)(block % (unsigned)p.across) * p.strips * columns;
        block /= (unsigned)p.across;
        row0 = (int)(block % (unsigned)p.down) * p.rows;
        image = (int)(block / (unsigned)p.down);
        rows = p.outHeight - row0 < p.rows ? p.outHeight - row0 : p.rows;
        inRows = (rows - 1) * SY + KH;
        inColumns = (p.strips * columns - 1) * SX + KW;
    }
};
//! Threads are a multiple of a pixel's pieces, so that each copies the same piece of every so many pixels.
static __device__ __forceinline__ void copyTile(DepthwiseParams const& p, StagedTile const& tile)
{
    constexpr int pieces = LANES / 4;
    int const piece = (int)threadIdx.x % pieces;
    int const stride = (int)blockDim.x / pieces;
    int const top = tile.row0 * SY - p.padY;
    int const left = tile.column0 * SX - p.padX;
    bool const hasChannels = tile.channel0 + piece * 8 < p.channels;
    Stored const* const from = (Stored const*)p.x + (i64)tile.image * p.height * p.width * p.channels + tile.channel0
        + piece * 8;
    int x = (int)threadIdx.x / pieces % tile.inColumns;
    int y = (int)threadIdx.x / pieces / tile.inColumns;
    int const down = stride / tile.inColumns;
    int const across = stride % tile.inColumns;
    for (int i = (int)threadIdx.x; y < tile.inRows; i += (int)blockDim.x)
    {
        bool const isThere = hasChannels && (unsigned)(top + y) < (unsigned)p.height
            && (unsigned)(left + x) < (unsigned)p.width;
        copyAsync(stagedPixels + i,
            isThere ? from + ((i64)(top + y) * p.width + left + x) * p.channels : (Stored const*)p.x, isThere);
        x += across;
        y += down;
        if (x >= tile.inColumns)
        {
            x -= tile.inColumns;
            ++y;
        }
    }
    commitCopies();
}
template <int C>
static __device__ __forceinline__ void staged(DepthwiseParams const& p)
{
    using Own = Strip<C, 2>;
    using Pair = Pack<Stored, 2>;
    constexpr int kRing = (KH + SY - 1) / SY;
    constexpr int kLast = kRing - 1;
    StagedTile const tile(p, C);
    int const lane = (int)threadIdx.x % LANES;
    int const strip = (int)threadIdx.x / LANES;
    int const channel = tile.channel0 + lane * 2;
    int const column = tile.column0 + strip * C;
    bool const isReal = channel < p.channels && column < p.outWidth;
    Pair raw[kTaps + 1];
    if (!p.hasConstantWeights)
        awaitFormer();
    Own::fetchWeights(raw, p, channel < p.channels ? channel : 0); // On their way while the former kernels end.
    awaitFormer();
    copyTile(p, tile);
    float w[2][kTaps], bias[2];
    Own::widenWeights(raw, w, bias);
    waitForCopies<0>();
    __syncthreads();
    if (!isReal)
        return;
    Pair const* row = (Pair const*)stagedPixels + strip * C * SX * LANES + lane;
    Stored* output = (Stored*)p.y
        + (((i64)tile.image * p.outHeight + tile.row0) * p.outWidth + column) * p.channels + channel;
    i64 const below = (i64)p.outWidth * p.channels;
    int const pitch = tile.inColumns * LANES;
    int const count = p.outWidth - column;
    float sums[kRing][C][2];
    int const steps = tile.rows + kLast;
    for (int turn = 0; turn < steps; turn += kRing)
    {
#pragma unroll
        for (int phase = 0; phase < kRing; ++phase)
        {
            int const step = turn + phase;
            if (step >= steps)
                return;
            float own[SY][Own::kInputs][2];
#pragma unroll
            for (int s = 0; s < SY; ++s, row += pitch)
#pragma unroll
                for (int x = 0; x < Own::kInputs; ++x)
                {
                    Pair pixel{};
                    if (kLast * SY + s < KH || step + 1 < steps) // No result sees what lies below the tile.
                        pixel = row[x * LANES];
                    own[s][x][0] = widen(pixel.v[0]);
                    own[s][x][1] = widen(pixel.v[1]);
                }
#pragma unroll
            for (int c = 0; c < C; ++c)
            {
                sums[phase][c][0] = bias[0];
                sums[phase][c][1] = bias[1];
            }
#pragma unroll
            for (int back = 0; back < kRing; ++back)
            {
                if (step < back || step - back >= tile.rows)
                    continue;
#pragma unroll
                for (int s = 0; s < SY; ++s)
#pragma unroll
                    for (int x = 0; x < Own::kInputs; ++x)
#pragma unroll
                        for (int kx = 0; kx < KW; ++kx)
                        {
                            if (back * SY + s >= KH || x < kx || (x - kx) % SX != 0 || (x - kx) / SX >= C)
                                continue;
                            float(&sum)[2] = sums[(phase - back + kRing) % kRing][(x - kx) / SX];
                            int const tap = (back * SY + s) * KW + kx;
                            sum[0] = fmaf(own[s][x][0], w[0][tap], sum[0]);
                            sum[1] = fmaf(own[s][x][1], w[1][tap], sum[1]);
                        }
            }
            if (step < kLast)
                continue;
            int const y = tile.row0 + step - kLast;
#pragma unroll
            for (int c = 0; c < C; ++c)
            {
                if (c >= count)
                    continue;
                float const(&sum)[2] = sums[(phase + 1) % kRing][c];
                *(unsigned*)(output + c * p.channels) =
                    pairOf(finish(p.extra, sum[0], tile.image, channel, 0, y, column + c),
                        finish(p.extra, sum[1], tile.image, channel + 1, 0, y, column + c), Stored{});
            }
            output += below;
        }
    }
}
TENON_EARLY_KERNEL(__launch_bounds__(STAGED_THREADS), staged4, DepthwiseParams) { staged<4>(p); }
TENON_EARLY_KERNEL(__launch_bounds__(STAGED_THREADS), staged2, DepthwiseParams) { staged<2>(p); }
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

using enum DepthwiseKind;
constexpr DepthwiseWay kSmallWays[]{{"window1", 1, kWindow}, {"window2", 2, kWindow}, {"sliding2", 2, kSliding},
    {"sliding4", 4, kSliding}, {"staged4", 4, kStaged}, {"staged2", 2, kStaged}};
constexpr size_t kWindowWays{2};
constexpr size_t kPlainWays{4}; //!< Those of any type.
constexpr DepthwiseWay kLargeWays[]{{"large4", 4, kWindow}};

bool hasTiles(DType type) noexcept
{
    return type == DType::kHALF || type == DType::kBF16;
}

//! What all kernels of a window begin with.
Result<std::string> headOf(Convolution const& layer, DType type)
{
    DepthwiseWindow const window{layer.window()};
    return functionsFor(std::array{type}) + std::string{kEpilogueOperandText} + kDepthwiseParamsText
        + fmt::format("typedef {} Stored;\nconstexpr int KH = {}, KW = {}, SY = {}, SX = {}, DY = {}, DX = {};\n"
                      "constexpr int VECTOR = {};\n",
            TENON_TRY(storageOf(type)), window.size[0], window.size[1], window.stride[0], window.stride[1],
            window.dilation[0], window.dilation[1], window.vector())
        + TENON_TRY(epilogueText(layer.epilogue)) + kDepthwiseStart;
}
} // namespace

std::span<DepthwiseWay const> DepthwiseWindow::ways(DType type) const noexcept
{
    if (!isSmall())
        return kLargeWays;
    std::span<DepthwiseWay const> const all{kSmallWays};
    return slides() ? all.first(hasTiles(type) ? all.size() : kPlainWays) : all.first(kWindowWays);
}

Result<std::string> depthwiseText(Convolution const& layer, DType type)
{
    DepthwiseWindow const window{layer.window()};
    std::string text = TENON_TRY(headOf(layer, type));
    text += window.isSmall() ? kWindowKernel : kLargeKernel;
    return wholeText(text + (window.slides() ? kSlidingKernel : ""));
}

Result<std::string> stagedText(Convolution const& layer, DType type, int lanes)
{
    return wholeText(std::string{matrixText()} + TENON_TRY(headOf(layer, type))
        + fmt::format("constexpr int STAGED_THREADS = {}, LANES = {};\n", kMaxStagedThreads, lanes) + kStagedKernel);
}

} // namespace tenon::cuda
