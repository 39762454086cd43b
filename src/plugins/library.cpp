// Library: dlopen, and the functions that a plugin library exports.
#include "plugins/library.h"

#include "base/held_back.h"
#include "plugins/cpu_body.h"
#include "plugins/module.h"
#include "plugins/registry.h"

#include <algorithm>
#include <iterator>
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

//! What is registered while a library is opened in this thread: static constructors and exports run in it.
thread_local std::vector<Library::Registered>* gRegistered{nullptr};

class Collecting
{
  public:
    explicit Collecting(std::vector<Library::Registered>& registered)
        : mOuter{std::exchange(gRegistered, &registered)} // One may open another.
    {
    }
    ~Collecting()
    {
        gRegistered = mOuter;
    }
    Collecting(Collecting const&) = delete;
    Collecting& operator=(Collecting const&) = delete;

  private:
    std::vector<Library::Registered>* mOuter;
};

//! A library that is mapped, by itself or because another one needs it. Its static constructors do not run again before
//! it is unmapped, so what has been registered is remembered.
struct Mapping
{
    void const* inside{nullptr}; //!< Some address of it.
    int32_t openings{0};
    std::vector<Library::Registered> registered;
    bool areIn{false}; //!< Whether those are in their registries.
};

//! Whoever has the mutex asks the loader nothing: the loader runs code that may come here, with a lock of its own.
struct Mappings
{
    std::mutex mutex;
    std::map<Module, Mapping> all;

    Mapping& at(Module module, void const* inside)
    {
        Mapping& mapping = all[module];
        if (mapping.inside != inside) // Another one has been mapped there.
            mapping = {inside, 0, {}, false};
        return mapping;
    }
};

Mappings& mappings()
{
    static auto* const only = new Mappings; // Registries may go while static objects do.
    return *only;
}

//! One opening more, in which those came. What comes back with it: the library stayed mapped when all had closed it.
std::vector<Library::Registered> noteOpening(Module handle, std::vector<Library::Registered> const& fresh)
{
    std::vector<Module> modules; // Of creators that are no part of a library, the one that was opened.
    for (Library::Registered const& each : fresh)
    {
        Module const own = moduleAt(each.creator);
        modules.push_back(own == nullptr ? handle : own);
    }
    std::scoped_lock const lock{mappings().mutex};
    Mapping& own = mappings().at(handle, insideOf(handle));
    std::vector<Library::Registered> back;
    if (own.openings++ == 0 && !own.areIn)
        std::ranges::copy_if(own.registered, std::back_inserter(back), [&](auto const& each) {
            return std::ranges::none_of(fresh, [&](auto const& now) { return now.creator == each.creator; });
        });
    own.areIn = true;
    for (size_t i = 0; i < fresh.size(); ++i)
    {
        Mapping& mapping = mappings().at(modules[i], insideOf(modules[i]));
        std::erase_if(mapping.registered, [&](auto const& each) { return each.creator == fresh[i].creator; });
        mapping.registered.push_back(fresh[i]);
        mapping.areIn = true;
    }
    return back;
}

//! One opening less. What goes with it, with the last one.
std::vector<Library::Registered> noteClosing(Module handle)
{
    std::scoped_lock const lock{mappings().mutex};
    Mapping& mapping = mappings().all[handle];
    bool const isLast = --mapping.openings == 0;
    if (isLast)
        mapping.areIn = false;
    return isLast ? mapping.registered : std::vector<Library::Registered>{};
}

//! Forgets what is not mapped any more. What that had registered and nobody has closed: it was there for others.
std::vector<Library::Registered> forgetUnmapped()
{
    std::map<Module, void const*> closed;
    {
        std::scoped_lock const lock{mappings().mutex};
        for (auto const& [module, mapping] : mappings().all)
            if (mapping.openings == 0)
                closed.emplace(module, mapping.inside);
    }
    std::erase_if(closed, [](auto const& each) { return moduleAt(each.second) == each.first; });
    std::vector<Library::Registered> gone;
    std::scoped_lock const lock{mappings().mutex};
    std::erase_if(mappings().all, [&](auto const& each) {
        auto const& [module, mapping] = each;
        auto const at = closed.find(module);
        if (at == closed.end() || at->second != mapping.inside || mapping.openings != 0)
            return false;
        if (mapping.areIn)
            gone.insert(gone.end(), mapping.registered.begin(), mapping.registered.end());
        return true;
    });
    return gone;
}

void removeAll(std::vector<Library::Registered> const& creators)
{
    for (Library::Registered const& each : creators)
        each.registry->remove(*each.creator);
}
} // namespace

Result<std::unique_ptr<Library>> Library::open(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder)
{
    std::unique_ptr<Library> library{new Library{path}};
    auto loaded = [&] {
        Collecting const collecting{library->mBrought};
        return library->load(loggerFinder);
    }();
    if (library->mHandle == nullptr)
        return std::move(loaded).error();
    std::vector<Registered> const back = noteOpening(library->mHandle, library->mBrought);
    if (!loaded)
    {
        library->abandon(); // Nothing of it is for loadLibrary; what it has registered itself stays.
        return std::move(loaded).error();
    }
    for (Registered const& each : back)
    {
        auto added = each.registry->add(*each.creator, each.nameSpace);
        if (!added)
            return std::move(added).error().in(fmt::format("'{}'", path));
    }
    library->mBrought.insert(library->mBrought.end(), back.begin(), back.end());
    countOpenings(library->mHandle, 1);
    library->mIsCounted = true;
    return library;
}

Result<Done> Library::load(nvinfer1::ILoggerFinder& loggerFinder)
{
    {
        // What static constructors have to say waits: the loader has a lock, and whoever is told may wait for one who
        // wants it.
        HeldBack const untilItIsOpen;
        mHandle = dlopen(mPath.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (mHandle == nullptr) // Whoever is told later may use the loader, which forgets the reason then.
        {
            char const* const why = dlerror();
            return badArgument("'{}' cannot be opened: {}", mPath, why == nullptr ? "no reason given" : why);
        }
    }
    if (auto* const set = symbolOf<void(nvinfer1::ILoggerFinder*)>(mHandle, "setLoggerFinder"))
        set(&loggerFinder);
    return findCreators();
}

void Library::noteRegistered(Registered const& registered)
{
    if (gRegistered != nullptr)
        gRegistered->push_back(registered);
}

bool Library::hasBrought(Registry const& registry, IPluginCreatorInterface const& creator) const noexcept
{
    return std::ranges::any_of(
        mBrought, [&](Registered const& each) { return each.registry == &registry && each.creator == &creator; });
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
    removeAll(noteClosing(mHandle));
    if (mIsKept)
        return;
    dlclose(mHandle);
    removeAll(forgetUnmapped());
    dropUnmappedBodies();
}

} // namespace tenon::plugins
