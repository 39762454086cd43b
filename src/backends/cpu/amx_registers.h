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

//! Sum[row][column] += quads of int8 of the row times those of the column, in int32.
struct AmxInt8
{
    template <int Sum, int Rows, int Columns>
    TENON_INLINE void add()
    {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Rows), "i"(Columns));
    }
};
//! The same of pairs of bfloat16, in float32.
struct AmxBfloats
{
    template <int Sum, int Rows, int Columns>
    TENON_INLINE void add()
    {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(Rows), "i"(Columns));
    }
};
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
