// Files that are kept from one process to the next, and what tells one build of a library from another.
#pragma once

#include "base/bytes.h"

#include <filesystem>
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

//! Whoever reads and writes a file, or a folder's, under such a lock waits for others that do, also in other processes.
//! Where that cannot be had, nobody waits.
class KeptFileLock
{
  public:
    explicit KeptFileLock(std::filesystem::path const& path);
    ~KeptFileLock();
    KeptFileLock(KeptFileLock const&) = delete;
    KeptFileLock& operator=(KeptFileLock const&) = delete;

  private:
    int mFile;
};

//! Name, size and time of the file that has been loaded at an address of code; empty where that cannot be told.
std::string loadedFileAt(void const* address);

} // namespace tenon
