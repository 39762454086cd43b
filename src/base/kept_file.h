// Files that are kept from one process to the next, and what tells one build of a library from another.
#pragma once

#include "base/bytes.h"

#include <filesystem>
#include <string>

namespace tenon
{

//! Empty: there is none that can be read.
Bytes readKeptFile(std::filesystem::path const& path);
//! Whole or not at all, as other processes read it. A folder that cannot be written only costs time.
void keepFile(std::filesystem::path const& path, ByteView bytes);
//! Name, size and time of the file that has been loaded at an address of code; empty where that cannot be told.
std::string loadedFileAt(void const* address);

} // namespace tenon
