// CopyEngineText: the instructions, and what stands in for them without a GPU.
#include "backends/cuda/copy_engine_text.h"

#include <fmt/format.h>

namespace tenon::cuda
{

namespace
{
//! Addresses are those of the shared window.
constexpr char kCopyEngineText[]{R"(
#ifdef TENON_EMULATED
template <typename T = Stored>
static inline T* elementAt(u64 const (&map)[16], int row, int column)
{
    bool const isThere = row < (int)map[2] && column < (int)map[1];
    return isThere ? (T*)(map[0] + row * map[3]) + column : nullptr;
}
template <typename T = Stored>
static inline float numberAt(u64 const (&map)[16], int row, int column)
{
    T const* const at = elementAt<T>(map, row, column);
    return at != nullptr ? (float)widen(*at) : 0.0f;
}
#else
extern __shared__ unsigned char sharedMemory[];

static __device__ __forceinline__ void initBarrier(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}
//! Arrives, and has the phase wait for so many bytes, too.
static __device__ __forceinline__ void expectBytes(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}
static __device__ __forceinline__ void waitBarrier(unsigned barrier, unsigned parity)
{
    unsigned isOver;
    do
        asm volatile("{.reg .pred isOver; mbarrier.try_wait.parity.shared::cta.b64 isOver, [%1], %2;\n"
            "selp.u32 %0, 1, 0, isOver;}" : "=r"(isOver) : "r"(barrier), "r"(parity) : "memory");
    while (isOver == 0);
}
//! A box of columns from there on; what is not there becomes zeros.
static __device__ __forceinline__ void fetch(unsigned to, u64 const (&map)[16], unsigned barrier, int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" :: "r"(to), "l"(map), "r"(barrier), "r"(column), "r"(row) : "memory");
}
//! Rows of 128 or 64 bytes behind each other, with their pieces exchanged within as many bytes; where rows are the
//! depth, panels of 64 columns are 8,192 bytes apart.
template <int ROW = 128>
static __device__ __forceinline__ u64 operandAt(unsigned address, bool isOfPanels)
{
    u64 const across = isOfPanels ? 8192 >> 4 : 1, order = ROW == 128 ? 1 : 2;
    return (u64)((address & 0x3ffffu) >> 4) | across << 16 | (u64)(ROW * 8 >> 4) << 32 | order << 62;
}
#endif
)"};

//! {0}: registers of the sum as placeholders; {1}: those of the left operand; {2}, {3}: numbers of those behind it;
//! {4}: columns; {5}: depth and types; {6}: registers of the sum as operands; {7}: what stands behind the operands;
//! {8}: the type of sums; {9}: how the left operand is declared; {10}: it as operands.
constexpr char kProductText[]{R"(
static __device__ __forceinline__ void addProducts({8} (&d)[BN / 8][4], {9}, u64 b, int isAdded)
{{
    asm volatile("{{.reg .pred isAdded; setp.ne.s32 isAdded, %{3}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{4}{5} {{{0}}}, {1}, %{2}, isAdded{7};}}"
        : {6}
        : {10}, "l"(b), "r"(isAdded));
}}
)"};
} // namespace

std::string_view copyEngineText() noexcept
{
    return kCopyEngineText;
}

std::string warpgroupProductText(std::string const& stored, int columns, bool isTurnedB, bool isOfRegisters)
{
    bool const isInt8 = stored == "signed char";
    bool const isFp8 = stored == "Fp8";
    std::string_view const halves = stored == "Half" ? "k16.f32.f16.f16" : "k16.f32.bf16.bf16";
    std::string_view const types = isInt8 ? "k32.s32.s8.s8" : isFp8 ? "k32.f32.e4m3.e4m3" : halves;
    std::string const turned = fmt::format("{}, {}", isOfRegisters ? "" : ", 0", isTurnedB ? 0 : 1);
    std::string const behind = isInt8 ? "" : isFp8 ? ", 1, 1" : ", 1, 1" + turned;
    std::string placeholders;
    std::string operands;
    int const registers = columns / 2;
    for (int i = 0; i < registers; ++i)
    {
        placeholders += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
        operands += fmt::format("{}\"+{}\"(d[{}][{}])", i == 0 ? "" : ", ", isInt8 ? 'r' : 'f', i / 4, i % 4);
    }
    int const next = registers + (isOfRegisters ? 4 : 1);
    std::string const left = isOfRegisters
        ? fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1, registers + 2, registers + 3)
        : fmt::format("%{}", registers);
    return fmt::format(kProductText, placeholders, left, next, next + 1, columns, types, operands, behind,
        isInt8 ? "int" : "float", isOfRegisters ? "unsigned const (&a)[4]" : "u64 a",
        isOfRegisters ? R"("r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))" : R"("l"(a))");
}

} // namespace tenon::cuda
