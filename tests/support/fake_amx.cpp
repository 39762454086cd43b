// FakeAmx: decoding and doing what the processor does not know. Formats are those of Intel's manual: a three-byte VEX
// prefix, opcode, ModRM, and for memory a SIB byte with a displacement.
#include "support/fake_amx.h"

#include "base/half.h"

#include <atomic>
#include <bit>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ucontext.h>

namespace tenon::test
{

namespace
{
constexpr int kRegisters{8};
constexpr int kRows{16};
constexpr int kRowBytes{64};

struct Register
{
    uint8_t bytes[kRows][kRowBytes];
};

//! Of one thread. Registers that are not configured may not be used.
struct File
{
    bool isConfigured;
    uint16_t rowBytes[kRegisters];
    uint8_t rows[kRegisters];
    Register registers[kRegisters];
};
thread_local File tFile;
std::atomic<int64_t> gAnswered{0};
struct sigaction gBefore;

//! One instruction.
struct Decoded
{
    int prefix; //!< pp: 0 none, 1 66, 2 F3, 3 F2.
    uint8_t opcode;
    int mod;
    int reg;
    int rm;
    int other; //!< vvvv
    uint64_t address;
    int64_t stride;
    int length;
};

uint64_t general(ucontext_t const& context, int number)
{
    constexpr int kOrder[]{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9,
        REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[number]]);
}

template <typename T>
T readAt(void const* from)
{
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

//! Memory operands: ModRM, SIB and displacement.
void decodeAddress(ucontext_t const& context, uint8_t const* at, bool isIndexHigh, bool isBaseHigh, Decoded& d)
{
    int base = d.rm;
    if (d.rm == 4)
    {
        uint8_t const sib = *at++;
        ++d.length;
        base = sib & 7;
        int const index = (sib >> 3 & 7) | (isIndexHigh ? 8 : 0);
        d.stride = index == 4 ? 0 : static_cast<int64_t>(general(context, index) << (sib >> 6));
    }
    bool const hasBase = base != 5 || d.mod != 0; // Else a displacement alone; none of ours is relative to RIP.
    d.address = hasBase ? general(context, base | (isBaseHigh ? 8 : 0)) : 0;
    if (d.mod == 1)
    {
        d.address += static_cast<uint64_t>(int64_t{readAt<int8_t>(at)});
        d.length += 1;
    }
    else if (d.mod == 2 || !hasBase)
    {
        d.address += static_cast<uint64_t>(int64_t{readAt<int32_t>(at)});
        d.length += 4;
    }
}

bool decode(ucontext_t const& context, Decoded& d)
{
    auto const* const code = reinterpret_cast<uint8_t const*>(context.uc_mcontext.gregs[REG_RIP]);
    bool const isMap = code[0] == 0xC4 && (code[1] & 0x1FU) == 2; // 0F 38
    if (!isMap || (code[2] & 0x84U) != 0)                         // W and L are 0.
        return false;
    d.prefix = code[2] & 3;
    d.other = (code[2] >> 3 & 0xF) ^ 0xF;
    d.opcode = code[3];
    d.mod = code[4] >> 6;
    d.reg = code[4] >> 3 & 7;
    d.rm = code[4] & 7;
    d.length = 5;
    if (d.mod != 3)
        decodeAddress(context, code + 5, (code[1] & 0x40U) == 0, (code[1] & 0x20U) == 0, d);
    return true;
}

void configure(File& file, uint8_t const* from)
{
    std::memset(&file, 0, sizeof(file));
    file.isConfigured = from[0] == 1;
    for (int i = 0; i < kRegisters; ++i)
    {
        file.rowBytes[i] = readAt<uint16_t>(from + 16 + 2 * i);
        file.rows[i] = from[48 + i];
    }
}

void move(File& file, Decoded const& d, bool isStore)
{
    for (int r = 0; r < file.rows[d.reg]; ++r)
    {
        auto* const memory = reinterpret_cast<uint8_t*>(d.address + static_cast<uint64_t>(r * d.stride));
        uint8_t* const row = file.registers[d.reg].bytes[r];
        if (isStore)
            std::memcpy(memory, row, file.rowBytes[d.reg]);
        else
            std::memcpy(row, memory, file.rowBytes[d.reg]);
    }
}

int32_t dotOfBytes(int32_t sum, uint8_t const* a, uint8_t const* b)
{
    for (int i = 0; i < 4; ++i)
        sum += int32_t{readAt<int8_t>(a + i)} * int32_t{readAt<int8_t>(b + i)};
    return sum;
}

//! Denormal numbers are zeros.
float bfloatAt(uint8_t const* from)
{
    uint32_t const bits = uint32_t{readAt<uint16_t>(from)} << 16;
    return (bits & 0x7F800000U) == 0 ? 0.0F : std::bit_cast<float>(bits);
}

bool gFlushesHalves{false};

float halfAt(uint8_t const* from)
{
    auto const bits = readAt<uint16_t>(from);
    float const size =
        gFlushesHalves && (bits & 0x7C00U) == 0 ? 0.0F : halfToFloat(static_cast<uint16_t>(bits & 0x7FFFU));
    return (bits & 0x8000U) != 0 ? -size : size;
}

float dotOfHalves(float sum, uint8_t const* a, uint8_t const* b)
{
    for (int i = 0; i < 2; ++i)
        sum += halfAt(a + 2 * i) * halfAt(b + 2 * i);
    return sum;
}

float dotOfBfloats(float sum, uint8_t const* a, uint8_t const* b)
{
    for (int i = 0; i < 2; ++i)
        sum += bfloatAt(a + 2 * i) * bfloatAt(b + 2 * i);
    return sum;
}

//! Four bytes of a row with four of each column: sums[row][column] of T.
template <typename T>
void addProducts(File& file, Decoded const& d, T (*dot)(T, uint8_t const*, uint8_t const*))
{
    Register& sums = file.registers[d.reg];
    Register const& rows = file.registers[d.rm];
    Register const& columns = file.registers[d.other];
    for (int r = 0; r < file.rows[d.reg]; ++r)
        for (int k = 0; k < file.rowBytes[d.rm] / 4; ++k)
            for (int c = 0; c < file.rowBytes[d.reg] / 4; ++c)
            {
                T const sum = dot(readAt<T>(sums.bytes[r] + 4 * c), rows.bytes[r] + 4 * k, columns.bytes[k] + 4 * c);
                std::memcpy(sums.bytes[r] + 4 * c, &sum, sizeof(sum));
            }
}

bool execute(File& file, Decoded const& d)
{
    int const form = d.opcode << 2 | d.prefix;
    bool const isRegister = d.mod == 3;
    if (form == (0x49 << 2 | 0)) // ldtilecfg, tilerelease
    {
        if (isRegister)
            file.isConfigured = false;
        else
            configure(file, reinterpret_cast<uint8_t const*>(d.address));
        return true;
    }
    if (!file.isConfigured)
        return false;
    switch (form)
    {
    case 0x49 << 2 | 3: file.registers[d.reg] = {}; return isRegister;                 // tilezero
    case 0x4B << 2 | 3: move(file, d, false); return !isRegister;                      // tileloadd
    case 0x4B << 2 | 2: move(file, d, true); return !isRegister;                       // tilestored
    case 0x5E << 2 | 3: addProducts<int32_t>(file, d, &dotOfBytes); return isRegister; // tdpbssd
    case 0x5C << 2 | 2: addProducts<float>(file, d, &dotOfBfloats); return isRegister; // tdpbf16ps
    case 0x5C << 2 | 3: addProducts<float>(file, d, &dotOfHalves); return isRegister;  // tdpfp16ps
    default: return false;
    }
}

void answer(int signal, siginfo_t* info, void* given)
{
    auto& context = *static_cast<ucontext_t*>(given);
    Decoded d{};
    if (decode(context, d) && execute(tFile, d))
    {
        context.uc_mcontext.gregs[REG_RIP] += d.length;
        gAnswered.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    sigaction(signal, &gBefore, nullptr); // Some other instruction, which fails again under whoever came before.
    static_cast<void>(info);
}
} // namespace

FakeAmx::FakeAmx()
{
    capIsa(Isa::kAmxFp16);
    mIsNeeded = detectedIsa() < Isa::kAmx;
    claimIsa(mIsNeeded ? Isa::kAmxFp16 : detectedIsa());
    if (!mIsNeeded)
        return;
    struct sigaction action
    {
    };
    action.sa_sigaction = &answer;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &gBefore);
}

FakeAmx::~FakeAmx()
{
    claimIsa(Isa::kNone);
    if (mIsNeeded)
        sigaction(SIGILL, &gBefore, nullptr);
}

void FakeAmx::flushHalves(bool isOn) noexcept
{
    gFlushesHalves = isOn;
}

int64_t FakeAmx::answered() noexcept
{
    return gAnswered.load(std::memory_order_relaxed);
}

} // namespace tenon::test
