// Plugin objects between Python and the library: who owns what, and how each is seen from the other side.
#pragma once

#include "overrides.h"
#include "plugin_values.h"

#include <map>

namespace tenon::python
{

//! The library's own copy of a Python plugin: holds a reference, and calls `destroy` when the library lets go (M10).
nvinfer1::IPluginV3* giveToLibrary(py::object const& plugin, bool isOwned = true);
//! The library's copy of what a Python method returned; null after a report when it is no plugin (M11).
nvinfer1::IPluginV3* ownedAnswer(std::optional<py::object> const& answer, char const* name) noexcept;
//! A plugin as Python knows it: the object of a Python class itself, or a wrapper, which may keep a parent.
py::object seenFromPython(nvinfer1::IPluginV3& plugin, py::return_value_policy policy, py::handle parent = {});

//! A capability that Python wrote, which may be the plugin's own object or another one.
struct PartOfPlugin
{
    virtual ~PartOfPlugin() = default;
    PyObject const* plugin{nullptr}; //!< Whose it was last; only to be compared with.
};

//! The same for the V2 family. The library gives objects back by destroy().
nvinfer1::IPluginV2* giveToLibrary(nvinfer1::IPluginV2& plugin);

//! Whether the object is one of a Python class, by its version number.
inline bool isPython(nvinfer1::IPluginV2 const& plugin) noexcept
{
    auto const version = static_cast<uint32_t>(plugin.getTensorRTVersion());
    return ((version >> 24U) & static_cast<uint32_t>(nvinfer1::kPLUGIN_VERSION_PYTHON_BIT)) != 0;
}

//! Ends the life of a plugin that Python owns.
struct DestroyV2
{
    void operator()(nvinfer1::IPluginV2* plugin) const
    {
        if (isPython(*plugin))
            delete plugin; // Its Python object goes; the library has references of its own.
        else if (PyGILState_Check() != 0)
        {
            WithoutGil const released;
            plugin->destroy();
        }
        else
            plugin->destroy();
    }
};

template <typename T>
using DestroyedV2 = std::unique_ptr<T, DestroyV2>;

//! An attribute of a Python object, whether a property of ours or a name in its class; AttributeError when it is unset.
template <typename T, typename Base>
T attributeOf(Base const* self, char const* name)
{
    return py::cast(self).attr(name).template cast<T>();
}

//! An attribute that a callback needs: `fallback` after a report when it is unset or of another type.
template <typename T, typename Base>
T attributeOr(Base const* self, char const* name, T fallback) noexcept
{
    WithGil const gil;
    try
    {
        return attributeOf<T>(self, name);
    }
    catch (py::error_already_set& error)
    {
        reportOverride(error, name);
    }
    catch (std::exception const& error)
    {
        std::fprintf(stderr, "[tenon] attribute %s: %s\n", name, error.what());
    }
    return fallback;
}

//! Whether the names of an object are texts; what is not set is reported (M1).
inline bool hasNames(py::handle object, std::initializer_list<char const*> names) noexcept
{
    for (char const* name : names)
        try
        {
            static_cast<void>(object.attr(name).cast<std::string>());
        }
        catch (py::error_already_set& error)
        {
            reportOverride(error, name);
            return false;
        }
        catch (std::exception const& error)
        {
            std::fprintf(stderr, "[tenon] attribute %s: %s\n", name, error.what());
            return false;
        }
    return true;
}

//! What Python code has set on an object: a property that raises AttributeError until then.
class Attributes
{
  public:
    py::object get(char const* type, char const* name) const
    {
        auto const at = mValues.find(name);
        if (at == mValues.end())
            throw py::attribute_error(std::string{type} + "." + name + " is not set");
        return at->second;
    }
    void set(char const* name, py::object value)
    {
        mValues[name] = std::move(value);
    }
    //! What others have set and these have not.
    void addMissing(Attributes const& others)
    {
        mValues.insert(others.mValues.begin(), others.mValues.end());
    }

  private:
    std::map<std::string, py::object> mValues;
};

//! The alias behind an object that Python made; null for those of C++, which may come from a library without any type
//! information: they are asked, never the compiler.
template <typename Alias, typename Base>
Alias* pythonAs(Base& self)
{
    return self.getAPILanguage() == nvinfer1::APILanguage::kPYTHON ? dynamic_cast<Alias*>(&self) : nullptr;
}

} // namespace tenon::python

namespace PYBIND11_NAMESPACE
{
//! Downcasts ask the object for its generation: it may come from another library.
template <>
struct polymorphic_type_hook<nvinfer1::IPluginV2>
{
    static void const* get(nvinfer1::IPluginV2 const* plugin, std::type_info const*& type);
};
} // namespace PYBIND11_NAMESPACE
