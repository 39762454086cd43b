// Library: dlopen, and the functions that a plugin library exports.
#include "plugins/library.h"

#include "plugins/cpu_body.h"
#include "plugins/registry.h"

#include <algorithm>
#include <utility>

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

thread_local Library* gOpening{nullptr}; //!< Static constructors run in the thread that opens.
} // namespace

Result<std::unique_ptr<Library>> Library::open(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder)
{
    std::unique_ptr<Library> library{new Library{path}};
    Library* const outer = std::exchange(gOpening, library.get()); // One may open another.
    auto loaded = library->load(loggerFinder);
    gOpening = outer;
    if (!loaded)
        return std::move(loaded).error();
    countOpenings(library->mHandle, 1);
    library->mIsCounted = true;
    return library;
}

Result<Done> Library::load(nvinfer1::ILoggerFinder& loggerFinder)
{
    mHandle = dlopen(mPath.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (mHandle == nullptr)
    {
        char const* const why = dlerror();
        return badArgument("'{}' cannot be opened: {}", mPath, why == nullptr ? "no reason given" : why);
    }
    if (auto* const set = symbolOf<void(nvinfer1::ILoggerFinder*)>(mHandle, "setLoggerFinder"))
        set(&loggerFinder);
    auto found = findCreators();
    if (!found)
        keepOpen(); // Nothing of it is for loadLibrary; what it has registered itself stays.
    return found;
}

void Library::noteRegistered(Registry& registry, IPluginCreatorInterface& creator)
{
    if (gOpening != nullptr)
        gOpening->mRegistered.push_back({&registry, &creator});
}

bool Library::hasRegistered(Registry const& registry, IPluginCreatorInterface const& creator) const noexcept
{
    return std::ranges::any_of(
        mRegistered, [&](Registered const& each) { return each.registry == &registry && each.creator == &creator; });
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
    if (mIsCounted)
        countOpenings(mHandle, -1);
    if (mIsKept || mHandle == nullptr)
        return;
    for (Registered const& each : mRegistered)
        each.registry->remove(*each.creator);
    dlclose(mHandle);
    dropUnmappedBodies();
}

} // namespace tenon::plugins
