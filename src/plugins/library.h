// Library: a shared library of plugins, open as long as the object lives; its code stays longer where it may be in use.
// Creators that it has registered itself go with its last object, and come back when it is opened again; so do its
// bodies for the CPU.
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
    //! Its code stays for ever: objects that it made may live on.
    void keepMapped() noexcept
    {
        mIsKept = true;
    }
    //! It stays open for ever, with what it has registered itself: nobody has closed it.
    void abandon() noexcept
    {
        mIsAbandoned = true;
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

    //! A creator that a library has registered itself, in the registry of the process, which lives for ever.
    struct Registered
    {
        Registry* registry;
        nvinfer1::IPluginCreatorInterface* creator;
        std::string nameSpace;
    };
    //! Told of every creator that the registry of the process takes: those that come while a library is opened in this
    //! thread are that library's own, or of one that it needs, and would dangle once that is unmapped.
    static void noteRegistered(Registered const& registered);
    //! Whether the creator came into that registry while this object opened the library.
    bool hasBrought(Registry const& registry, nvinfer1::IPluginCreatorInterface const& creator) const noexcept;

  private:
    explicit Library(std::string path)
        : mPath{std::move(path)}
    {
    }
    Result<Done> load(nvinfer1::ILoggerFinder& loggerFinder);
    Result<Done> findCreators();

    std::string mPath;
    void* mHandle{nullptr};
    bool mIsKept{false};
    bool mIsAbandoned{false};
    bool mIsCounted{false}; //!< As one that is open, by the bodies for the CPU.
    std::vector<nvinfer1::IPluginCreatorInterface*> mCreators;
    std::vector<Registered> mBrought;
};

} // namespace tenon::plugins
