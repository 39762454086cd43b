// The instructions of AMX. Those of the compiler's headers tell it nothing of the memory that they read and write, so
// that it would move stores across them. Included by one file that is compiled once per instruction set.
#pragma once

#include "backends/cpu/amx.h"
#include "backends/cpu/simd.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
struct alignas(64) AmxConfiguration
{
    uint8_t palette{1};
    uint8_t startRow{0};
    uint8_t reserved[14]{};
    uint16_t rowBytes[16]{};
    uint8_t rows[16]{};
};

//! The registers of the calling thread, all whole, from here to the end of the scope. Unconfigured ones cost nothing
//! when the system changes between threads.
class AmxScope
{
  public:
    AmxScope()
    {
        AmxConfiguration whole;
        for (int i = 0; i < kRegisters; ++i)
        {
            whole.rowBytes[i] = static_cast<uint16_t>(kAmxRowBytes);
            whole.rows[i] = static_cast<uint8_t>(kAmxRows);
        }
        asm volatile("ldtilecfg %0" ::"m"(whole));
    }
    ~AmxScope()
    {
        asm volatile("tilerelease");
    }
    AmxScope(AmxScope const&) = delete;
    AmxScope& operator=(AmxScope const&) = delete;

  private:
    static constexpr int kRegisters{8};
};

template <int Register>
TENON_INLINE void clearAmx()
{
    asm volatile("tilezero %%tmm%c0" ::"i"(Register));
}
//! Rows that lie `stride` bytes apart.
template <int Register>
TENON_INLINE void loadAmx(void const* from, int64_t stride = kAmxRowBytes)
{
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(Register) : "memory");
}
template <int Register>
TENON_INLINE void storeAmx(void* to, int64_t stride)
{
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(Register) : "memory");
}

//! Sum[row][column] += quads of int8 of the row times those of the column, in int32. kParts: registers that 64 bytes of
//! rows, or of a panel, take.
struct AmxInt8
{
    static constexpr int64_t kParts{1};

    template <int Sum, int Rows, int Columns>
    TENON_INLINE void add()
    {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Rows), "i"(Columns));
    }
};
//! The same of pairs of bfloat16, in float32.
struct AmxBfloats
{
    static constexpr int64_t kParts{1};

    template <int Sum, int Rows, int Columns>
    TENON_INLINE void add()
    {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Rows), "i"(Columns));
    }
};
//! Of pairs of float16, each number the sum of two of bfloat16 in registers of their own (half_parts.h).
struct AmxHalfParts : AmxBfloats
{
    static constexpr int64_t kParts{2};
};
//! Of pairs of float16 as they are. In bytes (tdpfp16ps: VEX.128.F2.0F38.W0 5C /r): assemblers of before 2023 lack it.
struct AmxHalves
{
    static constexpr int64_t kParts{1};

    template <int Sum, int Rows, int Columns>
    TENON_INLINE void add()
    {
        constexpr int kThird{(~Columns & 0xF) << 3 | 3};
        constexpr int kOperands{0xC0 | Sum << 3 | Rows};
        asm volatile(".byte 0xC4, 0xE2, %c0, 0x5C, %c1" ::"i"(kThird), "i"(kOperands));
    }
};
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
