// Library: dlopen, and the functions that a plugin library exports.
#include "plugins/library.h"

#include <dlfcn.h>

namespace tenon::plugins
{

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;

namespace
{
template <typename Function>
Function* symbolOf(void* handle, char const* name)
{
    return reinterpret_cast<Function*>(dlsym(handle, name));
}
} // namespace

Result<std::unique_ptr<Library>> Library::open(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder)
{
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
    {
        char const* const why = dlerror();
        return badArgument("'{}' cannot be opened: {}", path, why == nullptr ? "no reason given" : why);
    }
    std::unique_ptr<Library> library{new Library{path, handle}};
    if (auto* const set = symbolOf<void(nvinfer1::ILoggerFinder*)>(handle, "setLoggerFinder"))
        set(&loggerFinder);
    if (auto found = library->findCreators(); !found)
    {
        library->keepOpen(); // Its static objects may have registered themselves.
        return std::move(found).error();
    }
    return library;
}

Result<Done> Library::findCreators()
{
    int32_t count{0};
    if (auto* const get = symbolOf<IPluginCreatorInterface* const*(int32_t&)>(mHandle, "getCreators"))
    {
        IPluginCreatorInterface* const* const list = get(count);
        for (int32_t i = 0; i < count && list != nullptr; ++i)
            mCreators.push_back(list[i]);
    }
    else if (auto* const getOlder = symbolOf<IPluginCreator* const*(int32_t&)>(mHandle, "getPluginCreators"))
    {
        IPluginCreator* const* const list = getOlder(count);
        for (int32_t i = 0; i < count && list != nullptr; ++i)
            mCreators.push_back(list[i]);
    }
    else
        return badArgument("'{}' exports neither getCreators nor getPluginCreators", mPath);
    for (IPluginCreatorInterface const* creator : mCreators)
        if (creator == nullptr)
            return badArgument("'{}' names a creator that is null", mPath);
    return Done{};
}

Library::~Library()
{
    if (!mIsKept)
        dlclose(mHandle);
}

} // namespace tenon::plugins
