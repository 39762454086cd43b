// Library: dlopen, and the functions that a plugin library exports.
#include "plugins/library.h"

#include "plugins/cpu_body.h"
#include "plugins/module.h"
#include "plugins/registry.h"

#include <algorithm>
#include <map>
#include <mutex>
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

//! What is being opened in this thread, where static constructors run.
thread_local std::vector<Library::Registered>* gRegistered{nullptr};

//! A library that is mapped. Its static constructors do not run again before it is unmapped, so what they have
//! registered is remembered.
struct Mapping
{
    void const* inside{nullptr}; //!< Some address of it.
    int32_t openings{0};
    std::vector<Library::Registered> registered;
};

//! By handle. Whoever has the mutex asks the loader nothing: the loader runs code that may come here, with a lock of
//! its own.
struct Mappings
{
    std::mutex mutex;
    std::map<void*, Mapping> all;
};

Mappings& mappings()
{
    static auto* const only = new Mappings; // Registries may go while static objects do.
    return *only;
}

//! One opening more. What comes back with it: the library stayed mapped when all had closed it.
std::vector<Library::Registered> noteOpening(void* handle, std::vector<Library::Registered> registered)
{
    void const* const inside = insideOf(handle);
    std::scoped_lock const lock{mappings().mutex};
    Mapping& mapping = mappings().all[handle];
    bool const isKnown = mapping.inside == inside && registered.empty();
    bool const isBack = isKnown && mapping.openings == 0;
    if (!isKnown)
        mapping = {inside, 0, std::move(registered)};
    ++mapping.openings;
    return isBack ? mapping.registered : std::vector<Library::Registered>{};
}

//! One opening less. What goes with it, with the last one.
std::vector<Library::Registered> noteClosing(void* handle)
{
    std::scoped_lock const lock{mappings().mutex};
    Mapping& mapping = mappings().all[handle];
    return --mapping.openings == 0 ? mapping.registered : std::vector<Library::Registered>{};
}

void forgetUnmapped(void* handle, void const* inside)
{
    if (moduleAt(inside) == handle)
        return;
    std::scoped_lock const lock{mappings().mutex};
    auto const at = mappings().all.find(handle);
    if (at != mappings().all.end() && at->second.openings == 0)
        mappings().all.erase(at);
}
} // namespace

Result<std::unique_ptr<Library>> Library::open(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder)
{
    std::unique_ptr<Library> library{new Library{path}};
    TENON_TRY(library->map());
    auto loaded = library->load(loggerFinder);
    if (!loaded)
    {
        library->abandon(); // Nothing of it is for loadLibrary; what it has registered itself stays.
        return std::move(loaded).error();
    }
    countOpenings(library->mHandle, 1);
    library->mIsCounted = true;
    return library;
}

namespace
{
Result<Done> addAll(std::vector<Library::Registered> const& creators)
{
    for (Library::Registered const& each : creators)
        TENON_TRY(each.registry->add(*each.creator, each.nameSpace));
    return Done{};
}
} // namespace

Result<Done> Library::map()
{
    std::vector<Registered> registered;
    auto* const outer = std::exchange(gRegistered, &registered); // One may open another.
    mHandle = dlopen(mPath.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto added = mHandle == nullptr ? Done{} : addAll(noteOpening(mHandle, std::exchange(registered, {})));
    gRegistered = outer;
    if (!added)
        return std::move(added).error().in(fmt::format("'{}', which has stayed mapped", mPath));
    if (mHandle != nullptr)
        return Done{};
    char const* const why = dlerror();
    return badArgument("'{}' cannot be opened: {}", mPath, why == nullptr ? "no reason given" : why);
}

Result<Done> Library::load(nvinfer1::ILoggerFinder& loggerFinder)
{
    if (auto* const set = symbolOf<void(nvinfer1::ILoggerFinder*)>(mHandle, "setLoggerFinder"))
        set(&loggerFinder);
    return findCreators();
}

void Library::noteRegistered(Registered const& registered)
{
    if (gRegistered != nullptr)
        gRegistered->push_back(registered);
}

bool Library::hasRegistered(Registry const& registry, IPluginCreatorInterface const& creator) const
{
    std::scoped_lock const lock{mappings().mutex};
    return std::ranges::any_of(mappings().all[mHandle].registered,
        [&](Registered const& each) { return each.registry == &registry && each.creator == &creator; });
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
    if (mIsAbandoned || mHandle == nullptr)
        return;
    for (Registered const& each : noteClosing(mHandle))
        each.registry->remove(*each.creator);
    if (mIsKept)
        return;
    void const* const inside = insideOf(mHandle);
    dlclose(mHandle);
    forgetUnmapped(mHandle, inside);
    dropUnmappedBodies();
}

} // namespace tenon::plugins
