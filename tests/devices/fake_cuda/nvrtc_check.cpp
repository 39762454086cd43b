// nvrtc_check LIBRARY FILE: has the real compiler translate a kernel for the oldest and for a new architecture; prints
// its objections and fails when it has any. Without the library there are none. Kernels of ours may begin while others
// end, so that the new architecture's code must wait for those, and read nothing through the read-only cache.
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>

namespace
{
//! What is wrong with the code of kernels that may begin while others end; empty: nothing.
std::string objectionTo(std::string const& code)
{
    if (code.find("ld.global.nc") != std::string::npos)
        return "it reads through the read-only cache what former kernels may still write";
    constexpr char kEntry[]{".entry "};
    for (size_t at = code.find(kEntry); at != std::string::npos;)
    {
        size_t const next = code.find(kEntry, at + 1);
        std::string const kernel = code.substr(at, next - at);
        for (char const* const instruction : {"griddepcontrol.launch_dependents", "griddepcontrol.wait"})
            if (kernel.find(instruction) == std::string::npos)
                return "without " + std::string{instruction} + ": " + kernel.substr(0, kernel.find('('));
        at = next;
    }
    return {};
}

//! What the compiler has to say of a program: its code or its log.
std::string textOf(void* program, void* library, char const* size, char const* get)
{
    size_t bytes{0};
    reinterpret_cast<int (*)(void*, size_t*)>(dlsym(library, size))(program, &bytes);
    std::string text(bytes, '\0');
    reinterpret_cast<int (*)(void*, char*)>(dlsym(library, get))(program, text.data());
    return text;
}
} // namespace

int main(int count, char** arguments)
{
    void* const library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
    if (library == nullptr)
        return 0;
    auto const create =
        reinterpret_cast<int (*)(void**, char const*, char const*, int, char const* const*, char const* const*)>(
            dlsym(library, "nvrtcCreateProgram"));
    auto const compile =
        reinterpret_cast<int (*)(void*, int, char const* const*)>(dlsym(library, "nvrtcCompileProgram"));
    std::ifstream in{arguments[2]};
    std::ostringstream text;
    text << in.rdbuf();
    bool const isOurs = text.str().find("awaitFormer()") != std::string::npos;
    int failures{0};
    for (char const* const architecture : {"--gpu-architecture=sm_90a", "--gpu-architecture=compute_75"})
    {
        void* program{nullptr};
        char const* const options[]{architecture, "--std=c++17", "-default-device"};
        std::string objection;
        if (create(&program, text.str().c_str(), "kernel.cu", 0, nullptr, nullptr) != 0
            || compile(program, 3, options) != 0)
            objection = textOf(program, library, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
        else if (std::string const code = textOf(program, library, "nvrtcGetPTXSize", "nvrtcGetPTX");
                 isOurs && code.find(".target sm_90a") != std::string::npos)
            objection = objectionTo(code);
        else
            continue;
        if (objection.empty())
            continue;
        ++failures;
        std::printf("%s\n%s\n", architecture, objection.c_str());
    }
    return failures;
}
