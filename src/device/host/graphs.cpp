// Graphs of the host: what a capture recorded, kept under handles and repeated on streams.
#include "device/host/graphs.h"

#include "base/fork.h"
#include "base/polling.h"
#include "device/host/capture.h"
#include "device/host/stream_table.h"

#include <atomic>

namespace tenon::host
{

namespace
{
//! A graph that can still be copied, or the executable made from one: the steps never change after the capture.
struct Graph
{
    std::shared_ptr<GraphSteps const> steps;
};

//! One launch of an executable: over when its steps are done. The next launch waits for it, but not in a child of the
//! process that has begun it: nobody works on it there.
class Turn
{
  public:
    void end() noexcept
    {
        mIsOver.store(true);
        mIsOver.notify_all();
    }
    bool isOver() const noexcept
    {
        return mIsOver.load() || mGeneration != forkGeneration();
    }
    void wait() const noexcept
    {
        while (!isOver())
            mIsOver.wait(false);
    }

  private:
    std::atomic<bool> mIsOver{false};
    int32_t const mGeneration{forkGeneration()};
};

struct Executable
{
    std::mutex mutex; //!< Of the members; held while a launch goes into its stream, so that turns go as launches do.
    std::shared_ptr<GraphSteps const> steps;
    std::shared_ptr<Turn> last; //!< Null: never launched.

    std::shared_ptr<GraphSteps const> present()
    {
        std::scoped_lock const lock{mutex};
        return steps;
    }
    std::shared_ptr<Turn> lastTurn()
    {
        std::scoped_lock const lock{mutex};
        return last;
    }
};

template <typename T>
HandleTable<T>& tableOf() noexcept
{
    static auto* const table = new HandleTable<T>; // Never destroyed: streams may outlive static objects.
    return *table;
}

template <typename T>
Result<std::shared_ptr<T>> find(void const* handle, char const* what)
{
    std::shared_ptr<T> object = tableOf<T>().find(handle);
    if (object == nullptr)
        return badArgument("{} {} is not one of Tenon's, or was destroyed", what, handle);
    return object;
}

template <typename T>
Result<Done> destroy(void const* handle, char const* what)
{
    if (tableOf<T>().remove(handle) == nullptr)
        return badArgument("{} {} is not one of Tenon's, or was destroyed", what, handle);
    return Done{};
}

constexpr char const* kGraph{"graph"};
constexpr char const* kExecutable{"executable graph"};

void* keepGraph(std::shared_ptr<GraphSteps const> steps)
{
    return tableOf<Graph>().add(std::make_shared<Graph>(Graph{std::move(steps)}));
}

Result<Done> runSteps(GraphSteps const& graph)
{
    Replay const replay{graph};
    Result<Done> first = Done{};
    for (Work const& step : graph.steps)
    {
        Result<Done> own = runFenced(step);
        if (first && !own)
            first = std::move(own);
    }
    return first;
}

//! The next run of an executable: when the one before is over.
struct Launch
{
    explicit Launch(Executable const& executable)
        : steps{executable.steps},
          before{executable.last}
    {
    }
    Result<Done> operator()() const
    {
        if (before != nullptr)
            before->wait();
        Result<Done> result = runSteps(*steps);
        own->end();
        return result;
    }

    std::shared_ptr<GraphSteps const> steps;
    std::shared_ptr<Turn> before;
    std::shared_ptr<Turn> own{std::make_shared<Turn>()};
};

//! In the calling thread, which is no stream's.
Result<Done> launchHere(Executable& executable, void* stream)
{
    TENON_TRY(startNow(stream)); // What it waits for may be a turn before this one, never one after it.
    std::unique_lock lock{executable.mutex};
    Launch const launch{executable};
    executable.last = launch.own;
    lock.unlock();
    return runFenced(launch);
}

Result<std::shared_ptr<StreamQueue>> capturable(void const* stream)
{
    if (isLegacy(stream))
        return captureError(CaptureProblem::kUnsupported, "stream 0 cannot capture: use a stream that was created");
    return findQueue(stream);
}
} // namespace

Result<Done> beginCapture(void* stream, CaptureMode mode)
{
    return Captures::instance().begin(*TENON_TRY(capturable(stream)), mode);
}

Result<void*> endCapture(void* stream)
{
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(capturable(stream));
    return keepGraph(TENON_TRY(Captures::instance().end(*queue)));
}

Result<CaptureInfo> captureInfo(void const* stream)
{
    if (isLegacy(stream))
    {
        if (Captures::instance().isAnyBlocking())
            return captureError(CaptureProblem::kImplicit, "stream 0 cannot be asked while a blocking stream captures");
        return CaptureInfo{};
    }
    return Captures::instance().info(*TENON_TRY(findQueue(stream)));
}

Result<void*> createGraph()
{
    return keepGraph(std::make_shared<GraphSteps>());
}

Result<void*> cloneGraph(void const* graph)
{
    return keepGraph(TENON_TRY(find<Graph>(graph, kGraph))->steps);
}

Result<size_t> graphSize(void const* graph)
{
    return TENON_TRY(find<Graph>(graph, kGraph))->steps->steps.size();
}

Result<Done> destroyGraph(void* graph)
{
    return destroy<Graph>(graph, kGraph);
}

Result<void*> instantiateGraph(void const* graph)
{
    std::shared_ptr<Graph> const own = TENON_TRY(find<Graph>(graph, kGraph));
    auto executable = std::make_shared<Executable>();
    executable->steps = own->steps;
    return tableOf<Executable>().add(std::move(executable));
}

Result<Done> updateExecutable(void* executable, void const* graph)
{
    std::shared_ptr<Executable> const own = TENON_TRY(find<Executable>(executable, kExecutable));
    std::shared_ptr<Graph> const from = TENON_TRY(find<Graph>(graph, kGraph));
    std::shared_ptr<GraphSteps const> steps = from->steps;
    std::scoped_lock const lock{own->mutex};
    own->steps.swap(steps); // Those before go after the lock: what they hold may call the executable.
    return Done{};
}

Result<Done> destroyExecutable(void* executable)
{
    return destroy<Executable>(executable, kExecutable);
}

Result<Done> checkExecutable(void const* executable)
{
    TENON_TRY(find<Executable>(executable, kExecutable));
    return Done{};
}

Result<Done> launchGraph(void* executable, void* stream)
{
    std::shared_ptr<Executable> const own = TENON_TRY(find<Executable>(executable, kExecutable));
    bool const isWithinWork = StreamQueue::current() != nullptr || Replay::isAny();
    if (isLegacy(stream) && !isWithinWork)
        return launchHere(*own, stream);
    std::shared_ptr<GraphSteps const> const steps = own->present();
    Work part = [steps] { return runSteps(*steps); };
    if (isImmediate(stream))
        return submit(stream, std::move(part)); // The work that is under way cannot wait for what may stand behind it.
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
    Captures& captures = Captures::instance();
    if (captures.isAny() && TENON_TRY(captures.record(*queue, part)))
        return Done{}; // A copy of the graph, whose turn is that of the graph around it.
    std::scoped_lock const lock{own->mutex};
    Launch const launch{*own};
    TENON_TRY(queue->push(launch));
    own->last = launch.own;
    return Done{};
}

Result<bool> awaitLaunches(void* executable, ContinueCheck const& mayContinue)
{
    std::shared_ptr<Turn> const last = TENON_TRY(find<Executable>(executable, kExecutable))->lastTurn();
    if (isWorking()) // It may stand within that launch, and its own does not wait either.
        return true;
    return last == nullptr || pollWhile([&] { return last->isOver(); }, mayContinue);
}

void lockGraphsForFork()
{
    tableOf<Graph>().lockForFork();
    tableOf<Executable>().lockForFork();
    tableOf<Executable>().eachLocked([](Executable& executable) { executable.mutex.lock(); });
}

void unlockGraphsInParent()
{
    tableOf<Executable>().eachLocked([](Executable& executable) { executable.mutex.unlock(); });
    tableOf<Executable>().unlockInParent();
    tableOf<Graph>().unlockInParent();
}

void resetGraphsInChild()
{
    tableOf<Executable>().eachLocked([](Executable& executable) {
        std::construct_at(&executable.mutex);
        executable.last = nullptr; // The launches under way are the parent's.
    });
    tableOf<Executable>().unlockInChild();
    tableOf<Graph>().unlockInChild();
}

} // namespace tenon::host
