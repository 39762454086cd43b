// Readers and writers of plans that users implement.
#include "overrides.h"

#include <cstring>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! Copies what a reader answered, any buffer whose bytes lie together; -1 when it is none, or longer than was asked
//! for.
int64_t copyTo(std::optional<py::object> const& answer, void* destination, int64_t count) noexcept
{
    Py_buffer view;
    if (!answer)
        return -1;
    if (PyObject_GetBuffer(answer->ptr(), &view, PyBUF_SIMPLE) != 0)
    {
        PyErr_WriteUnraisable(answer->ptr());
        return -1;
    }
    auto const got = static_cast<int64_t>(view.len);
    if (got <= count)
        std::memcpy(destination, view.buf, static_cast<size_t>(got));
    PyBuffer_Release(&view);
    if (got <= count)
        return got;
    std::fprintf(stderr, "[tenon] read answered with %lld bytes; %lld were asked for\n", static_cast<long long>(got),
        static_cast<long long>(count));
    return -1;
}

class PyStreamReader : public IStreamReader
{
  public:
    int64_t read(void* destination, int64_t count) override
    {
        WithGil const gil;
        return copyTo(callOverride(static_cast<IStreamReader const*>(this), "read", true, count), destination, count);
    }
};

class PyStreamReaderV2 : public IStreamReaderV2
{
  public:
    int64_t read(void* destination, int64_t count, cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return copyTo(callOverride(self(), "read", true, count, handleOf(stream)), destination, count);
    }
    bool seek(int64_t offset, SeekPosition where) noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(self(), "seek", true, offset, where), false, "seek");
    }

  private:
    IStreamReaderV2 const* self() const
    {
        return this;
    }
};

class PyStreamWriter : public IStreamWriter
{
  public:
    int64_t write(void const* data, int64_t count) override
    {
        WithGil const gil;
        return guarded<void>("write", int64_t{-1}, [&] {
            py::bytes const bytes{static_cast<char const*>(data), static_cast<size_t>(count)};
            return valueOr(
                callOverride(static_cast<IStreamWriter const*>(this), "write", true, bytes), int64_t{-1}, "write");
        });
    }
};
} // namespace

void bindStreams(py::module_& m)
{
    py::class_<IStreamReader, PyStreamReader>(m, "IStreamReader", docOf("IStreamReader"))
        .def(py::init<>())
        .def(
            "read",
            [](IStreamReader& self, Handle destination, int64_t size) {
                return self.read(destination.as<void*>(), size);
            },
            py::arg("destination"), py::arg("size"), docOf("IStreamReader.read"));
    py::class_<IStreamReaderV2, PyStreamReaderV2>(m, "IStreamReaderV2", docOf("IStreamReaderV2"))
        .def(py::init<>())
        .def(
            "read",
            [](IStreamReaderV2& self, Handle destination, int64_t size, Handle stream) {
                return self.read(destination.as<void*>(), size, stream.as<cudaStream_t>());
            },
            py::arg("destination"), py::arg("num_bytes"), py::arg("stream"), docOf("IStreamReaderV2.read"))
        .def("seek", &IStreamReaderV2::seek, py::arg("offset"), py::arg("where"), docOf("IStreamReaderV2.seek"));
    py::class_<IStreamWriter, PyStreamWriter>(m, "IStreamWriter", docOf("IStreamWriter"))
        .def(py::init<>())
        .def(
            "write", [](IStreamWriter& self, Handle data, int64_t size) { return self.write(data.as<void*>(), size); },
            py::arg("data"), py::arg("size"), docOf("IStreamWriter.write"));
}

} // namespace tenon::python
