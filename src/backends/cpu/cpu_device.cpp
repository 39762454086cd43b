// The device "cpu": host memory, the kernel table, and running steps on the team.
#include "backends/cpu/cpu.h"
#include "backends/cpu/empty_outputs.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/team_run.h"
#include "base/cpus.h"
#include "base/isa.h"
#include "base/knobs.h"
#include "base/large_memory.h"
#include "device/host/added_kernels.h"
#include "device/host/host_device.h"

#include <algorithm>
#include <cstdlib>

namespace tenon
{

namespace
{
constexpr size_t kAlignment{64};

class CpuDevice final : public HostDevice
{
  public:
    std::string_view name() const noexcept override
    {
        return "cpu";
    }
    std::string describe() const override
    {
        return fmt::format("{} ({}, {} threads)", cpuModel(), nameOf(activeIsa()), hostThreads());
    }
    size_t alignment() const noexcept override
    {
        return kAlignment;
    }
    void* allocate(size_t bytes) noexcept override
    {
        return allocateLarge(bytes);
    }
    void release(void* memory) noexcept override
    {
        std::free(memory);
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override
    {
        static_cast<void>(TENON_TRY(probeCpu()));
        for (cpu::KernelFile const& file : cpu::allKernelFiles())
            for (KernelEntry const& entry : file.kernels)
                if (entry.name == source.kernel)
                    return cpu::loadForElements(entry.load, source);
        return mAdded.load(name(), source);
    }
    int32_t hostThreads() const noexcept override
    {
        static int32_t const cpus = usableCpus();
        return static_cast<int32_t>(std::min<int64_t>(countOf(Knob::kThreads).value_or(cpus), Team::kMaxLanes));
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        int32_t const wanted = options.hostThreads > 0 ? options.hostThreads : hostThreads();
        Team team{wanted, std::max(wanted, hostThreads()), options.spin < 0 ? defaultSpin() : spinOf(options.spin)};
        return cpu::TeamRun{launches, options, failure, team}.run();
    }
    void add(std::span<KernelEntry const> kernels)
    {
        mAdded.add(kernels);
    }

  private:
    static SpinTime spinOf(int64_t microseconds) noexcept
    {
        constexpr int64_t kLongest{60'000'000};
        return SpinTime{std::min(microseconds, kLongest)};
    }
    static SpinTime defaultSpin() noexcept
    {
        constexpr int64_t kStandard{1000}; // Longer than most steps that some lanes have no part in (decision 17).
        static SpinTime const spin = spinOf(countOf(Knob::kSpin).value_or(kStandard));
        return spin;
    }

    AddedKernels mAdded;
};

CpuDevice& device()
{
    static auto* const instance = new CpuDevice; // Never destroyed: streams may work on while the process ends.
    return *instance;
}
} // namespace

Result<int32_t> probeCpu()
{
    if (activeIsa() == Isa::kNone)
        return errorOf(
            ErrorCode::kINVALID_STATE, "this CPU ({}) lacks AVX2, FMA or F16C, which Tenon needs", cpuModel());
    return 1;
}

Device& cpuDevice()
{
    return device();
}

void addCpuKernels(std::span<KernelEntry const> kernels)
{
    device().add(kernels);
}

} // namespace tenon
