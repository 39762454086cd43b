// Symbolic numbers of decorated Python plugins, and what a launch is made of.
#include "members.h"
#include "plugin_overrides.h"

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
//! A number that Python makes: what is asked of it are attributes that Python sets.
class PySymExpr final : public ISymExpr
{
  public:
    PluginArgType type{PluginArgType::kINT};
    PluginArgDataType dataType{PluginArgDataType::kINT32};
    py::object expr; //!< An IDimensionExpr, or its address.

    PluginArgType getType() const noexcept override
    {
        return type;
    }
    PluginArgDataType getDataType() const noexcept override
    {
        return dataType;
    }
    void* getExpr() noexcept override
    {
        WithGil const gil;
        try
        {
            if (py::isinstance<IDimensionExpr>(expr))
                return expr.cast<IDimensionExpr*>();
            return expr ? addressOf<void>(expr, "ISymExpr.expr") : nullptr;
        }
        catch (std::exception const& error)
        {
            std::fprintf(stderr, "[tenon] ISymExpr.expr: %s\n", error.what());
            return nullptr;
        }
    }
};

//! ISymExpr has no destructor of its own: those that Python owns are Python's.
struct DeleteSymExpr
{
    void operator()(ISymExpr* number) const
    {
        delete static_cast<PySymExpr*>(number);
    }
};

void bindNumbers(py::module_& m)
{
    py::class_<ISymExpr, PySymExpr, std::unique_ptr<ISymExpr, DeleteSymExpr>> number(m, "ISymExpr", docOf("ISymExpr"));
    number.def(py::init_alias<>());
    auto const own = [](ISymExpr& self) -> PySymExpr& {
        auto* const python = dynamic_cast<PySymExpr*>(&self);
        if (python == nullptr)
            throw py::attribute_error("an ISymExpr of C++ is read-only");
        return *python;
    };
    auto const set = [&](char const* name, auto setter) {
        number.def_property(name, nullptr, py::cpp_function(setter), docOf((std::string{"ISymExpr."} + name).c_str()));
    };
    set("type", [own](ISymExpr& self, PluginArgType value) { own(self).type = value; });
    set("dtype", [own](ISymExpr& self, PluginArgDataType value) { own(self).dataType = value; });
    set("expr", [own](ISymExpr& self, py::object value) { own(self).expr = std::move(value); });

    py::class_<ISymExprs, Borrowed<ISymExprs>> list(m, "ISymExprs", docOf("ISymExprs"));
    method(list, "__len__", &ISymExprs::getNbSymExprs);
    list.def_property(
        "nbSymExprs", &ISymExprs::getNbSymExprs,
        [](ISymExprs& self, int32_t count) {
            if (!self.setNbSymExprs(count))
                throw py::value_error("there cannot be " + std::to_string(count) + " extra arguments");
        },
        docOf("ISymExprs.nbSymExprs"));
    auto const within = [](ISymExprs const& self, int32_t index) {
        if (index < 0 || index >= self.getNbSymExprs())
            throw py::index_error();
        return index;
    };
    method(
        list, "__getitem__", [within](ISymExprs const& self, int32_t i) { return self.getSymExpr(within(self, i)); },
        py::return_value_policy::reference);
    method(list, "__setitem__", [within](ISymExprs& self, int32_t i, ISymExpr* value) {
        if (!self.setSymExpr(within(self, i), value))
            throw py::value_error("extra argument " + std::to_string(i) + " is no int32 expression of this call");
    });
}

void bindLaunch(py::module_& m)
{
    using T = IKernelLaunchParams;
    py::class_<T, Borrowed<T>> c(m, "KernelLaunchParams", docOf("KernelLaunchParams"));
    auto const add = [&](char const* name, auto get, auto set) {
        std::string const what = std::string{"KernelLaunchParams."} + name;
        c.def_property(
            name, py::cpp_function(get, py::return_value_policy::reference),
            [what, set](T& self, ISymExpr* value) {
                if (!(self.*set)(value))
                    throw py::value_error(what + " is no int32 expression of this call");
            },
            docOf(what.c_str()));
    };
    add("grid_x", &T::getGridX, &T::setGridX);
    add("grid_y", &T::getGridY, &T::setGridY);
    add("grid_z", &T::getGridZ, &T::setGridZ);
    add("block_x", &T::getBlockX, &T::setBlockX);
    add("block_y", &T::getBlockY, &T::setBlockY);
    add("block_z", &T::getBlockZ, &T::setBlockZ);
    add("shared_mem", &T::getSharedMem, &T::setSharedMem);
}
} // namespace

void bindNumbersQuick(py::module_& m)
{
    bindNumbers(m);
    bindLaunch(m);
}

} // namespace tenon::python
