// Objects stay what they are: one that claimed another class of the library would be read as what it is not.
#include "bindings.h"

namespace tenon::python
{

std::string withArticle(py::handle cls)
{
    std::string const name = cls.attr("__name__").cast<std::string>();
    bool const isVowel = std::string_view{"AEIOUaeiou"}.find(name.front()) != std::string_view::npos;
    return (isVowel ? "an " : "a ") + name;
}

namespace
{
bool isOurs(py::handle cls)
{
    return std::string{py::str(py::getattr(cls, "__module__", py::none()))} == "tenon._native";
}

//! The class of the library that a class is or derives from; users' own classes may take each other's place.
py::object ownClassOf(py::handle cls)
{
    for (py::handle const each : cls.attr("__mro__"))
        if (isOurs(each))
            return py::reinterpret_borrow<py::object>(each);
    return py::reinterpret_borrow<py::object>(cls);
}

void setClass(py::object const& self, py::object const& value)
{
    py::handle const now = py::type::handle_of(self);
    if (PyType_Check(value.ptr()) == 0)
        throw py::type_error(withArticle(now) + " cannot become what is no class");
    if (!ownClassOf(now).is(ownClassOf(value)))
        throw py::type_error(withArticle(now) + " cannot become " + withArticle(value));
    py::handle const object{reinterpret_cast<PyObject*>(&PyBaseObject_Type)};
    object.attr("__dict__")["__class__"].attr("__set__")(self, value);
}

//! Into the class's dictionary: set as an attribute it would be the class's own class.
void keep(py::handle cls, py::handle descriptor)
{
    auto* const type = reinterpret_cast<PyTypeObject*>(cls.ptr());
    if (PyDict_SetItemString(type->tp_dict, "__class__", descriptor.ptr()) != 0)
        throw py::error_already_set();
    PyType_Modified(type);
}
} // namespace

void keepClasses(py::module_& m)
{
    py::object const property = py::module_::import("builtins").attr("property");
    py::object const descriptor = property(
        py::cpp_function([](py::object const& self) { return py::type::of(self); }), py::cpp_function(&setClass));
    py::handle const layer = py::type::of<nvinfer1::ILayer>(); // Layers become objects of their own classes.
    auto const isKept = [&](py::handle object) {
        return PyType_Check(object.ptr()) != 0 && isOurs(object) && PyObject_IsSubclass(object.ptr(), layer.ptr()) == 0;
    };
    for (auto const& [name, object] : py::dict{m.attr("__dict__")})
    {
        if (!isKept(object))
            continue;
        for (auto const& [inner, nested] : py::dict{object.attr("__dict__")}) // ILogger's Severity, for one.
            if (isKept(nested))
                keep(nested, descriptor);
        keep(object, descriptor);
    }
}

} // namespace tenon::python
