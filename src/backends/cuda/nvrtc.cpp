// Nvrtc: opening the library, and one compilation.
#include "backends/cuda/nvrtc.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace tenon::cuda
{

Result<NvrtcApi> openNvrtc(std::vector<std::string> const& libraries)
{
    void* handle{nullptr};
    for (size_t i = 0; i < libraries.size() && handle == nullptr; ++i)
        handle = dlopen(libraries[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE,
            "CUDA's compiler NVRTC is not there ({}); install the toolkit, or the package nvidia-cuda-nvrtc with its "
            "folder in LD_LIBRARY_PATH",
            fmt::join(libraries, ", "));
    NvrtcApi api;
#define TENON_NVRTC_FIND(name, parameters)                                                                             \
    if (api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name)); api.name == nullptr)                    \
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "CUDA's compiler NVRTC is too old: it lacks {}", #name);
    TENON_NVRTC(TENON_NVRTC_FIND)
#undef TENON_NVRTC_FIND
    int count{0};
    if (api.nvrtcVersion(&api.major, &api.minor) != 0 || api.nvrtcGetNumSupportedArchs(&count) != 0 || count < 1)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "CUDA's compiler NVRTC does not say what it can do");
    api.architectures.resize(static_cast<size_t>(count));
    if (api.nvrtcGetSupportedArchs(api.architectures.data()) != 0)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "CUDA's compiler NVRTC does not say what it compiles for");
    std::ranges::sort(api.architectures);
    return api;
}

Result<NvrtcApi const*> nvrtc()
{
    static Result<NvrtcApi> const api = openNvrtc({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
        "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/targets/x86_64-linux/lib/libnvrtc.so"});
    if (!api)
        return api.error();
    return &*api;
}

std::string goalFor(NvrtcApi const& api, int architecture)
{
    constexpr int kHopper{90}; // What it alone has, products of warpgroups, is left out of "sm_90".
    if (std::ranges::binary_search(api.architectures, architecture))
        return fmt::format("sm_{}{}", architecture, architecture == kHopper ? "a" : "");
    auto const above = std::ranges::upper_bound(api.architectures, architecture);
    int const nearest = above == api.architectures.begin() ? api.architectures.front() : *std::prev(above);
    return fmt::format("compute_{}", nearest);
}

namespace
{
//! Ends with its owner.
struct NvrtcProgram
{
    NvrtcApi const& api;
    void* program{nullptr};

    ~NvrtcProgram()
    {
        if (program != nullptr)
            static_cast<void>(api.nvrtcDestroyProgram(&program));
    }
};
} // namespace

Result<Bytes> compile(NvrtcApi const& api, std::string const& source, std::string const& goal)
{
    NvrtcProgram own{api};
    if (api.nvrtcCreateProgram(&own.program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "nvrtcCreateProgram fails");
    std::string const architecture = "--gpu-architecture=" + goal;
    std::array const options{architecture.c_str(), "--std=c++17", "-default-device"};
    int const code = api.nvrtcCompileProgram(own.program, static_cast<int>(options.size()), options.data());
    if (code != 0)
    {
        size_t size{0};
        std::string log;
        if (api.nvrtcGetProgramLogSize(own.program, &size) == 0 && size > 0)
        {
            log.resize(size);
            static_cast<void>(api.nvrtcGetProgramLog(own.program, log.data()));
            log.erase(std::min(log.find('\0'), log.size())); // The size counts the end, which no decision may hold.
        }
        return errorOf(ErrorCode::kINTERNAL_ERROR, "nvrtcCompileProgram fails with {} for {}:\n{}", code, goal, log);
    }
    bool const isText = goal.starts_with("compute_");
    size_t size{0};
    int const sized = isText ? api.nvrtcGetPTXSize(own.program, &size) : api.nvrtcGetCUBINSize(own.program, &size);
    Bytes image(size);
    auto* const to = reinterpret_cast<char*>(image.data());
    if (sized != 0 || (isText ? api.nvrtcGetPTX(own.program, to) : api.nvrtcGetCUBIN(own.program, to)) != 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "NVRTC gives no code for {}", goal);
    return image;
}

} // namespace tenon::cuda
