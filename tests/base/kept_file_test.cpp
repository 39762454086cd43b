// Kept files: what is sealed is read whole or not at all.
#include "base/kept_file.h"
#include "support/temp_folder.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tenon::test
{

TEST(KeptFile, damageIsSeenByTheSeal)
{
    TempFolder const folder;
    std::filesystem::path const path = folder.path() / "cuda" / "kernel.cubin";
    EXPECT_TRUE(readSealedFile(path).empty());
    Bytes const bytes{1, 2, 3, 4, 5, 250, 251};
    keepSealedFile(path, bytes);
    EXPECT_EQ(readSealedFile(path), bytes);
    Bytes const stored = readKeptFile(path);
    ASSERT_GT(stored.size(), bytes.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), stored.begin())) << "the form itself stands in front";
    for (size_t at = 0; at < stored.size(); ++at)
    {
        Bytes damaged = stored;
        damaged[at] ^= 1;
        keepFile(path, damaged);
        EXPECT_TRUE(readSealedFile(path).empty()) << "byte " << at;
    }
    for (size_t count = 0; count < stored.size(); ++count)
    {
        keepFile(path, ByteView{stored}.first(count));
        EXPECT_TRUE(readSealedFile(path).empty()) << count << " bytes";
    }
    keepSealedFile(path, bytes);
    EXPECT_EQ(readSealedFile(path), bytes);
}

} // namespace tenon::test
