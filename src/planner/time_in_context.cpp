// chooseInContext: kinds of steps, and trials of their other offers in the network as it is selected so far.
#include "planner/time_in_context.h"

#include "backend/reference_offer.h"
#include "base/step_role.h"
#include "planner/planned_graph.h"
#include "planner/running_network.h"

#include <algorithm>
#include <cmath>

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
constexpr double kAllTrials{3e6};                  //!< Microseconds for all of them, about.
constexpr double kFailed{1e12};                    //!< Microseconds that no network outweighs.
constexpr double kCopied{1000.0};                  //!< Bytes of constants that a microsecond packs and copies.
constexpr int64_t kMaxConstants{int64_t{4} << 30}; //!< Of a network, which are on the device and packed on the host.

//! Steps that take the same time, and the offers that they might run by instead: the first step's, by position.
struct Kind
{
    std::vector<size_t> steps;
    std::vector<size_t> others;
    size_t fastest; //!< Alone.
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
                mKinds.push_back({{}, othersOf(mChoices[i]), mChoices[i].selected});
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
            && !isControl(node) && !mTrials.isDataDependent(node) && !isReference(offer)
            && !isCustom(roleOf(offer.candidate)); // Its author's code hears of trials of its own only.
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
                && offer.unread == selected.unread && offer.inPlace == selected.inPlace;
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

    //! Whose time and memory are limited: of each trial, the runs of both ways and weights that are packed and copied.
    void limitTrials()
    {
        double left = kAllTrials / static_cast<double>(kRounds);
        size_t count{0};
        bool const isLarge = bytesOf(mSteps) > kMaxConstants;
        for (Kind& kind : mKinds)
        {
            double const runs = 2.0 * (kTurns + 1) * std::max(mAlone, kLongRun);
            double const each = runs + static_cast<double>(bytesOf(kind.steps)) / kCopied;
            auto const fits = static_cast<size_t>(std::max(left, 0.0) / each);
            kind.others.resize(isLarge ? 0 : std::min({kind.others.size(), kMaxTrials - count, fits}));
            left -= each * static_cast<double>(kind.others.size());
            count += kind.others.size();
        }
    }
    //! Of the constants of steps.
    int64_t bytesOf(std::vector<size_t> const& steps) const
    {
        int64_t bytes{0};
        for (size_t const step : steps)
            for (ValueId const input : mGraph.node(mChoices[step].node).inputs)
                if (Constant const* const constant = mGraph.constantOf(input); constant != nullptr)
                    bytes += constant->bytes();
        return bytes;
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
        std::string const key = keyOf(kind.steps.front(), other);
        for (size_t const step : kind.steps)
            if (other >= mChoices[step].offers.size() || keyOf(step, other) != key)
                return true; // Another way to run a like step has failed there.
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
                return mRequest.known.mustKnow; // The next one may be known.
            auto made =
                mNetwork->loaded(kind.steps, [&](size_t step) -> Offer const& { return mChoices[step].offers[other]; });
            Result<double> const ratio = made ? ratioOf(*made) : made.error();
            if (!ratio)
            {
                TENON_TRY(stillThere(mRequest.device));
                static_cast<void>(kept(entry, kFailed)); // A later build passes it over, too.
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
            mChoices[step].contextGain = other == kind.fastest ? 0.0 : mChoices[step].contextGain + mTime - *time;
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
