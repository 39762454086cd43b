// chooseInContext: the steps' memory, the network that runs, and trials of other offers in it.
#include "planner/time_in_context.h"

#include "backend/reference_offer.h"
#include "base/step_role.h"
#include "device/measure.h"
#include "planner/guarded.h"
#include "planner/planned_graph.h"
#include "planner/side_by_side.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tenon::planner
{

namespace
{
constexpr double kNear{1.6};         //!< Times what the selected offer took alone,
constexpr double kNearBy{1.5};       //!< and microseconds beside it, another one may be better in the network.
constexpr double kLeastShare{0.002}; //!< Of the network's time: less than that is noise.
constexpr double kClearLoss{0.01};   //!< Of it: no further turns are needed.
constexpr int32_t kTurns{6};         //!< In which both ways run one behind the other; the fastest counts.
constexpr double kLongRun{2000.0};   //!< Microseconds: what is shorter runs several times at once.
constexpr size_t kMaxPasses{16};     //!< So many times.
constexpr size_t kRounds{2};         //!< What is best for a kind depends on what others run by.
constexpr size_t kMaxTrials{64};     //!< In a round.
constexpr size_t kMaxOfKind{8};
constexpr double kAllTrials{3e6}; //!< Microseconds of the device's for all of them.
constexpr size_t kLeastTrials{4};

//! Memory of a device as long as somebody holds it.
class Block
{
  public:
    static Result<std::shared_ptr<Block>> of(Device& device, size_t bytes)
    {
        void* const memory = device.allocate(std::max<size_t>(bytes, 1));
        if (memory == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "no {} bytes for timing the network", bytes);
        return std::make_shared<Block>(device, memory);
    }
    Block(Device& device, void* memory)
        : mDevice{device},
          mMemory{memory}
    {
    }
    ~Block()
    {
        mDevice.release(mMemory);
    }
    Block(Block const&) = delete;
    Block& operator=(Block const&) = delete;

    void* address() const noexcept
    {
        return mMemory;
    }

  private:
    Device& mDevice;
    void* mMemory;
};

//! Blocks that steps hand on when nobody reads them any more, as they do in a run's arena.
class Arena
{
  public:
    explicit Arena(Device& device)
        : mDevice{device}
    {
    }
    Result<void*> take(size_t bytes)
    {
        if (auto const fits = mFree.lower_bound(bytes); fits != mFree.end() && fits->first <= 2 * bytes)
        {
            void* const memory = fits->second;
            mSizes[memory] = fits->first;
            mFree.erase(fits);
            return memory;
        }
        mBlocks.push_back(TENON_TRY(Block::of(mDevice, bytes)));
        void* const memory = mBlocks.back()->address();
        mSizes[memory] = bytes;
        return memory;
    }
    void giveBack(void* memory)
    {
        mFree.emplace(mSizes.at(memory), memory);
    }

  private:
    Device& mDevice;
    std::vector<std::shared_ptr<Block>> mBlocks;
    std::map<void*, size_t> mSizes;
    std::multimap<size_t, void*> mFree;
};

//! What a step reads and writes, whichever of its offers runs: null for constants and what is absent.
struct Operands
{
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
};

//! A step's kernel with the constants that it reads.
struct LoadedStep
{
    std::unique_ptr<LoadedTrial> trial;
    std::vector<std::shared_ptr<Block>> constants;
    Operands operands;
    std::shared_ptr<Block> scratch;
};
using LoadedSteps = std::map<size_t, LoadedStep>; //!< By position among the choices.

//! The steps on the device, with memory for their tensors.
class RunningNetwork
{
  public:
    RunningNetwork(
        TimingRequest const& request, Trials const& trials, Choices const& choices, std::vector<size_t> const& steps)
        : mRequest{request},
          mGraph{request.kernels.graph},
          mTrials{trials},
          mChoices{choices.all()},
          mSteps{steps},
          mArena{request.device},
          mNumbers{request.device}
    {
    }

    //! Memory, and the kernels of the offers that are selected now.
    Result<Done> load()
    {
        TENON_TRY(giveMemory());
        mLoaded = TENON_TRY(loaded(mSteps, [&](size_t step) -> Offer const& { return mChoices[step].offer(); }));
        return Done{};
    }

    //! Kernels of steps by other offers, of the same layouts.
    template <typename OfferOf>
    Result<LoadedSteps> loaded(std::vector<size_t> const& steps, OfferOf const& offerOf)
    {
        std::vector<std::unique_ptr<LoadedTrial>> made(steps.size()); // Each entry is one thread's.
        TENON_TRY(sideBySide({.count = steps.size(),
            .threads = mRequest.kernels.threads,
            .work = [&](size_t index) -> Result<Done> {
                Node const& node = mGraph.node(mChoices[steps[index]].node);
                Offer const& offer = offerOf(steps[index]);
                KernelSpec spec = TENON_TRY(buildKernel(mRequest.kernels, node, offer));
                if (isCustom(roleOf(spec.kernel))) // Its author's code hears of trials of its own only.
                    return Done{};
                return guarded(mGraph, node, [&]() -> Result<Done> {
                    made[index] = TENON_TRY(mTrials.load(node, offer, std::move(spec)));
                    return Done{};
                });
            },
            .afterPiece = [] { return true; }}));
        LoadedSteps all;
        for (size_t i = 0; i < steps.size(); ++i)
            if (made[i] != nullptr)
                all[steps[i]] = TENON_TRY(complete(std::move(made[i]), mOperands.at(steps[i])));
        return all;
    }

    //! The steps one behind the other, `passes` times; those that `others` has, as they are there.
    std::vector<Launch> launches(LoadedSteps const& others, size_t passes) const
    {
        std::vector<Launch> all;
        for (size_t pass = 0; pass < passes; ++pass)
            for (size_t const step : mSteps)
                if (auto const own = mLoaded.find(step); own != mLoaded.end())
                    all.push_back(launchOf(others.contains(step) ? others.at(step) : own->second, step));
        return all;
    }

    void take(LoadedSteps others)
    {
        for (auto& [step, loaded] : others)
            mLoaded[step] = std::move(loaded);
    }

  private:
    using Tensor = std::pair<ValueId, Layout>;

    static Launch launchOf(LoadedStep const& loaded, size_t step)
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

    //! Whose memory a value is in.
    ValueId ownerOf(ValueId value) const
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

    Result<Done> giveMemory()
    {
        for (Choice const& choice : mChoices)
            if (choice.offer().isView)
                mViewed[choice.node] = mGraph.node(choice.node).inputs.front();
        std::map<Tensor, size_t> lastReads;
        for (size_t const step : mSteps)
            TENON_TRY(forEachInput(step, [&](size_t, TensorArg const& arg, Tensor const& tensor) -> Result<Done> {
                static_cast<void>(arg);
                lastReads[tensor] = step;
                return Done{};
            }));
        std::map<Tensor, void*> places;
        for (size_t const step : mSteps)
        {
            Choice const& choice = mChoices[step];
            Node const& node = mGraph.node(choice.node);
            Operands& operands = mOperands[step];
            operands.inputs.resize(node.inputs.size(), nullptr);
            std::vector<void*> over;
            TENON_TRY(forEachInput(step, [&](size_t i, TensorArg const& arg, Tensor const& tensor) -> Result<Done> {
                auto const [place, isNew] = places.try_emplace(tensor, nullptr);
                if (isNew) // An input of the network, or what a step that is not among these makes.
                    place->second = TENON_TRY(mNumbers.numbers(Place::kDevice, arg.dtype, TENON_TRY(sizeOf(arg))));
                operands.inputs[i] = place->second;
                if (!isNew && mOwn.contains(place->second) && lastReads.at(tensor) == step
                    && std::ranges::count(over, place->second) == 0)
                    over.push_back(place->second);
                return Done{};
            }));
            for (size_t i = 0; i < node.outputs.size(); ++i)
            {
                void* const memory =
                    TENON_TRY(mArena.take(TENON_TRY(sizeOf(mTrials.outputArg(node, choice.offer(), i)))));
                Tensor const tensor{node.outputs[i], choice.offer().outputs[i]};
                operands.outputs.push_back(memory);
                places[tensor] = memory;
                mOwn.insert(memory);
                if (!lastReads.contains(tensor))
                    over.push_back(memory);
            }
            for (void* const memory : over)
                mArena.giveBack(memory);
        }
        return Done{};
    }

    template <typename Visit>
    Result<Done> forEachInput(size_t step, Visit const& visit) const
    {
        Choice const& choice = mChoices[step];
        Node const& node = mGraph.node(choice.node);
        for (size_t i = 0; i < node.inputs.size(); ++i)
            if (ValueId const input = node.inputs[i]; input != kNone && mGraph.constantOf(input) == nullptr)
                if (TensorArg const arg = mTrials.inputArg(node, choice.offer(), i); arg.present)
                    TENON_TRY(visit(i, arg, Tensor{ownerOf(input), arg.layout}));
        return Done{};
    }

    static Result<size_t> sizeOf(TensorArg const& arg)
    {
        int64_t const bytes = arg.bytes();
        if (bytes < 0)
            return badArgument("tensor '{}' has more bytes than can be counted", arg.name);
        return static_cast<size_t>(bytes);
    }

    Result<LoadedStep> complete(std::unique_ptr<LoadedTrial> trial, Operands const& operands)
    {
        LoadedStep step{std::move(trial), {}, operands, {}};
        for (size_t i = 0; i < step.operands.inputs.size(); ++i)
            if (WeightArg const& weight = step.trial->source.weights[i];
                weight.data != nullptr && step.trial->inputs[i].present)
            {
                step.constants.push_back(TENON_TRY(constant(weight)));
                step.operands.inputs[i] = step.constants.back()->address();
            }
        if (size_t const bytes = step.trial->prepared->scratchBytes(); bytes > 0)
        {
            if (mScratch == nullptr || bytes > mScratchBytes)
            {
                mScratch = TENON_TRY(Block::of(mRequest.device, bytes));
                mScratchBytes = bytes;
            }
            step.scratch = mScratch;
        }
        return step;
    }

    //! What several kernels read as it lies in the model is there once.
    Result<std::shared_ptr<Block>> constant(WeightArg const& weight)
    {
        std::weak_ptr<Block>& known = mConstants[{weight.data, weight.bytes}];
        if (std::shared_ptr<Block> block = known.lock(); block != nullptr)
            return block;
        std::shared_ptr<Block> block = TENON_TRY(Block::of(mRequest.device, weight.bytes));
        TENON_TRY(mRequest.device.copyFromHost(block->address(), weight.data, weight.bytes, kApartStream));
        known = block;
        return block;
    }

    TimingRequest const& mRequest;
    Graph const& mGraph;
    Trials const& mTrials;
    std::vector<Choice> const& mChoices;
    std::vector<size_t> const& mSteps;
    std::map<NodeId, ValueId> mViewed; //!< What views show.
    Arena mArena;
    std::set<void*> mOwn; //!< Of the arena.
    TrialMemory mNumbers; //!< What no step here writes.
    std::map<std::pair<void const*, size_t>, std::weak_ptr<Block>> mConstants;
    std::shared_ptr<Block> mScratch; //!< All steps have it one after the other.
    size_t mScratchBytes{0};
    std::map<size_t, Operands> mOperands;
    LoadedSteps mLoaded;
};

//! Steps that take the same time, and the offers that they might run by instead: the first step's, by position.
struct Kind
{
    std::vector<size_t> steps;
    std::vector<size_t> others;
};

class ContextTimer
{
  public:
    ContextTimer(TimingRequest const& request, Needed const& needed, Choices& choices)
        : mRequest{request},
          mGraph{request.kernels.graph},
          mTrials{request},
          mAll{choices},
          mChoices{choices.all()}
    {
        std::map<std::string, size_t> byKey;
        for (size_t i = 0; i < mChoices.size(); ++i)
        {
            if (!isStep(mChoices[i], needed))
                continue;
            std::string const key = mTrials.keyOf(mGraph.node(mChoices[i].node), mChoices[i].offer());
            mSteps.push_back(i);
            mKeys.push_back(TimedTactics::keyOf(key));
            mAlone += mChoices[i].offer().cost;
            auto const [at, isNew] = byKey.try_emplace(key, mKinds.size());
            if (isNew)
                mKinds.push_back({{}, othersOf(mChoices[i])});
            mKinds[at->second].steps.push_back(i);
        }
        std::erase_if(mKinds, [](Kind const& kind) { return kind.others.empty(); });
        std::ranges::stable_sort(mKinds, std::ranges::greater{}, [&](Kind const& kind) {
            return mChoices[kind.steps.front()].offer().cost * static_cast<double>(kind.steps.size());
        });
        limitTrials();
    }

    size_t trials() const noexcept
    {
        size_t count{0};
        for (Kind const& kind : mKinds)
            count += kind.others.size();
        return count * kRounds;
    }

    Result<Done> run(std::function<bool()> const& afterTrial)
    {
        std::optional<double> const begun = TENON_TRY(timeOfAll());
        if (!begun)
            return Done{};
        mTime = *begun;
        for (size_t round = 0; round < kRounds; ++round)
        {
            double const before = mTime;
            for (Kind& kind : mKinds)
                for (size_t& other : kind.others)
                {
                    size_t const selected = mChoices[kind.steps.front()].selected;
                    if (!TENON_TRY(tryOther(kind, other)))
                        return Done{};
                    if (mChoices[kind.steps.front()].selected != selected)
                        other = selected; // In the next round, when the steps around are other ones, too.
                    if (!afterTrial())
                        return cancelled();
                }
            if (mTime == before)
                break;
        }
        return Done{};
    }

  private:
    bool isStep(Choice const& choice, Needed const& needed) const
    {
        Node const& node = mGraph.node(choice.node);
        Offer const& offer = choice.offer();
        return needed.nodes[static_cast<size_t>(choice.node)] && !offer.isView && offer.place == Place::kDevice
            && !isControl(node) && !mTrials.isDataDependent(node) && !isReference(offer);
    }

    //! Those that lie the same way and took nearly as long, the fastest first.
    std::vector<size_t> othersOf(Choice const& choice) const
    {
        Node const& node = mGraph.node(choice.node);
        Offer const& selected = choice.offer();
        auto const isAlike = [&](Offer const& offer) {
            for (size_t i = 0; i < node.inputs.size(); ++i)
                if (node.inputs[i] != kNone && mGraph.constantOf(node.inputs[i]) == nullptr
                    && offer.inputs[i] != selected.inputs[i])
                    return false;
            return isTried(offer) && offer.place == selected.place && offer.outputs == selected.outputs
                && offer.unread == selected.unread;
        };
        std::vector<size_t> others;
        for (size_t i = 0; i < choice.offers.size() && choice.isTimed; ++i)
            if (Offer const& offer = choice.offers[i]; i != choice.selected && isAlike(offer)
                && offer.cost <= std::max(selected.cost * kNear, selected.cost + kNearBy))
                others.push_back(i);
        std::ranges::stable_sort(others, {}, [&](size_t other) { return choice.offers[other].cost; });
        others.resize(std::min(others.size(), kMaxOfKind));
        return others;
    }

    void limitTrials()
    {
        double const each = 2.0 * kTurns * std::max(mAlone, kLongRun);
        auto left = static_cast<size_t>(std::min(kAllTrials / each, static_cast<double>(kMaxTrials)));
        if (left < kLeastTrials)
            left = 0;
        for (Kind& kind : mKinds)
        {
            kind.others.resize(std::min(kind.others.size(), left));
            left -= kind.others.size();
        }
    }

    //! Of the network with these steps.
    TimedTactics::Key entryOf(std::vector<TimedTactics::Key> const& keys) const
    {
        KeyWriter key;
        key.add("network");
        key.add(mRequest.hostThreads);
        for (TimedTactics::Key const& each : keys)
            key.add({reinterpret_cast<char const*>(each.data()), each.size()});
        return TimedTactics::keyOf(key.take());
    }
    std::optional<double> knownTime(TimedTactics::Key const& entry) const
    {
        TimedTactics const* const tactics = mRequest.known.tactics;
        auto const found = tactics == nullptr ? std::nullopt : tactics->find(entry);
        if (!found)
            return std::nullopt;
        return static_cast<double>(found->milliseconds) * 1000.0;
    }
    //! As a later build reads it.
    double kept(TimedTactics::Key const& entry, double microseconds) const
    {
        auto const milliseconds = static_cast<float>(microseconds / 1000.0);
        if (mRequest.known.tactics != nullptr)
            mRequest.known.tactics->add(entry, {0, milliseconds});
        return static_cast<double>(milliseconds) * 1000.0;
    }

    //! None: it cannot be run, or may not.
    Result<std::optional<double>> timeOfAll()
    {
        if (trials() == 0)
            return std::optional<double>{};
        TimedTactics::Key const entry = entryOf(mKeys);
        if (std::optional<double> const known = knownTime(entry))
            return known;
        if (!TENON_TRY(isRunning()))
            return std::optional<double>{};
        double best = TENON_TRY(timeOf(mLaunches));
        for (int32_t turn = 1; turn < kTurns; ++turn)
            best = std::min(best, TENON_TRY(timeOf(mLaunches)));
        return std::optional{kept(entry, best / static_cast<double>(mPasses))};
    }

    //! Has the network loaded and its launches warm. False: it cannot be.
    Result<bool> isRunning()
    {
        if (mNetwork != nullptr || mRequest.known.mustKnow)
            return mNetwork != nullptr;
        mPasses = std::clamp<size_t>(static_cast<size_t>(std::ceil(kLongRun / std::max(mAlone, 1.0))), 1, kMaxPasses);
        auto network = std::make_unique<RunningNetwork>(mRequest, mTrials, mAll, mSteps);
        Result<Done> done = network->load();
        if (done)
        {
            mLaunches = network->launches({}, mPasses);
            done = warm(mLaunches);
        }
        if (!done)
        {
            TENON_TRY(stillThere(mRequest.device));
            return false;
        }
        mNetwork = std::move(network);
        return true;
    }

    Result<double> timeOf(std::vector<Launch> const& launches) const
    {
        return measureRun(mRequest.device, launches, mRequest.hostThreads);
    }
    //! The first run loads what is loaded late, the second one records.
    Result<Done> warm(std::vector<Launch> const& launches) const
    {
        TENON_TRY(timeOf(launches));
        TENON_TRY(timeOf(launches));
        return Done{};
    }

    //! False: there is no way to go on.
    Result<bool> tryOther(Kind const& kind, size_t other)
    {
        std::vector<size_t> offers; // By position among the kind's steps: which of its offers that is.
        std::string const key = keyOf(kind.steps.front(), other);
        for (size_t const step : kind.steps)
        {
            size_t at = other;
            if (at >= mChoices[step].offers.size() || keyOf(step, at) != key)
                return true; // Another way to run a like step has failed there.
            offers.push_back(at);
        }
        std::vector<TimedTactics::Key> keys = mKeys;
        for (size_t const step : kind.steps)
            keys[static_cast<size_t>(std::ranges::lower_bound(mSteps, step) - mSteps.begin())] =
                TimedTactics::keyOf(key);
        TimedTactics::Key const entry = entryOf(keys);
        LoadedSteps loaded;
        std::optional<double> time = knownTime(entry);
        if (!time)
        {
            if (!TENON_TRY(isRunning()))
                return false;
            auto made =
                mNetwork->loaded(kind.steps, [&](size_t step) -> Offer const& { return mChoices[step].offers[other]; });
            Result<double> const ratio = made ? ratioOf(*made) : made.error();
            if (!ratio)
            {
                TENON_TRY(stillThere(mRequest.device));
                return true;
            }
            loaded = *std::move(made);
            time = kept(entry, mTime * *ratio);
        }
        if (*time > mTime * (1.0 - kLeastShare))
            return true;
        for (size_t const step : kind.steps)
        {
            mChoices[step].selected = other;
            mChoices[step].contextGain += mTime - *time;
        }
        mTime = *time;
        mKeys = std::move(keys);
        if (mNetwork == nullptr)
            return true;
        if (loaded.empty())
            mNetwork.reset(); // Loaded again where it is wanted.
        else
        {
            mNetwork->take(std::move(loaded));
            mLaunches = mNetwork->launches({}, mPasses);
        }
        return true;
    }

    std::string keyOf(size_t step, size_t offer) const
    {
        return mTrials.keyOf(mGraph.node(mChoices[step].node), mChoices[step].offers[offer]);
    }

    //! What the network takes with these steps to what it takes now.
    Result<double> ratioOf(LoadedSteps const& others) const
    {
        std::vector<Launch> const launches = mNetwork->launches(others, mPasses);
        TENON_TRY(warm(launches));
        double now = TENON_TRY(timeOf(mLaunches));
        double then = TENON_TRY(timeOf(launches));
        for (int32_t turn = 1; turn < kTurns && then < now * (1.0 + kClearLoss); ++turn)
        {
            now = std::min(now, TENON_TRY(timeOf(mLaunches)));
            then = std::min(then, TENON_TRY(timeOf(launches)));
        }
        return then / std::max(now, 1e-3);
    }

    TimingRequest const& mRequest;
    Graph const& mGraph;
    Trials mTrials;
    Choices const& mAll;
    std::vector<Choice>& mChoices;
    std::vector<size_t> mSteps;           //!< Positions among the choices, in order.
    std::vector<TimedTactics::Key> mKeys; //!< Of the steps, as they are selected now.
    double mAlone{0.0};                   //!< Microseconds of all steps' trials.
    std::vector<Kind> mKinds;
    double mTime{0.0}; //!< Of the network as it is selected now.
    size_t mPasses{1};
    std::unique_ptr<RunningNetwork> mNetwork;
    std::vector<Launch> mLaunches; //!< Of the network, with its passes.
};
} // namespace

Result<Done> chooseInContext(
    TimingRequest const& request, Needed const& needed, Choices& choices, TrialListener const& listener)
{
    ContextTimer timer{request, needed, choices};
    listener.start(timer.trials());
    return timer.run(listener.afterTrial);
}

} // namespace tenon::planner
