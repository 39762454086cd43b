// Streams of the host for tenon/_streams.py.
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

//! Waits without the GIL, as work of the stream may be Python's.
void waiting(TenonHostStatus (*call)(void*), Handle stream)
{
    TenonHostStatus const status = [&] {
        py::gil_scoped_release const released;
        return call(stream.as<void*>());
    }();
    dropDone(); // What the work that is done has kept.
    check(status);
}
} // namespace

void bindHostStreams(py::module_& m)
{
    m.def("_stream_create", &create, py::arg("blocking"));
    m.def(
        "_stream_destroy", [](Handle stream) { waiting(&tenonHostDestroyStream, stream); }, py::arg("stream"));
    m.def(
        "_stream_synchronize", [](Handle stream) { waiting(&tenonHostSynchronizeStream, stream); }, py::arg("stream"));
    m.def("_stream_is_idle", &isIdle, py::arg("stream"));
}

} // namespace tenon::python
