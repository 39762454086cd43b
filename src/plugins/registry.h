// Registry: creators of plugins by type, version and namespace; libraries they come from; resources plugins share.
#pragma once

#include "device/plugin_source.h"
#include "plugins/plugin.h"

#include <map>
#include <memory>
#include <mutex>

namespace tenon::plugins
{

class Library;

//! All calls may come from several threads at once.
class Registry final : public PluginSource
{
  public:
    using Creator = nvinfer1::IPluginCreatorInterface;

    //! `parent` is asked for what this registry lacks, while parent search is on. Null: this is that of the process.
    explicit Registry(std::shared_ptr<Registry const> parent = nullptr);
    ~Registry() override;

    Result<Done> add(Creator& creator, std::string nameSpace);
    //! False when it is not registered here.
    bool remove(Creator const& creator);
    //! Null when there is none of the name.
    Creator* find(std::string_view type, std::string_view version, std::string_view nameSpace) const;
    std::vector<Creator*> all() const;
    //! Those of the parents behind, as far as parent search reaches.
    std::vector<Creator*> allRecursive() const;
    bool searchesParent() const;
    void setSearchesParent(bool enabled);
    //! Another parent, or with null none; refused when it would be asked in a circle.
    Result<Done> setParent(std::shared_ptr<Registry const> parent);

    //! Opens a shared library and registers all its creators, or none (I4, I5).
    Result<void*> load(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder);
    Result<Done> unload(void* handle);

    //! The resource of the key, a clone of `resource` when the key is new; counts one more user (I8).
    Result<nvinfer1::IPluginResource*> acquire(std::string const& key, nvinfer1::IPluginResource* resource);
    //! Counts one user less; the last one releases and destroys the clone (I9).
    Result<Done> release(std::string const& key);

    //! A creator, the names it is registered under, and the library that loadLibrary had it from; "": none.
    struct Listed
    {
        Creator* creator;
        std::string type;
        std::string version;
        std::string nameSpace;
        std::string library;
    };
    //! Those of the parents behind, as far as parent search reaches.
    std::vector<Listed> listed() const;
    std::string libraryOf(std::string_view type, std::string_view version, std::string_view nameSpace) const;

    std::string whatIsMissing(PluginName const& name) const override;

    //! A plugin as a plan stores it, made by its creator for running.
    Result<PluginPtr> restore(Identity const& identity, std::string const& layerName, ByteView stored) const;

  private:
    struct Entry
    {
        Creator* creator;
        std::string type;
        std::string version;
        std::string nameSpace;
        Library const* library;
    };
    //! A clone that the registry keeps; its code may be any library's.
    class Kept
    {
      public:
        explicit Kept(nvinfer1::IPluginResource* clone) noexcept;
        ~Kept();
        Kept(Kept const&) = delete;
        Kept& operator=(Kept const&) = delete;
        nvinfer1::IPluginResource* get() const noexcept
        {
            return mClone.get();
        }
        //! How many there are in the process.
        static int64_t alive() noexcept;

      private:
        std::unique_ptr<nvinfer1::IPluginResource> mClone;
    };
    struct Resource
    {
        std::unique_ptr<Kept> clone;
        int32_t users{0};
    };
    //! All of them, or none. The user's code has been asked before: no lock is held around it.
    Result<Done> addAll(std::vector<Entry> entries);
    nvinfer1::IPluginResource* addUser(std::string const& key);
    void collect(std::vector<Entry>& entries) const;
    std::shared_ptr<Registry const> parent() const;

    bool mIsOfProcess;
    mutable std::mutex mMutex;
    std::shared_ptr<Registry const> mParent;
    bool mSearchesParent{true};
    std::vector<Entry> mEntries;
    std::vector<std::unique_ptr<Library>> mLibraries;
    std::map<std::string, Resource> mResources;
};

//! What a creator says it is: asked by its interface kind, never of the compiler, since it may come from elsewhere.
enum class CreatorKind : uint8_t
{
    kUnknown,
    kV1,
    kV3One,
    kV3Quick,
};
CreatorKind kindOf(nvinfer1::IPluginCreatorInterface const& creator) noexcept;

} // namespace tenon::plugins
