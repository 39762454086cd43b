// Library: a shared library of plugins, open as long as the object lives.
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
    std::vector<nvinfer1::IPluginCreatorInterface*> mCreators;
};

} // namespace tenon::plugins
