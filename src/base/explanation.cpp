// Explanations of callbacks, per thread.
#include "base/explanation.h"

#include "base/thread_text.h"

#include <utility>

namespace tenon
{

namespace
{
using Why = ThreadText<struct Explanation>;
}

void explain(std::string why)
{
    if (std::string* const text = Why::get())
        *text = std::move(why);
}

std::string takeExplanation()
{
    std::string* const text = Why::get();
    return text == nullptr ? std::string{} : std::exchange(*text, {});
}

void forgetExplanation() noexcept
{
    if (std::string* const text = Why::get())
        text->clear();
}

std::string because()
{
    std::string const why = takeExplanation();
    return why.empty() ? "" : ": " + why;
}

} // namespace tenon
