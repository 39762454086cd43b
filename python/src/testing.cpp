// The checking host (include/tenon/testing.h) for plugins, creators and reference functions of Python.
#include "plugin_objects.h"

#include "tenon/plugin.h"
#include "tenon/tenon.h"
#include "tenon/testing.h"

#include <exception>
#include <span>

#include <unistd.h>

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
char const* numpyNameOf(int32_t type) noexcept
{
    switch (static_cast<DataType>(type))
    {
    case DataType::kFLOAT: return "float32";
    case DataType::kINT8: return "int8";
    case DataType::kINT32: return "int32";
    case DataType::kINT64: return "int64";
    default: return "uint8";
    }
}

//! A view of the tensor's memory.
py::array viewOf(TenonCheckTensor const& tensor)
{
    std::vector<py::ssize_t> const shape(tensor.shape, tensor.shape + tensor.rank);
    static char nothing{0};
    void* const data = tensor.data == nullptr ? &nothing : tensor.data; // Without elements there may be no address.
    py::capsule const keeper{data, [](void*) {}};                       // With an owner NumPy makes no copy.
    return py::array{py::dtype{numpyNameOf(tensor.type)}, shape, data, keeper};
}

//! A function of the user's that the checking host calls: what it raises is raised when the check is over.
class UserFunction
{
  public:
    explicit UserFunction(py::object function)
        : mFunction{std::move(function)}
    {
    }
    void rethrow() const
    {
        if (mRaised)
            std::rethrow_exception(mRaised);
    }
    bool isGiven() const
    {
        return !mFunction.is_none();
    }

  protected:
    //! 0, or 1 where the work has raised something. The interpreter is held.
    template <typename Work>
    int32_t guarded(Work const& work) noexcept
    {
        try
        {
            work(mFunction);
            return 0;
        }
        catch (std::exception const& problem)
        {
            mRaised = std::current_exception();
            tenonExplainFailure(problem.what()); // A child process has nothing else to tell.
            return 1;
        }
    }

  private:
    py::object mFunction;
    std::exception_ptr mRaised;
};

//! What the reference function does: arrays in, an array or a sequence of arrays back.
class Reference final : public UserFunction
{
  public:
    using UserFunction::UserFunction;

    static int32_t call(void* user, TenonCheckTensor const* inputs, int32_t nbInputs, TenonCheckTensor const* outputs,
        int32_t nbOutputs) noexcept
    {
        WithGil const gil;
        return static_cast<Reference*>(user)->guarded([&](py::object const& function) {
            fill(function, {inputs, static_cast<size_t>(nbInputs)}, {outputs, static_cast<size_t>(nbOutputs)});
        });
    }

  private:
    static void fill(
        py::object const& function, std::span<TenonCheckTensor const> inputs, std::span<TenonCheckTensor const> outputs)
    {
        py::tuple arguments{inputs.size()};
        for (size_t i = 0; i < inputs.size(); ++i)
            arguments[i] = viewOf(inputs[i]);
        py::object answer = function(*arguments);
        if (!py::isinstance<py::tuple>(answer) && !py::isinstance<py::list>(answer))
            answer = py::make_tuple(answer);
        auto const given = answer.cast<py::sequence>();
        if (given.size() != outputs.size())
            throw py::value_error("the reference function gave " + std::to_string(given.size())
                + " arrays, and the plugin has " + std::to_string(outputs.size()) + " outputs");
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            py::array target = viewOf(outputs[i]);
            py::object const value = py::module_::import("numpy").attr("asarray")(given[i]);
            if (!value.attr("shape").equal(target.attr("shape")))
                throw py::value_error("the reference function gave output " + std::to_string(i) + " the shape "
                    + py::str(value.attr("shape")).cast<std::string>() + ", the plugin "
                    + py::str(target.attr("shape")).cast<std::string>());
            py::module_::import("numpy").attr("copyto")(target, value, py::arg("casting") = "unsafe");
        }
    }
};

//! What fills inputs: called with the number, and an array to change or replace.
class Fill final : public UserFunction
{
  public:
    using UserFunction::UserFunction;

    static int32_t call(void* user, int32_t input, TenonCheckTensor const* contents) noexcept
    {
        WithGil const gil;
        return static_cast<Fill*>(user)->guarded([&](py::object const& function) {
            py::array const target = viewOf(*contents);
            py::object const answer = function(input, target);
            if (!answer.is_none())
                py::module_::import("numpy").attr("copyto")(target, answer, py::arg("casting") = "unsafe");
        });
    }
};

//! fork() as Python wants it.
int32_t forkPython()
{
    WithGil const gil;
    PyOS_BeforeFork();
    pid_t const child = fork();
    if (child == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    return child;
}

struct Bounds
{
    std::vector<int64_t> min;
    std::vector<int64_t> opt;
    std::vector<int64_t> max;
    bool isValues{false};
};

std::vector<Bounds> boundsOf(py::list const& inputs)
{
    std::vector<Bounds> all;
    for (py::handle const each : inputs)
    {
        auto const parts = each.cast<py::tuple>();
        Bounds bounds{parts[0].cast<std::vector<int64_t>>(), parts[1].cast<std::vector<int64_t>>(),
            parts[2].cast<std::vector<int64_t>>(), parts[3].cast<bool>()};
        if (!bounds.isValues && (bounds.min.size() != bounds.opt.size() || bounds.max.size() != bounds.opt.size()))
            throw py::value_error("the bounds of an input have several ranks");
        all.push_back(std::move(bounds));
    }
    return all;
}

std::string checkPlugin(py::object const& plugin, py::object const& creator,
    std::optional<std::string> const& nameSpace, FieldList const& fields, py::list const& inputs,
    std::vector<int32_t> const& types, py::object const& function, py::dict const& settings)
{
    FieldView const view{fields};
    TenonCheckSubject subject{nullptr, nullptr, nullptr, nameSpace ? nameSpace->c_str() : nullptr, view.get()};
    std::unique_ptr<IPluginV3> held; // What the library sees of a Python object; the object stays the caller's.
    if (py::isinstance<IPluginV3>(plugin))
    {
        auto& object = plugin.cast<IPluginV3&>();
        bool const isPython = object.getAPILanguage() == APILanguage::kPYTHON;
        held.reset(isPython ? giveToLibrary(plugin, false) : nullptr);
        subject.pluginV3 = isPython ? held.get() : &object;
    }
    else if (!plugin.is_none())
        subject.pluginV2 = &plugin.cast<IPluginV2&>();
    if (!creator.is_none())
        subject.creator = &creator.cast<IPluginCreatorInterface&>();
    std::vector<Bounds> const bounds = boundsOf(inputs);
    std::vector<TenonCheckInput> list;
    for (Bounds const& each : bounds)
        list.push_back({static_cast<int32_t>(each.opt.size()), each.min.data(), each.opt.data(), each.max.data(),
            each.isValues ? 1 : 0});
    Reference reference{function};
    Fill fill{settings["fill"]};
    TenonCheckOptions options{};
    options.inputs = list.data();
    options.nbInputs = static_cast<int32_t>(list.size());
    options.types = types.data();
    options.nbTypes = static_cast<int32_t>(types.size());
    options.fill = fill.isGiven() ? &Fill::call : nullptr;
    options.fillUser = &fill;
    options.reference = reference.isGiven() ? &Reference::call : nullptr;
    options.referenceUser = &reference;
    options.absolute = settings["atol"].cast<double>();
    options.relative = settings["rtol"].cast<double>();
    options.seed = settings["seed"].cast<uint32_t>();
    options.isIsolated = settings["isolated"].cast<bool>() ? 1 : 0;
    options.isWithoutEmpties = settings["empties"].cast<bool>() ? 0 : 1;
    options.seconds = settings["seconds"].cast<int32_t>();
    options.fork = &forkPython;
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        WithoutGil const released;
        text = tenonCheckPlugin(&subject, &options, &problem);
    }
    std::string const why = take(problem);
    fill.rethrow();
    reference.rethrow();
    if (text == nullptr)
        throw py::value_error(why.empty() ? "the library gave no answer" : why);
    return take(text);
}
} // namespace

void bindTesting(py::module_& m)
{
    m.def("_check_plugin", &checkPlugin);
    m.def("_inspect_plugins", [] {
        TenonText problem{nullptr};
        TenonText text{nullptr};
        {
            WithoutGil const released;
            text = tenonInspectPlugins(&problem);
        }
        std::string const why = take(problem);
        if (text == nullptr)
            throw std::runtime_error(why.empty() ? "the library gave no answer" : why);
        return take(text);
    });
}

} // namespace tenon::python
