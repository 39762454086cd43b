// Nvtx: attaching the tool's library, which asks for tables of our calls' addresses and writes its own there.
#include "base/nvtx.h"

#include "base/knobs.h"

#include <array>
#include <dlfcn.h>
#include <utility>

namespace tenon
{

namespace
{
using NvtxFunction = void (*)();

//! The calls of one of NVTX's modules. Position 0 is no call.
struct NvtxModule
{
    static constexpr size_t kMost{16};

    explicit NvtxModule(uint32_t count)
        : size{count}
    {
        for (size_t i = 1; i < count; ++i)
            places[i] = &calls[i];
    }

    uint32_t size;
    std::array<NvtxFunction, kMost> calls{};
    std::array<NvtxFunction*, kMost + 1> places{}; //!< Ends with a null.
};

//! Core, CUDA, OpenCL, CUDA's runtime, second core, synchronization: tools ask for all of them.
constexpr uint32_t kNvtxCore2{5};
std::array<NvtxModule, 6>& nvtxModules()
{
    static auto& modules = *new std::array<NvtxModule, 6>{
        NvtxModule{16}, NvtxModule{9}, NvtxModule{15}, NvtxModule{7}, NvtxModule{16}, NvtxModule{7}};
    return modules;
}

template <typename Call>
Call nvtxCall(NvtxCall position) noexcept
{
    return reinterpret_cast<Call>(nvtxModules()[kNvtxCore2 - 1].calls[position]);
}

int nvtxTable(int module, NvtxFunction*** table, unsigned* size)
{
    auto& modules = nvtxModules();
    if (module < 1 || static_cast<size_t>(module) > modules.size())
        return 0;
    NvtxModule& found = modules[static_cast<size_t>(module) - 1];
    if (size != nullptr)
        *size = found.size;
    if (table != nullptr)
        *table = found.places.data();
    return 1;
}

//! What a tool is given to find the calls by.
struct NvtxCallbacks
{
    size_t size;
    int (*table)(int module, NvtxFunction*** table, unsigned* size);
};
struct NvtxVersion
{
    size_t size;
    uint32_t version;
    uint32_t reserved;
    void (*setToolVersion)(uint32_t version);
};

void const* nvtxExports(uint32_t number)
{
    constexpr uint32_t kCallbacks{1};
    constexpr uint32_t kVersion{3};
    static NvtxCallbacks const callbacks{sizeof(NvtxCallbacks), &nvtxTable};
    static NvtxVersion const version{sizeof(NvtxVersion), 3, 0, [](uint32_t) {}};
    return number == kCallbacks ? static_cast<void const*>(&callbacks)
        : number == kVersion    ? static_cast<void const*>(&version)
                                : nullptr;
}

struct NvtxState
{
    bool isAttached{false};
    std::string problem;
};

std::string notAttached(std::string const& path, std::string const& why)
{
    return "NVTX_INJECTION64_PATH: the tool '" + path + "' is not attached: " + why;
}

//! Tools leave their library where it is for as long as the process lives.
NvtxState attachNvtx()
{
    using Initialize = int (*)(void const* (*exports)(uint32_t));
    std::string const path = nvtxToolPath();
    if (path.empty())
        return {};
    void* const library = ::dlopen(path.c_str(), RTLD_LAZY);
    if (library == nullptr)
    {
        char const* const why = ::dlerror();
        return {false, notAttached(path, why == nullptr ? "it cannot be opened" : why)};
    }
    auto const initialize = reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2"));
    if (initialize != nullptr && initialize(&nvtxExports) != 0)
        return {true, {}};
    ::dlclose(library);
    return {false,
        notAttached(path, initialize == nullptr ? "it has no InitializeInjectionNvtx2" : "it refuses this process")};
}

NvtxState const& nvtxState()
{
    static NvtxState const& state = *new NvtxState{attachNvtx()};
    return state;
}
} // namespace

Nvtx const* Nvtx::active() noexcept
{
    static Nvtx const* const nvtx = []() -> Nvtx const* {
        if (!nvtxState().isAttached)
            return nullptr;
        auto* const made = new Nvtx; // To the end of the process: ranges may still end in destructors of statics.
        if (auto const create = nvtxCall<void* (*)(char const*)>(kNvtxDomainCreate); create != nullptr)
            made->mDomain = create("Tenon");
        return made;
    }();
    return nvtx;
}

std::string const& Nvtx::problem() noexcept
{
    return nvtxState().problem;
}

void Nvtx::push(char const* name) const noexcept
{
    NvtxEvent event;
    event.message = name;
    if (auto const call = nvtxCall<int (*)(void*, NvtxEvent const*)>(kNvtxDomainRangePush); call != nullptr)
        call(mDomain, &event);
}

void Nvtx::pop() const noexcept
{
    if (auto const call = nvtxCall<int (*)(void*)>(kNvtxDomainRangePop); call != nullptr)
        call(mDomain);
}

uint64_t Nvtx::start(char const* name) const noexcept
{
    NvtxEvent event;
    event.message = name;
    auto const call = nvtxCall<uint64_t (*)(void*, NvtxEvent const*)>(kNvtxDomainRangeStart);
    return call == nullptr ? 0 : call(mDomain, &event);
}

void Nvtx::end(uint64_t range) const noexcept
{
    if (auto const call = nvtxCall<void (*)(void*, uint64_t)>(kNvtxDomainRangeEnd); call != nullptr)
        call(mDomain, range);
}

} // namespace tenon
