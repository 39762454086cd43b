// Plugins of the V2 family between Python and the library: who holds them, and what all generations of them share.
#pragma once

#include "handed_out.h"
#include "plugin_overrides.h"

namespace tenon::python
{

inline constexpr size_t kRefused{SIZE_MAX}; //!< A size that no plan can hold: the build fails.

//! What Python classes of all V2 generations have. The library's references are counted: each object that it owns holds
//! its Python object once, until destroy().
class PythonV2
{
  public:
    virtual ~PythonV2() = default;
    Attributes attributes;
    mutable std::optional<std::string> given; //!< The namespace that the library set; none once Python set another.
    //! From here on the library owns one reference more.
    void hold(py::object object)
    {
        mHeld.push_back(std::move(object));
    }

  protected:
    //! Drops one reference; the object may be gone afterwards.
    void letGo()
    {
        if (mHeld.empty())
            return;
        py::object const last = std::move(mHeld.back());
        mHeld.pop_back();
    }

    mutable HandedOutTexts mTexts;

  private:
    std::vector<py::object> mHeld;
};

inline PythonV2* pythonOf(nvinfer1::IPluginV2& plugin)
{
    return isPython(plugin) ? dynamic_cast<PythonV2*>(&plugin) : nullptr;
}

inline bool isNamed(py::handle plugin) noexcept
{
    return hasNames(plugin, {"plugin_type", "plugin_version", "plugin_namespace"});
}

template <typename T>
T* taken(py::object const& answer, char const* name, PythonV2 const* original)
{
    if (!py::isinstance<T>(answer))
    {
        blame<T>(std::string{name} + " answered with " + shown(answer) + ", which is no plugin of the class wanted");
        return nullptr;
    }
    T* const plugin = answer.template cast<T*>();
    PythonV2* const python = pythonOf(*plugin);
    if (python == nullptr)
        return static_cast<T*>(plugin->clone());
    if (original != nullptr)
    {
        python->attributes.addMissing(original->attributes);
        if (original->given)
            plugin->setPluginNamespace(original->given->c_str()); // J16
    }
    if (!isNamed(answer))
        return nullptr;
    python->hold(answer);
    return plugin;
}

//! A plugin that a Python method returned, handed to the library; null when it is none (M11). A clone has what is kept
//! here of the original, too: Python code copies `__dict__`, where these attributes are not.
template <typename T>
T* handedOver(std::optional<py::object> const& answer, char const* name, PythonV2 const* original = nullptr) noexcept
{
    if (!answer)
        return nullptr;
    return guarded<T>(name, static_cast<T*>(nullptr), [&] { return taken<T>(*answer, name, original); });
}

//! Calls that the generations share. Base: the public class, by which overrides are looked up.
template <typename Base, uint32_t kVersion>
class PyV2 : public Base, public PythonV2
{
  public:
    int32_t getTensorRTVersion() const noexcept override
    {
        return static_cast<int32_t>(((kVersion | static_cast<uint32_t>(nvinfer1::kPLUGIN_VERSION_PYTHON_BIT)) << 24U)
            | (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
    }
    nvinfer1::AsciiChar const* getPluginType() const noexcept override
    {
        return text("plugin_type");
    }
    nvinfer1::AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version");
    }
    nvinfer1::AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace");
    }
    void setPluginNamespace(nvinfer1::AsciiChar const* nameSpace) noexcept override
    {
        WithGil const gil;
        guarded<Base>("plugin_namespace", false, [&] {
            std::string set = orEmpty(nameSpace); // What it is of may go while Python code runs.
            py::cast(self()).attr("plugin_namespace") = set;
            given = std::move(set);
            return true;
        });
    }
    int32_t getNbOutputs() const noexcept override
    {
        return attributeOr<int32_t>(self(), "num_outputs", kFailed);
    }
    int32_t initialize() noexcept override
    {
        WithGil const gil;
        return status(self(), "initialize", false);
    }
    void terminate() noexcept override
    {
        WithGil const gil;
        status(self(), "terminate", false);
    }
    void destroy() noexcept override
    {
        WithGil const gil;
        status(self(), "destroy", false);
        letGo();
    }
    size_t getSerializationSize() const noexcept override
    {
        WithGil const gil;
        constexpr char const* kName{"get_serialization_size"};
        auto const answer = callOverride(self(), "serialize", true);
        if (!answer || !guarded<Base>("serialize", false, [&] { return keep(*answer); }))
            return kRefused;
        if (!hasOverride(self(), kName))
            return mSerialized.get().size();
        auto const told = callOverride(self(), kName, true);
        auto const size = valueOr<std::optional<size_t>, Base>(told, std::nullopt, kName);
        if (size == mSerialized.get().size())
            return *size;
        if (size)
            blame<Base>(sizesDiffer(*size));
        return kRefused;
    }
    void serialize(void* buffer) const noexcept override
    {
        WithGil const gil;
        std::ranges::copy(mSerialized.get(), static_cast<char*>(buffer));
    }

  protected:
    Base const* self() const noexcept
    {
        return this;
    }
    template <typename T>
    T* cloned() const
    {
        WithGil const gil;
        if (!isNamed(py::cast(self())))
            return nullptr;
        if (given && *given != getPluginNamespace())
            given.reset();
        return handedOver<T>(callOverride(self(), "clone", true), "clone", this);
    }

  private:
    char const* text(char const* name) const
    {
        WithGil const gil;
        return mTexts.give(attributeOr<std::string>(self(), name, ""));
    }
    //! What serialize answered: a buffer, or text, which counts as UTF-8.
    bool keep(py::object answer) const
    {
        if (py::isinstance<py::str>(answer))
            answer = answer.attr("encode")();
        if (PyObject_CheckBuffer(answer.ptr()) == 0)
        {
            blame<Base>("serialize answered with no bytes: " + shown(answer));
            return false;
        }
        auto const bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(answer.ptr()));
        if (!bytes) // A buffer whose memory is gone, for one.
            throw py::error_already_set{};
        mSerialized.get() = static_cast<std::string>(bytes);
        return true;
    }
    std::string sizesDiffer(size_t told) const
    {
        return "get_serialization_size answers " + std::to_string(told) + ", but serialize gives "
            + std::to_string(mSerialized.get().size()) + " bytes";
    }

    mutable LastOfThread<std::string> mSerialized;
};

using Released = py::call_guard<WithoutGil>; // Calls of a C++ plugin may take long.

inline size_t serializationSize(nvinfer1::IPluginV2& self)
{
    WithoutGil const released;
    size_t const size = self.getSerializationSize();
    if (size == kRefused)
        throw std::runtime_error("the plugin cannot be serialized; stderr has the reason");
    return size;
}

inline py::bytes serialized(nvinfer1::IPluginV2& self)
{
    std::string bytes(serializationSize(self), '\0');
    {
        WithoutGil const released;
        self.serialize(bytes.data());
    }
    return bytes;
}

//! destroy() from Python: a C++ plugin that Python owns ends now, and the object is an empty plugin from then on. For
//! plugins of Python classes it is the default of their own `destroy`, which does nothing.
template <typename T, typename Empty>
void destroyNow(py::object const& self)
{
    if (isPython(self.cast<T&>()))
        return;
    auto* const instance = reinterpret_cast<py::detail::instance*>(self.ptr());
    if (!instance->owned)
        throw std::runtime_error("destroy: this plugin belongs to the library, which destroys it itself");
    auto* const type = py::detail::get_type_info(typeid(T));
    auto place = instance->get_value_and_holder(type);
    py::detail::deregister_instance(instance, place.value_ptr(), type);
    auto& holder = place.template holder<DestroyedV2<T>>();
    holder.reset(new Empty);
    place.value_ptr() = static_cast<T*>(holder.get());
    py::detail::register_instance(instance, place.value_ptr(), type);
}

template <typename T>
T* owned(T* plugin, char const* call)
{
    if (plugin == nullptr)
        throw std::runtime_error(std::string{call} + " returned null");
    return plugin;
}

} // namespace tenon::python
