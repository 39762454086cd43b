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

//! Puts launches into the stream that is recorded, and those of auxiliary streams, from one fence to the next, into
//! streams beside it, which begin when all before the fence is over, and whose end what comes behind waits for.
class Replays::Branches
{
  public:
    Branches(Replays& own, CudaDevice const& device, Address stop, bool overlaps)
        : mOwn{own},
          mDevice{device},
          mApi{device.api()},
          mStop{stop},
          mOverlaps{overlaps}
    {
    }
    bool put(std::span<Launch const> launches)
    {
        for (size_t first = 0; first < launches.size();)
        {
            size_t last = first + 1;
            while (last < launches.size() && !launches[last].isFence)
                ++last;
            if (!putRegion(launches.subspan(first, last - first)))
                return false;
            first = last;
        }
        return true;
    }

  private:
    bool putRegion(std::span<Launch const> launches)
    {
        int32_t const own = launches.front().stream;
        bool const isSplit = std::ranges::any_of(launches, [&](Launch const& each) { return each.stream != own; });
        if (!isSplit)
            return std::ranges::all_of(
                launches, [&](Launch const& each) { return putStep(each, mOwn.mStream, mHasOne); });
        std::vector<bool> isUsed;
        for (Launch const& each : launches)
        {
            auto const at = static_cast<size_t>(each.stream);
            isUsed.resize(std::max(isUsed.size(), at + 1));
            isUsed[at] = true;
        }
        std::vector<bool> hasOne(isUsed.size(), false);
        hasOne[0] = mHasOne;
        bool isWhole = mOwn.makeStreams(mApi, isUsed.size()) && begin(isUsed);
        for (size_t i = 0; i < launches.size() && isWhole; ++i)
        {
            auto const at = static_cast<size_t>(launches[i].stream);
            bool before = hasOne[at];
            isWhole = putStep(launches[i], at == 0 ? mOwn.mStream : mOwn.mAux[at - 1], before);
            hasOne[at] = before;
        }
        mHasOne = false; // The next one waits for several.
        return isWhole && end(isUsed);
    }
    //! `hasOne`: whether another step stands right in front in the stream, for the next one: it may overlap with it.
    bool putStep(Launch const& launch, void* stream, bool& hasOne)
    {
        CudaCall const call{mDevice, mApi, stream, launch.call, mStop, mOverlaps && hasOne};
        hasOne = true;
        return static_cast<bool>(cudaPrepared(*launch.prepared).launch(call));
    }
    bool begin(std::vector<bool> const& isUsed)
    {
        bool done = mApi.cuEventRecord(mOwn.mEvents[0], mOwn.mStream) == kSuccess;
        for (size_t at = 1; at < isUsed.size(); ++at)
            if (isUsed[at])
                done = done && mApi.cuStreamWaitEvent(mOwn.mAux[at - 1], mOwn.mEvents[0], 0) == kSuccess;
        return done;
    }
    bool end(std::vector<bool> const& isUsed)
    {
        bool done{true};
        for (size_t at = 1; at < isUsed.size(); ++at)
            if (isUsed[at])
                done = done && mApi.cuEventRecord(mOwn.mEvents[at], mOwn.mAux[at - 1]) == kSuccess
                    && mApi.cuStreamWaitEvent(mOwn.mStream, mOwn.mEvents[at], 0) == kSuccess;
        return done;
    }

    Replays& mOwn;
    CudaDevice const& mDevice;
    DriverApi const& mApi;
    Address mStop;
    bool mOverlaps;
    bool mHasOne{false}; //!< In the run's own stream.
};

bool Replays::makeStreams(DriverApi const& api, size_t count)
{
    while (mAux.size() + 1 < count)
    {
        void* stream{nullptr};
        if (api.cuStreamCreate(&stream, kStreamNonBlocking) != kSuccess)
            return false;
        mAux.push_back(stream);
    }
    while (mEvents.size() < count)
    {
        void* event{nullptr};
        if (api.cuEventCreate(&event, kEventDisableTiming) != kSuccess)
            return false;
        mEvents.push_back(event);
    }
    return true;
}

void Replays::dropStreams(DriverApi const& api)
{
    if (mStream != nullptr)
        static_cast<void>(api.cuStreamDestroy_v2(mStream));
    mStream = nullptr;
    for (void* const stream : mAux)
        static_cast<void>(api.cuStreamDestroy_v2(stream));
    mAux.clear();
    for (void* const event : mEvents)
        static_cast<void>(api.cuEventDestroy_v2(event));
    mEvents.clear();
}

void* Replays::recorded(CudaDevice const& device, std::span<Launch const> launches, Address stop, bool overlaps)
{
    DriverApi const& api = device.api();
    if (mStream == nullptr && api.cuStreamCreate(&mStream, kStreamNonBlocking) != kSuccess)
        mStream = nullptr;
    if (mStream == nullptr || api.cuStreamBeginCapture_v2(mStream, kCaptureRelaxed) != kSuccess)
        return nullptr;
    bool const isWhole = Branches{*this, device, stop, overlaps}.put(launches);
    void* graph{nullptr};
    bool const isOver = api.cuStreamEndCapture(mStream, &graph) == kSuccess && graph != nullptr;
    if (isOver && isWhole)
        return graph;
    if (graph != nullptr)
        static_cast<void>(api.cuGraphDestroy(graph));
    if (!isOver) // They may be captured for ever.
        dropStreams(api);
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
