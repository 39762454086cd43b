// The fake driver: streams, events, captures and graphs. Each stream has a thread, which does its work in order.
#include "devices/fake_cuda/fake_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace fake
{

namespace
{
std::atomic<int> gDestroying{0}; //!< User objects that are on their way out.

double now()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void workFor(std::shared_ptr<Stream> const& stream)
{
    std::unique_lock lock{state().mutex};
    for (;;)
    {
        state().changed.wait(lock, [&] { return stream->isEnding || !stream->works.empty(); });
        if (stream->works.empty())
            return;
        Work const work = std::move(stream->works.front());
        stream->works.pop_front();
        lock.unlock();
        work();
        lock.lock();
        ++stream->done;
        state().changed.notify_all();
    }
}

std::shared_ptr<Stream> makeStream(Context* context, bool isBlocking)
{
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->isBlocking = isBlocking;
    stream->thread = std::thread{[stream] { workFor(stream); }};
    stream->thread.detach();
    return stream;
}

//! What a stream has been given up to now.
struct Mark
{
    std::shared_ptr<Stream> stream;
    uint64_t begun{0};
};

void awaitMarks(std::vector<Mark> const& marks)
{
    std::unique_lock lock{state().mutex};
    for (Mark const& mark : marks)
        state().changed.wait(lock, [&] { return mark.stream->done >= mark.begun; });
}

void doWork(Touch touch, Work const& work)
{
    {
        std::scoped_lock const lock{state().mutex};
        if (touch == Touch::kDevice)
            openMemory();
        else
            closeMemoryWhenIdle();
        state().executing += touch == Touch::kDevice ? 1 : 0;
    }
    work();
    std::scoped_lock const lock{state().mutex};
    state().executing -= touch == Touch::kDevice ? 1 : 0;
}
} // namespace

std::shared_ptr<Stream> streamOf(void* handle)
{
    if (reinterpret_cast<uintptr_t>(handle) <= 2) // The stream per thread is the legacy one here.
    {
        std::shared_ptr<Stream>& legacy = state().legacy[current()->ordinal];
        if (legacy == nullptr)
            legacy = makeStream(current(), true);
        return legacy;
    }
    auto const found = state().streams.find(handle);
    return found == state().streams.end() ? nullptr : found->second;
}

int put(Stream& stream, Touch touch, Work work)
{
    Work task = [touch, work = std::move(work)] { doWork(touch, work); };
    if (stream.capture != nullptr)
    {
        stream.capture->nodes.push_back({std::move(task), stream.last});
        stream.last = {stream.capture->nodes.size() - 1};
        return stream.capture->isInvalid ? kCaptureInvalid : kSuccess;
    }
    std::vector<Mark> marks; // The legacy stream and those that block wait for each other.
    for (std::shared_ptr<Stream> const& legacy : state().legacy)
        if (legacy != nullptr && stream.isBlocking && legacy->context == stream.context && legacy.get() != &stream)
            marks.push_back({legacy, legacy->begun});
        else if (legacy.get() == &stream)
            for (auto const& [handle, other] : state().streams)
                if (other->isBlocking && other->context == stream.context)
                    marks.push_back({other, other->begun});
    stream.works.push_back([marks = std::move(marks), task = std::move(task)] {
        awaitMarks(marks);
        task();
    });
    ++stream.begun;
    state().changed.notify_all();
    return kSuccess;
}

void awaitStream(std::unique_lock<std::mutex>& lock, Stream& stream)
{
    uint64_t const begun = stream.begun;
    state().changed.wait(lock, [&] { return stream.done >= begun; });
    closeMemoryWhenIdle();
}

void dropReference(UserObject* object)
{
    if (--object->references > 0)
        return;
    ++gDestroying; // A thread of the driver's calls back, some time later, as the real one does.
    std::thread{[object] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        {
            InCallback const inside;
            object->destroy(object->data);
        }
        delete object;
        --gDestroying;
    }}.detach();
}

namespace
{
std::shared_ptr<Event> eventOf(void* handle)
{
    auto const found = state().events.find(handle);
    return found == state().events.end() ? nullptr : found->second;
}

//! An error of a call that may not be made while the stream is captured.
int refusedInCapture(Stream& stream)
{
    if (stream.capture == nullptr)
        return kSuccess;
    stream.capture->isInvalid = true;
    return kCaptureUnsupported;
}

//! Streams that have joined a capture are out of it; false where it ends without what stands in one.
bool letGo(Graph const& graph, std::set<size_t> const& last)
{
    std::set<size_t> reached;
    std::vector<size_t> open{last.begin(), last.end()};
    while (!open.empty())
    {
        size_t const node = open.back();
        open.pop_back();
        if (reached.insert(node).second)
            open.insert(open.end(), graph.nodes[node].sources.begin(), graph.nodes[node].sources.end());
    }
    for (auto const& [handle, stream] : state().streams)
        if (stream->capture.get() == &graph)
        {
            stream->capture = nullptr;
            stream->hasJoined = false;
            stream->last.clear();
        }
    return reached.size() == graph.nodes.size();
}

//! What a graph or an executable one holds; launches that are under way hold it, too.
struct Executable
{
    explicit Executable(std::shared_ptr<Graph> from)
        : graph{std::move(from)}
    {
    }
    ~Executable()
    {
        for (UserObject* const object : graph->objects)
            dropReference(object);
    }
    Executable(Executable const&) = delete;
    Executable& operator=(Executable const&) = delete;

    //! In one of the orders that its edges allow: every second time those come first that were recorded last.
    void run()
    {
        std::vector<bool> isDone(graph->nodes.size(), false);
        bool const isTurned = launches++ % 2 == 1;
        for (size_t count = 0; count < isDone.size(); ++count)
        {
            size_t next = isDone.size();
            for (size_t i = 0; i < isDone.size() && (isTurned || next == isDone.size()); ++i)
                if (!isDone[i]
                    && std::ranges::all_of(graph->nodes[i].sources, [&](size_t each) { return isDone[each]; }))
                    next = i;
            graph->nodes[next].work();
            isDone[next] = true;
        }
    }

    std::shared_ptr<Graph> graph;
    int launches{0};
};
using ExecutablePtr = std::shared_ptr<Executable>;
} // namespace
} // namespace fake

using namespace fake;

TENON_FAKE_CUDA int tenonFakeEnter(char const* name)
{
    return fake::enter(name, true);
}

TENON_FAKE_CUDA int tenonFakeEnqueue(void* handle, std::function<void()> const& work)
{
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    return stream == nullptr ? kInvalidHandle : put(*stream, Touch::kDevice, work);
}

TENON_FAKE_CUDA void tenonFakeDrain()
{
    while (gDestroying > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    std::unique_lock lock{state().mutex};
    state().changed.wait(lock, [] {
        for (auto const& [handle, stream] : state().streams)
            if (stream->done < stream->begun)
                return false;
        for (auto const& legacy : state().legacy)
            if (legacy != nullptr && legacy->done < legacy->begun)
                return false;
        return true;
    });
}

TENON_FAKE_CUDA int cuStreamCreate(void** handle, unsigned flags)
{
    TENON_FAKE_ENTER(cuStreamCreate);
    std::scoped_lock const lock{state().mutex};
    auto stream = makeStream(current(), flags == 0);
    *handle = stream.get();
    state().streams[*handle] = std::move(stream);
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamDestroy_v2(void* handle)
{
    TENON_FAKE_ENTER(cuStreamDestroy_v2);
    std::scoped_lock const lock{state().mutex};
    auto const stream = state().streams.find(handle);
    if (stream == state().streams.end())
        return kInvalidHandle;
    stream->second->isEnding = true; // Its thread does what stands there, and ends.
    state().streams.erase(stream);
    state().changed.notify_all();
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamGetCtx(void* handle, void** context)
{
    TENON_FAKE_ENTER(cuStreamGetCtx);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    *context = stream->context;
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamQuery(void* handle)
{
    TENON_FAKE_ENTER(cuStreamQuery);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    if (int const refused = refusedInCapture(*stream); refused != kSuccess)
        return refused;
    return stream->done >= stream->begun ? kSuccess : kNotReady;
}

TENON_FAKE_CUDA int cuStreamSynchronize(void* handle)
{
    TENON_FAKE_ENTER(cuStreamSynchronize);
    std::unique_lock lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    if (int const refused = refusedInCapture(*stream); refused != kSuccess)
        return refused;
    awaitStream(lock, *stream);
    return kSuccess;
}

TENON_FAKE_CUDA int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void* handle)
{
    TENON_FAKE_ENTER(cuMemcpyAsync);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    return put(*stream, Touch::kDevice,
        [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void const*>(from), bytes); });
}

TENON_FAKE_CUDA int cuMemsetD8Async(uintptr_t to, unsigned char value, size_t bytes, void* handle)
{
    TENON_FAKE_ENTER(cuMemsetD8Async);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    return put(*stream, Touch::kDevice, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}

TENON_FAKE_CUDA int cuLaunchHostFunc(void* handle, void (*function)(void*), void* data)
{
    TENON_FAKE_ENTER(cuLaunchHostFunc);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    return put(*stream, Touch::kHost, [=] {
        InCallback const inside;
        function(data);
    });
}

namespace
{
struct LaunchConfig //!< As CUlaunchConfig.
{
    unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
    void* stream;
    void const* attributes;
    unsigned count;
};

int launchFake(LaunchConfig const& config, void* function, void** params)
{
    constexpr unsigned kMaxThreads{1024};
    constexpr unsigned kMaxRows{65535};
    unsigned const threads = config.blockX * config.blockY * config.blockZ;
    if (config.gridX == 0 || config.gridY == 0 || config.gridZ == 0 || config.gridY > kMaxRows
        || config.gridZ > kMaxRows || config.gridX > 0x7FFFFFFFU || threads == 0 || threads > kMaxThreads
        || config.sharedBytes > mostShared(function))
        return kInvalidValue;
    auto const kept = std::make_shared<std::vector<char>>(); // Each parameter in a place of its own.
    for (size_t i = 0; i < paramSizes(function).size(); ++i)
    {
        auto const* const from = static_cast<char const*>(params[i]);
        kept->insert(kept->end(), from, from + paramSizes(function)[i]);
        kept->resize((kept->size() + 7) / 8 * 8);
    }
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(config.stream);
    if (stream == nullptr)
        return kInvalidHandle;
    Shape const shape{{config.gridX, config.gridY, config.gridZ}, {config.blockX, config.blockY, config.blockZ}};
    return put(*stream, Touch::kDevice, [=] { runKernel(function, shape, kept->data()); });
}
} // namespace

TENON_FAKE_CUDA int cuLaunchKernel(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
    unsigned blockY, unsigned blockZ, unsigned sharedBytes, void* handle, void** params, void**)
{
    TENON_FAKE_ENTER(cuLaunchKernel);
    return launchFake({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, handle, nullptr, 0}, function, params);
}

//! Kernels here end before the next one begins, so that a launch that may overlap is one like any other.
TENON_FAKE_CUDA int cuLaunchKernelEx(LaunchConfig const* config, void* function, void** params, void**)
{
    TENON_FAKE_ENTER(cuLaunchKernelEx);
    return launchFake(*config, function, params);
}

TENON_FAKE_CUDA int cuEventCreate(void** handle, unsigned flags)
{
    TENON_FAKE_ENTER(cuEventCreate);
    std::scoped_lock const lock{state().mutex};
    auto event = std::make_shared<Event>();
    event->isTimed = (flags & 2U) == 0;
    *handle = event.get();
    state().events[*handle] = std::move(event);
    return kSuccess;
}

TENON_FAKE_CUDA int cuEventDestroy_v2(void* handle)
{
    TENON_FAKE_ENTER(cuEventDestroy_v2);
    std::scoped_lock const lock{state().mutex};
    return state().events.erase(handle) == 1 ? kSuccess : kInvalidHandle;
}

TENON_FAKE_CUDA int cuEventRecord(void* handle, void* streamHandle)
{
    TENON_FAKE_ENTER(cuEventRecord);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(streamHandle);
    auto const event = eventOf(handle);
    if (stream == nullptr || event == nullptr)
        return kInvalidHandle;
    event->capture = stream->capture;
    event->last = stream->last;
    if (stream->capture != nullptr)
        return kSuccess;
    uint64_t const number = ++event->recorded;
    return put(*stream, Touch::kHost, [=] {
        std::scoped_lock const inside{state().mutex};
        event->done = std::max(event->done, number);
        event->microseconds = now();
        state().changed.notify_all();
    });
}

TENON_FAKE_CUDA int cuEventQuery(void* handle)
{
    TENON_FAKE_ENTER(cuEventQuery);
    std::scoped_lock const lock{state().mutex};
    auto const event = eventOf(handle);
    if (event == nullptr)
        return kInvalidHandle;
    if (event->done < event->recorded)
        return kNotReady;
    closeMemoryWhenIdle();
    return kSuccess;
}

TENON_FAKE_CUDA int cuEventSynchronize(void* handle)
{
    TENON_FAKE_ENTER(cuEventSynchronize);
    std::unique_lock lock{state().mutex};
    auto const event = eventOf(handle);
    if (event == nullptr)
        return kInvalidHandle;
    uint64_t const number = event->recorded;
    state().changed.wait(lock, [&] { return event->done >= number; });
    closeMemoryWhenIdle();
    return kSuccess;
}

TENON_FAKE_CUDA int cuEventElapsedTime(float* milliseconds, void* first, void* second)
{
    TENON_FAKE_ENTER(cuEventElapsedTime);
    std::scoped_lock const lock{state().mutex};
    auto const start = eventOf(first);
    auto const end = eventOf(second);
    if (start == nullptr || end == nullptr || !start->isTimed || !end->isTimed)
        return kInvalidHandle;
    if (start->done < start->recorded || end->done < end->recorded)
        return kNotReady;
    *milliseconds = static_cast<float>((end->microseconds - start->microseconds) * 1e-3);
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamWaitEvent(void* streamHandle, void* handle, unsigned)
{
    TENON_FAKE_ENTER(cuStreamWaitEvent);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(streamHandle);
    auto const event = eventOf(handle);
    if (stream == nullptr || event == nullptr)
        return kInvalidHandle;
    if (event->capture != nullptr)
    {
        if (stream->capture != nullptr && stream->capture != event->capture)
            return kCaptureUnsupported;
        stream->hasJoined = stream->hasJoined || stream->capture == nullptr;
        stream->capture = event->capture;
        stream->last.insert(event->last.begin(), event->last.end());
        return kSuccess;
    }
    uint64_t const number = event->recorded;
    return put(*stream, Touch::kHost, [=] {
        std::unique_lock inside{state().mutex};
        state().changed.wait(inside, [&] { return event->done >= number; });
    });
}

TENON_FAKE_CUDA int cuStreamIsCapturing(void* handle, int* status)
{
    TENON_FAKE_ENTER(cuStreamIsCapturing);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    *status = stream->capture == nullptr ? 0 : stream->capture->isInvalid ? 2 : 1;
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamGetCaptureInfo_v2(void* handle, int* status, uint64_t*, void** graph, void const**, size_t*)
{
    TENON_FAKE_ENTER(cuStreamGetCaptureInfo_v2);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    *status = stream->capture == nullptr ? 0 : stream->capture->isInvalid ? 2 : 1;
    *graph = stream->capture.get();
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamBeginCapture_v2(void* handle, int mode)
{
    TENON_FAKE_ENTER(cuStreamBeginCapture_v2);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr || reinterpret_cast<uintptr_t>(handle) <= 1 || stream->capture != nullptr)
        return kCaptureUnsupported;
    stream->capture = std::make_shared<Graph>();
    stream->last.clear();
    stream->hasJoined = false;
    stream->capture->mode = mode;
    return kSuccess;
}

TENON_FAKE_CUDA int cuStreamEndCapture(void* handle, void** graph)
{
    TENON_FAKE_ENTER(cuStreamEndCapture);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr || stream->capture == nullptr || stream->hasJoined)
        return kCaptureInvalid;
    std::shared_ptr<Graph> captured = std::move(stream->capture);
    stream->capture = nullptr;
    captured->isInvalid = !letGo(*captured, stream->last) || captured->isInvalid;
    if (captured->isInvalid)
    {
        for (UserObject* const object : captured->objects)
            dropReference(object);
        *graph = nullptr;
        return kCaptureInvalid;
    }
    *graph = new ExecutablePtr{std::make_shared<Executable>(std::move(captured))};
    return kSuccess;
}

TENON_FAKE_CUDA int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long)
{
    TENON_FAKE_ENTER(cuGraphInstantiateWithFlags);
    ExecutablePtr const& from = *static_cast<ExecutablePtr*>(graph);
    for (UserObject* const object : from->graph->objects)
        ++object->references;
    *executable = new ExecutablePtr{std::make_shared<Executable>(from->graph)};
    return kSuccess;
}

//! The same works with other parameters, as far as a fake can tell: as many, and as they depend on each other.
TENON_FAKE_CUDA int cuGraphExecUpdate_v2(void* executable, void* graph, void*)
{
    TENON_FAKE_ENTER(cuGraphExecUpdate_v2);
    ExecutablePtr const& from = *static_cast<ExecutablePtr*>(graph);
    ExecutablePtr& to = *static_cast<ExecutablePtr*>(executable);
    if (!std::ranges::equal(from->graph->nodes, to->graph->nodes, {}, &Node::sources, &Node::sources))
        return kUpdateFailed;
    for (UserObject* const object : from->graph->objects)
        ++object->references;
    std::scoped_lock const lock{state().mutex};
    to = std::make_shared<Executable>(from->graph); // Launches under way hold the former.
    return kSuccess;
}

TENON_FAKE_CUDA int cuGraphLaunch(void* executable, void* handle)
{
    TENON_FAKE_ENTER(cuGraphLaunch);
    std::scoped_lock const lock{state().mutex};
    auto const stream = streamOf(handle);
    if (stream == nullptr)
        return kInvalidHandle;
    return put(*stream, Touch::kHost, [held = *static_cast<ExecutablePtr*>(executable)] { held->run(); });
}

TENON_FAKE_CUDA int cuGraphExecDestroy(void* executable)
{
    TENON_FAKE_ENTER(cuGraphExecDestroy);
    delete static_cast<ExecutablePtr*>(executable);
    return kSuccess;
}

TENON_FAKE_CUDA int cuGraphDestroy(void* graph)
{
    TENON_FAKE_ENTER(cuGraphDestroy);
    delete static_cast<ExecutablePtr*>(graph);
    return kSuccess;
}

TENON_FAKE_CUDA int cuUserObjectCreate(void** object, void* data, void (*destroy)(void*), unsigned count, unsigned)
{
    TENON_FAKE_ENTER(cuUserObjectCreate);
    *object = new UserObject{data, destroy, static_cast<int>(count)};
    return kSuccess;
}

TENON_FAKE_CUDA int cuUserObjectRelease(void* object, unsigned)
{
    TENON_FAKE_ENTER(cuUserObjectRelease);
    dropReference(static_cast<UserObject*>(object));
    return kSuccess;
}

TENON_FAKE_CUDA int cuGraphRetainUserObject(void* graph, void* object, unsigned, unsigned)
{
    TENON_FAKE_ENTER(cuGraphRetainUserObject);
    std::scoped_lock const lock{state().mutex};
    static_cast<Graph*>(graph)->objects.push_back(static_cast<UserObject*>(object));
    return kSuccess;
}
