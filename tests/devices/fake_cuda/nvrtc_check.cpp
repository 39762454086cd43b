// nvrtc_check LIBRARY FILE: has the real compiler translate a kernel for the oldest and for a new architecture; prints
// its objections and fails when it has any. Without the library there are none.
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>

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
    auto const logSize = reinterpret_cast<int (*)(void*, size_t*)>(dlsym(library, "nvrtcGetProgramLogSize"));
    auto const getLog = reinterpret_cast<int (*)(void*, char*)>(dlsym(library, "nvrtcGetProgramLog"));
    std::ifstream in{arguments[2]};
    std::ostringstream text;
    text << in.rdbuf();
    int failures{0};
    for (char const* const architecture : {"--gpu-architecture=sm_90a", "--gpu-architecture=compute_75"})
    {
        void* program{nullptr};
        char const* const options[]{architecture, "--std=c++17", "-default-device"};
        if (create(&program, text.str().c_str(), "kernel.cu", 0, nullptr, nullptr) == 0
            && compile(program, 3, options) == 0)
            continue;
        ++failures;
        size_t size{0};
        logSize(program, &size);
        std::string log(size, '\0');
        getLog(program, log.data());
        std::printf("%s\n%s\n", architecture, log.c_str());
    }
    return failures;
}
