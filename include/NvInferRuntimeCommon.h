//! \file
//! The registry of plugin creators.

#ifndef NV_INFER_RUNTIME_COMMON_H
#define NV_INFER_RUNTIME_COMMON_H

#include "NvInferPluginBase.h"
#include "NvInferRuntimePlugin.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

//! Holds plugin creators by name, version and namespace. There is one for the process (getPluginRegistry()); each
//! builder and each runtime has one of its own that asks it when its own search fails.
class IPluginRegistry
{
  public:
    //! Stands for a loaded plugin library.
    using PluginLibraryHandle = void*;

    IPluginRegistry() = default;
    IPluginRegistry(IPluginRegistry const&) = delete;
    IPluginRegistry(IPluginRegistry&&) = delete;
    IPluginRegistry& operator=(IPluginRegistry const&) & = delete;
    IPluginRegistry& operator=(IPluginRegistry&&) & = delete;

    //! Adds a creator, which must outlive its registration.
    //! \return false when the name, version and namespace are taken already; the first one stays.
    TRT_DEPRECATED virtual bool registerCreator(
        IPluginCreator& creator, AsciiChar const* const pluginNamespace) noexcept = 0;

    //! Lists the V2 creators. Use getAllCreators().
    //! \param numCreators receives their number.
    //! \return the creators; valid until the next registration or removal.
    TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(int32_t* const numCreators) const noexcept = 0;

    //! \return the V2 creator of that name, version and namespace; null if there is none or it is of another
    //! generation. Use getCreator().
    TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(AsciiChar const* const pluginName,
        AsciiChar const* const pluginVersion, AsciiChar const* const pluginNamespace = "") noexcept = 0;

  protected:
    virtual ~IPluginRegistry() noexcept = default;

  public:
    //! Sets where errors go; null lets the recorder go.
    virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;

    //! \return the recorder, or null.
    virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

    //! Removes a creator.
    //! \return whether it was registered.
    TRT_DEPRECATED virtual bool deregisterCreator(IPluginCreator const& creator) noexcept = 0;

    //! Whether a failed search goes on in the parent registry; true at first.
    virtual bool isParentSearchEnabled() const = 0;

    //! Sets whether a failed search goes on in the parent registry.
    virtual void setParentSearchEnabled(bool const enabled) = 0;

    //! Loads a shared library and registers all creators that it exports.
    //! \param pluginPath the file.
    //! \return the library's handle; null when it cannot be loaded or one of its creators is registered already, and
    //! then none of them is.
    virtual PluginLibraryHandle loadLibrary(AsciiChar const* pluginPath) noexcept = 0;

    //! Removes the creators that came from the library and unloads it.
    virtual void deregisterLibrary(PluginLibraryHandle handle) noexcept = 0;

    //! Adds a creator, which must outlive its registration.
    //! \return false when the name, version and namespace are taken already; the first one stays.
    virtual bool registerCreator(IPluginCreatorInterface& creator, AsciiChar const* const pluginNamespace) noexcept = 0;

    //! Lists the creators of this registry.
    //! \param numCreators receives their number.
    //! \return the creators; valid until the next registration or removal.
    virtual IPluginCreatorInterface* const* getAllCreators(int32_t* const numCreators) const noexcept = 0;

    //! \return the creator of that name, version and namespace, or null.
    virtual IPluginCreatorInterface* getCreator(AsciiChar const* const pluginName, AsciiChar const* const pluginVersion,
        AsciiChar const* const pluginNamespace = "") noexcept = 0;

    //! Removes a creator.
    //! \return whether it was registered.
    virtual bool deregisterCreator(IPluginCreatorInterface const& creator) noexcept = 0;

    //! Takes a shared object, counted per key.
    //! \param key names the object.
    //! \param resource is cloned when the key is new, and may go away after the call.
    //! \return the registered clone; null on failure.
    virtual IPluginResource* acquirePluginResource(AsciiChar const* key, IPluginResource* resource) noexcept = 0;

    //! Gives a shared object back; the last one frees it.
    //! \return 0 on success, another value for an unknown key.
    virtual int32_t releasePluginResource(AsciiChar const* key) noexcept = 0;

    //! Lists the creators of this registry and of its parents, as far as parent search is enabled.
    //! \param numCreators receives their number.
    //! \return the creators; valid until the next registration or removal.
    virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* const numCreators) noexcept = 0;
};
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_RUNTIME_COMMON_H
