// CpuBody: one table for the process, which knows in what libraries the bodies are.
#include "plugins/cpu_body.h"

#include "plugins/builtin/stock.h"
#include "plugins/failure.h"
#include "plugins/in_callback.h"
#include "plugins/module.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

namespace tenon::plugins
{

namespace
{
using Key = std::tuple<std::string, std::string, std::string>;

struct Body
{
    CpuBody function;
    Module module;
    uint64_t number; //!< No other one has it.
};

//! One of plugins.
struct CodeLibrary
{
    void const* inside{nullptr}; //!< Some address of it.
    int32_t openings{0};
    uint64_t number{0}; //!< Of the last opening or closing.
};

//! Whoever has its mutex asks the loader nothing: the loader runs code that sets bodies while it has a lock of its own.
struct Table
{
    std::mutex mutex;
    uint64_t numbers{0};
    std::map<Key, std::vector<Body>> bodies; //!< In the order that they were set in.
    std::map<Module, CodeLibrary> libraries;

    //! Whether the body may serve an object whose code is there.
    bool isFor(Body const& body, Module object) const
    {
        auto const library = libraries.find(body.module);
        return library == libraries.end() || library->second.openings > 0 || body.module == object;
    }
};

//! Where an object's virtual functions are.
Module moduleOf(Plugin& plugin)
{
    void const* const object = plugin.v3() == nullptr ? static_cast<void const*>(plugin.v2()) : plugin.v3();
    return object == nullptr ? nullptr : moduleAt(*static_cast<void const* const*>(object));
}

Table& table()
{
    static auto* const only = new Table; // Plugins may run while static objects go.
    return *only;
}

thread_local int32_t gTiming{0};
thread_local std::pair<int32_t, int32_t> gCounts{-1, -1};
thread_local int32_t gGpu{-1};

Key keyOf(Identity const& identity)
{
    return {identity.type, identity.version, identity.nameSpace};
}
} // namespace

void setCpuBody(Identity const& identity, CpuBody body)
{
    Module const module = moduleAt(reinterpret_cast<void const*>(body));
    std::scoped_lock const lock{table().mutex};
    if (body == nullptr)
    {
        table().bodies.erase(keyOf(identity));
        return;
    }
    std::vector<Body>& bodies = table().bodies[keyOf(identity)];
    std::erase_if(bodies, [&](Body const& each) { return each.module == module; });
    bodies.push_back({body, module, ++table().numbers});
}

CpuBody findCpuBody(Identity const& identity, Plugin& plugin)
{
    Module const module = moduleOf(plugin);
    std::scoped_lock const lock{table().mutex};
    auto const found = table().bodies.find(keyOf(identity));
    if (found == table().bodies.end())
        return nullptr;
    auto const latest = [&](auto const& fits) {
        auto const at = std::find_if(found->second.rbegin(), found->second.rend(), fits);
        return at == found->second.rend() ? nullptr : &*at;
    };
    Body const* const fitting = latest([&](Body const& each) { return table().isFor(each, module); });
    auto const isLibrary = [](Module each) { return table().libraries.count(each) != 0; };
    if (fitting == nullptr || !isLibrary(fitting->module) || !isLibrary(module))
        return fitting == nullptr ? nullptr : fitting->function;
    // Another library of plugins brings a class of its own under that name.
    Body const* const own = latest([&](Body const& each) { return each.module == module; });
    return (own == nullptr ? fitting : own)->function;
}

void countOpenings(void* handle, int32_t more)
{
    void const* const inside = insideOf(handle);
    std::scoped_lock const lock{table().mutex};
    CodeLibrary& library = table().libraries[handle];
    library.inside = inside;
    library.openings += more;
    library.number = ++table().numbers;
}

namespace
{
//! An address, the module that it was in, and the number of what was known by it.
struct Place
{
    void const* address;
    Module module;
    uint64_t number;
};

std::vector<Place> knownPlaces()
{
    std::scoped_lock const lock{table().mutex};
    std::vector<Place> places;
    for (auto const& [key, bodies] : table().bodies)
        for (Body const& each : bodies)
            places.push_back({reinterpret_cast<void const*>(each.function), each.module, each.number});
    for (auto const& [module, library] : table().libraries)
        places.push_back({library.inside, module, library.number});
    return places;
}
} // namespace

void dropUnmappedBodies()
{
    std::set<uint64_t> gone;
    for (Place const& place : knownPlaces())
        if (moduleAt(place.address) != place.module)
            gone.insert(place.number);
    std::scoped_lock const lock{table().mutex};
    for (auto& [key, bodies] : table().bodies)
        std::erase_if(bodies, [&](Body const& each) { return gone.count(each.number) > 0; });
    std::erase_if(table().libraries, [&](auto const& library) { return gone.count(library.second.number) > 0; });
}

TimingPhase::TimingPhase() noexcept
{
    ++gTiming;
}

TimingPhase::~TimingPhase()
{
    --gTiming;
}

UntoldCounts::UntoldCounts(int32_t inputs, int32_t outputs) noexcept
    : mBefore{std::exchange(gCounts, {inputs, outputs})}
{
}

UntoldCounts::~UntoldCounts()
{
    gCounts = mBefore;
}

std::pair<int32_t, int32_t> UntoldCounts::now() noexcept
{
    return gCounts;
}

bool isTiming() noexcept
{
    return gTiming > 0;
}

OnGpu::OnGpu(int32_t index) noexcept
    : mBefore{std::exchange(gGpu, index)}
{
}

OnGpu::~OnGpu()
{
    gGpu = mBefore;
}

int32_t OnGpu::now() noexcept
{
    return gGpu;
}

bool runsOnHostAlone(Plugin& plugin)
{
    return builtin::isStock(plugin.v2(), plugin.v3()) || findCpuBody(plugin) != nullptr;
}

Result<Done> runItself(Plugin& plugin, Work const& work)
{
    InCallback const inside{Ask::kRun, plugin.identity()};
    return plugin.run(work);
}

Result<Done> runOnHost(
    CpuBody body, Plugin& plugin, std::span<nvinfer1::PluginTensorDesc const> descs, int32_t inputs, Work const& work)
{
    if (body == nullptr)
        return runItself(plugin, work);
    constexpr char const* kCall{"the CPU body"};
    InCallback const inside{kCall, plugin.identity()};
    auto const in = static_cast<size_t>(inputs);
    try
    {
        return checkedCall(kCall, plugin.identity(),
            body({plugin.v2(), plugin.v3(), descs.data(), descs.data() + in, inputs,
                static_cast<int32_t>(descs.size() - in), work.inputs, work.outputs, work.workspace}));
    }
    catch (std::exception const& problem) // Unlike enqueue(), it may throw.
    {
        return thrownBy(kCall, plugin.identity(), problem.what());
    }
    catch (...)
    {
        return thrownBy(kCall, plugin.identity(), "no std::exception");
    }
}

} // namespace tenon::plugins
