// Explanations of callbacks, per thread.
#include "base/explanation.h"

#include <utility>

namespace tenon
{

namespace
{
thread_local std::string gWhy;
}

void explain(std::string why)
{
    gWhy = std::move(why);
}

std::string takeExplanation()
{
    return std::exchange(gWhy, {});
}

void forgetExplanation() noexcept
{
    gWhy.clear();
}

std::string because()
{
    std::string const why = takeExplanation();
    return why.empty() ? "" : ": " + why;
}

} // namespace tenon
