// Kept files: what is sealed is read whole or not at all.
#include "base/kept_file.h"
#include "support/temp_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(KeptFile, theNewestOfAnEndingStay)
{
    namespace fs = std::filesystem;
    TempFolder const folder;
    auto const path = [&](std::string const& name) { return folder.path() / name; };
    auto const now = fs::file_time_type::clock::now();
    for (int age : {4, 1, 3, 0, 2})
    {
        keepFile(path(std::to_string(age) + ".times"), Bytes{1});
        fs::last_write_time(path(std::to_string(age) + ".times"), now - std::chrono::hours{age});
    }
    keepFile(path("notes.txt"), Bytes{1});
    fs::last_write_time(path("notes.txt"), now - std::chrono::hours{9});
    keepNewest(folder.path(), ".times", 3);
    for (int age = 0; age < 5; ++age)
        EXPECT_EQ(fs::exists(path(std::to_string(age) + ".times")), age < 3) << age;
    EXPECT_TRUE(fs::exists(path("notes.txt"))) << "others' files are none of ours";
    keepNewest(path("nowhere"), ".times", 0);
}

TEST(KeptFile, aLockEndsWithItsOwnerThoughAProcessWasForkedMeanwhile)
{
    TempFolder const folder;
    std::filesystem::path const path = folder.path() / "times";
    int const other = open((path.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    ASSERT_GE(other, 0);
    pid_t child{-1};
    {
        KeptFileLock const lock{path};
        EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0) << "it is held";
        child = fork();
        if (child == 0)
        {
            pause(); // With all files of its parent open.
            _exit(0);
        }
        ASSERT_GT(child, 0);
    }
    EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0) << "the child holds it on";
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(other);
}

} // namespace tenon::test
