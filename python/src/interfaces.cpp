// Interfaces that users implement: logger, error recorder, progress monitor, profiler, allocators, streams, listener.
//
// An exception of a Python override never crosses native frames: it is printed, and a neutral value answers (rule X2).
#include "bindings.h"

#include <cstdio>
#include <optional>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! Calls the Python override `name` of `self`; none when it is missing or raised.
template <typename Base, typename... Args>
std::optional<py::object> callOverride(Base const* self, char const* name, bool required, Args&&... args)
{
    try
    {
        py::function const function = py::get_override(self, name);
        if (function)
            return function(std::forward<Args>(args)...);
        if (required)
            std::fprintf(stderr, "[tenon] the Python class does not implement %s\n", name);
    }
    catch (py::error_already_set& error)
    {
        error.discard_as_unraisable(name);
    }
    catch (std::exception const& error)
    {
        std::fprintf(stderr, "[tenon] %s: %s\n", name, error.what());
    }
    return std::nullopt;
}

template <typename T>
T valueOr(std::optional<py::object> const& answer, T fallback, char const* name)
{
    if (!answer || answer->is_none())
        return fallback;
    try
    {
        return answer->cast<T>();
    }
    catch (std::exception const& error)
    {
        std::fprintf(stderr, "[tenon] %s answered with a value of the wrong type: %s\n", name, error.what());
        return fallback;
    }
}

//! An address from an int, a capsule of any name, or None; anything else counts as null (rule R9).
void* addressOf(std::optional<py::object> const& answer)
{
    if (!answer || answer->is_none())
        return nullptr;
    if (py::isinstance<py::int_>(*answer))
        return reinterpret_cast<void*>(answer->cast<size_t>());
    if (PyCapsule_CheckExact(answer->ptr()) != 0)
        return PyCapsule_GetPointer(answer->ptr(), PyCapsule_GetName(answer->ptr()));
    return nullptr;
}

size_t handleOf(void const* pointer)
{
    return reinterpret_cast<size_t>(pointer);
}

class PyLogger : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(static_cast<ILogger const*>(this), "log", true, severity, message);
    }
};

//! Prints to standard error what is at least as severe as `min_severity`.
class DefaultLogger : public ILogger
{
  public:
    explicit DefaultLogger(Severity severity) : minSeverity{severity}
    {
    }
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity > minSeverity)
            return;
        static constexpr char const* kNames[]{"F", "E", "W", "I", "V"};
        std::fprintf(stderr, "[tenon] [%s] %s\n", kNames[static_cast<int32_t>(severity)], message);
    }
    Severity minSeverity;
};

class PyDefaultLogger : public DefaultLogger
{
  public:
    using DefaultLogger::DefaultLogger;
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        {
            py::gil_scoped_acquire const gil;
            if (py::get_override(static_cast<DefaultLogger const*>(this), "log"))
            {
                callOverride(static_cast<DefaultLogger const*>(this), "log", true, severity, message);
                return;
            }
        }
        DefaultLogger::log(severity, message);
    }
};

class PyErrorRecorder : public IErrorRecorder
{
  public:
    int32_t getNbErrors() const noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this, "num_errors", true), 0, "num_errors");
    }
    ErrorCode getErrorCode(int32_t index) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this, "get_error_code", true, index), ErrorCode::kUNSPECIFIED_ERROR, "get_error_code");
    }
    ErrorDesc getErrorDesc(int32_t index) const noexcept override
    {
        py::gil_scoped_acquire const gil;
        mDescription = valueOr(callOverride(this, "get_error_desc", true, index), std::string{}, "get_error_desc");
        return mDescription.c_str();
    }
    bool hasOverflowed() const noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this, "has_overflowed", true), false, "has_overflowed");
    }
    void clear() noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(this, "clear", true);
    }
    bool reportError(ErrorCode code, ErrorDesc description) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(this, "report_error", true, code, description), false, "report_error");
    }
    RefCount incRefCount() noexcept override
    {
        return ++mReferences;
    }
    RefCount decRefCount() noexcept override
    {
        return --mReferences;
    }

  private:
    mutable std::string mDescription;
    std::atomic<int32_t> mReferences{0};
};

class PyProgressMonitor : public IProgressMonitor
{
  public:
    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override
    {
        py::gil_scoped_acquire const gil;
        py::object const parentName = parent == nullptr ? py::object(py::none()) : py::object(py::str(parent));
        callOverride(this, "phase_start", true, phase, parentName, steps);
    }
    bool stepComplete(char const* phase, int32_t step) noexcept override
    {
        py::gil_scoped_acquire const gil;
        // A monitor that raises cancels the build; one that answers nothing lets it go on.
        std::optional<py::object> const answer = callOverride(this, "step_complete", true, phase, step);
        return answer.has_value() && valueOr(answer, true, "step_complete");
    }
    void phaseFinish(char const* phase) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(this, "phase_finish", true, phase);
    }
};

class PyProfiler : public IProfiler
{
  public:
    void reportLayerTime(char const* layer, float milliseconds) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(static_cast<IProfiler const*>(this), "report_layer_time", true, layer, milliseconds);
    }
};

//! Prints a line per layer.
class DefaultProfiler : public IProfiler
{
  public:
    void reportLayerTime(char const* layer, float milliseconds) noexcept override
    {
        std::printf("%s: %g ms\n", layer, static_cast<double>(milliseconds));
    }
};

template <typename Base>
class PyAllocatorOf : public Base
{
  public:
    void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return addressOf(callOverride(self(), "allocate", true, size, alignment, flags));
    }
    void* reallocate(void* address, uint64_t alignment, uint64_t size) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return addressOf(callOverride(self(), "reallocate", false, handleOf(address), alignment, size));
    }
    bool deallocate(void* memory) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return valueOr(callOverride(self(), "deallocate", true, handleOf(memory)), false, "deallocate");
    }

  private:
    Base const* self() const
    {
        return this;
    }
};

class PyOutputAllocator : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const* name, void* current, uint64_t size, uint64_t alignment) noexcept override
    {
        py::gil_scoped_acquire const gil;
        return addressOf(callOverride(base(), "reallocate_output", true, name, handleOf(current), size, alignment));
    }
    void* reallocateOutputAsync(
        char const* name, void* current, uint64_t size, uint64_t alignment, cudaStream_t stream) override
    {
        {
            py::gil_scoped_acquire const gil;
            if (py::get_override(base(), "reallocate_output_async"))
                return addressOf(callOverride(base(), "reallocate_output_async", true, name, handleOf(current), size,
                    alignment, handleOf(stream)));
        }
        return reallocateOutput(name, current, size, alignment);
    }
    void notifyShape(char const* name, Dims const& shape) noexcept override
    {
        py::gil_scoped_acquire const gil;
        callOverride(base(), "notify_shape", true, name, Dims{shape});
    }

  private:
    IOutputAllocator const* base() const
    {
        return this;
    }
};

class PyDebugListener : public IDebugListener
{
  public:
    bool processDebugTensor(void const* address, TensorLocation location, DataType type, Dims const& shape,
        char const* name, cudaStream_t stream) override
    {
        py::gil_scoped_acquire const gil;
        callOverride(static_cast<IDebugListener const*>(this), "process_debug_tensor", true, handleOf(address), location,
            type, Dims{shape}, name, handleOf(stream));
        return true; // The answer and exceptions of a Python listener are ignored (rule T8).
    }
};

class PyStreamWriter : public IStreamWriter
{
  public:
    int64_t write(void const* data, int64_t count) override
    {
        py::gil_scoped_acquire const gil;
        py::bytes const bytes{static_cast<char const*>(data), static_cast<size_t>(count)};
        return valueOr(callOverride(static_cast<IStreamWriter const*>(this), "write", true, bytes), int64_t{-1}, "write");
    }
};

class PyStreamReader : public IStreamReader
{
  public:
    int64_t read(void* destination, int64_t count) override
    {
        py::gil_scoped_acquire const gil;
        std::optional<py::object> const answer
            = callOverride(static_cast<IStreamReader const*>(this), "read", true, count);
        if (!answer || answer->is_none() || !PyObject_CheckBuffer(answer->ptr()))
            return -1;
        py::buffer_info const info = py::reinterpret_borrow<py::buffer>(*answer).request();
        int64_t const got = std::min(static_cast<int64_t>(info.size * info.itemsize), count);
        std::memcpy(destination, info.ptr, static_cast<size_t>(got));
        return got;
    }
};

void bindLoggers(py::module_& m)
{
    py::class_<ILogger, PyLogger> c(m, "ILogger", docOf("ILogger"));
    py::native_enum<ILogger::Severity>(c, "Severity", "enum.IntEnum")
        .value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
        .value("ERROR", ILogger::Severity::kERROR)
        .value("WARNING", ILogger::Severity::kWARNING)
        .value("INFO", ILogger::Severity::kINFO)
        .value("VERBOSE", ILogger::Severity::kVERBOSE)
        .export_values()
        .finalize();
    c.def(py::init<>());
    c.def("log", &ILogger::log, py::arg("severity"), py::arg("msg"), py::call_guard<py::gil_scoped_release>());
    py::class_<DefaultLogger, ILogger, PyDefaultLogger>(m, "Logger", docOf("Logger"))
        .def(py::init<ILogger::Severity>(), py::arg("min_severity") = ILogger::Severity::kWARNING)
        .def_readwrite("min_severity", &DefaultLogger::minSeverity)
        .def("log", &DefaultLogger::log, py::arg("severity"), py::arg("msg"), py::call_guard<py::gil_scoped_release>());
}

void bindRecorder(py::module_& m)
{
    py::class_<IErrorRecorder, PyErrorRecorder> c(m, "IErrorRecorder", docOf("IErrorRecorder"));
    c.def(py::init<>());
    c.def_property_readonly_static(
        "MAX_DESC_LENGTH", [](py::object const&) { return size_t{IErrorRecorder::kMAX_DESC_LENGTH}; });
    c.def("num_errors", &IErrorRecorder::getNbErrors);
    c.def("get_error_code", &IErrorRecorder::getErrorCode);
    c.def("get_error_desc", &IErrorRecorder::getErrorDesc);
    c.def("has_overflowed", &IErrorRecorder::hasOverflowed);
    c.def("clear", &IErrorRecorder::clear);
    c.def("report_error", &IErrorRecorder::reportError);
}

void bindAllocators(py::module_& m)
{
    py::class_<IGpuAllocator, PyAllocatorOf<IGpuAllocator>, IVersionedInterface>(m, "IGpuAllocator", docOf("IGpuAllocator"))
        .def(py::init<>());
    py::class_<IOutputAllocator, PyOutputAllocator>(m, "IOutputAllocator", docOf("IOutputAllocator")).def(py::init<>());
}
} // namespace

void bindInterfaces(py::module_& m)
{
    py::class_<InterfaceInfo>(m, "InterfaceInfo", docOf("InterfaceInfo"))
        .def_readonly("kind", &InterfaceInfo::kind)
        .def_readonly("major", &InterfaceInfo::major)
        .def_readonly("minor", &InterfaceInfo::minor);
    py::class_<IVersionedInterface, Borrowed<IVersionedInterface>>(m, "IVersionedInterface", docOf("IVersionedInterface"))
        .def_property_readonly("api_language", &IVersionedInterface::getAPILanguage)
        .def_property_readonly("interface_info", &IVersionedInterface::getInterfaceInfo);
    bindLoggers(m);
    bindRecorder(m);
    bindAllocators(m);
    py::class_<IProgressMonitor, PyProgressMonitor>(m, "IProgressMonitor", docOf("IProgressMonitor"))
        .def(py::init<>())
        .def("phase_start", &IProgressMonitor::phaseStart, py::arg("phase_name"), py::arg("parent_phase"),
            py::arg("num_steps"))
        .def("step_complete", &IProgressMonitor::stepComplete, py::arg("phase_name"), py::arg("step"))
        .def("phase_finish", &IProgressMonitor::phaseFinish, py::arg("phase_name"));
    py::class_<IProfiler, PyProfiler>(m, "IProfiler", docOf("IProfiler"))
        .def(py::init<>())
        .def("report_layer_time", &IProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"));
    py::class_<DefaultProfiler, IProfiler>(m, "Profiler", docOf("Profiler"))
        .def(py::init<>())
        .def("report_layer_time", &DefaultProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"));
    py::class_<IDebugListener, PyDebugListener>(m, "IDebugListener", docOf("IDebugListener")).def(py::init<>());
    py::class_<IStreamWriter, PyStreamWriter>(m, "IStreamWriter", docOf("IStreamWriter")).def(py::init<>());
    py::class_<IStreamReader, PyStreamReader>(m, "IStreamReader", docOf("IStreamReader")).def(py::init<>());
}

} // namespace tenon::python
