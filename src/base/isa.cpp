// Isa: what cpuid and the system say, and the cap that the knob sets.
#include "base/isa.h"

#include "base/knobs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cpuid.h>
#include <fstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenon
{

namespace
{
constexpr std::array<std::string_view, 8> kNames{
    "none", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx", "amx_fp16"};

struct Leaf
{
    uint32_t a{0};
    uint32_t b{0};
    uint32_t c{0};
    uint32_t d{0};
};

Leaf leafOf(uint32_t number, uint32_t part) noexcept
{
    Leaf leaf;
    if (__get_cpuid_count(number, part, &leaf.a, &leaf.b, &leaf.c, &leaf.d) == 0)
        return {};
    return leaf;
}

bool has(uint32_t word, int32_t bit) noexcept
{
    return (word >> bit & 1U) != 0;
}

//! Register state that the operating system saves.
uint64_t savedState() noexcept
{
    uint32_t low{0};
    uint32_t high{0};
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
}

//! AMX has 8 KiB of registers, which a process gets when it asks for them (Linux 5.16): its signal frames grow.
bool mayUseTiles() noexcept
{
    constexpr long kRequestPermission{0x1023}; // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData{18};              // XFEATURE_XTILE_DATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Isa capOfKnob() noexcept
{
    std::string const text = knobText(Knob::kIsa).value_or("");
    auto const found = std::find(kNames.begin() + 1, kNames.end(), text);
    return found == kNames.end() ? Isa::kAmxFp16 : static_cast<Isa>(found - kNames.begin());
}

Isa detect() noexcept
{
    Leaf const one = leafOf(1, 0);
    constexpr int32_t kOsxsave{27};
    if (!has(one.c, kOsxsave))
        return Isa::kNone;
    uint64_t const state = savedState();
    Leaf const seven = leafOf(7, 0);
    Leaf const sevenOne = leafOf(7, 1);
    bool const fma = has(one.c, 12);
    bool const f16c = has(one.c, 29);
    bool const avx2 = has(seven.b, 5);
    if ((state & 0x6U) != 0x6U || !fma || !f16c || !avx2)
        return Isa::kNone;
    // Foundation, DQ, BW and VL together: what "avx512" means here.
    bool const avx512 = has(seven.b, 16) && has(seven.b, 17) && has(seven.b, 30) && has(seven.b, 31);
    if ((state & 0xE6U) != 0xE6U || !avx512)
        return Isa::kAvx2;
    if (!has(seven.c, 11))
        return Isa::kAvx512;
    if (!has(sevenOne.a, 5))
        return Isa::kAvx512Vnni;
    if (!has(seven.d, 23))
        return Isa::kAvx512Bf16;
    bool const tiles = has(seven.d, 24) && has(seven.d, 22) && (state & 0x60000U) == 0x60000U;
    if (!tiles || capOfKnob() < Isa::kAmx || !mayUseTiles())
        return Isa::kAvx512Fp16;
    return has(sevenOne.a, 21) ? Isa::kAmxFp16 : Isa::kAmx;
}

std::atomic<Isa>& cap() noexcept
{
    static std::atomic<Isa> instance{std::min(capOfKnob(), isaOfBuild())};
    return instance;
}

//! kNone: nothing is claimed.
std::atomic<Isa> gClaimed{Isa::kNone};
} // namespace

std::string_view nameOf(Isa isa) noexcept
{
    auto const index = static_cast<size_t>(isa);
    return index < kNames.size() ? kNames[index] : "unknown";
}

Isa detectedIsa() noexcept
{
    static Isa const isa = detect();
    return std::max(isa, gClaimed.load(std::memory_order_relaxed));
}

Isa activeIsa() noexcept
{
    return std::min(detectedIsa(), cap().load(std::memory_order_relaxed));
}

void capIsa(Isa isa) noexcept
{
    cap().store(std::min(isa, isaOfBuild()), std::memory_order_relaxed);
}

void claimIsa(Isa isa) noexcept
{
    gClaimed.store(isa, std::memory_order_relaxed);
}

bool isIsaClaimed() noexcept
{
    return gClaimed.load(std::memory_order_relaxed) != Isa::kNone;
}

std::string cpuModel()
{
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string line; std::getline(info, line);)
        if (line.rfind("model name", 0) == 0)
            if (size_t const colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "unknown x86-64 CPU";
}

} // namespace tenon
