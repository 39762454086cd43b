// The tables of the CPU backend, as the build found them.
#include "backends/cpu/kernel_table.h"

#include "backend/kernel_files.h"
#include "backends/cpu/cpu.h"

namespace tenon::cpu
{

#define TENON_TABLE_ENTRY(Name) KernelFile kernelsOf##Name();
#include "cpu_table.inc"
#undef TENON_TABLE_ENTRY

std::span<KernelFile const> allKernelFiles()
{
    static KernelFile const files[]{
#define TENON_TABLE_ENTRY(Name) kernelsOf##Name(),
#include "cpu_table.inc"
#undef TENON_TABLE_ENTRY
    };
    return files;
}

} // namespace tenon::cpu

namespace tenon
{

Backend cpuBackend()
{
    return Backend{"cpu", candidatesOf(cpu::allKernelFiles())};
}

} // namespace tenon
