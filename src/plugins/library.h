// Library: a shared library of plugins, open as long as the object lives, or longer where code of it may be in use.
// Creators that it registers itself while it is opened go with it, and so do its bodies for the CPU.
#pragma once

#include "base/result.h"

#include "NvInferRuntime.h"
#include "NvInferRuntimePlugin.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::plugins
{

class Registry;

class Library
{
  public:
    //! Opens the library and hands it the finder before it is asked for anything.
    static Result<std::unique_ptr<Library>> open(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder);
    ~Library();
    //! Never to be closed: objects that its code made, or that it has registered itself, may live on.
    void keepOpen() noexcept
    {
        mIsKept = true;
    }
    Library(Library const&) = delete;
    Library& operator=(Library const&) = delete;

    std::string const& path() const noexcept
    {
        return mPath;
    }
    std::vector<nvinfer1::IPluginCreatorInterface*> const& creators() const noexcept
    {
        return mCreators;
    }

    //! Told of every creator that a registry takes: those that come while a library is opened in this thread are that
    //! library's own, and would dangle once it is closed.
    static void noteRegistered(Registry& registry, nvinfer1::IPluginCreatorInterface& creator);
    //! Whether the library has registered the creator there itself.
    bool hasRegistered(Registry const& registry, nvinfer1::IPluginCreatorInterface const& creator) const noexcept;

  private:
    struct Registered
    {
        Registry* registry; //!< Outlives the library: it is the one that opens it, or a parent.
        nvinfer1::IPluginCreatorInterface* creator;
    };
    explicit Library(std::string path)
        : mPath{std::move(path)}
    {
    }
    Result<Done> load(nvinfer1::ILoggerFinder& loggerFinder);
    Result<Done> findCreators();

    std::string mPath;
    void* mHandle{nullptr};
    bool mIsKept{false};
    bool mIsCounted{false}; //!< As one that is open, by the bodies for the CPU.
    std::vector<nvinfer1::IPluginCreatorInterface*> mCreators;
    std::vector<Registered> mRegistered;
};

} // namespace tenon::plugins
