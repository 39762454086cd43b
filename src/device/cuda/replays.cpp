// Replays: finding launches again, recording them in a stream of their own, and patching graphs.
#include "device/cuda/replays.h"

#include "device/cuda/cuda_device.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr size_t kLeastSteps{2};   //!< A graph of one costs as much as its launch.
constexpr size_t kMaxKnown{128};   //!< Lists of launches that are remembered on a device.
constexpr size_t kMaxAddresses{4}; //!< Graphs of the same steps with other addresses, until one of them is patched.

uint64_t mixed(uint64_t digest, uint64_t word) noexcept
{
    digest = (digest ^ word) * 0x9E3779B97F4A7C15ULL;
    return digest ^ digest >> 29;
}

bool isRepeatable(Launch const& launch) noexcept
{
    return launch.place == Place::kDevice && !launch.touchesHost && cudaPrepared(*launch.prepared).isRepeatable();
}

//! Writes the key and gives the digest of the steps alone.
uint64_t writeKey(std::span<Launch const> launches, Address stop, ReplayKey& key)
{
    uint64_t steps{launches.size()};
    key.clear();
    key.push_back(stop);
    for (Launch const& launch : launches)
    {
        uint64_t const number = cudaPrepared(*launch.prepared).number();
        steps = mixed(steps, number);
        key.push_back(number);
        key.push_back(reinterpret_cast<uintptr_t>(launch.call.scratch));
        for (size_t i = 0; i < launch.inputCount; ++i)
            key.push_back(reinterpret_cast<uintptr_t>(launch.call.inputs[i]));
        for (size_t i = 0; i < launch.outputCount; ++i)
            key.push_back(reinterpret_cast<uintptr_t>(launch.call.outputs[i]));
    }
    return steps;
}

uint64_t digestOf(ReplayKey const& key) noexcept
{
    uint64_t digest{key.size()};
    for (uint64_t const word : key)
        digest = mixed(digest, word);
    return digest;
}

//! What is under way is still done.
void destroy(CudaDevice const& device, void* executable)
{
    if (executable != nullptr)
        static_cast<void>(device.api().cuGraphExecDestroy(executable));
}
} // namespace

size_t Replays::countFrom(std::span<Launch const> launches) const noexcept
{
    if (!mIsOn)
        return 0;
    auto const end = std::ranges::find_if_not(launches, isRepeatable);
    auto const count = static_cast<size_t>(end - launches.begin());
    return count < kLeastSteps ? 0 : count;
}

size_t Replays::countBefore(std::span<Launch const> launches) const noexcept
{
    size_t count{0};
    while (count < launches.size() && countFrom(launches.subspan(count)) == 0)
        ++count;
    return count;
}

Replays::Replay* Replays::find(CudaDevice const& device, std::span<Launch const> launches, Address stop)
{
    uint64_t const steps = writeKey(launches, stop, mKey);
    uint64_t const digest = digestOf(mKey);
    auto const [first, last] = mAll.equal_range(digest);
    for (auto at = first; at != last; ++at)
        if (at->second.key == mKey)
        {
            at->second.lastUse = ++mUses;
            return &at->second;
        }
    auto const oldest = oldestOf(steps);
    bool const isPatched = oldest != mAll.end();
    All::iterator known;
    if (isPatched)
    {
        auto node = mAll.extract(oldest);
        node.key() = digest;
        known = mAll.insert(std::move(node));
    }
    else
    {
        makeRoom(device);
        known = mAll.emplace(digest, Replay{});
    }
    Replay& replay = known->second;
    replay.key = mKey;
    replay.steps = steps;
    replay.life = cudaPrepared(*launches.front().prepared).life();
    replay.lastUse = ++mUses;
    replay.isMade = false;
    return isPatched ? &replay : nullptr;
}

Replays::All::iterator Replays::oldestOf(uint64_t steps)
{
    auto oldest = mAll.end();
    size_t count{0};
    for (auto at = mAll.begin(); at != mAll.end(); ++at)
        if (at->second.steps == steps && !at->second.isRefused)
        {
            ++count;
            if (oldest == mAll.end() || at->second.lastUse < oldest->second.lastUse)
                oldest = at;
        }
    return count < kMaxAddresses ? mAll.end() : oldest;
}

void Replays::makeRoom(CudaDevice const& device)
{
    if (mAll.size() < kMaxKnown)
        return;
    auto const oldest = std::ranges::min_element(mAll, {}, [](auto const& each) { return each.second.lastUse; });
    destroy(device, oldest->second.executable);
    mAll.erase(oldest);
}

void Replays::dropDead(CudaDevice const& device)
{
    std::scoped_lock const lock{mMutex};
    std::erase_if(mAll, [&](auto const& each) {
        bool const isDead = each.second.life.expired();
        if (isDead)
            destroy(device, each.second.executable);
        return isDead;
    });
}

size_t Replays::graphs() const
{
    std::scoped_lock const lock{mMutex};
    return static_cast<size_t>(
        std::ranges::count_if(mAll, [](auto const& each) { return each.second.executable != nullptr; }));
}

void* Replays::recorded(CudaDevice const& device, std::span<Launch const> launches, Address stop, bool overlaps)
{
    DriverApi const& api = device.api();
    if (mStream == nullptr && api.cuStreamCreate(&mStream, kStreamNonBlocking) != kSuccess)
        mStream = nullptr;
    if (mStream == nullptr || api.cuStreamBeginCapture_v2(mStream, kCaptureRelaxed) != kSuccess)
        return nullptr;
    bool isWhole{true};
    for (size_t i = 0; i < launches.size() && isWhole; ++i)
        isWhole = static_cast<bool>(cudaPrepared(*launches[i].prepared)
                                        .launch({device, api, mStream, launches[i].call, stop, overlaps && i > 0}));
    void* graph{nullptr};
    bool const isOver = api.cuStreamEndCapture(mStream, &graph) == kSuccess && graph != nullptr;
    if (isOver && isWhole)
        return graph;
    if (graph != nullptr)
        static_cast<void>(api.cuGraphDestroy(graph));
    if (!isOver) // It may be captured for ever.
    {
        static_cast<void>(api.cuStreamDestroy_v2(mStream));
        mStream = nullptr;
    }
    return nullptr;
}

bool Replays::make(
    CudaDevice const& device, Replay& replay, std::span<Launch const> launches, Address stop, bool overlaps)
{
    DriverApi const& api = device.api();
    void* const graph = recorded(device, launches, stop, overlaps);
    if (graph == nullptr)
        return false;
    GraphUpdate update{};
    if (replay.executable != nullptr && api.cuGraphExecUpdate_v2(replay.executable, graph, &update) != kSuccess)
    {
        destroy(device, replay.executable);
        replay.executable = nullptr;
    }
    if (replay.executable == nullptr && api.cuGraphInstantiateWithFlags(&replay.executable, graph, 0) != kSuccess)
        replay.executable = nullptr;
    static_cast<void>(api.cuGraphDestroy(graph));
    return replay.executable != nullptr;
}

Result<bool> Replays::launch(CudaDevice const& device, std::span<Launch const> launches, void* stream, Address stop)
{
    std::scoped_lock const lock{mMutex};
    Replay* const replay = find(device, launches, stop);
    if (replay == nullptr || replay->isRefused)
        return false;
    if (!replay->isMade)
        replay->isMade = make(device, *replay, launches, stop, mOverlaps)
            || (mOverlaps && make(device, *replay, launches, stop, false)); // Edges that only drivers of 12.3 have.
    if (!replay->isMade)
    {
        replay->isRefused = true; // The steps say why, one by one, if they fail then, too.
        return false;
    }
    if (Code const code = device.api().cuGraphLaunch(replay->executable, stream); code != kSuccess)
        return device.noted(code, "cuGraphLaunch");
    return true;
}

} // namespace tenon::cuda
