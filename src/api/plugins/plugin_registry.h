// PluginRegistry: the public face of a registry of plugins. One for the process, and one each per builder and runtime.
#pragma once

#include "base/log.h"
#include "plugins/registry.h"

#include "NvInfer.h"

#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace tenon::api
{

//! Lists as they were handed out: who walks over one may go on, whatever other threads ask or register meanwhile. One
//! more is kept only when there was none like it.
template <typename Creator>
class HandedOutLists
{
  public:
    Creator* const* give(std::vector<Creator*> list, int32_t* count)
    {
        std::scoped_lock const lock{mMutex};
        std::vector<Creator*> const& kept = *mLists.insert(std::move(list)).first;
        if (count != nullptr)
            *count = static_cast<int32_t>(kept.size());
        return kept.data();
    }

  private:
    std::mutex mMutex;
    std::set<std::vector<Creator*>> mLists;
};

class PluginRegistry final : public nvinfer1::IPluginRegistry
{
  public:
    using Creator = nvinfer1::IPluginCreatorInterface;

    //! `parent`: asked for what this one lacks; null for the registry of the process.
    explicit PluginRegistry(PluginRegistry const* parent = nullptr);
    ~PluginRegistry() override;
    PluginRegistry(PluginRegistry const&) = delete;
    PluginRegistry& operator=(PluginRegistry const&) = delete;

    plugins::Registry const& plugins() const noexcept
    {
        return *mPlugins;
    }
    //! Has `parent` asked from now on for what this one lacks; null: none. Its creators are kept listed as long as this
    //! one may ask for them. Of other libraries' registries nothing is known but their calls: these are refused.
    Result<Done> setParent(nvinfer1::IPluginRegistry const* parent);

    //! As loadLibrary(); the error is the caller's.
    Result<Done> loadFrom(std::string const& path);

    bool registerCreator(nvinfer1::IPluginCreator& creator, char const* const pluginNamespace) noexcept override;
    nvinfer1::IPluginCreator* const* getPluginCreatorList(int32_t* const numCreators) const noexcept override;
    nvinfer1::IPluginCreator* getPluginCreator(char const* const pluginName, char const* const pluginVersion,
        char const* const pluginNamespace) noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* const recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    bool deregisterCreator(nvinfer1::IPluginCreator const& creator) noexcept override;
    bool isParentSearchEnabled() const override;
    void setParentSearchEnabled(bool const enabled) override;
    PluginLibraryHandle loadLibrary(char const* pluginPath) noexcept override;
    void deregisterLibrary(PluginLibraryHandle handle) noexcept override;
    bool registerCreator(Creator& creator, char const* const pluginNamespace) noexcept override;
    Creator* const* getAllCreators(int32_t* const numCreators) const noexcept override;
    Creator* getCreator(char const* const pluginName, char const* const pluginVersion,
        char const* const pluginNamespace) noexcept override;
    bool deregisterCreator(Creator const& creator) noexcept override;
    nvinfer1::IPluginResource* acquirePluginResource(
        char const* key, nvinfer1::IPluginResource* resource) noexcept override;
    int32_t releasePluginResource(char const* key) noexcept override;
    Creator* const* getAllCreatorsRecursive(int32_t* const numCreators) noexcept override;

  private:
    Log log() const noexcept;

    std::shared_ptr<plugins::Registry> mPlugins; //!< Registries below this one keep it, too.
    mutable HandedOutLists<Creator> mLists;
    mutable HandedOutLists<nvinfer1::IPluginCreator> mOlderLists; //!< The same of getPluginCreatorList.
    RecorderSlot mRecorder;
};

PluginRegistry& globalRegistry() noexcept;

} // namespace tenon::api
