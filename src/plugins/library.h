// Library: a shared library of plugins, open as long as the object lives, or longer where code of it may be in use.
#pragma once

#include "base/result.h"

#include "NvInferRuntime.h"
#include "NvInferRuntimePlugin.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::plugins
{

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

  private:
    Library(std::string path, void* handle)
        : mPath{std::move(path)},
          mHandle{handle}
    {
    }
    Result<Done> findCreators();

    std::string mPath;
    void* mHandle;
    bool mIsKept{false};
    std::vector<nvinfer1::IPluginCreatorInterface*> mCreators;
};

} // namespace tenon::plugins
