// Texts of threads are asked for as long as the process has code that may fail.
#include "base/explanation.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{
//! Stands for a plugin of a static object: its callbacks run when the main thread's own objects are gone.
struct Late
{
    ~Late()
    {
        explain(std::string(100, 'l'));
        if (!takeExplanation().empty() || !because().empty())
            std::_Exit(1);
        forgetExplanation();
        std::_Exit(7);
    }
};

TEST(ThreadText, isNotTouchedWhenItIsGone)
{
    EXPECT_EXIT(
        {
            explain(std::string(100, 'e'));
            static Late const late;
            std::exit(0);
        },
        ::testing::ExitedWithCode(7), "");
}
} // namespace
} // namespace tenon::test
