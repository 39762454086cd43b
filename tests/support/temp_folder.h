// A folder of a test's own: tests run side by side, and each in a process of its own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace tenon::test
{

//! Empty at first; goes with all that is in it.
class TempFolder
{
  public:
    TempFolder()
    {
        std::string name = ::testing::TempDir() + "tenon_XXXXXX";
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no temporary folder like " + name);
        mPath = name;
    }
    ~TempFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(mPath, ignored);
    }
    TempFolder(TempFolder const&) = delete;
    TempFolder& operator=(TempFolder const&) = delete;

    std::filesystem::path const& path() const noexcept
    {
        return mPath;
    }
    std::string file(std::string const& name) const
    {
        return (mPath / name).string();
    }

  private:
    std::filesystem::path mPath;
};

} // namespace tenon::test
