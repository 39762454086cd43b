// Algorithm selectors that users write in Python. What a selector is shown is copied: native objects go when its call
// returns, Python's may be kept.
#include "overrides.h"

#include <array>
#include <string>
#include <vector>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

struct IOInfo
{
    explicit IOInfo(IAlgorithmIOInfo const& of)
        : dtype{of.getDataType()},
          format{of.getTensorFormat()},
          strides{of.getStrides()},
          vectorizedDim{of.getVectorizedDim()},
          componentsPerElement{of.getComponentsPerElement()}
    {
    }
    DataType dtype;
    TensorFormat format;
    Dims strides;
    int64_t vectorizedDim;
    int64_t componentsPerElement;
};

struct Variant
{
    int64_t implementation{0};
    int64_t tactic{0};
};

struct Algorithm
{
    explicit Algorithm(IAlgorithm const& of)
        : variant{of.getAlgorithmVariant().getImplementation(), of.getAlgorithmVariant().getTactic()},
          milliseconds{of.getTimingMSec()},
          workspace{of.getWorkspaceSize()}
    {
        while (IAlgorithmIOInfo const* const port = of.getAlgorithmIOInfoByIndex(static_cast<int32_t>(ports.size())))
            ports.emplace_back(*port);
    }
    IOInfo port(int32_t index) const
    {
        if (index < 0 || static_cast<size_t>(index) >= ports.size())
            throw py::index_error(
                "there is no tensor " + std::to_string(index) + " of " + std::to_string(ports.size()));
        return ports[static_cast<size_t>(index)];
    }
    Variant variant;
    float milliseconds;
    size_t workspace;
    std::vector<IOInfo> ports;
};

struct Context
{
    explicit Context(IAlgorithmContext const& of)
        : name{of.getName()},
          inputs{of.getNbInputs()},
          outputs{of.getNbOutputs()}
    {
        for (int32_t i = 0; i < inputs + outputs; ++i)
            shapes.push_back({of.getDimensions(i, OptProfileSelector::kMIN),
                of.getDimensions(i, OptProfileSelector::kOPT), of.getDimensions(i, OptProfileSelector::kMAX)});
    }
    std::vector<Dims> shape(int32_t index) const
    {
        if (index < 0 || static_cast<size_t>(index) >= shapes.size())
            throw py::index_error(
                "there is no tensor " + std::to_string(index) + " of " + std::to_string(shapes.size()));
        auto const& three = shapes[static_cast<size_t>(index)];
        return {three.begin(), three.end()};
    }
    std::string name;
    int32_t inputs;
    int32_t outputs;
    std::vector<std::array<Dims, 3>> shapes;
};

template <typename Copy, typename Native>
std::vector<Copy> copiesOf(Native const* const* given, int32_t count)
{
    std::vector<Copy> copies;
    for (int32_t i = 0; i < count; ++i)
        copies.emplace_back(*given[i]);
    return copies;
}

class PyAlgorithmSelector : public IAlgorithmSelector
{
  public:
    int32_t selectAlgorithms(IAlgorithmContext const& context, IAlgorithm const* const* choices, int32_t nbChoices,
        int32_t* selection) noexcept override
    {
        constexpr int32_t kOurs{-1}; // The builder chooses.
        constexpr char const* kCall{"select_algorithms"};
        WithGil const gil;
        std::optional<py::object> const answer = guarded<IAlgorithmSelector>(kCall, std::optional<py::object>{}, [&] {
            return callOverride<IAlgorithmSelector>(
                this, kCall, true, Context{context}, copiesOf<Algorithm>(choices, nbChoices));
        });
        if (!answer)
            return kOurs;
        std::vector<int32_t> const chosen = valueOr(answer, std::vector<int32_t>{kOurs}, kCall);
        for (size_t i = 0; i < chosen.size() && i < static_cast<size_t>(nbChoices); ++i)
            selection[i] = chosen[i];
        return static_cast<int32_t>(chosen.size()); // More than there are: the build says so.
    }
    void reportAlgorithms(
        IAlgorithmContext const* const* contexts, IAlgorithm const* const* choices, int32_t count) noexcept override
    {
        constexpr char const* kCall{"report_algorithms"};
        WithGil const gil;
        guarded<IAlgorithmSelector>(kCall, 0, [&] {
            callOverride<IAlgorithmSelector>(
                this, kCall, true, copiesOf<Context>(contexts, count), copiesOf<Algorithm>(choices, count));
            return 0;
        });
    }
};
} // namespace

void bindAlgorithmSelector(py::module_& m)
{
    py::class_<IOInfo>(m, "IAlgorithmIOInfo", docOf("IAlgorithmIOInfo"))
        .def_readonly("dtype", &IOInfo::dtype, docOf("IAlgorithmIOInfo.dtype"))
        .def_readonly("tensor_format", &IOInfo::format, docOf("IAlgorithmIOInfo.tensor_format"))
        .def_readonly("strides", &IOInfo::strides, docOf("IAlgorithmIOInfo.strides"))
        .def_readonly("vectorized_dim", &IOInfo::vectorizedDim, docOf("IAlgorithmIOInfo.vectorized_dim"))
        .def_readonly(
            "components_per_element", &IOInfo::componentsPerElement, docOf("IAlgorithmIOInfo.components_per_element"));
    py::class_<Variant>(m, "IAlgorithmVariant", docOf("IAlgorithmVariant"))
        .def_readonly("implementation", &Variant::implementation, docOf("IAlgorithmVariant.implementation"))
        .def_readonly("tactic", &Variant::tactic, docOf("IAlgorithmVariant.tactic"));
    py::class_<Algorithm>(m, "IAlgorithm", docOf("IAlgorithm"))
        .def_readonly("algorithm_variant", &Algorithm::variant, docOf("IAlgorithm.algorithm_variant"))
        .def_readonly("timing_msec", &Algorithm::milliseconds, docOf("IAlgorithm.timing_msec"))
        .def_readonly("workspace_size", &Algorithm::workspace, docOf("IAlgorithm.workspace_size"))
        .def("get_algorithm_io_info", &Algorithm::port, py::arg("index"), docOf("IAlgorithm.get_algorithm_io_info"));
    py::class_<Context>(m, "IAlgorithmContext", docOf("IAlgorithmContext"))
        .def_readonly("name", &Context::name, docOf("IAlgorithmContext.name"))
        .def_readonly("num_inputs", &Context::inputs, docOf("IAlgorithmContext.num_inputs"))
        .def_readonly("num_outputs", &Context::outputs, docOf("IAlgorithmContext.num_outputs"))
        .def("get_shape", &Context::shape, py::arg("index"), docOf("IAlgorithmContext.get_shape"));
    py::class_<IAlgorithmSelector, PyAlgorithmSelector>(m, "IAlgorithmSelector", docOf("IAlgorithmSelector"))
        .def(py::init<>())
        .def(
            "select_algorithms",
            [](IAlgorithmSelector&, Context const&, std::vector<Algorithm> const&) -> std::vector<int32_t> {
                throw std::runtime_error(
                    "a class that derives from IAlgorithmSelector says what select_algorithms does");
            },
            py::arg("context"), py::arg("choices"), docOf("IAlgorithmSelector.select_algorithms"))
        .def(
            "report_algorithms",
            [](IAlgorithmSelector&, std::vector<Context> const&, std::vector<Algorithm> const&) {
                throw std::runtime_error(
                    "a class that derives from IAlgorithmSelector says what report_algorithms does");
            },
            py::arg("contexts"), py::arg("choices"), docOf("IAlgorithmSelector.report_algorithms"));
}

} // namespace tenon::python
