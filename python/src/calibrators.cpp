// Calibrators that users write in Python: batches are addresses, caches are buffers.
#include "overrides.h"

#include <string>
#include <vector>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! A buffer that Python gave, as long as native code looks at it.
class GivenBuffer
{
  public:
    //! Null for None and for what is no buffer, which is reported.
    template <typename Base>
    void const* take(std::optional<py::object> const& answer, char const* call, size_t& length) noexcept
    {
        length = 0;
        mInfo.reset();
        if (!answer || answer->is_none())
            return nullptr;
        return guarded<Base>(call, static_cast<void const*>(nullptr), [&]() -> void const* {
            if (PyObject_CheckBuffer(answer->ptr()) == 0)
            {
                blame<Base>(std::string{call} + " answered with " + shown(*answer) + ", which is no buffer");
                return nullptr;
            }
            auto info = std::make_unique<py::buffer_info>(py::reinterpret_borrow<py::buffer>(*answer).request());
            if (PyBuffer_IsContiguous(info->view(), 'C') == 0)
            {
                blame<Base>(std::string{call} + " answered with " + shown(*answer) + ", whose bytes lie apart");
                return nullptr;
            }
            mInfo = std::move(info);
            length = static_cast<size_t>(mInfo->size * mInfo->itemsize);
            return mInfo->ptr;
        });
    }
    //! With the interpreter's lock.
    void drop() noexcept
    {
        mInfo.reset();
    }

  private:
    std::unique_ptr<py::buffer_info> mInfo;
};

//! `Base`: one of the public classes of calibrators.
template <typename Base>
class PyCalibrator : public Base
{
  public:
    ~PyCalibrator() override
    {
        WithGil const gil;
        mCache.drop();
        mHistograms.drop();
    }
    int32_t getBatchSize() const noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(self(), "get_batch_size", true), int32_t{-1}, "get_batch_size");
    }
    bool getBatch(void* bindings[], char const* names[], int32_t count) noexcept override
    {
        WithGil const gil;
        std::optional<py::object> const answer = guarded<Base>("get_batch", std::optional<py::object>{},
            [&] { return callOverride(self(), "get_batch", true, std::vector<std::string>(names, names + count)); });
        if (!answer || answer->is_none())
            return false; // The end.
        return guarded<Base>("get_batch", false, [&] { return take(*answer, bindings, count); });
    }
    void const* readCalibrationCache(size_t& length) noexcept override
    {
        WithGil const gil;
        return mCache.take<Base>(
            callOverride(self(), "read_calibration_cache", true), "read_calibration_cache", length);
    }
    void writeCalibrationCache(void const* data, size_t length) noexcept override
    {
        WithGil const gil;
        write("write_calibration_cache", data, length);
    }

  protected:
    Base const* self() const
    {
        return this;
    }
    template <typename... More>
    void write(char const* call, void const* data, size_t length, More... more) noexcept
    {
        guarded<Base>(call, 0, [&] {
            // A view, which has tobytes(), of bytes that whoever keeps it keeps.
            callOverride(
                self(), call, true, py::memoryview(py::bytes(static_cast<char const*>(data), length)), more...);
            return 0;
        });
    }

    GivenBuffer mHistograms;

  private:
    //! An address per input; too few of them, an empty list for instance, are the end as well.
    static bool take(py::object const& answer, void* bindings[], int32_t count)
    {
        py::sequence const list = py::reinterpret_borrow<py::sequence>(answer);
        if (!py::isinstance<py::sequence>(answer) || py::len(list) == 0)
            return false;
        if (static_cast<int32_t>(py::len(list)) != count)
        {
            blame<Base>("get_batch answered with " + std::to_string(py::len(list)) + " addresses for "
                + std::to_string(count) + " inputs");
            return false;
        }
        for (int32_t i = 0; i < count; ++i)
            bindings[i] = reinterpret_cast<void*>(py::int_(list[static_cast<size_t>(i)]).cast<size_t>());
        return true;
    }

    GivenBuffer mCache;
};

//! Classes that say themselves what they do; the first one is for users who do not derive from these.
class PyAnyCalibrator : public PyCalibrator<IInt8Calibrator>
{
  public:
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        WithGil const gil;
        return valueOr(
            callOverride(self(), "get_algorithm", true), CalibrationAlgoType::kENTROPY_CALIBRATION_2, "get_algorithm");
    }
};

template <typename Base>
class PyNamedCalibrator : public PyCalibrator<Base>
{
  public:
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        WithGil const gil;
        CalibrationAlgoType const own = Base::getAlgorithm();
        return hasOverride(this->self(), "get_algorithm")
            ? valueOr(callOverride(this->self(), "get_algorithm", false), own, "get_algorithm")
            : own;
    }
};

class PyLegacyCalibrator : public PyNamedCalibrator<IInt8LegacyCalibrator>
{
  public:
    double getQuantile() const noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(self(), "get_quantile", true), 1.0, "get_quantile");
    }
    double getRegressionCutoff() const noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(self(), "get_regression_cutoff", true), 1.0, "get_regression_cutoff");
    }
    //! Both get the parameters of the C++ calls, as users' classes have them, although a length says nothing that an
    //! answer or a view does not say itself.
    void const* readHistogramCache(size_t& length) noexcept override
    {
        WithGil const gil;
        return mHistograms.take<IInt8LegacyCalibrator>(
            callOverride(self(), "read_histogram_cache", true, size_t{0}), "read_histogram_cache", length);
    }
    void writeHistogramCache(void const* data, size_t length) noexcept override
    {
        WithGil const gil;
        write("write_histogram_cache", data, length, length);
    }
};

//! Calls from Python of what a class derived from these does.
template <typename Base, typename Class>
void addCalls(Class& c, std::string const& name)
{
    auto const doc = [&](char const* member) { return docOf((name + "." + member).c_str()); };
    c.def(py::init<>())
        .def("get_batch_size", &Base::getBatchSize, doc("get_batch_size"))
        .def("get_algorithm", &Base::getAlgorithm, doc("get_algorithm"))
        .def(
            "get_batch",
            [](Base& self, std::vector<std::string> const& names) -> py::object {
                std::vector<char const*> texts;
                for (std::string const& each : names)
                    texts.push_back(each.c_str());
                std::vector<void*> bindings(names.size(), nullptr);
                if (!self.getBatch(bindings.data(), texts.data(), static_cast<int32_t>(texts.size())))
                    return py::none();
                py::list addresses;
                for (void* const binding : bindings)
                    addresses.append(handleOf(binding));
                return addresses;
            },
            py::arg("names"), doc("get_batch"))
        .def(
            "read_calibration_cache",
            [](Base& self) -> py::object {
                size_t length{0};
                void const* const data = self.readCalibrationCache(length);
                return data == nullptr ? py::object{py::none()} : py::bytes(static_cast<char const*>(data), length);
            },
            doc("read_calibration_cache"))
        .def(
            "write_calibration_cache",
            [](Base& self, py::buffer const& cache) {
                py::buffer_info const info = cache.request();
                self.writeCalibrationCache(info.ptr, static_cast<size_t>(info.size * info.itemsize));
            },
            py::arg("cache"), doc("write_calibration_cache"));
}

template <typename Base, typename Python>
void bindCalibrator(py::module_& m, char const* name)
{
    py::class_<Base, IInt8Calibrator, Python> c(m, name, docOf(name));
    addCalls<Base>(c, name);
}
} // namespace

void bindCalibrators(py::module_& m)
{
    py::class_<IInt8Calibrator, PyAnyCalibrator> c(m, "IInt8Calibrator", docOf("IInt8Calibrator"));
    addCalls<IInt8Calibrator>(c, "IInt8Calibrator");
    bindCalibrator<IInt8EntropyCalibrator, PyNamedCalibrator<IInt8EntropyCalibrator>>(m, "IInt8EntropyCalibrator");
    bindCalibrator<IInt8EntropyCalibrator2, PyNamedCalibrator<IInt8EntropyCalibrator2>>(m, "IInt8EntropyCalibrator2");
    bindCalibrator<IInt8MinMaxCalibrator, PyNamedCalibrator<IInt8MinMaxCalibrator>>(m, "IInt8MinMaxCalibrator");
    bindCalibrator<IInt8LegacyCalibrator, PyLegacyCalibrator>(m, "IInt8LegacyCalibrator");
}

} // namespace tenon::python
