// Files: read as a whole, and written so that they are whole or absent.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon::cli
{

//! Whether `path` is written through: a pipe, a device, or another thing in the place of a file.
bool isWrittenThrough(std::string const& path);
//! Throws std::runtime_error where `path` cannot be written: before what takes long, and not behind it.
void expectWritable(std::string const& path);
//! Writes beside the file that `path` names and renames, so that it is whole or absent; what is no file is written
//! through. Throws std::runtime_error.
void writeFile(std::string const& path, void const* data, size_t size);
std::vector<char> readFile(std::string const& path);

//! While it lives, other programs that ask for the lock of the same file wait; some seconds at most, as who has it may
//! hang. The lock is a file beside that one, PATH.lock, which stays.
class FileLock
{
  public:
    static constexpr std::chrono::seconds kPatience{5};

    explicit FileLock(std::string const& path);
    ~FileLock();
    FileLock(FileLock const&) = delete;
    FileLock& operator=(FileLock const&) = delete;

    //! Whether another program has the lock still.
    bool isRefused() const
    {
        return mIsRefused;
    }

  private:
    int mFile;
    bool mIsRefused{false};
};

} // namespace tenon::cli
