// The device "cpu": host memory, the kernel table, and running steps on the team.
#include "backends/cpu/cpu.h"
#include "backends/cpu/empty_outputs.h"
#include "backends/cpu/kernel_table.h"
#include "base/cpus.h"
#include "base/isa.h"
#include "base/knobs.h"
#include "base/large_memory.h"
#include "base/team.h"
#include "device/host/added_kernels.h"
#include "device/host/host_device.h"
#include "device/host/host_kernel.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace tenon
{

namespace
{
constexpr size_t kAlignment{64};

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

//! What the lanes of one run share.
struct Run
{
    std::span<Launch const> launches;
    RunOptions const* options{nullptr};
    RunFailure* failure{nullptr};
    size_t next{0};                         //!< First step not yet run.
    std::atomic<size_t> lastStep{SIZE_MAX}; //!< The first step that failed or after which the observer stopped.
    std::atomic<bool> hasFailed{false};
    std::mutex mutex;
    PacedCheck check; //!< Of the calling thread's lane.

    explicit Run(RunOptions const& given)
        : options{&given},
          check{given.mayContinue}
    {
    }

    //! Whether step `at` or one before it ended the run. A lane that is ahead may fail in the next step already while
    //! another still asks for this one: both must get the same answer.
    bool isStoppedAfter(size_t at) const noexcept
    {
        return lastStep.load(std::memory_order_acquire) <= at;
    }
    void stop(size_t at) noexcept
    {
        size_t before = lastStep.load();
        while (at < before && !lastStep.compare_exchange_weak(before, at))
            ;
    }
    void fail(size_t at, Error error)
    {
        std::scoped_lock const lock{mutex};
        if (!hasFailed.exchange(true))
            *failure = {launches[at].step, std::move(error)};
        stop(at);
    }
    void step(size_t at, Lane const& lane)
    {
        try
        {
            if (Result<Done> done = hostPrepared(*launches[at].prepared).run(launches[at].call, lane); !done)
                fail(at, std::move(done).error());
        }
        catch (std::exception const& problem)
        {
            fail(at, errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what()));
        }
    }
    void observe(size_t at, Clock::time_point start)
    {
        if (options->observer != nullptr && !isStoppedAfter(at)
            && !(*options->observer)(launches[at], microsecondsSince(start)))
            stop(at);
    }
    //! Before the barrier behind step `at`, so that every lane knows behind it.
    void ask(size_t at)
    {
        if (options->mayContinue != nullptr && check.mustStop())
            stop(at);
    }
};

void waitFor(void* barrier)
{
    static_cast<TeamBarrier*>(barrier)->wait();
}

//! One lane's way through consecutive collective steps. Every lane makes the same decisions between the same barriers.
void runCollective(void* context, int32_t index, TeamBarrier& barrier)
{
    Run& run = *static_cast<Run*>(context);
    Lane const lane{index, barrier.count(), waitFor, &barrier};
    size_t at = run.next;
    for (; at < run.launches.size() && hostPrepared(*run.launches[at].prepared).isCollective(); ++at)
    {
        Clock::time_point const start = run.options->observer != nullptr ? Clock::now() : Clock::time_point{};
        run.step(at, lane);
        if (index == 0)
            run.ask(at);
        lane.barrier();
        if (run.options->observer != nullptr)
        {
            if (index == 0)
                run.observe(at, start);
            lane.barrier();
        }
        if (run.isStoppedAfter(at))
            break;
    }
    lane.barrier(); // All have read `next` before it changes.
    if (index == 0)
        run.next = at;
}

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
        return static_cast<int32_t>(std::min<int64_t>(countOf(Knob::kThreads).value_or(cpus), Team::kMostLanes));
    }
    Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        int32_t const wanted = options.hostThreads > 0 ? options.hostThreads : hostThreads();
        Team team{wanted, std::max(wanted, hostThreads()), defaultSpin()};
        Run run{options};
        run.launches = launches;
        run.failure = &failure;
        while (run.next < launches.size() && !run.isStoppedAfter(launches.size()))
        {
            if (hostPrepared(*launches[run.next].prepared).isCollective())
                team.run(runCollective, &run);
            else
                runAlone(run);
        }
        if (run.hasFailed)
            return failure.error;
        if (run.check.hasStopped())
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
        return Done{};
    }
    void add(std::span<KernelEntry const> kernels)
    {
        mAdded.add(kernels);
    }

  private:
    static SpinTime defaultSpin() noexcept
    {
        constexpr int64_t kStandard{100}; // About what it costs to sleep and to be woken, twice.
        constexpr int64_t kLongest{60'000'000};
        static SpinTime const spin{std::min(countOf(Knob::kSpin).value_or(kStandard), kLongest)};
        return spin;
    }

    //! A step of one lane, on the calling thread.
    static void runAlone(Run& run)
    {
        Clock::time_point const start = Clock::now();
        run.step(run.next, Lane{0, 1, nullptr, nullptr});
        run.observe(run.next, start);
        run.ask(run.next);
        ++run.next;
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
