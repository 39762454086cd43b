// Files that are kept from one process to the next, and what tells one build of a library from another.
#pragma once

#include "base/bytes.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tenon
{

//! Empty: there is none that can be read.
Bytes readKeptFile(std::filesystem::path const& path);
//! Whole or not at all, as other processes read it. A folder that cannot be written only costs time.
void keepFile(std::filesystem::path const& path, ByteView bytes);
//! The same with a digest behind the bytes, for readers that would not see damage; readers of the form itself skip it.
Bytes readSealedFile(std::filesystem::path const& path);
void keepSealedFile(std::filesystem::path const& path, ByteView bytes);
//! Removes the oldest files of a folder whose names end so, but for that many.
void keepNewest(std::filesystem::path const& folder, std::string_view ending, size_t count);

//! Whoever reads and writes a file, or a folder's, under such a lock waits for others that do, also in other processes;
//! for a while: what is kept only saves time, and its owner may hang. Where a lock cannot be had, nobody waits.
class KeptFileLock
{
  public:
    static constexpr std::chrono::milliseconds kPatience{5000};

    //! Waiting is a cancellation point.
    explicit KeptFileLock(std::filesystem::path const& path, std::chrono::milliseconds patience = kPatience);
    ~KeptFileLock();
    KeptFileLock(KeptFileLock const&) = delete;
    KeptFileLock& operator=(KeptFileLock const&) = delete;

    //! Null; or who has the lock still.
    std::optional<std::string> const& refusal() const
    {
        return mRefusal;
    }

  private:
    struct Opened
    {
        int file;
    };
    explicit KeptFileLock(Opened opened);

    int mFile;
    std::optional<std::string> mRefusal;
};

//! Name, size and time of the file that has been loaded at an address of code; empty where that cannot be told.
std::string loadedFileAt(void const* address);

} // namespace tenon
