// PluginRegistry: the calls of IPluginRegistry over a registry of plugins.
#include "api/plugins/plugin_registry.h"

#include "api/boundary.h"
#include "api/global_logger.h"
#include "plugins/text.h"

#include <map>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
//! The logger that libraries find.
class LoggerFinder final : public ILoggerFinder
{
  public:
    ILogger* findLogger() override
    {
        return &globalLogger();
    }
    virtual InterfaceInfo getInterfaceInfo() const noexcept // What 11.1 has behind the slots of 10.16.
    {
        return {"ILoggerFinder", 1, 0};
    }
};

LoggerFinder& loggerFinder()
{
    static auto& finder = *new LoggerFinder; // Libraries keep it; they may outlive static objects.
    return finder;
}

//! By address: a caller's registry may be of another library, and nothing but its calls may be used then.
struct LiveRegistries
{
    std::mutex mutex;
    std::map<IPluginRegistry const*, std::shared_ptr<plugins::Registry>> all;
};

LiveRegistries& liveRegistries()
{
    static auto& live = *new LiveRegistries; // The registry of the process is never destroyed.
    return live;
}
} // namespace

PluginRegistry& globalRegistry() noexcept
{
    static auto& registry = *new PluginRegistry; // Creators in static objects leave it after main().
    return registry;
}

PluginRegistry::PluginRegistry(PluginRegistry const* parent)
    : mPlugins{std::make_shared<plugins::Registry>(parent == nullptr ? nullptr : parent->mPlugins)}
{
    LiveRegistries& live = liveRegistries();
    std::scoped_lock const lock{live.mutex};
    live.all.emplace(this, mPlugins);
}

PluginRegistry::~PluginRegistry()
{
    LiveRegistries& live = liveRegistries();
    std::scoped_lock const lock{live.mutex};
    live.all.erase(this);
}

Result<Done> PluginRegistry::setParent(IPluginRegistry const* parent)
{
    if (parent == nullptr)
        return mPlugins->setParent(nullptr);
    std::shared_ptr<plugins::Registry const> next;
    {
        LiveRegistries& live = liveRegistries();
        std::scoped_lock const lock{live.mutex};
        if (auto const found = live.all.find(parent); found != live.all.end())
            next = found->second;
    }
    if (next == nullptr)
        return badArgument(
            "the registry at {} is none of this library's, or is gone", static_cast<void const*>(parent));
    return mPlugins->setParent(std::move(next));
}

Result<Done> PluginRegistry::loadFrom(std::string const& path)
{
    static_cast<void>(TENON_TRY(mPlugins->load(path, loggerFinder())));
    return Done{};
}

Log PluginRegistry::log() const noexcept
{
    return Log{&globalLogger(), mRecorder.get()};
}

bool PluginRegistry::registerCreator(Creator& creator, char const* const pluginNamespace) noexcept
{
    return fencedDone(log(), "IPluginRegistry::registerCreator", [&]() -> Result<Done> {
        std::string const nameSpace = plugins::stringOf(pluginNamespace);
        TENON_TRY(mPlugins->add(creator, nameSpace));
        if (plugins::kindOf(creator) == plugins::CreatorKind::kV1) // Whichever overload it came by (J16).
            static_cast<IPluginCreator&>(creator).setPluginNamespace(nameSpace.c_str());
        return Done{};
    });
}

bool PluginRegistry::registerCreator(IPluginCreator& creator, char const* const pluginNamespace) noexcept
{
    return registerCreator(static_cast<Creator&>(creator), pluginNamespace);
}

IPluginCreator* const* PluginRegistry::getPluginCreatorList(int32_t* const numCreators) const noexcept
{
    using List = IPluginCreator* const*;
    return fenced(log(), "IPluginRegistry::getPluginCreatorList", List{nullptr}, [&]() -> List {
        std::vector<IPluginCreator*> older;
        for (Creator* creator : mPlugins->all())
            if (plugins::kindOf(*creator) == plugins::CreatorKind::kV1)
                older.push_back(static_cast<IPluginCreator*>(creator));
        return mOlderLists.give(std::move(older), numCreators);
    });
}

PluginRegistry::Creator* PluginRegistry::getCreator(
    char const* const pluginName, char const* const pluginVersion, char const* const pluginNamespace) noexcept
{
    if (pluginName == nullptr || pluginVersion == nullptr)
        return nullptr;
    return fenced(log(), "IPluginRegistry::getCreator", static_cast<Creator*>(nullptr),
        [&] { return mPlugins->find(pluginName, pluginVersion, plugins::stringOf(pluginNamespace)); });
}

IPluginCreator* PluginRegistry::getPluginCreator(
    char const* const pluginName, char const* const pluginVersion, char const* const pluginNamespace) noexcept
{
    Creator* const creator = getCreator(pluginName, pluginVersion, pluginNamespace);
    bool const older = creator != nullptr && plugins::kindOf(*creator) == plugins::CreatorKind::kV1;
    return older ? static_cast<IPluginCreator*>(creator) : nullptr;
}

void PluginRegistry::setErrorRecorder(IErrorRecorder* const recorder) noexcept
{
    mRecorder.set(referenceTo(recorder)); // B2
}

IErrorRecorder* PluginRegistry::getErrorRecorder() const noexcept
{
    return mRecorder.get().get();
}

bool PluginRegistry::deregisterCreator(Creator const& creator) noexcept
{
    return mPlugins->remove(creator);
}

bool PluginRegistry::deregisterCreator(IPluginCreator const& creator) noexcept
{
    return deregisterCreator(static_cast<Creator const&>(creator));
}

bool PluginRegistry::isParentSearchEnabled() const
{
    return mPlugins->searchesParent();
}

void PluginRegistry::setParentSearchEnabled(bool const enabled)
{
    mPlugins->setSearchesParent(enabled);
}

IPluginRegistry::PluginLibraryHandle PluginRegistry::loadLibrary(char const* pluginPath) noexcept
{
    return fenced(
        log(), "IPluginRegistry::loadLibrary", PluginLibraryHandle{nullptr}, [&]() -> Result<PluginLibraryHandle> {
            if (pluginPath == nullptr)
                return badArgument("the path is null");
            return mPlugins->load(pluginPath, loggerFinder());
        });
}

void PluginRegistry::deregisterLibrary(PluginLibraryHandle handle) noexcept
{
    fencedDone(log(), "IPluginRegistry::deregisterLibrary", [&]() -> Result<Done> { return mPlugins->unload(handle); });
}

PluginRegistry::Creator* const* PluginRegistry::getAllCreators(int32_t* const numCreators) const noexcept
{
    using List = Creator* const*;
    return fenced(log(), "IPluginRegistry::getAllCreators", List{nullptr},
        [&]() -> List { return mLists.give(mPlugins->all(), numCreators); });
}

PluginRegistry::Creator* const* PluginRegistry::getAllCreatorsRecursive(int32_t* const numCreators) noexcept
{
    using List = Creator* const*;
    return fenced(log(), "IPluginRegistry::getAllCreatorsRecursive", List{nullptr},
        [&]() -> List { return mLists.give(mPlugins->allRecursive(), numCreators); });
}

IPluginResource* PluginRegistry::acquirePluginResource(char const* key, IPluginResource* resource) noexcept
{
    return fenced(log(), "IPluginRegistry::acquirePluginResource", static_cast<IPluginResource*>(nullptr),
        [&]() -> Result<IPluginResource*> {
            if (key == nullptr)
                return badArgument("the key is null");
            return mPlugins->acquire(key, resource);
        });
}

int32_t PluginRegistry::releasePluginResource(char const* key) noexcept
{
    bool const done = fencedDone(log(), "IPluginRegistry::releasePluginResource", [&]() -> Result<Done> {
        if (key == nullptr)
            return badArgument("the key is null");
        return mPlugins->release(key);
    });
    return done ? 0 : -1;
}

} // namespace tenon::api
