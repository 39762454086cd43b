// Calls of Tenon's: looked up where the library is loaded, so that the parser needs the public API alone.
#include "own_calls.h"

#include <dlfcn.h>

namespace tenon::onnx
{
namespace
{

using GiveText = char* (*)();
using FreeText = void (*)(char* text);

template <typename Function>
Function lookUp(char const* name)
{
    // Python loads the library for itself alone.
    static void* const library = dlopen("libtenon.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = dlsym(library != nullptr ? library : RTLD_DEFAULT, name);
    return reinterpret_cast<Function>(found);
}

std::string textFrom(GiveText give)
{
    static auto const release = lookUp<FreeText>("tenonFree");
    char* const given = give == nullptr || release == nullptr ? nullptr : give();
    std::string text = given == nullptr ? "" : given;
    if (given != nullptr)
    {
        release(given);
    }
    return text;
}

} // namespace

std::string reportedInFull()
{
    static auto const give = lookUp<GiveText>("tenonReportedError");
    return textFrom(give);
}

std::string takeExplanation()
{
    static auto const give = lookUp<GiveText>("tenonTakeExplanation");
    return textFrom(give);
}

} // namespace tenon::onnx
