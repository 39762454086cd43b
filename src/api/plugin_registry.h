// PluginRegistry: creators by name, version and namespace. There is one for the process.
#pragma once

#include "NvInfer.h"

#include <mutex>
#include <string>
#include <vector>

namespace tenon::api
{

class PluginRegistry final : public nvinfer1::IPluginRegistry
{
  public:
    using Creator = nvinfer1::IPluginCreatorInterface;

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
    struct Entry
    {
        Creator* creator;
        std::string name;
        std::string version;
        std::string nameSpace;
    };
    void updateLists();
    void report(char const* call, char const* what) const noexcept;

    mutable std::mutex mMutex;
    std::vector<Entry> mEntries;
    std::vector<Creator*> mAll;                    //!< What getAllCreators hands out.
    std::vector<nvinfer1::IPluginCreator*> mOlder; //!< What getPluginCreatorList hands out.
    nvinfer1::IErrorRecorder* mRecorder{nullptr};
    bool mParentSearch{true};
};

PluginRegistry& globalRegistry() noexcept;

} // namespace tenon::api
