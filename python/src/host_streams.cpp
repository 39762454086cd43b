// Streams of the host for tenon/_streams.py.
#include "interruptible.h"
#include "kept.h"

#include "tenon/host.h"

namespace tenon::python
{

namespace
{
//! RuntimeError with the library's sentence.
void check(TenonHostStatus status)
{
    if (status != TENON_HOST_OK)
        throw std::runtime_error(tenonHostProblem());
}

size_t create(bool isBlocking)
{
    void* stream{nullptr};
    check(tenonHostCreateStream(&stream, isBlocking ? 1 : 0, 0));
    return reinterpret_cast<size_t>(stream);
}

bool isIdle(Handle stream)
{
    TenonHostStatus const status = tenonHostQueryStream(stream.as<void*>());
    if (status != TENON_HOST_NOT_READY)
        check(status);
    return status == TENON_HOST_OK;
}

void awaitStream(Handle stream)
{
    awaiting([&](TenonContinueCheck mayContinue, void* signals) {
        return tenonHostAwaitStream(stream.as<void*>(), mayContinue, signals);
    });
}

//! Whether a signal has ended the wait at the interpreter's end: what goes with it waits no more. Exit handlers still
//! mean what they say.
std::atomic<bool> gHasGivenUp{false};

int32_t maySomeBeDone(void*) noexcept
{
    return Gate::isInTheWay() || (gHasGivenUp && Gate::isFinalizing()) ? 0 : 1;
}

//! At the interpreter's end: what stands in streams is done, unless Ctrl-C ends the wait, and no more calls come into
//! Python from there.
void finishWork()
{
    struct Closing
    {
        ~Closing()
        {
            WithoutGil const released;
            Gate::close();
        }
    } const closing;
    struct Keeping
    {
        bool isNeeded{true};
        ~Keeping()
        {
            if (isNeeded)
                keepAllThatIsLeft();
        }
    } keeping;
    if (Signals::areHandledHere())
    {
        gHasGivenUp = true; // Unless the wait goes to its end.
        awaiting(&tenonHostAwaitAll);
        gHasGivenUp = false;
        keeping.isNeeded = false;
        return;
    }
    WithoutGil const released;
    keeping.isNeeded = tenonHostAwaitAll(&maySomeBeDone, nullptr) == TENON_HOST_NOT_READY;
}

//! What is called with the numbers of the functions that Python puts into streams. Kept for good, as streams are.
PyObject* gCalled{nullptr};

void callInPython(void* number)
{
    WithGil const gil;
    PyObject* done{nullptr};
    takeOrStay([&] { done = PyObject_CallFunction(gCalled, "n", reinterpret_cast<Py_ssize_t>(number)); });
    if (done == nullptr)
        PyErr_WriteUnraisable(gCalled);
    Py_XDECREF(done);
}

//! The address of a cudaHostFn_t.
size_t hostFunction(py::function called)
{
    Py_XSETREF(gCalled, called.release().ptr());
    return reinterpret_cast<size_t>(&callInPython);
}

int32_t always(void*) noexcept
{
    return 1;
}

//! Waits for the work that stands in the stream.
TenonHostStatus awaitAndDestroy(void* stream) noexcept
{
    tenonHostAwaitStream(stream, &always, nullptr);
    return tenonHostDestroyStream(stream);
}

//! Waits without the GIL, as work of the stream may be Python's.
void waiting(TenonHostStatus (*call)(void*), Handle stream)
{
    if (Gate::isClosed() && !isWorkDone())
        return; // It would be for ever.
    TenonHostStatus const status = [&] {
        WithoutGil const released;
        return call(stream.as<void*>());
    }();
    dropDone(); // What the work that is done has kept.
    check(status);
}
} // namespace

bool isWorkDone() noexcept
{
    auto const awaited = [] { return tenonHostAwaitAll(&maySomeBeDone, nullptr) != TENON_HOST_NOT_READY; };
    if (PyGILState_Check() == 0)
        return awaited();
    WithoutGil const released;
    return awaited();
}

void keepAllThatIsLeft() noexcept
{
    py::detail::with_instance_map(nullptr, [](auto& instances) {
        for (auto const& [address, instance] : instances)
            Py_INCREF(reinterpret_cast<PyObject*>(instance));
    });
}

void bindHostStreams(py::module_& m)
{
    m.def("_stream_create", &create, py::arg("blocking"));
    m.def(
        "_stream_destroy", [](Handle stream) { waiting(&awaitAndDestroy, stream); }, py::arg("stream"));
    m.def(
        "_stream_synchronize",
        [](Handle stream) {
            awaitStream(stream);
            waiting(&tenonHostSynchronizeStream, stream);
        },
        py::arg("stream"));
    m.def("_stream_await", &awaitStream, py::arg("stream"));
    m.def(
        "_event_await",
        [](Handle event) {
            awaiting([&](TenonContinueCheck mayContinue, void* signals) {
                return tenonHostAwaitEvent(event.as<void*>(), mayContinue, signals);
            });
        },
        py::arg("event"));
    m.def(
        "_launches_await",
        [](Handle executable) {
            awaiting([&](TenonContinueCheck mayContinue, void* signals) {
                return tenonHostAwaitLaunches(executable.as<void*>(), mayContinue, signals);
            });
        },
        py::arg("executable"));
    m.def("_streams_await", [] { awaiting(&tenonHostAwaitAll); });
    m.def("_host_function", &hostFunction, py::arg("called"));
    py::module_::import("atexit").attr("register")(py::cpp_function{&finishWork});
    pthread_atfork(nullptr, nullptr, &Gate::reset);
    m.def("_stream_is_idle", &isIdle, py::arg("stream"));
}

} // namespace tenon::python
