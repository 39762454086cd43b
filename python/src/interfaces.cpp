// Interfaces that users implement: logger, error recorder, progress monitor, profiler, debug listener.
#include "handed_out.h"
#include "kept.h"
#include "members.h"
#include "overrides.h"

#include <atomic>
#include <set>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

class PyLogger : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        WithGil const gil;
        callOverride(static_cast<ILogger const*>(this), "log", true, severity, message);
    }
    virtual InterfaceInfo getInterfaceInfo() const noexcept // What 11.1 has behind the slots of 10.16.
    {
        return {"ILogger", 1, 0};
    }
};

//! Prints to standard error what is at least as severe as `min_severity`.
class DefaultLogger : public ILogger
{
  public:
    explicit DefaultLogger(Severity severity)
        : minSeverity{severity}
    {
    }
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity > minSeverity)
            return;
        static constexpr char const* kNames[]{"F", "E", "W", "I", "V"};
        std::fprintf(stderr, "[tenon] [%s] %s\n", kNames[static_cast<int32_t>(severity)], message);
    }
    virtual InterfaceInfo getInterfaceInfo() const noexcept // As of PyLogger.
    {
        return {"ILogger", 1, 0};
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
            WithGil const gil;
            if (hasOverride(static_cast<DefaultLogger const*>(this), "log"))
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
        WithGil const gil;
        char const* const name = hasOverride(this, "get_num_errors") ? "get_num_errors" : "num_errors";
        return valueOr(callOverride(this, name, true), 0, name);
    }
    ErrorCode getErrorCode(int32_t index) const noexcept override
    {
        WithGil const gil;
        return valueOr(
            callOverride(this, "get_error_code", true, index), ErrorCode::kUNSPECIFIED_ERROR, "get_error_code");
    }
    ErrorDesc getErrorDesc(int32_t index) const noexcept override
    {
        WithGil const gil;
        return mDescriptions.give(
            valueOr(callOverride(this, "get_error_desc", true, index), std::string{}, "get_error_desc"));
    }
    bool hasOverflowed() const noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(this, "has_overflowed", true), false, "has_overflowed");
    }
    void clear() noexcept override
    {
        WithGil const gil;
        callOverride(this, "clear", true);
        mDescriptions.clear();
    }
    bool reportError(ErrorCode code, ErrorDesc description) noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(this, "report_error", true, code, description), false, "report_error");
    }
    //! Whoever holds the recorder holds its Python object: builders and runtimes hand theirs on to what they make, and
    //! a run under way reports to the one that its context had.
    RefCount incRefCount() noexcept override
    {
        WithGil const gil;
        guarded<void>("IErrorRecorder", 0, [&] {
            watchTheEnd();
            py::object self = py::cast(static_cast<IErrorRecorder*>(this), py::return_value_policy::reference);
            if (mObject == nullptr)
                mObject = self.ptr();
            self.release();
            return 0;
        });
        return ++mReferences;
    }
    RefCount decRefCount() noexcept override
    {
        int32_t const left = --mReferences;
        if (mObject != nullptr)
            dropLater(mObject);
        return left;
    }

  private:
    mutable HandedOutTexts mDescriptions;
    std::atomic<int32_t> mReferences{0};
    PyObject* mObject{nullptr}; //!< Known since the first reference.
};

class PyProgressMonitor : public IProgressMonitor
{
  public:
    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override
    {
        WithGil const gil;
        callOverride(this, "phase_start", true, phase, parent, steps); // Without a parent it is None.
    }
    bool stepComplete(char const* phase, int32_t step) noexcept override
    {
        WithGil const gil;
        // A monitor that raises cancels the build; one that answers nothing lets it go on.
        std::optional<py::object> const answer = callOverride(this, "step_complete", true, phase, step);
        return answer.has_value() && valueOr(answer, true, "step_complete");
    }
    void phaseFinish(char const* phase) noexcept override
    {
        WithGil const gil;
        callOverride(this, "phase_finish", true, phase);
    }
};

class PyProfiler : public IProfiler
{
  public:
    void reportLayerTime(char const* layer, float milliseconds) noexcept override
    {
        WithGil const gil;
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

class PyDebugListener : public IDebugListener
{
  public:
    bool processDebugTensor(void const* address, TensorLocation location, DataType type, Dims const& shape,
        char const* name, cudaStream_t stream) override
    {
        WithGil const gil;
        callOverride(static_cast<IDebugListener const*>(this), "process_debug_tensor", true, handleOf(address),
            location, type, Dims{shape}, name, handleOf(stream));
        return true; // The answer and exceptions of a Python listener are ignored (rule T8).
    }
};

//! The text lives as long as the interpreter: the struct only points at it.
void setKind(InterfaceInfo& info, std::string const& kind)
{
    static std::set<std::string> kinds;
    info.kind = kinds.insert(kind).first->c_str();
}

void bindLoggers(py::module_& m)
{
    py::class_<ILogger, PyLogger> c(m, "ILogger", docOf("ILogger"));
    py::native_enum<ILogger::Severity>(c, "Severity", "enum.Enum")
        .value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
        .value("ERROR", ILogger::Severity::kERROR)
        .value("WARNING", ILogger::Severity::kWARNING)
        .value("INFO", ILogger::Severity::kINFO)
        .value("VERBOSE", ILogger::Severity::kVERBOSE)
        .export_values()
        .finalize();
    c.def(py::init<>());
    method(c, "log", &ILogger::log, py::arg("severity"), py::arg("msg"), py::call_guard<WithoutGil>(),
        docOf("ILogger.log"));
    py::class_<DefaultLogger, ILogger, PyDefaultLogger>(m, "Logger", docOf("Logger"))
        .def(py::init<ILogger::Severity>(), py::arg("min_severity") = ILogger::Severity::kWARNING)
        .def_readwrite("min_severity", &DefaultLogger::minSeverity, docOf("Logger.min_severity"))
        .def("log", &DefaultLogger::log, py::arg("severity"), py::arg("msg"), py::call_guard<WithoutGil>(),
            docOf("Logger.log"));
}

void bindRecorder(py::module_& m)
{
    py::class_<IErrorRecorder, PyErrorRecorder> c(m, "IErrorRecorder", docOf("IErrorRecorder"));
    c.def(py::init<>());
    c.def_property_readonly_static(
        "MAX_DESC_LENGTH", [](py::object const&) { return size_t{IErrorRecorder::kMAX_DESC_LENGTH}; },
        docOf("IErrorRecorder.MAX_DESC_LENGTH"));
    method(c, "num_errors", &IErrorRecorder::getNbErrors, docOf("IErrorRecorder.num_errors"));
    method(c, "get_error_code", &IErrorRecorder::getErrorCode, docOf("IErrorRecorder.get_error_code"));
    method(c, "get_error_desc", &IErrorRecorder::getErrorDesc, docOf("IErrorRecorder.get_error_desc"));
    method(c, "has_overflowed", &IErrorRecorder::hasOverflowed, docOf("IErrorRecorder.has_overflowed"));
    method(c, "clear", &IErrorRecorder::clear, docOf("IErrorRecorder.clear"));
    method(c, "report_error", &IErrorRecorder::reportError, docOf("IErrorRecorder.report_error"));
}

} // namespace

void requireInit(py::handle object, py::detail::type_info const& type)
{
    if (!object || PyType_IsSubtype(Py_TYPE(object.ptr()), type.type) == 0)
        return;
    auto* const instance = reinterpret_cast<py::detail::instance*>(object.ptr());
    for (auto const& part : py::detail::values_and_holders(instance))
    {
        if (part.value_ptr() != nullptr || PyType_IsSubtype(part.type->type, type.type) == 0)
            continue;
        auto const nameOf = [](PyTypeObject* each) {
            return py::handle{reinterpret_cast<PyObject*>(each)}.attr("__name__").cast<std::string>();
        };
        std::string const base = nameOf(part.type->type);
        std::string const own = nameOf(Py_TYPE(object.ptr()));
        throw py::type_error(base + ".__init__() has not run on this object of class " + own + ": let " + own
            + ".__init__ call " + base + ".__init__(self) before it uses the object");
    }
}

void bindInterfaces(py::module_& m)
{
    py::class_<InterfaceInfo>(m, "InterfaceInfo", docOf("InterfaceInfo"))
        .def_property(
            "kind", [](InterfaceInfo const& self) { return self.kind; }, &setKind, docOf("InterfaceInfo.kind"))
        .def_readwrite("major", &InterfaceInfo::major, docOf("InterfaceInfo.major"))
        .def_readwrite("minor", &InterfaceInfo::minor, docOf("InterfaceInfo.minor"));
    py::class_<IVersionedInterface, Borrowed<IVersionedInterface>>(
        m, "IVersionedInterface", docOf("IVersionedInterface"))
        .def_property_readonly(
            "api_language", &IVersionedInterface::getAPILanguage, docOf("IVersionedInterface.api_language"))
        .def_property_readonly(
            "interface_info", &IVersionedInterface::getInterfaceInfo, docOf("IVersionedInterface.interface_info"));
    bindLoggers(m);
    bindRecorder(m);
    bindAllocators(m);
    py::class_<IProgressMonitor, PyProgressMonitor>(m, "IProgressMonitor", docOf("IProgressMonitor"))
        .def(py::init<>())
        .def("phase_start", &IProgressMonitor::phaseStart, py::arg("phase_name"), py::arg("parent_phase"),
            py::arg("num_steps"), docOf("IProgressMonitor.phase_start"))
        .def("step_complete", &IProgressMonitor::stepComplete, py::arg("phase_name"), py::arg("step"),
            docOf("IProgressMonitor.step_complete"))
        .def("phase_finish", &IProgressMonitor::phaseFinish, py::arg("phase_name"),
            docOf("IProgressMonitor.phase_finish"));
    py::class_<IProfiler, PyProfiler>(m, "IProfiler", docOf("IProfiler"))
        .def(py::init<>())
        .def("report_layer_time", &IProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"),
            docOf("IProfiler.report_layer_time"));
    py::class_<DefaultProfiler, IProfiler>(m, "Profiler", docOf("Profiler"))
        .def(py::init<>())
        .def("report_layer_time", &DefaultProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"),
            docOf("Profiler.report_layer_time"));
    py::class_<IDebugListener, PyDebugListener>(m, "IDebugListener", docOf("IDebugListener"))
        .def(py::init<>())
        .def(
            "process_debug_tensor",
            [](IDebugListener& self, Handle address, TensorLocation location, DataType type, Dims const& shape,
                char const* name, Handle stream) {
                self.processDebugTensor(address.as<void*>(), location, type, shape, name, stream.as<cudaStream_t>());
            },
            py::arg("addr"), py::arg("location"), py::arg("type"), py::arg("shape"), py::arg("name"), py::arg("stream"),
            docOf("IDebugListener.process_debug_tensor"));
    bindStreams(m);
}

} // namespace tenon::python
