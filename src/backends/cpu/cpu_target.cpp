// cpuTarget: what plans for the CPU are made for. Fixed numbers of a typical core: a plan must not depend on the
// machine that builds it. Which types are fast is measured: it decides only what a build rounds that may.
#include "backends/cpu/amx.h"
#include "backends/cpu/cpu.h"
#include "base/isa.h"

namespace tenon
{

namespace
{
TypeSet fastTypes()
{
    if (cpu::areAmxHalvesFast())
        return {DType::kHALF, DType::kBF16, DType::kINT8};
    if (cpu::usesBfloatDots() || cpu::usesAmxBfloats())
        return {DType::kBF16, DType::kINT8};
    return {DType::kINT8};
}
} // namespace

Target cpuTarget()
{
    Target target;
    target.device = "cpu";
    target.architecture = "x86-64";
    target.limits.alignment = 64; // A cache line, and the widest vector.
    target.rates = {.startMicroseconds = 0.5, .multiplicationsPerMicrosecond = 5e4, .bytesPerMicrosecond = 8e3};
    if (activeIsa() >= Isa::kAvx512Vnni)
        target.rates.fastTypes = fastTypes();
    target.reorder = {.startMicroseconds = 1.0, .bytesPerMicrosecond = 8e3};
    target.layouts = {Layout::kLinear, Layout::kChannelsLast};
    TypeSet const real{DType::kFLOAT, DType::kHALF, DType::kBF16};
    target.fusion = {.epilogueSteps = 4,
        .epilogueTypes = real,
        .attentionTypes = real,
        .projectionTypes = real,
        .int8Steps = 6,
        .quantizedTypes = {DType::kINT8},
        .quantizedResults = {DType::kFLOAT},
        .weightOnlyTypes = {DType::kINT8, DType::kINT4},
        .pointwiseInputs = 8,
        .pointwiseOperations = 48};
    return target;
}

} // namespace tenon
