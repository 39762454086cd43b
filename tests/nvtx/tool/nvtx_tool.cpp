// A tool as NVTX means it: it finds the calls that it wants to hear by the tables that it is given, and keeps all.
#include "nvtx/tool/nvtx_tool.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace
{
//! As NVTX's documentation has the attributes of an event.
struct Event
{
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved;
    uint64_t payload;
    int32_t messageType;
    char const* message;
};

struct Kept
{
    std::mutex mutex;
    std::vector<NvtxHeard> heard;
    std::map<uint64_t, std::string> ranges;
    uint64_t last{0};
    int faults{0};
};

Kept& kept()
{
    static auto& instance = *new Kept;
    return instance;
}

thread_local std::vector<std::string> tOpen;

void* makeDomain(char const* name)
{
    return new std::string{name};
}

std::string nameOf(Event const* event)
{
    bool const isText = event->version == 3 && event->size == sizeof(Event) && event->messageType == 1;
    if (!isText || event->message == nullptr)
        ++kept().faults;
    return isText && event->message != nullptr ? event->message : "";
}

void keep(NvtxHeard::Kind kind, std::string const& name, void* domain)
{
    kept().heard.push_back({kind, name, domain == nullptr ? "" : *static_cast<std::string*>(domain)});
}

int push(void* domain, Event const* event)
{
    std::scoped_lock const lock{kept().mutex};
    std::string const name = nameOf(event);
    keep(NvtxHeard::Kind::kPush, name, domain);
    tOpen.push_back(name);
    return static_cast<int>(tOpen.size()) - 1;
}

int pop(void* domain)
{
    std::scoped_lock const lock{kept().mutex};
    if (tOpen.empty())
        return ++kept().faults;
    std::string const name = tOpen.back();
    tOpen.pop_back();
    keep(NvtxHeard::Kind::kPop, name, domain);
    return static_cast<int>(tOpen.size());
}

uint64_t start(void* domain, Event const* event)
{
    std::scoped_lock const lock{kept().mutex};
    std::string const name = nameOf(event);
    kept().ranges[++kept().last] = name;
    keep(NvtxHeard::Kind::kStart, name, domain);
    return kept().last;
}

void end(void* domain, uint64_t range)
{
    std::scoped_lock const lock{kept().mutex};
    auto const found = kept().ranges.find(range);
    if (found == kept().ranges.end())
    {
        ++kept().faults;
        return;
    }
    keep(NvtxHeard::Kind::kEnd, found->second, domain);
    kept().ranges.erase(found);
}
} // namespace

std::vector<NvtxHeard> takeNvtxHeard()
{
    std::scoped_lock const lock{kept().mutex};
    std::vector<NvtxHeard> heard;
    heard.swap(kept().heard);
    return heard;
}

int nvtxFaults()
{
    std::scoped_lock const lock{kept().mutex};
    return kept().faults;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void const* (*exports)(uint32_t))
{
    using Function = void (*)();
    struct Tables
    {
        size_t size;
        int (*table)(int module, Function*** places, unsigned* size);
    };
    auto const* const tables = static_cast<Tables const*>(exports(1));
    if (tables == nullptr || tables->size < sizeof(Tables) || exports(77) != nullptr)
        return 0;
    Function** places{nullptr};
    unsigned size{0};
    for (int const module : {1, 2, 3, 4, 5, 6}) // Tools ask for all that they know.
        if (tables->table(module, &places, &size) != 1 || places == nullptr || size < 7 || places[size] != nullptr)
            return 0;
    if (tables->table(99, &places, &size) != 0 || tables->table(5, &places, &size) != 1 || size != 16)
        return 0;
    *places[2] = reinterpret_cast<Function>(&start);
    *places[3] = reinterpret_cast<Function>(&end);
    *places[4] = reinterpret_cast<Function>(&push);
    *places[5] = reinterpret_cast<Function>(&pop);
    *places[12] = reinterpret_cast<Function>(&makeDomain);
    return 1;
}
