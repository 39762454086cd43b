// QuantizedTilesText: operands pass through shared memory in stages of 128 bytes of depth, in the order that wgmma and
// ldmatrix read without conflicts; sums go back there, so that results are finished and stored in whole rows.
#include "backends/cuda/quantized_tiles_text.h"

#include "backends/cuda/matrix_text.h"

namespace tenon::cuda
{

namespace
{
//! {0}: the least architecture; {1}: types of the sum, the operands and the sum.
constexpr char kWarpText[]{R"(
#ifndef TENON_EMULATED
static __device__ __forceinline__ void multiplyAddBytes(Sum (&c)[4], unsigned const (&a)[4], unsigned b0, unsigned b1)
{{
#if __CUDA_ARCH__ >= {0}
    asm("mma.sync.aligned.m16n8k32.row.col.{1} {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
        : SUM_OPERAND(c[0]), SUM_OPERAND(c[1]), SUM_OPERAND(c[2]), SUM_OPERAND(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm volatile("trap;"); // Such GPUs are not offered this kernel.
#endif
}}
#endif
)"};

//! Sums of a thread: d[j] is columns 8j + 2t and the next, of rows g and g + 8 of its warp's sixteen.
constexpr char kFragmentText[]{R"(
constexpr int kRows = 128, kDepth = 128, kThreads = 256, kPitch = BN + 8;
constexpr int kStageBytes = (kRows + BN) * kDepth;

#ifdef TENON_EMULATED
static unsigned char sharedMemory[STAGES * kStageBytes];
static inline unsigned char* sharedStart() { return sharedMemory; }
static inline unsigned char byteAt(unsigned char const* matrix, int row, int k)
{
    return matrix[row * kDepth + (k / 16 ^ row % 8) * 16 + k % 16];
}
static inline float numberOf(unsigned char byte, Fp8) { return widen(Fp8{byte}); }
static inline int numberOf(unsigned char byte, signed char) { return (signed char)byte; }
static void multiplyStage(Sum (&d)[BN / 8][4], unsigned char const* a, unsigned char const* b)
{
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int j = 0; j < BN / 8; ++j)
        for (int i = 0; i < 4; ++i)
            for (int k = 0; k < kDepth; ++k)
                d[j][i] += numberOf(byteAt(a, warp * 16 + lane / 4 + i / 2 * 8, k), In{})
                    * numberOf(byteAt(b, j * 8 + lane % 4 * 2 + i % 2, k), In{});
}
template <int Pending> static inline void waitForProducts(Sum (&)[BN / 8][4]) {}
static inline void publishCopies() {}
#else
extern __shared__ unsigned char sharedMemory[];
static __device__ __forceinline__ unsigned char* sharedStart()
{
    return sharedMemory + (1024u - sharedAddress(sharedMemory) % 1024u) % 1024u;
}
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
//! Rows of 128 bytes, eight of them 1,024 bytes apart from the next eight, pieces of 16 bytes exchanged by row.
static __device__ __forceinline__ u64 operandAt(unsigned address)
{
    return (u64)((address & 0x3ffffu) >> 4) | 1ull << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
static __device__ __forceinline__ void multiplyStage(Sum (&d)[BN / 8][4], unsigned char const* a, unsigned char const* b)
{
    u64 const left = operandAt(sharedAddress(a) + threadIdx.x / 128 * 64 * kDepth);
    u64 const right = operandAt(sharedAddress(b));
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("" : SUM_OPERAND(d[j][i]) :: "memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kDepth / 32; ++k)
        addProducts(d, left + 2 * k, right + 2 * k);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Pending>
static __device__ __forceinline__ void waitForProducts(Sum (&d)[BN / 8][4])
{
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("" : SUM_OPERAND(d[j][i]) :: "memory");
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Pending) : "memory");
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("" : SUM_OPERAND(d[j][i]) :: "memory");
}
static __device__ __forceinline__ void publishCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
static __device__ __forceinline__ void multiplyStage(Sum (&d)[BN / 8][4], unsigned char const* a, unsigned char const* b)
{
    int const lane = threadIdx.x % 32;
    int const row = threadIdx.x / 32 * 16 + lane % 16;
#pragma unroll
    for (int k = 0; k < kDepth / 32; ++k)
    {
        unsigned left[4];
        loadMatrices(left, a + row * kDepth + ((k * 2 + lane / 16) ^ row % 8) * 16);
#pragma unroll
        for (int j = 0; j < BN / 8; j += 2)
        {
            int const column = j * 8 + lane / 16 * 8 + lane % 8;
            unsigned right[4];
            loadMatrices(right, b + column * kDepth + ((k * 2 + lane / 8 % 2) ^ lane % 8) * 16);
            multiplyAddBytes(d[j], left, right[0], right[1]);
            multiplyAddBytes(d[j + 1], left, right[2], right[3]);
        }
    }
}
template <int Pending> static __device__ __forceinline__ void waitForProducts(Sum (&)[BN / 8][4]) {}
static __device__ __forceinline__ void publishCopies() {}
#endif
#endif
//! In one access, whatever the type is made of; not through the read-only cache, as former kernels may still write.
template <typename T>
static __device__ __forceinline__ T loadOnce(T const* from)
{
#ifdef TENON_EMULATED
    return *from;
#else
    if constexpr (sizeof(T) == 16)
    {
        Pack<unsigned, 4> raw;
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(raw.v[0]), "=r"(raw.v[1]), "=r"(raw.v[2]), "=r"(raw.v[3]) : "l"(from));
        return *(T const*)&raw;
    }
    else if constexpr (sizeof(T) == 8)
    {
        u64 raw;
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(raw) : "l"(from));
        return *(T const*)&raw;
    }
    else if constexpr (sizeof(T) == 4)
    {
        unsigned raw;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(raw) : "l"(from));
        return *(T const*)&raw;
    }
    else
        return *from;
#endif
}
)"};

constexpr char kConversionText[]{R"(
//! Between 2^23 and 2^24 the last bits of a float are a whole number: conversions by additions, which are four times as
//! fast as the instructions for it.
constexpr unsigned kWholeBits = 0x4B400000u;
constexpr float kWhole = 12582912.0f;

static __device__ __forceinline__ float realOf(float sum) { return sum; }
static __device__ __forceinline__ float realOf(int sum)
{
    return HAS_SMALL_SUMS ? fromBits(kWholeBits + (unsigned)sum) - kWhole : (float)sum;
}
//! The last byte is x, rounded half to even, within int8; 0 where it is no number.
static __device__ __forceinline__ unsigned roundedBits(float x)
{
    return ARE_NUMBERS || x == x ? toBits(fminf(fmaxf(x, -128.0f), 127.0f) + kWhole) : kWholeBits;
}
static __device__ __forceinline__ void putResult(signed char& to, float x) { to = (signed char)roundedBits(x); }
template <typename T>
static __device__ __forceinline__ void putResult(T& to, float x) { put(to, x); }
template <typename T, int N>
static __device__ __forceinline__ void putResults(Pack<T, N>& to, float const (&x)[N])
{
#pragma unroll
    for (int k = 0; k < N; ++k)
        putResult(to.v[k], x[k]);
}
template <typename T, int N>
static __device__ __forceinline__ void realsOf(Pack<T, N> const& from, float (&to)[N])
{
#pragma unroll
    for (int k = 0; k < N; ++k)
        to[k] = (float)widen(from.v[k]);
}
#ifndef TENON_EMULATED
static __device__ __forceinline__ void putResults(Pack<signed char, 4>& to, float const (&x)[4])
{
    unsigned const low = __byte_perm(roundedBits(x[0]), roundedBits(x[1]), 0x0040);
    unsigned const high = __byte_perm(roundedBits(x[2]), roundedBits(x[3]), 0x0040);
    *(unsigned*)&to = __byte_perm(low, high, 0x5410);
}
static __device__ __forceinline__ void realsOf(Pack<signed char, 4> const& from, float (&to)[4])
{
    unsigned const bits = *(unsigned const*)&from ^ 0x80808080u; // From 0 to 255.
    to[0] = fromBits(__byte_perm(bits, 0x4B000000u, 0x7650)) - 8388736.0f;
    to[1] = fromBits(__byte_perm(bits, 0x4B000000u, 0x7651)) - 8388736.0f;
    to[2] = fromBits(__byte_perm(bits, 0x4B000000u, 0x7652)) - 8388736.0f;
    to[3] = fromBits(__byte_perm(bits, 0x4B000000u, 0x7653)) - 8388736.0f;
}
#endif

)"};

constexpr char kQuantizedTilesText[]{R"(
//! Where the window of a result begins in x, or the row of a matrix.
struct Place
{
    i64 start; // -1: there is no such row.
    int y, x;  // Of the window's first pixel.
};

static __device__ __forceinline__ Place placeOf(QuantizedTilesParams const& p, int row)
{
    if (!HAS_WINDOW)
        return {row < p.rows ? (i64)row * p.pieces * 16 : -1, 0, 0};
    int const column = row % p.outWidth;
    int const line = row / p.outWidth % p.outHeight;
    int const image = row / p.outWidth / p.outHeight;
    int const y = line * p.strideY - p.padY;
    int const x = column * p.strideX - p.padX;
    return {(((i64)image * p.height + y) * p.width + x) * p.piecesOfTap * 16, row < p.rows ? y : -(1 << 30), x};
}

//! A piece of 16 bytes of the depth, seen from the first pixel of a window.
struct Piece
{
    i64 offset;
    int dy, dx;
    bool isInside;
};

static __device__ __forceinline__ Piece pieceOf(QuantizedTilesParams const& p, int piece)
{
    if (!HAS_WINDOW)
        return {(i64)piece * 16, 0, 0, piece < p.pieces};
    int const tap = piece / p.piecesOfTap;
    int const line = tap / p.windowWidth;
    int const dy = line * p.dilationY;
    int const dx = (tap - line * p.windowWidth) * p.dilationX;
    return {((i64)(dy * p.width + dx) * p.piecesOfTap + piece - tap * p.piecesOfTap) * 16, dy, dx, piece < p.pieces};
}

static __device__ __forceinline__ bool isThere(QuantizedTilesParams const& p, Place const& place, Piece const& piece)
{
    if (!HAS_WINDOW)
        return piece.isInside && place.start >= 0;
    return piece.isInside && (unsigned)(place.y + piece.dy) < (unsigned)p.height
        && (unsigned)(place.x + piece.dx) < (unsigned)p.width;
}

//! What a thread copies of each stage: one piece of four rows of x and of every 32nd column of w.
struct Copies
{
    unsigned char const* x;
    unsigned char const* w;
    Place places[4];
    int row, column; // The thread's first.
};

static __device__ __forceinline__ Copies copiesOf(QuantizedTilesParams const& p, int row0, int column0)
{
    Copies own;
    own.row = row0 + (int)threadIdx.x / 8;
    own.column = column0 + (int)threadIdx.x / 8;
    own.x = (unsigned char const*)p.x + (i64)blockIdx.z * p.xBatch;
    own.w = (unsigned char const*)p.w + (i64)blockIdx.z * p.wBatch + (i64)own.column * p.pieces * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        own.places[i] = placeOf(p, own.row + 32 * i);
    return own;
}

//! Operands that lie on no multiple of 16 bytes.
static __device__ __forceinline__ void copyBytes(
    QuantizedTilesParams const& p, Copies const& own, unsigned char* to, int at)
{
    Piece const piece = pieceOf(p, at);
#pragma unroll 1
    for (int i = 0; i < 4 + BN / 32; ++i)
    {
        Place const place = placeOf(p, own.row + 32 * i);
        bool const isRead = i < 4 ? isThere(p, place, piece) : piece.isInside && own.column + 32 * (i - 4) < p.columns;
        unsigned char const* const from = i < 4 ? own.x + place.start + piece.offset
                                                : own.w + ((i64)(i - 4) * 32 * p.pieces + at) * 16;
#pragma unroll 1
        for (int k = 0; k < 16; ++k)
            to[32 * i * kDepth + k] = isRead ? from[k] : (unsigned char)0;
    }
}

static __device__ __forceinline__ void copyStage(
    QuantizedTilesParams const& p, Copies const& own, unsigned char* stage, int step)
{
    int const first = (int)threadIdx.x / 8;
    int const at = step * 8 + (int)threadIdx.x % 8;
    unsigned char* const to = stage + first * kDepth + ((int)threadIdx.x % 8 ^ first % 8) * 16;
    if (!p.isAligned)
        return copyBytes(p, own, to, at);
    Piece const piece = pieceOf(p, at);
#pragma unroll
    for (int i = 0; i < 4; ++i)
    {
        bool const isRead = isThere(p, own.places[i], piece);
        copyAsync(to + 32 * i * kDepth, isRead ? own.x + own.places[i].start + piece.offset : own.x, isRead);
    }
    unsigned char const* w = own.w + (i64)at * 16;
    i64 const next = (i64)p.pieces * 16 * 32;
#pragma unroll
    for (int i = 0; i < BN / 32; ++i)
    {
        bool const isRead = piece.isInside && own.column + 32 * i < p.columns;
        copyAsync(to + (kRows + 32 * i) * kDepth, isRead ? w + i * next : own.x, isRead);
    }
}

//! Of the four columns that a thread finishes.
struct Factors { float scale[4], bias[4]; };

constexpr int kQuads = BN / 4;

static __device__ __forceinline__ Factors factorsOf(QuantizedTilesParams const& p, int column)
{
    Factors own;
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        bool const isThere = column + k < p.columns;
        own.scale[k] = isThere ? ((float const*)p.scales)[(column + k) * p.scaleStep] * p.factor : 0.0f;
        own.bias[k] = isThere && p.hasBias ? widen(((Bias const*)p.bias)[column + k]) : 0.0f;
    }
    return own;
}

//! N columns of a row, from the k-th of the thread's four.
template <int N>
static __device__ __forceinline__ void finishRow(QuantizedTilesParams const& p, Pack<Sum, 4> const& sums,
    Factors const& own, Extras<N> const& extras, i64 at, int k)
{
    float v[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        v[i] = fmaf(realOf(sums.v[k + i]), own.scale[k + i], own.bias[k + i]);
    applyEpilogue(extras, v);
    if (IS_ROUNDED)
#pragma unroll
        for (int i = 0; i < N; ++i)
            v[i] *= p.outFactor;
    Pack<Out, N> pack;
    putResults(pack, v);
    *(Pack<Out, N>*)((Out*)p.y + at) = pack;
}

constexpr int kEach = kRows * kQuads / kThreads; // Rows of a thread.
constexpr int kStep = kThreads / kQuads;
constexpr int kTogether = kEach < 8 ? kEach : 8;

//! All rows of the tile are there: what is read with some of them is on its way before the first of them is stored.
static __device__ __forceinline__ void finishWhole(
    QuantizedTilesParams const& p, Sum const* sums, Factors const& own, i64 at)
{
    i64 const next = (i64)kStep * p.columns;
#pragma unroll 1
    for (int first = 0; first < kEach; first += kTogether)
    {
        Extras<4> extras[kTogether];
        Pack<Sum, 4> four[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
            loadExtras(p.extra, at + i * next, extras[i]);
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
            four[i] = *(Pack<Sum, 4> const*)(sums + i * kStep * kPitch);
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
            finishRow<4>(p, four[i], own, extras[i], at + i * next, 0);
        sums += kTogether * kStep * kPitch;
        at += kTogether * next;
    }
}

static __device__ __forceinline__ void finishTile(
    QuantizedTilesParams const& p, Sum const* sums, Factors const& own, int row0, int column0)
{
    int const quad = (int)threadIdx.x % kQuads * 4;
    int const r0 = (int)threadIdx.x / kQuads;
    int const count = p.columns - column0 - quad;
    if (count <= 0)
        return;
    i64 const start = p.yStart + (i64)blockIdx.z * p.yBatch + (i64)(row0 + r0) * p.columns + column0 + quad;
    if (p.isWide && row0 + kRows <= p.rows)
        return finishWhole(p, sums + r0 * kPitch + quad, own, start);
#pragma unroll 1
    for (int r = r0; r < kRows && row0 + r < p.rows; r += kStep)
    {
        Pack<Sum, 4> const four = *(Pack<Sum, 4> const*)(sums + r * kPitch + quad);
        i64 const at = start + (i64)(r - r0) * p.columns;
#pragma unroll
        for (int k = 0; k < 4; ++k)
        {
            if (k >= count)
                continue;
            Extras<1> one;
            loadExtras(p.extra, at + k, one);
            finishRow<1>(p, four, own, one, at + k, k);
        }
    }
}

TENON_BOUNDED_KERNEL(__launch_bounds__(kThreads, BLOCKS), quantizedTiles, QuantizedTilesParams)
{
    unsigned char* const shared = sharedStart();
    int const row0 = (int)(blockIdx.x / (unsigned)p.tilesAcross) * kRows;
    int const column0 = (int)(blockIdx.x % (unsigned)p.tilesAcross) * BN;
    Copies const own = copiesOf(p, row0, column0);
    int const steps = (p.pieces + 7) / 8;
    constexpr int kAhead = STAGES - 1 - PENDING;
#pragma unroll 1
    for (int step = 0; step < kAhead; ++step)
    {
        if (step < steps)
            copyStage(p, own, shared + step * kStageBytes, step);
        commitCopies();
    }
    Factors const factors = factorsOf(p, column0 + (int)threadIdx.x % kQuads * 4);
    Sum d[BN / 8][4];
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            d[j][i] = 0;
    int stage = 0, nextStage = kAhead;
    for (int step = 0; step < steps; ++step)
    {
        waitForCopies<kAhead - 1>();
        publishCopies();
        __syncthreads();
        unsigned char const* const operands = shared + stage * kStageBytes;
        multiplyStage(d, operands, operands + kRows * kDepth);
        if (step + kAhead < steps)
            copyStage(p, own, shared + nextStage * kStageBytes, step + kAhead);
        commitCopies();
        waitForProducts<PENDING>(d);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        nextStage = nextStage + 1 == STAGES ? 0 : nextStage + 1;
    }
    waitForProducts<0>(d);
    waitForCopies<0>();
    __syncthreads(); // Sums take the place of operands.
    Sum* const sums = (Sum*)shared;
    int const lane = (int)threadIdx.x % 32;
    Sum* const mine = sums + ((int)threadIdx.x / 32 * 16 + lane / 4) * kPitch + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
    {
        *(Pack<Sum, 2>*)(mine + j * 8) = Pack<Sum, 2>{{d[j][0], d[j][1]}};
        *(Pack<Sum, 2>*)(mine + 8 * kPitch + j * 8) = Pack<Sum, 2>{{d[j][2], d[j][3]}};
    }
    __syncthreads();
    finishTile(p, sums, factors, row0, column0);
}
)"};

//! One instruction of a warpgroup: 64 rows by all columns by 32 bytes.
std::string stageProductText(int columns, bool isFp8)
{
    std::string registers;
    std::string operands;
    for (int i = 0; i < columns / 2; ++i)
    {
        registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
        operands += fmt::format("{}SUM_OPERAND(d[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
    }
    return fmt::format("#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n"
                       "static __device__ __forceinline__ void addProducts(Sum (&d)[BN / 8][4], u64 left, u64 right)\n"
                       "{{\n    asm volatile(\"{{.reg .pred on; setp.eq.u32 on, 1, 1; "
                       "wgmma.mma_async.sync.aligned.m64n{0}k32.{1} {{{2}}}, %{3}, %{4}, on{5};}}\"\n"
                       "        : {6} : \"l\"(left), \"l\"(right));\n}}\n#endif\n",
        columns, isFp8 ? "f32.e4m3.e4m3" : "s32.s8.s8", registers, columns / 2, columns / 2 + 1, isFp8 ? ", 1, 1" : "",
        operands);
}
} // namespace

std::string quantizedTilesText(QuantizedTilesForm const& form)
{
    bool const isFp8 = form.in == DType::kFP8;
    std::string text = kQuantizedTilesParamsText;
    text += fmt::format("typedef {} In;\ntypedef {} Sum;\ntypedef {} Out;\ntypedef {} Bias;\n"
                        "#define SUM_OPERAND(x) \"+{}\"(x)\n"
                        "constexpr int BN = {}, STAGES = {}, PENDING = {}, BLOCKS = {};\n"
                        "constexpr bool HAS_WINDOW = {}, IS_ROUNDED = {}, HAS_SMALL_SUMS = {}, ARE_NUMBERS = {};\n",
        isFp8 ? "Fp8" : "signed char", isFp8 ? "float" : "int", form.out, form.bias, isFp8 ? "f" : "r",
        form.tile.columns, form.tile.stages, form.tile.pending, form.tile.blocks, form.hasWindow,
        form.out == "signed char" || form.out == "Fp8", form.hasSmallSums, form.areNumbers);
    text += matrixText();
    text += fmt::format(fmt::runtime(kWarpText), isFp8 ? 890 : 800, isFp8 ? "f32.e4m3.e4m3.f32" : "s32.s8.s8.s32");
    text += stageProductText(form.tile.columns, isFp8);
    text += kFragmentText;
    return wholeText(text + kConversionText + form.epilogue + kQuantizedTilesText);
}

Result<std::string> quantizedEpilogueText(Epilogue const& epilogue, std::vector<DType> const& extras)
{
    Expr value = Expr::input(0);
    int32_t next{1};
    std::string members;
    std::string loads;
    std::string reals;
    std::string operands;
    for (EpilogueStep const& step : epilogue.steps)
    {
        bool const takesOne = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        value = Epilogue::body(step, value, Expr::input(takesOne ? next : 0));
        if (!takesOne)
            continue;
        auto const at = static_cast<size_t>(next - 1);
        if (at >= extras.size())
            return badArgument("extra input {} of its epilogue is missing", at);
        bool const isNarrow = extras[at] == DType::kINT8 || extras[at] == DType::kFP8;
        std::string const type = TENON_TRY(storageOf(extras[at]));
        members += fmt::format("    Pack<{}, N> e{};\n", type, at);
        loads += fmt::format("    to.e{1} = loadOnce((Pack<{0}, N> const*)(({0} const*)extra[{1}] + at));\n", type, at);
        reals += fmt::format("    float r{0}[N];\n    realsOf(from.e{0}, r{0});\n", at);
        operands += isNarrow ? fmt::format(", r{}[k] * {:a}f", at, step.alpha) : fmt::format(", r{}[k]", at);
        ++next;
    }
    auto const count = static_cast<size_t>(next);
    TensorType const real{DType::kFLOAT, {}};
    Tape const tape = TENON_TRY(makeTape(value, std::vector<TensorType const*>(count, &real)));
    return TENON_TRY(printFunction("epilogue", tape, std::vector(count, TapeKind::kReal)))
        + fmt::format("template <int N>\nstruct Extras\n{{\n{0}}};\n"
                      "template <int N>\nstatic __device__ __forceinline__ void loadExtras(\n"
                      "    void const* const (&extra)[4], i64 at, Extras<N>& to)\n{{\n{1}}}\n"
                      "template <int N>\nstatic __device__ __forceinline__ void applyEpilogue(\n"
                      "    Extras<N> const& from, float (&v)[N])\n{{\n{2}#pragma unroll\n"
                      "    for (int k = 0; k < N; ++k)\n        v[k] = epilogue(v[k]{3});\n}}\n",
            members, loads, reals, operands);
}

} // namespace tenon::cuda
