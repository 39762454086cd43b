// WarpgroupText: the instructions, and what stands in for them without a GPU.
#include "backends/cuda/warpgroup_text.h"

#include "backends/cuda/kernel_text.h"

namespace tenon::cuda
{

namespace
{
//! Tiles are rows of 64 elements: a row is 128 bytes, whose eight pieces are exchanged by the row's number ("128-byte
//! swizzle" of the PTX ISA). d as in multiplyAdd, for each warp's sixteen rows of 64.
constexpr char kTileText[]{R"(
constexpr int TILE = 64 * 64;
static __device__ __forceinline__ int pieceAt(int row, int piece) { return row * 64 + (piece ^ row % 8) * 8; }
#ifdef TENON_EMULATED
static Pack<u64, 2> sharedMemory[227 * 1024 / 16];
static inline Stored* sharedStart() { return (Stored*)(((u64)sharedMemory + 1023) / 1024 * 1024); }
template <bool isTurned, int N>
static void multiplyTile(float (&d)[N][4], unsigned const (&a)[4], Stored const* tile, int step, bool isAdded)
{
    static unsigned left[1024][4];
    unsigned const t = threadIdx.x;
    unsigned const warp = t / 32 * 32;
    std::memcpy(left[t], a, sizeof a);
    __syncthreads();
    for (unsigned n = 0; n < N; ++n)
        for (unsigned i = 0; i < 4; ++i)
        {
            unsigned const row = t % 32 / 4 + i / 2 * 8;
            unsigned const column = n * 8 + t % 4 * 2 + i % 2;
            float sum = isAdded ? d[n][i] : 0.0f;
            for (unsigned k = 0; k < 16; ++k)
            {
                unsigned const depth = step * 16 + k;
                unsigned const r = isTurned ? depth : column;
                unsigned const c = isTurned ? column : depth;
                sum += halfOf(left[warp + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], k % 2, Stored{})
                    * widen(tile[pieceAt(r, c / 8) + c % 8]);
            }
            d[n][i] = sum;
        }
    __syncthreads();
}
static inline void multiplyKeys(
    float (&d)[TILE_KEYS / 8][4], unsigned const (&a)[4], Stored const* tile, int step, bool isAdded)
{
    multiplyTile<false>(d, a, tile, step, isAdded);
}
static inline void multiplyValues(float (&d)[8][4], unsigned const (&a)[4], Stored const* tile, int step, bool isAdded)
{
    multiplyTile<true>(d, a, tile, step, isAdded);
}
static inline void beginProducts() {}
static inline void commitProducts() {}
template <int Pending> static inline void waitForProducts() {}
static inline void publishCopies() {}
static inline void waitForGroup() { __syncthreads(); }
template <int N> static inline void settled(float (&)[N][4]) {}
#else
extern __shared__ unsigned char sharedMemory[];
static __device__ __forceinline__ Stored* sharedStart()
{
    return (Stored*)(sharedMemory + (1024u - sharedAddress(sharedMemory) % 1024u) % 1024u);
}
//! Eight rows are 1,024 bytes apart from the next eight.
static __device__ __forceinline__ u64 operandAt(Stored const* tile)
{
    return (u64)((sharedAddress(tile) & 0x3ffffu) >> 4) | 1ull << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
//! Sixteen columns of q by the same ones of a tile of keys; `isAdded`, a constant: to what is there.
static __device__ __forceinline__ void multiplyKeys(
    float (&d)[TILE_KEYS / 8][4], unsigned const (&a)[4], Stored const* tile, int step, bool isAdded)
{
    if (isAdded)
        addRows(d, a, operandAt(tile) + 2 * step);
    else
        multiplyRows(d, a, operandAt(tile) + 2 * step);
}
//! Weights of sixteen keys by their values.
static __device__ __forceinline__ void multiplyValues(
    float (&d)[8][4], unsigned const (&a)[4], Stored const* tile, int step, bool isAdded)
{
    if (isAdded)
        addColumns(d, a, operandAt(tile + step * 16 * 64));
    else
        multiplyColumns(d, a, operandAt(tile + step * 16 * 64));
}
//! Keeps the compiler from moving what reads or writes these across it.
template <int N>
static __device__ __forceinline__ void settled(float (&d)[N][4])
{
#pragma unroll
    for (int n = 0; n < N; ++n)
        asm volatile("" : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3]) :: "memory");
}
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
static __device__ __forceinline__ void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void commitProducts()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//! Until at most so many groups of products are under way.
template <int Pending>
static __device__ __forceinline__ void waitForProducts()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Pending) : "memory");
}
static __device__ __forceinline__ void publishCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
static __device__ __forceinline__ void beginProducts() {}
static __device__ __forceinline__ void commitProducts() {}
template <int Pending> static __device__ __forceinline__ void waitForProducts() {}
static __device__ __forceinline__ void publishCopies() {}
#endif
//! The threads of one warpgroup meet.
static __device__ __forceinline__ void waitForGroup()
{
    asm volatile("bar.sync %0, 128;" :: "r"(1 + (int)threadIdx.x / 128) : "memory");
}
#endif
//! Until at most so many groups of copies are under way.
static __device__ __forceinline__ void waitForOlderCopies(int pending)
{
    switch (pending)
    {
    case 0: return waitForCopies<0>();
    case 1: return waitForCopies<1>();
    case 2: return waitForCopies<2>();
    case 3: return waitForCopies<3>();
    case 4: return waitForCopies<4>();
    case 5: return waitForCopies<5>();
    case 6: return waitForCopies<6>();
    default: return waitForCopies<7>();
    }
}
)"};

//! {0}: the function; {1}: registers of the sum as placeholders; {2}: the type; {3}: 1 where the right operand's rows
//! are its depth; {4}: registers of the sum as operands; {5}: whether products are added to what is there; {6}:
//! columns; {7}: pieces of eight columns; {8} to {12}: numbers of the registers behind the sum's.
constexpr char kInstructionText[]{R"(
static __device__ __forceinline__ void {0}(float (&d)[{7}][4], unsigned const (&a)[4], u64 b)
{{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("{{.reg .pred isAdded; setp.ne.s32 isAdded, {5}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{6}k16.f32.{2}.{2} {{{1}}}, {{%{8}, %{9}, %{10}, %{11}}}, %{12}, isAdded, "
        "1, 1, {3};}}"
        : {4}
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#else
    asm volatile("trap;"); // Other GPUs are not offered these kernels.
#endif
}}
)"};

//! A product of 64 rows in registers with so many columns in shared memory.
std::string instructionText(char const* name, std::string_view type, int columns, bool isTurned, bool isAdded)
{
    std::string placeholders;
    std::string operands;
    int const sums = columns / 2; // Of a thread.
    for (int i = 0; i < sums; ++i)
    {
        placeholders += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
        operands += fmt::format("{}\"{}f\"(d[{}][{}])", i == 0 ? "" : ", ", isAdded ? '+' : '=', i / 4, i % 4);
    }
    return fmt::format(kInstructionText, name, placeholders, type, isTurned ? 1 : 0, operands, isAdded ? 1 : 0, columns,
        columns / 8, sums, sums + 1, sums + 2, sums + 3, sums + 4);
}
} // namespace

std::string warpgroupText(std::string const& stored, int keys)
{
    std::string_view const type = stored == "Half" ? "f16" : "bf16";
    return fmt::format("constexpr int TILE_KEYS = {};\n#ifndef TENON_EMULATED\n", keys)
        + instructionText("multiplyRows", type, keys, false, false)
        + instructionText("addRows", type, keys, false, true)
        + instructionText("multiplyColumns", type, 64, true, false)
        + instructionText("addColumns", type, 64, true, true) + "#endif\n" + kTileText;
}

} // namespace tenon::cuda
