// The device "cpu": host memory, the kernel table, and running steps on the team.
#include "backends/cpu/cpu.h"
#include "backends/cpu/kernel_table.h"
#include "base/isa.h"
#include "base/knobs.h"
#include "base/team.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <omp.h>
#include <sys/mman.h>

namespace tenon
{

namespace
{
constexpr size_t kAlignment{64};
constexpr size_t kHugePage{size_t{2} << 20};

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
    size_t next{0}; //!< First step not yet run.
    std::atomic<bool> isStopped{false};
    std::atomic<bool> hasFailed{false};
    std::mutex mutex;

    void fail(Launch const& launch, Error error)
    {
        std::scoped_lock const lock{mutex};
        if (!hasFailed.exchange(true))
            *failure = {launch.step, std::move(error)};
        isStopped = true;
    }
    void step(Launch const& launch, Lane const& lane)
    {
        try
        {
            if (Result<Done> done = launch.prepared->run(launch.call, lane); !done)
                fail(launch, std::move(done).error());
        }
        catch (std::exception const& problem)
        {
            fail(launch, errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what()));
        }
    }
    void observe(Launch const& launch, Clock::time_point start)
    {
        if (options->observer != nullptr && !isStopped && !(*options->observer)(launch, microsecondsSince(start)))
            isStopped = true;
    }
};

void waitFor(void* barrier)
{
    static_cast<SpinBarrier*>(barrier)->wait();
}

//! One lane's way through consecutive collective steps. Every lane makes the same decisions between the same barriers.
void runCollective(void* context, int32_t index, SpinBarrier& barrier)
{
    Run& run = *static_cast<Run*>(context);
    Lane const lane{index, barrier.count(), waitFor, &barrier};
    size_t at = run.next;
    for (; at < run.launches.size() && run.launches[at].prepared->isCollective(); ++at)
    {
        Launch const& launch = run.launches[at];
        Clock::time_point const start = run.options->observer != nullptr ? Clock::now() : Clock::time_point{};
        run.step(launch, lane);
        lane.barrier();
        if (run.options->observer != nullptr)
        {
            if (index == 0)
                run.observe(launch, start);
            lane.barrier();
        }
        if (run.isStopped.load(std::memory_order_acquire))
            break;
    }
    lane.barrier(); // All have read `next` before it changes.
    if (index == 0)
        run.next = at;
}

class CpuDevice final : public Device
{
  public:
    std::string_view name() const noexcept override
    {
        return "cpu";
    }
    std::string describe() const override
    {
        return fmt::format("{} ({}, {} threads)", cpuModel(), nameOf(activeIsa()), defaultThreads());
    }
    size_t alignment() const noexcept override
    {
        return kAlignment;
    }
    void* allocate(size_t bytes) noexcept override
    {
        size_t const alignment = bytes >= kHugePage ? kHugePage : kAlignment;
        void* memory =
            std::aligned_alloc(alignment, (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
        if (memory != nullptr && bytes >= kHugePage)
            madvise(memory, bytes, MADV_HUGEPAGE); // Only a hint.
        return memory;
    }
    void release(void* memory) noexcept override
    {
        std::free(memory);
    }
    void copyToHost(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(to, from, bytes);
    }
    void copyFromHost(void* to, void const* from, size_t bytes) override
    {
        std::memcpy(to, from, bytes);
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override
    {
        if (activeIsa() == Isa::kNone)
            return errorOf(
                ErrorCode::kINVALID_STATE, "this CPU ({}) lacks AVX2, FMA or F16C, which Tenon needs", cpuModel());
        for (cpu::KernelFile const& file : cpu::allKernelFiles())
            for (KernelEntry const& entry : file.kernels)
                if (entry.name == source.kernel)
                    return entry.load(source);
        std::scoped_lock const lock{mMutex};
        for (KernelEntry const& entry : mMore)
            if (entry.name == source.kernel)
                return entry.load(source);
        return badArgument("[layer '{}'] device 'cpu' has no kernel '{}'", source.layer, source.kernel);
    }
    int32_t defaultThreads() const noexcept override
    {
        static int32_t const cpus = usableCpus();
        return static_cast<int32_t>(std::min<int64_t>(countOf(Knob::kThreads).value_or(cpus), kMostThreads));
    }
    Result<Done> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override
    {
        int32_t const wanted = options.threads > 0 ? std::min(options.threads, kMostThreads) : defaultThreads();
        TeamLease const lease{wanted, std::max(wanted, defaultThreads())};
        Run run;
        run.launches = launches;
        run.options = &options;
        run.failure = &failure;
        while (run.next < launches.size() && !run.isStopped)
        {
            if (launches[run.next].prepared->isCollective())
                runTeam(lease.threads(), runCollective, &run);
            else
                runAlone(run, lease.threads());
        }
        if (run.hasFailed)
            return failure.error;
        return Done{};
    }
    void add(std::span<KernelEntry const> kernels)
    {
        std::scoped_lock const lock{mMutex};
        mMore.insert(mMore.end(), kernels.begin(), kernels.end());
    }

  private:
    static constexpr int32_t kMostThreads{256};

    //! A step that uses the team by itself, through OpenMP.
    static void runAlone(Run& run, int32_t threads)
    {
        Launch const& launch = run.launches[run.next];
        int32_t const before = omp_get_max_threads();
        if (before != threads)
            omp_set_num_threads(threads);
        Clock::time_point const start = Clock::now();
        run.step(launch, Lane{0, 1, nullptr, nullptr});
        if (before != threads)
            omp_set_num_threads(before);
        run.observe(launch, start);
        ++run.next;
    }

    mutable std::mutex mMutex;
    std::vector<KernelEntry> mMore;
};

CpuDevice& device()
{
    static CpuDevice instance;
    return instance;
}
} // namespace

Device& cpuDevice()
{
    return device();
}

void addCpuKernels(std::span<KernelEntry const> kernels)
{
    device().add(kernels);
}

} // namespace tenon
