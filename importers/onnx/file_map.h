// A file mapped for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tenon::onnx
{

class FileMap
{
  public:
    //! Throws Failure when the file cannot be opened or is not a plain file.
    explicit FileMap(std::string const& path);
    ~FileMap();
    FileMap(FileMap const&) = delete;
    FileMap& operator=(FileMap const&) = delete;

    std::span<char const> bytes() const noexcept
    {
        return {mData, mSize};
    }

  private:
    char const* mData{nullptr};
    size_t mSize{0};
};

} // namespace tenon::onnx
