// PluginRegistry: registering and looking up; libraries and shared resources come with plugins.
#include "api/plugin_registry.h"

#include "api/boundary.h"
#include "api/global_logger.h"

#include "impl/NvInferPythonPlugin.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
template <typename C>
PluginRegistry::Creator* known(C& creator, std::string& name, std::string& version)
{
    name = creator.getPluginName();
    version = creator.getPluginVersion();
    return &creator;
}

//! Asks the creator for its kind, never the compiler: it may come from another binary.
bool nameOf(IPluginCreatorInterface& creator, std::string& name, std::string& version)
{
    std::string_view const kind{creator.getInterfaceInfo().kind};
    if (kind == "PLUGIN CREATOR_V1")
        return known(static_cast<IPluginCreator&>(creator), name, version) != nullptr;
    if (kind == "PLUGIN CREATOR_V3ONE")
        return known(static_cast<IPluginCreatorV3One&>(creator), name, version) != nullptr;
    if (kind == "PLUGIN CREATOR_V3QUICK")
        return known(static_cast<IPluginCreatorV3Quick&>(creator), name, version) != nullptr;
    return false;
}

std::string textOf(char const* text)
{
    return text == nullptr ? "" : text;
}
} // namespace

PluginRegistry& globalRegistry() noexcept
{
    static PluginRegistry registry;
    return registry;
}

void PluginRegistry::report(char const* call, char const* what) const noexcept
{
    detail::reportFailure(Log{&globalLogger(), mRecorder}, call, ErrorCode::kUNSUPPORTED_STATE, what);
}

void PluginRegistry::updateLists()
{
    mAll.clear();
    mOlder.clear();
    for (Entry const& entry : mEntries)
    {
        mAll.push_back(entry.creator);
        if (std::strcmp(entry.creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V1") == 0)
            mOlder.push_back(static_cast<IPluginCreator*>(entry.creator));
    }
}

bool PluginRegistry::registerCreator(Creator& creator, char const* const pluginNamespace) noexcept
{
    Log const log{&globalLogger(), mRecorder};
    return fencedDone(log, "IPluginRegistry::registerCreator", [&]() -> Result<Done> {
        Entry entry{&creator, {}, {}, textOf(pluginNamespace)};
        if (!nameOf(creator, entry.name, entry.version))
            return badArgument("the creator is of an unknown kind: {}", creator.getInterfaceInfo().kind);
        std::scoped_lock const lock{mMutex};
        bool const taken = std::any_of(mEntries.begin(), mEntries.end(), [&](Entry const& each) {
            return each.name == entry.name && each.version == entry.version && each.nameSpace == entry.nameSpace;
        });
        if (taken)
            return badArgument("plugin '{}' version '{}' namespace '{}' is registered already", entry.name,
                entry.version, entry.nameSpace);
        mEntries.push_back(std::move(entry));
        updateLists();
        return Done{};
    });
}

bool PluginRegistry::registerCreator(IPluginCreator& creator, char const* const pluginNamespace) noexcept
{
    if (!registerCreator(static_cast<Creator&>(creator), pluginNamespace))
        return false;
    creator.setPluginNamespace(pluginNamespace == nullptr ? "" : pluginNamespace);
    return true;
}

IPluginCreator* const* PluginRegistry::getPluginCreatorList(int32_t* const numCreators) const noexcept
{
    std::scoped_lock const lock{mMutex};
    if (numCreators != nullptr)
        *numCreators = static_cast<int32_t>(mOlder.size());
    return mOlder.data();
}

PluginRegistry::Creator* PluginRegistry::getCreator(
    char const* const pluginName, char const* const pluginVersion, char const* const pluginNamespace) noexcept
{
    std::scoped_lock const lock{mMutex};
    for (Entry const& entry : mEntries)
        if (pluginName != nullptr && entry.name == pluginName && pluginVersion != nullptr
            && entry.version == pluginVersion && entry.nameSpace == (pluginNamespace == nullptr ? "" : pluginNamespace))
            return entry.creator;
    return nullptr;
}

IPluginCreator* PluginRegistry::getPluginCreator(
    char const* const pluginName, char const* const pluginVersion, char const* const pluginNamespace) noexcept
{
    Creator* creator = getCreator(pluginName, pluginVersion, pluginNamespace);
    bool const older = creator != nullptr && std::strcmp(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V1") == 0;
    return older ? static_cast<IPluginCreator*>(creator) : nullptr;
}

void PluginRegistry::setErrorRecorder(IErrorRecorder* const recorder) noexcept
{
    IErrorRecorder* const before = std::exchange(mRecorder, recorder);
    if (recorder != nullptr)
        recorder->incRefCount();
    if (before != nullptr)
        before->decRefCount();
}

IErrorRecorder* PluginRegistry::getErrorRecorder() const noexcept
{
    return mRecorder;
}

bool PluginRegistry::deregisterCreator(Creator const& creator) noexcept
{
    std::scoped_lock const lock{mMutex};
    bool const found = std::erase_if(mEntries, [&](Entry const& each) { return each.creator == &creator; }) != 0;
    updateLists();
    return found;
}

bool PluginRegistry::deregisterCreator(IPluginCreator const& creator) noexcept
{
    return deregisterCreator(static_cast<Creator const&>(creator));
}

bool PluginRegistry::isParentSearchEnabled() const
{
    return mParentSearch;
}

void PluginRegistry::setParentSearchEnabled(bool const enabled)
{
    mParentSearch = enabled;
}

IPluginRegistry::PluginLibraryHandle PluginRegistry::loadLibrary(char const*) noexcept
{
    report("IPluginRegistry::loadLibrary", "is not implemented");
    return nullptr;
}

void PluginRegistry::deregisterLibrary(PluginLibraryHandle) noexcept
{
    report("IPluginRegistry::deregisterLibrary", "is not implemented");
}

PluginRegistry::Creator* const* PluginRegistry::getAllCreators(int32_t* const numCreators) const noexcept
{
    std::scoped_lock const lock{mMutex};
    if (numCreators != nullptr)
        *numCreators = static_cast<int32_t>(mAll.size());
    return mAll.data();
}

PluginRegistry::Creator* const* PluginRegistry::getAllCreatorsRecursive(int32_t* const numCreators) noexcept
{
    return getAllCreators(numCreators);
}

IPluginResource* PluginRegistry::acquirePluginResource(char const*, IPluginResource*) noexcept
{
    report("IPluginRegistry::acquirePluginResource", "is not implemented");
    return nullptr;
}

int32_t PluginRegistry::releasePluginResource(char const*) noexcept
{
    report("IPluginRegistry::releasePluginResource", "is not implemented");
    return -1;
}

} // namespace tenon::api
