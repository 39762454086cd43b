// RunningNetwork: memory by who reads last, kernels loaded side by side, constants that several steps read once.
#include "planner/running_network.h"

#include "base/cancellation.h"
#include "planner/guarded.h"
#include "planner/side_by_side.h"

#include <algorithm>

namespace tenon::planner
{

namespace
{
Result<size_t> sizeOfTensor(TensorArg const& arg)
{
    int64_t const bytes = arg.bytes();
    if (bytes < 0)
        return badArgument("tensor '{}' has more bytes than can be counted", arg.name);
    return static_cast<size_t>(bytes);
}

Launch launchOf(LoadedStep const& loaded, size_t step)
{
    Launch launch;
    launch.prepared = loaded.trial->prepared.get();
    launch.call.inputs = loaded.operands.inputs.data();
    launch.call.outputs = loaded.operands.outputs.data();
    launch.call.scratch = loaded.scratch == nullptr ? nullptr : loaded.scratch->address();
    launch.step = static_cast<int32_t>(step);
    launch.inputCount = loaded.operands.inputs.size();
    launch.outputCount = loaded.operands.outputs.size();
    return launch;
}
} // namespace

Result<std::shared_ptr<DeviceBlock>> DeviceBlock::of(Device& device, size_t bytes)
{
    void* const memory = device.allocate(std::max<size_t>(bytes, 1));
    if (memory == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no {} bytes for timing the network", bytes);
    return std::make_shared<DeviceBlock>(device, memory);
}

Result<void*> StepMemory::take(size_t bytes)
{
    if (auto const fits = mFree.lower_bound(bytes); fits != mFree.end() && fits->first <= 2 * bytes)
    {
        void* const memory = fits->second;
        mFree.erase(fits);
        return memory;
    }
    mBlocks.push_back(TENON_TRY(DeviceBlock::of(mDevice, bytes)));
    void* const memory = mBlocks.back()->address();
    mSizes[memory] = bytes;
    return memory;
}

void StepMemory::giveBack(void* memory)
{
    mFree.emplace(mSizes.at(memory), memory);
}

Result<Done> RunningNetwork::load()
{
    TENON_TRY(giveMemory());
    mLoaded = TENON_TRY(loaded(mSteps, [&](size_t step) -> Offer const& { return mChoices[step].offer(); }));
    return Done{};
}

Result<LoadedSteps> RunningNetwork::loaded(
    std::vector<size_t> const& steps, std::function<Offer const&(size_t step)> const& offerOf)
{
    std::vector<std::unique_ptr<LoadedTrial>> made(steps.size()); // Each entry is one thread's.
    TENON_TRY(sideBySide({.count = steps.size(),
        .threads = mRequest.kernels.threads,
        .work = [&](size_t index) -> Result<Done> {
            cancellationPoint();
            Node const& node = mGraph.node(mChoices[steps[index]].node);
            Offer const& offer = offerOf(steps[index]);
            KernelSpec spec = TENON_TRY(buildKernel(mRequest.kernels, node, offer));
            return guarded(mGraph, node, [&]() -> Result<Done> {
                made[index] = TENON_TRY(mTrials.load(node, offer, std::move(spec)));
                return Done{};
            });
        },
        .afterPiece = [] { return true; }}));
    LoadedSteps all;
    for (size_t i = 0; i < steps.size(); ++i)
        all[steps[i]] = TENON_TRY(complete(std::move(made[i]), mOperands.at(steps[i])));
    return all;
}

std::vector<Launch> RunningNetwork::launches(LoadedSteps const& others, size_t passes) const
{
    std::vector<Launch> all;
    for (size_t pass = 0; pass < passes; ++pass)
        for (size_t const step : mSteps)
            all.push_back(launchOf(others.contains(step) ? others.at(step) : mLoaded.at(step), step));
    return all;
}

void RunningNetwork::take(LoadedSteps others)
{
    for (auto& [step, loaded] : others)
        mLoaded[step] = std::move(loaded);
}

//! Whose memory a value is in.
ValueId RunningNetwork::ownerOf(ValueId value) const
{
    for (NodeId producer = mGraph.value(value).producer; producer != kNone;)
    {
        auto const view = mViewed.find(producer);
        if (view == mViewed.end())
            break;
        value = view->second;
        producer = mGraph.value(value).producer;
    }
    return value;
}

template <typename Visit>
Result<Done> RunningNetwork::forEachInput(size_t step, Visit const& visit) const
{
    Choice const& choice = mChoices[step];
    Node const& node = mGraph.node(choice.node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
        if (ValueId const input = node.inputs[i]; input != kNone && mGraph.constantOf(input) == nullptr)
            if (TensorArg const arg = mTrials.inputArg(node, choice.offer(), i); arg.present)
                TENON_TRY(visit(i, arg, Tensor{ownerOf(input), arg.layout}));
    return Done{};
}

//! `over`: memory whose last reader the step is. Where the offer may write its result there, it does, as in a run.
Result<void*> RunningNetwork::memoryOfOutput(size_t step, size_t output, std::vector<void*>& over)
{
    Choice const& choice = mChoices[step];
    Node const& node = mGraph.node(choice.node);
    Offer const& offer = choice.offer();
    size_t const bytes = TENON_TRY(sizeOfTensor(mTrials.outputArg(node, offer, output)));
    for (auto const& [to, from] : offer.inPlace)
    {
        if (static_cast<size_t>(to) != output)
            continue;
        auto const input = static_cast<size_t>(from);
        auto* const memory = const_cast<void*>(mOperands.at(step).inputs.at(input)); // The arena's, which steps write.
        auto const last = std::ranges::find(over, memory);
        if (last == over.end() || TENON_TRY(sizeOfTensor(mTrials.inputArg(node, offer, input))) != bytes)
            continue;
        over.erase(last);
        return memory;
    }
    return mArena.take(bytes);
}

Result<Done> RunningNetwork::giveMemory()
{
    for (Choice const& choice : mChoices)
        if (choice.offer().isView)
            mViewed[choice.node] = mGraph.node(choice.node).inputs.front();
    std::map<Tensor, size_t> lastReads;
    for (size_t const step : mSteps)
        TENON_TRY(forEachInput(step, [&](size_t, TensorArg const&, Tensor const& tensor) -> Result<Done> {
            lastReads[tensor] = step;
            return Done{};
        }));
    std::map<Tensor, void*> places;
    for (size_t const step : mSteps)
    {
        Choice const& choice = mChoices[step];
        Node const& node = mGraph.node(choice.node);
        StepOperands& operands = mOperands[step];
        operands.inputs.resize(node.inputs.size(), nullptr);
        std::vector<void*> over;
        TENON_TRY(forEachInput(step, [&](size_t i, TensorArg const& arg, Tensor const& tensor) -> Result<Done> {
            auto const [place, isNew] = places.try_emplace(tensor, nullptr);
            if (isNew) // An input of the network, or what a step that is not among these makes.
                place->second = TENON_TRY(mNumbers.numbers(Place::kDevice, arg.dtype, TENON_TRY(sizeOfTensor(arg))));
            operands.inputs[i] = place->second;
            if (mArena.owns(place->second) && lastReads.at(tensor) == step
                && std::ranges::count(over, place->second) == 0)
                over.push_back(place->second);
            return Done{};
        }));
        std::vector<void*> unread;
        for (size_t i = 0; i < node.outputs.size(); ++i)
        {
            void* const memory = TENON_TRY(memoryOfOutput(step, i, over));
            Tensor const tensor{node.outputs[i], choice.offer().outputs[i]};
            operands.outputs.push_back(memory);
            places[tensor] = memory;
            if (!lastReads.contains(tensor))
                unread.push_back(memory);
        }
        over.insert(over.end(), unread.begin(), unread.end());
        for (void* const memory : over)
            mArena.giveBack(memory);
    }
    return Done{};
}

Result<LoadedStep> RunningNetwork::complete(std::unique_ptr<LoadedTrial> trial, StepOperands const& operands)
{
    LoadedStep step{std::move(trial), {}, operands, {}};
    for (size_t i = 0; i < step.operands.inputs.size(); ++i)
        if (WeightArg const& weight = step.trial->source.weights[i];
            weight.data != nullptr && step.trial->inputs[i].present)
        {
            cancellationPoint();
            step.constants.push_back(TENON_TRY(constant(weight)));
            step.operands.inputs[i] = step.constants.back()->address();
        }
    if (size_t const bytes = step.trial->prepared->scratchBytes(); bytes > 0)
    {
        if (mScratch == nullptr || bytes > mScratchBytes)
        {
            mScratch = TENON_TRY(DeviceBlock::of(mRequest.device, bytes));
            mScratchBytes = bytes;
        }
        step.scratch = mScratch;
    }
    return step;
}

//! What several kernels read as it lies in the model is there once.
Result<std::shared_ptr<DeviceBlock>> RunningNetwork::constant(WeightArg const& weight)
{
    std::weak_ptr<DeviceBlock>& known = mConstants[{weight.data, weight.bytes}];
    if (std::shared_ptr<DeviceBlock> block = known.lock(); block != nullptr)
        return block;
    std::shared_ptr<DeviceBlock> block = TENON_TRY(DeviceBlock::of(mRequest.device, weight.bytes));
    TENON_TRY(mRequest.device.copyFromHost(block->address(), weight.data, weight.bytes, kApartStream));
    known = block;
    return block;
}

} // namespace tenon::planner
