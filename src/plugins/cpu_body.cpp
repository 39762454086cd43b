// CpuBody: one table for the process.
#include "plugins/cpu_body.h"

#include "plugins/failure.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace tenon::plugins
{

namespace
{
using Key = std::tuple<std::string, std::string, std::string>;

struct Table
{
    std::mutex mutex;
    std::map<Key, CpuBody> bodies;
};

Table& table()
{
    static auto* const only = new Table; // Plugins may run while static objects go.
    return *only;
}

thread_local int32_t gTiming{0};
thread_local std::pair<int32_t, int32_t> gCounts{-1, -1};

Key keyOf(Identity const& identity)
{
    return {identity.type, identity.version, identity.nameSpace};
}
} // namespace

void setCpuBody(Identity const& identity, CpuBody body)
{
    std::scoped_lock const lock{table().mutex};
    if (body == nullptr)
        table().bodies.erase(keyOf(identity));
    else
        table().bodies[keyOf(identity)] = body;
}

CpuBody findCpuBody(Identity const& identity)
{
    std::scoped_lock const lock{table().mutex};
    auto const found = table().bodies.find(keyOf(identity));
    return found == table().bodies.end() ? nullptr : found->second;
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

Result<Done> runOnHost(
    CpuBody body, Plugin& plugin, std::span<nvinfer1::PluginTensorDesc const> descs, int32_t inputs, Work const& work)
{
    if (body == nullptr)
        return plugin.run(work);
    auto const in = static_cast<size_t>(inputs);
    return checkedCall("the CPU body", plugin.identity(),
        body({plugin.v2(), plugin.v3(), descs.data(), descs.data() + in, inputs,
            static_cast<int32_t>(descs.size() - in), work.inputs, work.outputs, work.workspace}));
}

} // namespace tenon::plugins
