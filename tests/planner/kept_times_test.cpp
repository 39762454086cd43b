// KeptTimes: what builds have measured, from one process to the next.
#include "api/build/kept_times.h"
#include "base/cancellation.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <thread>
#include <unistd.h>

namespace tenon::test
{

namespace
{
using api::KeptTimes;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class KeptTimesTest : public testing::Test
{
  protected:
    using Entries = TimedTactics::Entries;

    //! So many times of problems that nobody else has.
    void measure(TimedTactics& times, int32_t count)
    {
        for (int32_t i = 0; i < count; ++i)
            times.add(TimedTactics::keyOf(fmt::format("problem {}", mNext++)),
                {mDraw(), std::uniform_real_distribution<float>{0.001F, 100.0F}(mDraw)});
    }
    Entries read(std::string const& device) const
    {
        TimedTactics times;
        KeptTimes{folder.path(), {1, device}}.read(times);
        return times.all();
    }
    std::filesystem::path onlyFile() const
    {
        std::filesystem::directory_iterator const files{folder.path() / "times"};
        return files->path();
    }
    std::filesystem::path newestFile() const
    {
        std::filesystem::path newest;
        for (auto const& each : std::filesystem::directory_iterator{folder.path() / "times"})
            if (newest.empty() || each.last_write_time() > last_write_time(newest))
                newest = each.path();
        return newest;
    }
    static bool areSame(Entries const& a, Entries const& b)
    {
        return std::ranges::equal(a, b, [](auto const& x, auto const& y) {
            return x.first == y.first && x.second.tactic == y.second.tactic
                && x.second.milliseconds == y.second.milliseconds;
        });
    }

    TempFolder folder;

  private:
    std::mt19937_64 mDraw{std::random_device{}()};
    int32_t mNext{0};
};
} // namespace

TEST_F(KeptTimesTest, anotherProcessReadsWhatOneHasMeasured)
{
    TimedTactics times;
    KeptTimes kept{folder.path(), {1, "a GPU"}};
    kept.read(times);
    measure(times, 7);
    ASSERT_TRUE(kept.write(times));
    EXPECT_TRUE(areSame(read("a GPU"), times.all()));
    EXPECT_THAT(read("another GPU"), IsEmpty());
}

TEST_F(KeptTimesTest, buildsBesideEachOtherLoseNothing)
{
    TimedTactics first;
    TimedTactics second;
    KeptTimes of{folder.path(), {1, "a GPU"}};
    KeptTimes beside{folder.path(), {1, "a GPU"}};
    of.read(first);
    beside.read(second);
    measure(first, 3);
    measure(second, 4);
    ASSERT_TRUE(of.write(first));
    ASSERT_TRUE(beside.write(second));
    Entries all = first.all();
    all.merge(second.all());
    EXPECT_TRUE(areSame(read("a GPU"), all));
}

//! What is read, joined and written again is one step to the others.
TEST_F(KeptTimesTest, manyThatWriteAtOnceLoseNothing)
{
    constexpr int32_t kWriters{8};
    std::vector<TimedTactics> times(kWriters);
    std::vector<KeptTimes> kept(kWriters, KeptTimes{folder.path(), {1, "a GPU"}});
    Entries all;
    for (TimedTactics& own : times)
    {
        measure(own, 40);
        Entries some = own.all();
        all.merge(some);
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < times.size(); ++i)
        threads.emplace_back([&, i] { EXPECT_TRUE(kept[i].write(times[i])); });
    for (std::thread& each : threads)
        each.join();
    EXPECT_TRUE(areSame(read("a GPU"), all));
}

TEST_F(KeptTimesTest, ofManyOriginsTheNewestStay)
{
    for (int32_t i = 0; i < 20; ++i)
    {
        TimedTactics times;
        measure(times, 1);
        KeptTimes const kept{folder.path(), {1, fmt::format("a GPU with driver {}", i)}};
        ASSERT_TRUE(kept.write(times));
        std::filesystem::last_write_time(
            newestFile(), std::filesystem::file_time_type::clock::now() - std::chrono::hours{100 - i});
    }
    std::filesystem::directory_iterator const files{folder.path() / "times"};
    EXPECT_EQ(std::distance(begin(files), end(files)), 16);
    EXPECT_THAT(read("a GPU with driver 3"), IsEmpty());
    EXPECT_EQ(read("a GPU with driver 4").size(), 1U);
    EXPECT_EQ(read("a GPU with driver 19").size(), 1U);
}

TEST_F(KeptTimesTest, timesOfCustomLayersAreNotKept)
{
    TimedTactics times;
    measure(times, 2); // In front of reading: the network's custom layers.
    KeptTimes kept{folder.path(), {1, "a GPU"}};
    kept.read(times);
    Entries const custom = times.all();
    measure(times, 3);
    ASSERT_TRUE(kept.write(times));
    Entries expected = times.all();
    for (auto const& [key, entry] : custom)
        expected.erase(key);
    EXPECT_TRUE(areSame(read("a GPU"), expected));
}

TEST_F(KeptTimesTest, aDamagedFileIsAsNoneAndIsWrittenAnew)
{
    TimedTactics times;
    KeptTimes kept{folder.path(), {1, "a GPU"}};
    kept.read(times);
    measure(times, 5);
    ASSERT_TRUE(kept.write(times));
    std::filesystem::resize_file(onlyFile(), std::filesystem::file_size(onlyFile()) - 3);
    EXPECT_THAT(read("a GPU"), IsEmpty());
    ASSERT_TRUE(kept.write(times));
    EXPECT_TRUE(areSame(read("a GPU"), times.all()));
}

TEST_F(KeptTimesTest, whatIsNoFileIsAsNone)
{
    TimedTactics times;
    KeptTimes kept{folder.path(), {1, "a GPU"}};
    kept.read(times);
    measure(times, 5);
    ASSERT_TRUE(kept.write(times));
    std::filesystem::path const file = onlyFile();
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    EXPECT_THAT(read("a GPU"), IsEmpty());
    ASSERT_TRUE(kept.write(times));
    std::filesystem::directory_iterator const files{folder.path() / "times"};
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "what could not be moved to its place stays beside it";
}

//! A process that hangs, or is stopped in a debugger, keeps no build of another one.
TEST_F(KeptTimesTest, whoHoldsTheFileTooLongIsNamed)
{
    constexpr std::chrono::milliseconds kPatience{30};
    TimedTactics times;
    KeptTimes kept{folder.path(), {1, "a GPU"}};
    kept.read(times);
    measure(times, 5);
    {
        KeptFileLock const held{folder.path() / "times"};
        EXPECT_FALSE(held.refusal());
        Result<Done> const refused = kept.write(times, kPatience);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message,
            AllOf(HasSubstr(fmt::format("process {} has '", getpid())), HasSubstr("times.lock' for more than 30 ms")));
        EXPECT_THAT(read("a GPU"), IsEmpty());
    }
    ASSERT_TRUE(kept.write(times, kPatience));
    EXPECT_TRUE(areSame(read("a GPU"), times.all()));
}

TEST_F(KeptTimesTest, whoWaitsForTheFileHearsThatItsBuildIsGivenUp)
{
    std::optional<KeptFileLock> held{folder.path() / "times"};
    {
        CancellationScope const scope{[] { return false; }};
        EXPECT_THROW((KeptFileLock{folder.path() / "times"}), Cancelled);
    }
    held.reset();
    EXPECT_FALSE((KeptFileLock{folder.path() / "times", std::chrono::milliseconds{0}}.refusal()))
        << "who gave up has kept nothing";
}

TEST_F(KeptTimesTest, withoutAFolderNothingIsKept)
{
    TimedTactics times;
    KeptTimes kept{{}, {1, "a GPU"}};
    kept.read(times);
    measure(times, 1);
    ASSERT_TRUE(kept.write(times));
    EXPECT_THAT(read("a GPU"), IsEmpty());
}

} // namespace tenon::test
