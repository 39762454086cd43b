// Trace: the file is whole JSON at any time, with spans of several threads and processes.
#include "base/trace.h"
#include "support/temp_folder.h"

#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::test
{
namespace
{
using Json = nlohmann::json;

Json eventsIn(std::string const& path)
{
    std::ifstream file{path};
    std::stringstream text;
    text << file.rdbuf();
    Json all = Json::parse(text.str());
    Json spans = Json::array();
    for (Json const& event : all)
        if (event.at("ph") == "X")
            spans.push_back(event);
    return spans;
}

TraceSpan span(std::string_view name, std::string_view args = {})
{
    auto const now = std::chrono::steady_clock::now();
    return {name, "layer", now, now + std::chrono::microseconds{7}, args};
}

TEST(Trace, theFileIsWholeFromTheStartAndAfterEveryWrite)
{
    TempFolder const folder;
    std::string const path = folder.file("trace.json");
    Trace trace{path};
    ASSERT_TRUE(trace.isOpen());
    EXPECT_TRUE(eventsIn(path).empty());
    trace.add(span("first", "\"context\":\"a\""));
    EXPECT_TRUE(eventsIn(path).empty()); // Kept back until the run is over.
    trace.flush();
    trace.add(span("second"));
    trace.flush();
    trace.flush();
    Json const events = eventsIn(path);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].at("name"), "first");
    EXPECT_EQ(events[0].at("args").at("context"), "a");
    EXPECT_NEAR(events[0].at("dur").get<double>(), 7.0, 1e-6);
    EXPECT_EQ(events[1].at("name"), "second");
    EXPECT_EQ(events[1].at("pid"), ::getpid());
}

TEST(Trace, namesAreWrittenAsJsonWhateverTheyHold)
{
    TempFolder const folder;
    std::string const path = folder.file("names.json");
    Trace trace{path};
    for (std::string const& name : {std::string{"a \"b\" \\ c"}, std::string{"line\nbreak\x01"},
             std::string{"Größe 層 😀"}, std::string{"\xFF\xC0\x80\xED\xA0\x80 broken \xE5"}})
        trace.add(span(name));
    trace.flush();
    Json const events = eventsIn(path);
    ASSERT_EQ(events.size(), 4U);
    EXPECT_EQ(events[0].at("name"), "a \"b\" \\ c");
    EXPECT_EQ(events[1].at("name"), "line\nbreak\x01");
    EXPECT_EQ(events[2].at("name"), "Größe 層 😀");
    EXPECT_NE(events[3].at("name").get<std::string>().find(" broken "), std::string::npos);
}

TEST(Trace, spansOfSeveralThreadsHaveNumbersOfTheirOwn)
{
    TempFolder const folder;
    std::string const path = folder.file("threads.json");
    Trace trace{path};
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int32_t k = 0; k < 500; ++k)
            {
                trace.add(span("work"));
                if (k % 50 == 0)
                    trace.flush();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    trace.flush();
    Json const events = eventsIn(path);
    EXPECT_EQ(events.size(), 2000U);
    std::set<int64_t> numbers;
    for (Json const& event : events)
        numbers.insert(event.at("tid").get<int64_t>());
    EXPECT_EQ(numbers.size(), 4U);
}

TEST(Trace, aForkedProcessWritesAFileOfItsOwn)
{
    TempFolder const folder;
    std::string const path = folder.file("fork.json");
    Trace trace{path};
    trace.add(span("of the parent"));
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
    {
        trace.flush(); // What the parent had kept back is the parent's.
        trace.add(span("of the child"));
        trace.flush();
        ::_exit(0);
    }
    int status{-1};
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    trace.flush();
    Json const mine = eventsIn(path);
    ASSERT_EQ(mine.size(), 1U);
    EXPECT_EQ(mine[0].at("name"), "of the parent");
    Json const its = eventsIn(path + "." + std::to_string(child));
    ASSERT_EQ(its.size(), 1U);
    EXPECT_EQ(its[0].at("name"), "of the child");
    EXPECT_EQ(its[0].at("pid"), child);
}

TEST(Trace, theNameMayHoldTheNumberOfTheProcess)
{
    TempFolder const folder;
    Trace trace{folder.file("of-%p.json")};
    trace.add(span("here"));
    trace.flush();
    EXPECT_EQ(eventsIn(folder.file("of-" + std::to_string(::getpid()) + ".json")).size(), 1U);
}

TEST(Trace, aFileThatCannotBeOpenedIsSaidOnceAndStopsNothing)
{
    testing::internal::CaptureStderr();
    Trace trace{"/no/such/folder/trace.json"};
    EXPECT_FALSE(trace.isOpen());
    EXPECT_NE(testing::internal::GetCapturedStderr().find("/no/such/folder/trace.json"), std::string::npos);
    trace.add(span("lost"));
    trace.flush();
}

} // namespace
} // namespace tenon::test
