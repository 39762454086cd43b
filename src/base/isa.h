// Isa: the instruction sets that kernels are written for, found at run time and capped by a knob.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon
{

//! Each includes those before it.
enum class Isa : uint8_t
{
    kNone, //!< The machine lacks AVX2: the engine says so and refuses.
    kAvx2, //!< AVX2, FMA, F16C.
    kAvx512,
    kAvx512Vnni,
    kAvx512Bf16,
    kAvx512Fp16,
    kAmx,     //!< Products of int8 and of bfloat16.
    kAmxFp16, //!< And of float16.
};

std::string_view nameOf(Isa isa) noexcept;
//! What the machine has, and the system lets this process use: the registers of AMX are asked for, once, by the first
//! call under a cap that includes them.
Isa detectedIsa() noexcept;
//! What may be used: the machine's, capped by TENON_ISA.
Isa activeIsa() noexcept;
//! Replaces the knob's cap from now on; for tests, which run kernels at each cap in one process.
void capIsa(Isa isa) noexcept;
//! The last one that this build has kernels for. Defined beside them.
Isa isaOfBuild() noexcept;
//! Takes the machine to have this; for tests that run the instructions it lacks by other means. Kernels that are chosen
//! by measured rates then do not measure them.
void claimIsa(Isa isa) noexcept;
bool isIsaClaimed() noexcept;
//! Model name of the CPU as the system gives it.
std::string cpuModel();

} // namespace tenon
