// Matrix products of a warpgroup (wgmma, sm_90a): sums in registers, operands in shared memory, the left one also in
// registers.
#pragma once

#include <cuda.h>

#include "instructions.cuh"

namespace tenon::cuda
{

// Operands lie in shared memory without swizzle: 16-byte pieces of eight products. Pieces of neighbouring rows are 16
// bytes apart, so a start 16 bytes on is the same operand one row down; `pieceBytes` is from one piece of a row to the
// next.
inline __device__ uint64_t operandAt(uint32_t address, uint32_t pieceBytes)
{
    return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(pieceBytes >> 4) << 16
        | static_cast<uint64_t>(128 >> 4) << 32;
}

// The right operand as the copy engine lays it out with a swizzle of 128 bytes: rows of 64 products, groups of eight
// rows at multiples of 1,024 bytes.
inline __device__ uint64_t swizzledAt(uint32_t address)
{
    return static_cast<uint64_t>((address & 0x3ffff) >> 4) | 1ull << 16 | static_cast<uint64_t>(1024 >> 4) << 32
        | 1ull << 62;
}

// Registers and shared memory that this thread wrote are ready for the products issued from here on.
__device__ inline void beginProducts()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void commitProducts()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Pending>
__device__ inline void waitForProducts()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// sums[64 x Columns] += left[64 x 16] * right[16 x Columns]. In d[j], thread (g, t) of warp w has columns 8j + 2t and
// 8j + 2t + 1 of row 16w + g, then of row 16w + g + 8.
template <int Columns>
struct Product;

template <>
struct Product<32>
{
    __device__ static void add(float (&d)[4][4], uint64_t left, uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                     "%16, %17, on, 1, 1, 0, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3])
                     : "l"(left), "l"(right));
    }

    __device__ static void add(float (&d)[4][4], const uint32_t (&left)[4], uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                     "{%16, %17, %18, %19}, %20, on, 1, 1, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
    }
};

template <>
struct Product<40>
{
    __device__ static void add(float (&d)[5][4], uint64_t left, uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19}, "
                     "%20, %21, on, 1, 1, 0, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
                     "+f"(d[4][2]), "+f"(d[4][3])
                     : "l"(left), "l"(right));
    }
};

template <>
struct Product<56>
{
    __device__ static void add(float (&d)[7][4], uint64_t left, uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n56k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}, "
                     "%28, %29, on, 1, 1, 0, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
                     "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                     "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3])
                     : "l"(left), "l"(right));
    }
};

template <>
struct Product<64>
{
    __device__ static void add(float (&d)[8][4], uint64_t left, uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                     "%32, %33, on, 1, 1, 0, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
                     "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                     "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]),
                     "+f"(d[7][2]), "+f"(d[7][3])
                     : "l"(left), "l"(right));
    }

    __device__ static void add(float (&d)[8][4], const uint32_t (&left)[4], uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                     "{%32, %33, %34, %35}, %36, on, 1, 1, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
                     "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                     "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]),
                     "+f"(d[7][2]), "+f"(d[7][3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
    }
};

template <>
struct Product<112>
{
    __device__ static void add(float (&d)[14][4], uint64_t left, uint64_t right)
    {
        asm volatile("{.reg .pred on; setp.eq.u32 on, 1, 1; wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55}, "
                     "%56, %57, on, 1, 1, 0, 0;}"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                     "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[4][0]), "+f"(d[4][1]),
                     "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                     "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]),
                     "+f"(d[7][2]), "+f"(d[7][3]), "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]),
                     "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]), "+f"(d[10][0]), "+f"(d[10][1]),
                     "+f"(d[10][2]), "+f"(d[10][3]), "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]),
                     "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]), "+f"(d[13][0]), "+f"(d[13][1]),
                     "+f"(d[13][2]), "+f"(d[13][3])
                     : "l"(left), "l"(right));
    }
};

// A barrier in shared memory that counts bytes as they arrive.
__device__ inline void makeBarrier(uint32_t barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ inline void publishBarriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The barrier's phase ends when so many bytes are there.
inline __device__ void expectBytes(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// One thread copies contiguous bytes, in 16s.
inline __device__ void copyBulk(uint32_t to, void const* from, uint32_t bytes, uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// One thread copies a box of a tensor in channels, columns, rows and images; what lies outside becomes zeros.
inline __device__ void copyBox(
    uint32_t to, CUtensorMap const& map, int channel, int column, int row, int image, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
                 "%4, %5}], [%6];" ::"r"(to),
                 "l"(&map), "r"(channel), "r"(column), "r"(row), "r"(image), "r"(barrier)
                 : "memory");
}

inline __device__ void prefetchMap(CUtensorMap const& map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

__device__ inline void waitForBarrier(uint32_t barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

__device__ inline void storeRemote(uint32_t to, float a, float b)
{
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
}

} // namespace tenon::cuda
