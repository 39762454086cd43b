// The fake compiler: CUDA C++ to a shared object by the host's own compiler. Where the real one is at hand, it must
// accept the text, too, for the oldest and for the newest architecture.
#include "devices/fake_cuda/fake_cuda.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <unistd.h>

namespace
{
constexpr int kCompilation{6};

struct Compilation
{
    std::string source;
    std::string log;
    std::string image;
};

std::string readAll(std::filesystem::path const& path)
{
    std::ifstream in{path};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

//! Empty when the real compiler takes the text, or is not at hand. In a process of its own, where no fake is.
std::string objectionOf(std::string const& file)
{
    std::string const log = file + ".real";
    int const status =
        std::system(("LD_LIBRARY_PATH= " TENON_NVRTC_CHECK " " TENON_NVRTC " " + file + " > " + log).c_str());
    std::string const text = status == 0 ? std::string{} : "the real compiler: " + readAll(log);
    std::filesystem::remove(log);
    return text;
}

//! Where threads of one block wait for each other: in the kernel's own text, behind what all kernels have in front.
bool hasBarriers(std::string const& source)
{
    size_t const own = source.find("// ---- kernel");
    std::string const text = own == std::string::npos ? source : source.substr(own);
    for (char const* const word : {"__syncthreads", "__shfl", "blockJoin", "warpJoin"})
        if (text.find(word) != std::string::npos)
            return true;
    return false;
}

int translate(Compilation& work)
{
    namespace fs = std::filesystem;
    fs::path const folder = TENON_EMULATED_FOLDER;
    fs::create_directories(folder);
    std::string const whole = readAll(TENON_EMULATED_HEADER) + work.source;
    fs::path const object = folder / (std::to_string(std::hash<std::string>{}(whole)) + ".so");
    if (!fs::exists(object))
    {
        static std::atomic<int> number{0};
        std::string const own = object.string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);
        {
            std::ofstream out{own + ".cpp"};
            out << work.source << "\n#ifdef TENON_EMULATED\nint tenonHasBarriers = " << hasBarriers(work.source)
                << ";\n#endif\n";
        }
        if (work.log = objectionOf(own + ".cpp"); !work.log.empty())
            return kCompilation;
        std::string const command = std::string{TENON_HOST_COMPILER} + " -std=c++20 -O1 -w -shared -fPIC -include "
            + TENON_EMULATED_HEADER + " " + own + ".cpp -o " + own + " 2> " + own + ".log";
        int const status = std::system(command.c_str());
        if (status != 0)
        {
            work.log = readAll(own + ".log");
            return kCompilation;
        }
        fs::remove(own + ".log");
        fs::rename(own, object); // At once, for other processes.
    }
    work.image = "emulated:" + object.string();
    work.image.push_back('\0');
    return 0;
}
} // namespace

TENON_FAKE_CUDA int nvrtcVersion(int* major, int* minor)
{
    *major = 0; // The cache of binaries tells compilers apart by it.
    *minor = static_cast<int>(std::hash<std::string>{}(readAll(TENON_EMULATED_HEADER)) >> 34);
    return 0;
}

TENON_FAKE_CUDA char const* nvrtcGetErrorString(int code)
{
    return code == kCompilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OF_THE_FAKE";
}

TENON_FAKE_CUDA int nvrtcCreateProgram(
    void** program, char const* source, char const*, int, char const* const*, char const* const*)
{
    *program = new Compilation{source, {}, {}};
    return 0;
}

TENON_FAKE_CUDA int nvrtcDestroyProgram(void** program)
{
    delete static_cast<Compilation*>(*program);
    *program = nullptr;
    return 0;
}

TENON_FAKE_CUDA int nvrtcCompileProgram(void* program, int, char const* const*)
{
    return translate(*static_cast<Compilation*>(program));
}

TENON_FAKE_CUDA int nvrtcGetProgramLogSize(void* program, size_t* size)
{
    *size = static_cast<Compilation*>(program)->log.size() + 1;
    return 0;
}

TENON_FAKE_CUDA int nvrtcGetProgramLog(void* program, char* log)
{
    std::strcpy(log, static_cast<Compilation*>(program)->log.c_str());
    return 0;
}

TENON_FAKE_CUDA int nvrtcGetCUBINSize(void* program, size_t* size)
{
    *size = static_cast<Compilation*>(program)->image.size();
    return 0;
}

TENON_FAKE_CUDA int nvrtcGetCUBIN(void* program, char* image)
{
    std::string const& from = static_cast<Compilation*>(program)->image;
    std::memcpy(image, from.data(), from.size());
    return 0;
}

TENON_FAKE_CUDA int nvrtcGetPTXSize(void* program, size_t* size)
{
    return nvrtcGetCUBINSize(program, size);
}

TENON_FAKE_CUDA int nvrtcGetPTX(void* program, char* image)
{
    return nvrtcGetCUBIN(program, image);
}

TENON_FAKE_CUDA int nvrtcGetNumSupportedArchs(int* count)
{
    *count = 2;
    return 0;
}

TENON_FAKE_CUDA int nvrtcGetSupportedArchs(int* archs)
{
    archs[0] = 75;
    archs[1] = 90;
    return 0;
}
