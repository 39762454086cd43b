// MatrixText: the instructions, and what stands in for them without a GPU.
#include "backends/cuda/matrix_text.h"

#include <charconv>

namespace tenon::cuda
{

namespace
{
//! Fragments as in "Matrix fragments for mma.m16n8k16" of the PTX ISA. Every thread of a block calls these together.
constexpr char kMatrixText[]{R"(
#ifdef TENON_EMULATED
static inline float halfOf(unsigned pair, int which, Half) { return widen(Half{(unsigned short)(pair >> 16 * which)}); }
static inline float halfOf(unsigned pair, int which, Bfloat)
{
    return widen(Bfloat{(unsigned short)(pair >> 16 * which)});
}
template <typename T>
static void multiplyAdd(float (&c)[4], unsigned const (&a)[4], unsigned b0, unsigned b1, T type)
{
    static unsigned left[1024][4];
    static unsigned right[1024][2];
    unsigned const t = threadIdx.x;
    unsigned const warp = t / 32 * 32;
    std::memcpy(left[t], a, sizeof a);
    right[t][0] = b0;
    right[t][1] = b1;
    __syncthreads();
    for (int i = 0; i < 4; ++i)
    {
        unsigned const row = t % 32 / 4 + i / 2 * 8;
        unsigned const column = t % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 16; ++k)
            c[i] += halfOf(left[warp + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], k % 2, type)
                * halfOf(right[warp + column * 4 + k % 8 / 2][k / 8], k % 2, type);
    }
    __syncthreads();
}
static inline void loadFour(unsigned (&to)[4], void const* row, bool isTurned)
{
    static unsigned short const* rows[1024];
    unsigned const t = threadIdx.x;
    rows[t] = (unsigned short const*)row;
    __syncthreads();
    for (int i = 0; i < 4; ++i)
    {
        unsigned short const* const* const own = rows + t / 32 * 32 + i * 8;
        unsigned const lane = t % 32;
        unsigned const low = isTurned ? own[lane % 4 * 2][lane / 4] : own[lane / 4][lane % 4 * 2];
        unsigned const high = isTurned ? own[lane % 4 * 2 + 1][lane / 4] : own[lane / 4][lane % 4 * 2 + 1];
        to[i] = low | high << 16;
    }
    __syncthreads();
}
static inline void loadMatrices(unsigned (&to)[4], void const* row) { loadFour(to, row, false); }
static inline void loadTurned(unsigned (&to)[4], void const* row) { loadFour(to, row, true); }
template <typename T>
static unsigned pairOf(float low, float high, T)
{
    T a, b;
    put(a, low);
    put(b, high);
    return a.bits | (unsigned)b.bits << 16;
}
template <typename T>
static unsigned timesPair(unsigned a, unsigned b, T type)
{
    return pairOf(halfOf(a, 0, type) * halfOf(b, 0, type), halfOf(a, 1, type) * halfOf(b, 1, type), type);
}
static inline float powerOfTwo(float x) { return std::exp2(x); }
static inline void copyAsync(void* to, void const* from, bool isThere)
{
    if (isThere)
        std::memcpy(to, from, 16);
    else
        std::memset(to, 0, 16);
}
static inline void storeWords(void* to, unsigned const (&words)[4]) { std::memcpy(to, words, 16); }
static inline void commitCopies() {}
template <int Pending> static inline void waitForCopies() {}
#else
static __device__ __forceinline__ unsigned sharedAddress(void const* at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}
static __device__ __forceinline__ void multiplyAdd(
    float (&c)[4], unsigned const (&a)[4], unsigned b0, unsigned b1, Half)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}
static __device__ __forceinline__ void multiplyAdd(
    float (&c)[4], unsigned const (&a)[4], unsigned b0, unsigned b1, Bfloat)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm volatile("trap;"); // Such GPUs are not offered these kernels.
#endif
}
//! Four 8 × 8 matrices from shared memory: the lane gives the address of one row, eight lanes a matrix.
static __device__ __forceinline__ void loadMatrices(unsigned (&to)[4], void const* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(sharedAddress(row)) : "memory");
}
static __device__ __forceinline__ void loadTurned(unsigned (&to)[4], void const* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(sharedAddress(row)) : "memory");
}
static __device__ __forceinline__ unsigned pairOf(float low, float high, Half)
{
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    Half a, b;
    put(a, low);
    put(b, high);
    return a.bits | (unsigned)b.bits << 16;
#endif
}
static __device__ __forceinline__ unsigned pairOf(float low, float high, Bfloat)
{
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    Bfloat a, b;
    put(a, low);
    put(b, high);
    return a.bits | (unsigned)b.bits << 16;
#endif
}
//! Products of two pairs, each rounded.
static __device__ __forceinline__ unsigned timesPair(unsigned a, unsigned b, Half)
{
    unsigned pair;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
    return pair;
}
static __device__ __forceinline__ unsigned timesPair(unsigned a, unsigned b, Bfloat)
{
#if __CUDA_ARCH__ >= 800
    unsigned pair; // Minus zero is what adds nothing to any product.
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(a), "r"(b), "r"(0x80008000u));
    return pair;
#else
    return 0; // Such GPUs have no products of these.
#endif
}
static __device__ __forceinline__ float powerOfTwo(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
//! 16 bytes past the registers; what is not there becomes zeros and is not read.
static __device__ __forceinline__ void copyAsync(void* to, void const* from, bool isThere)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(sharedAddress(to)), "l"(from), "r"(isThere ? 16 : 0) : "memory");
#else
    *(Pack<u64, 2>*)to = isThere ? *(Pack<u64, 2> const*)from : Pack<u64, 2>{};
#endif
}
//! To memory in one access, which compilers make four of where the words come from registers.
static __device__ __forceinline__ void storeWords(void* to, unsigned const (&words)[4])
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}
static __device__ __forceinline__ void commitCopies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int Pending>
static __device__ __forceinline__ void waitForCopies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
#endif
}
#endif
)"};
} // namespace

std::string_view matrixText() noexcept
{
    return kMatrixText;
}

int32_t majorOf(Target const& target) noexcept
{
    return architectureNumber(target.architecture) / 10; // Behind it the minor one, a digit.
}

} // namespace tenon::cuda
