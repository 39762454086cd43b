// Measure: rounds of runs apart from all streams; the device says how long each step took.
#include "device/measure.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tenon
{

namespace
{
constexpr size_t kBlock{size_t{1} << 18}; //!< Bytes of random numbers, which repeat in larger operands.

template <typename Draw>
void fillWith(std::span<uint8_t> data, Draw const& draw)
{
    using T = decltype(draw());
    for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T))
    {
        T const value = draw();
        std::memcpy(data.data() + at, &value, sizeof value);
    }
}

void fillRandomly(std::span<uint8_t> data, DType dtype, std::mt19937& random)
{
    if (dtype == kFloat64)
        return fillWith(data, [&] { return std::uniform_real_distribution<double>{-1.0, 1.0}(random); });
    switch (dtype)
    {
    case DType::kFLOAT:
        return fillWith(data, [&] { return std::uniform_real_distribution<float>{-1.0F, 1.0F}(random); });
    case DType::kHALF:
        return fillWith(data, [&] { return static_cast<uint16_t>(random() & 0xBBFFU); }); // The exponent below 0.
    case DType::kBF16: return fillWith(data, [&] { return static_cast<uint16_t>(0x3F00U | (random() & 0x807FU)); });
    case DType::kINT32: return fillWith(data, [&] { return static_cast<int32_t>(random() & 1U); });
    case DType::kINT64: return fillWith(data, [&] { return static_cast<int64_t>(random() & 1U); });
    default: return fillWith(data, [&] { return static_cast<uint8_t>(random() & 1U); });
    }
}

Result<size_t> sizeOf(TensorArg const& arg)
{
    int64_t const bytes = arg.bytes();
    if (bytes < 0)
        return badArgument("an operand of more bytes than can be counted");
    return static_cast<size_t>(bytes);
}

//! The mean of the middle half, of all where there are few.
double trimmedMean(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    auto const cut = static_cast<std::ptrdiff_t>(times.size() / 4);
    double const sum = std::accumulate(times.begin() + cut, times.end() - cut, 0.0);
    return sum / static_cast<double>(times.size() - static_cast<size_t>(2 * cut));
}

//! Microseconds of each of so many runs, which the device gets as one list.
Result<std::vector<double>> timesOf(
    Device& device, std::span<Launch const> launches, int32_t runs, MeasureOptions const& options)
{
    std::vector<Launch> all;
    for (int32_t i = 0; i < runs; ++i)
        all.insert(all.end(), launches.begin(), launches.end());
    std::vector<double> times(static_cast<size_t>(runs), 0.0);
    size_t step{0};
    StepObserver const add = [&](Launch const&, double microseconds) {
        times[step++ / launches.size()] += microseconds;
        return true;
    };
    RunOptions run;
    run.stream = kApartStream;
    run.hostThreads = options.hostThreads;
    run.observer = &add;
    run.timesOnly = true;
    run.mayContinue = options.mayContinue;
    RunFailure failure;
    TENON_TRY(device.run(all, run, failure));
    return times;
}
} // namespace

TrialMemory::~TrialMemory()
{
    for (Block const& block : mBlocks)
        release(block);
}

void TrialMemory::begin()
{
    for (Block& block : mBlocks)
        block.isTaken = false;
}

Result<void*> TrialMemory::numbers(Place place, DType dtype, size_t bytes)
{
    auto const [memory, isOld] = TENON_TRY(take(place, dtype, bytes));
    if (isOld)
        return memory;
    Result<Done> const filled = fill(place, memory, dtype, bytes);
    if (filled)
        return memory;
    overwritten(memory);
    return filled.error();
}

Result<void*> TrialMemory::room(Place place, size_t bytes)
{
    return TENON_TRY(take(place, std::nullopt, bytes)).first;
}

void TrialMemory::overwritten(void* numbers)
{
    for (Block& block : mBlocks)
        if (block.memory == numbers)
            block.numbers = std::nullopt;
}

Result<std::pair<void*, bool>> TrialMemory::take(Place place, std::optional<DType> numbers, size_t bytes)
{
    size_t const size = std::max<size_t>(bytes, 1); // Never null, for custom layers too (L23).
    auto const isAlike = [&](Block const& block) {
        return !block.isTaken && block.place == place && block.numbers == numbers;
    };
    Block* best{nullptr};
    for (Block& block : mBlocks)
        if (isAlike(block) && block.bytes >= size && (best == nullptr || block.bytes < best->bytes))
            best = &block;
    if (best != nullptr)
    {
        best->isTaken = true;
        return std::pair{best->memory, true};
    }
    // What is too small for this trial has had its turn: one block grows instead of many that stand beside each other.
    if (auto const small = std::ranges::find_if(mBlocks, isAlike); small != mBlocks.end())
    {
        release(*small);
        mBlocks.erase(small);
    }
    void* memory = allocate(place, size);
    if (memory == nullptr)
    {
        std::erase_if(mBlocks, [&](Block const& block) {
            if (!block.isTaken)
                release(block);
            return !block.isTaken;
        });
        memory = allocate(place, size);
    }
    if (memory == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no {} bytes for timing it", size);
    mBlocks.push_back({memory, size, place, numbers, true});
    return std::pair{memory, false};
}

void* TrialMemory::allocate(Place place, size_t bytes)
{
    return place == Place::kHost ? mDevice.allocateHost(bytes) : mDevice.allocate(bytes);
}

void TrialMemory::release(Block const& block)
{
    if (block.place == Place::kHost)
        mDevice.releaseHost(block.memory);
    else
        mDevice.release(block.memory);
}

Result<Done> TrialMemory::fill(Place place, void* memory, DType dtype, size_t bytes)
{
    std::vector<uint8_t> block(std::min(bytes, kBlock));
    fillRandomly(block, dtype, mRandom);
    for (size_t at = 0; at < bytes; at += block.size())
        TENON_TRY(copyIn(place, static_cast<uint8_t*>(memory) + at, block.data(), std::min(block.size(), bytes - at)));
    return Done{};
}

Result<Done> TrialMemory::copyIn(Place place, void* to, void const* from, size_t bytes)
{
    if (place != Place::kHost)
        return mDevice.copyFromHost(to, from, bytes, kApartStream);
    std::memcpy(to, from, bytes);
    return Done{};
}

Result<Done> TrialOperands::addInput(TensorArg const& arg)
{
    void* memory{nullptr};
    if (arg.present)
    {
        memory = TENON_TRY(mMemory.numbers(mPlace, arg.dtype, TENON_TRY(sizeOf(arg))));
    }
    mInputs.push_back(memory);
    return Done{};
}

Result<Done> TrialOperands::addConstant(ByteView contents)
{
    void* const memory = TENON_TRY(mMemory.room(mPlace, contents.size()));
    TENON_TRY(mMemory.copyIn(mPlace, memory, contents.data(), contents.size()));
    mInputs.push_back(memory);
    return Done{};
}

Result<Done> TrialOperands::addOutput(TensorArg const& arg)
{
    mOutputs.push_back(arg.present ? TENON_TRY(mMemory.room(mPlace, TENON_TRY(sizeOf(arg)))) : nullptr);
    return Done{};
}

void TrialOperands::addOutputOver(size_t input)
{
    mMemory.overwritten(mInputs[input]);
    mOutputs.push_back(mInputs[input]);
}

Result<Launch> TrialOperands::launch(Prepared const& prepared, size_t produces)
{
    mInputAddresses.assign(mInputs.begin(), mInputs.end());
    mProduced.emplace_back(produces);
    Launch launch;
    launch.prepared = &prepared;
    launch.call.inputs = mInputAddresses.data();
    launch.call.outputs = mOutputs.data();
    launch.call.scratch = TENON_TRY(mMemory.room(mPlace, prepared.scratchBytes()));
    launch.call.produced = mProduced.back().data();
    launch.inputCount = mInputs.size();
    launch.outputCount = mOutputs.size();
    launch.place = mPlace;
    launch.touchesHost = mPlace == Place::kHost;
    return launch;
}

Result<double> measureRun(Device& device, std::span<Launch const> launches, int32_t hostThreads)
{
    double microseconds{0.0};
    RunOptions run;
    run.stream = kApartStream;
    run.hostThreads = hostThreads;
    run.elapsed = &microseconds;
    RunFailure failure;
    TENON_TRY(device.run(launches, run, failure));
    return microseconds;
}

Result<double> measure(Device& device, std::span<Launch const> launches, MeasureOptions const& options)
{
    if (options.warmUps > 0)
        TENON_TRY(timesOf(device, launches, options.warmUps, options));
    double best = trimmedMean(TENON_TRY(timesOf(device, launches, std::max(options.runs, 1), options)));
    for (int32_t round = 1; round < options.rounds; ++round)
        best = std::min(best, trimmedMean(TENON_TRY(timesOf(device, launches, std::max(options.runs, 1), options))));
    return best;
}

} // namespace tenon
