// timeOffers: trials by key, built side by side a few at a time, measured one after the other.
#include "planner/time_offers.h"

#include "backend/reference_offer.h"
#include "base/step_role.h"
#include "device/measure.h"
#include "planner/guarded.h"
#include "planner/side_by_side.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tenon::planner
{

namespace
{
constexpr size_t kWave{16}; //!< Kernels built at a time: their packed constants are in memory together.
constexpr int64_t kAheadBytes{int64_t{256} << 20}; //!< Of those constants, where more kernels are built at a time.
constexpr int32_t kLeastRuns{4}; //!< A single run tells little on a machine that does other things, too.
constexpr double kNever{1e12};   //!< Microseconds that no other choice outweighs, and that sums can be made of.

struct Trial
{
    size_t choice;
    size_t offer;
    std::string key;
    std::optional<KernelSpec> kernel;
    std::unique_ptr<LoadedTrial> loaded;
    std::optional<Error> failure;
    double microseconds{0.0};
    bool isKnown{false}; //!< From an earlier build.
};

//! Which of a layer's ways to run a key stands for, as users see it.
uint64_t tacticHash(Offer const& offer) noexcept
{
    TimedTactics::Key const key = TimedTactics::keyOf(fmt::format("{} {}", offer.candidate, offer.tactic));
    uint64_t hash{0};
    std::memcpy(&hash, key.data(), sizeof(hash));
    return hash >> 1; // Never the number that stands for none.
}

class OfferTimer
{
  public:
    OfferTimer(TimingRequest const& request, Choices& choices, TrialMemory& memory)
        : mRequest{request},
          mMemory{memory},
          mGraph{request.kernels.graph},
          mMaker{request},
          mChoices{choices.all()}
    {
        collect();
    }

    size_t trials() const noexcept
    {
        return mTrials.size();
    }

    //! `alongside`: what is made beside the first kernels, in any thread; may be null.
    Result<Done> run(std::function<bool()> const& afterTrial, std::function<void()> const& alongside)
    {
        TENON_TRY(recall());
        for (size_t first = 0; first < mTrials.size();)
        {
            size_t const count = waveFrom(first);
            std::span const wave{mTrials.data() + first, count};
            TENON_TRY(runWave(wave, afterTrial, first == 0 ? alongside : nullptr));
            first += count;
        }
        if (std::ranges::any_of(mTrials, [](Trial const& trial) { return trial.failure.has_value(); }))
            TENON_TRY(stillThere(mRequest.device));
        for (Choice& choice : mChoices)
            TENON_TRY(settle(choice));
        return Done{};
    }

  private:
    bool isTimed(Choice const& choice) const
    {
        Node const& node = mGraph.node(choice.node);
        return !mMaker.isDataDependent(node) && std::ranges::count(choice.offers, false, &Offer::isView) > 1;
    }

    //! Kernels of a device with memory of its own are compiled, or chosen by a library, when they are prepared, which
    //! takes longer than running them. Custom layers are the user's, and hear of one thread.
    bool isPreparedAhead(Trial const& trial) const
    {
        Choice const& choice = mChoices[trial.choice];
        return mRequest.kernels.target.hasOwnMemory && choice.offers[trial.offer].place == Place::kDevice
            && !isCustom(roleOf(trial.kernel->kernel));
    }

    //! How many trials from there on are built at a time. Of devices with memory of their own, whose kernels take a
    //! third of a second or more to compile, so many for each thread that few are idle while the last one is made.
    size_t waveFrom(size_t first) const
    {
        size_t const left = mTrials.size() - first;
        auto const threads = static_cast<size_t>(std::max(mRequest.kernels.threads, 1));
        if (!mRequest.kernels.target.hasOwnMemory)
            return std::min(kWave, left);
        size_t count{0};
        for (int64_t bytes = 0; count < std::min(kWave * threads, left); ++count)
        {
            bytes += constantBytes(mTrials[first + count]);
            if (count >= kWave && bytes > kAheadBytes)
                break;
        }
        return count;
    }

    //! Of what a trial may pack.
    int64_t constantBytes(Trial const& trial) const
    {
        int64_t bytes{0};
        for (ValueId const input : mGraph.node(mChoices[trial.choice].node).inputs)
            if (Constant const* const constant = mGraph.constantOf(input); constant != nullptr && !trial.isKnown)
                bytes += constant->bytes();
        return bytes;
    }

    TimedTactics::Key entryOf(Trial const& trial) const
    {
        return TimedTactics::keyOf(fmt::format("{} threads {}", mRequest.hostThreads, trial.key));
    }

    //! Takes the times of earlier builds.
    Result<Done> recall()
    {
        TimedTactics const* const tactics = mRequest.known.tactics;
        for (Trial& trial : mTrials)
            if (auto const entry = tactics == nullptr ? std::nullopt : tactics->find(entryOf(trial)))
            {
                trial.isKnown = true;
                trial.microseconds = std::min(static_cast<double>(entry->milliseconds) * 1000.0, kNever);
            }
            else if (mRequest.known.mustKnow)
                return badConfig("[layer '{}'] the timing cache has no time of {}, and "
                                 "BuilderFlag::kERROR_ON_TIMING_CACHE_MISS forbids to measure it",
                    mGraph.node(mChoices[trial.choice].node).name,
                    mChoices[trial.choice].offers[trial.offer].candidate);
        return Done{};
    }

    //! From here on the time is the one that a later build reads.
    void keep(Trial& trial) const
    {
        if (mRequest.known.tactics == nullptr || trial.failure)
            return;
        auto const milliseconds = static_cast<float>(trial.microseconds / 1000.0);
        trial.microseconds = static_cast<double>(milliseconds) * 1000.0;
        mRequest.known.tactics->add(
            entryOf(trial), {tacticHash(mChoices[trial.choice].offers[trial.offer]), milliseconds});
    }

    void collect()
    {
        for (size_t i = 0; i < mChoices.size(); ++i)
        {
            if (!isTimed(mChoices[i]))
                continue;
            for (size_t k = 0; k < mChoices[i].offers.size(); ++k)
                if (isTried(mChoices[i].offers[k]))
                {
                    std::string key = mMaker.keyOf(mGraph.node(mChoices[i].node), mChoices[i].offers[k]);
                    if (mByKey.try_emplace(key, mTrials.size()).second)
                        mTrials.push_back({i, k, std::move(key), {}, {}, {}});
                }
        }
    }

    Result<Done> runWave(
        std::span<Trial> wave, std::function<bool()> const& afterTrial, std::function<void()> const& alongside)
    {
        size_t const more = alongside ? 1 : 0;
        TENON_TRY(sideBySide({.count = wave.size() + more,
            .threads = mRequest.kernels.threads,
            .work = [&](size_t index) -> Result<Done> {
                if (index < more)
                {
                    alongside();
                    return Done{};
                }
                Trial& trial = wave[index - more];
                if (trial.isKnown)
                    return Done{};
                Choice const& choice = mChoices[trial.choice];
                auto kernel = buildKernel(mRequest.kernels, mGraph.node(choice.node), choice.offers[trial.offer]);
                if (kernel)
                    trial.kernel = *std::move(kernel);
                else
                    trial.failure = std::move(kernel).error();
                if (kernel && isPreparedAhead(trial))
                    load(trial);
                return Done{};
            },
            .afterPiece = [] { return true; }}));
        for (Trial& trial : wave)
        {
            if (!trial.failure && !trial.isKnown && trial.loaded == nullptr)
                load(trial);
            if (!trial.failure && !trial.isKnown)
            {
                Result<Done> timed = guarded(mGraph, mGraph.node(mChoices[trial.choice].node), [&]() -> Result<Done> {
                    trial.microseconds = TENON_TRY(timeOf(trial));
                    return Done{};
                });
                if (!timed)
                    trial.failure = std::move(timed).error();
            }
            trial.loaded.reset();
            trial.kernel.reset();
            if (!trial.isKnown)
                keep(trial);
            if (!afterTrial())
                return cancelled();
        }
        return Done{};
    }

    //! Its kernel, ready to run, or the failure.
    void load(Trial& trial) const
    {
        Choice const& choice = mChoices[trial.choice];
        Node const& node = mGraph.node(choice.node);
        Result<Done> loaded = guarded(mGraph, node, [&]() -> Result<Done> {
            trial.loaded = TENON_TRY(mMaker.load(node, choice.offers[trial.offer], *std::move(trial.kernel)));
            return Done{};
        });
        if (!loaded)
            trial.failure = std::move(loaded).error();
    }

    Result<double> timeOf(Trial const& trial)
    {
        LoadedTrial const& loaded = *trial.loaded;
        TrialOperands operands{mMemory, mChoices[trial.choice].offers[trial.offer].place};
        for (size_t i = 0; i < loaded.inputs.size(); ++i)
            if (WeightArg const& weight = loaded.source.weights[i]; weight.data != nullptr && loaded.inputs[i].present)
                TENON_TRY(operands.addConstant({static_cast<uint8_t const*>(weight.data), weight.bytes}));
            else
                TENON_TRY(operands.addInput(loaded.inputs[i]));
        for (TensorArg const& output : loaded.outputs)
            TENON_TRY(operands.addOutput(output));
        Launch const launch = TENON_TRY(operands.launch(*loaded.prepared));
        return measure(mRequest.device, {&launch, 1},
            {.rounds = mRequest.rounds,
                .runs = std::max(mRequest.runs, kLeastRuns),
                .hostThreads = mRequest.hostThreads});
    }

    //! Times in place of estimates; what failed drops out, and the reference where another one has run.
    Result<Done> settle(Choice& choice) const
    {
        if (!isTimed(choice))
            return Done{};
        std::vector<Offer> kept;
        std::vector<Offer> behind;
        Error const* failure{nullptr};
        for (Offer& offer : choice.offers)
        {
            if (isReference(offer))
            {
                behind.push_back(std::move(offer));
                continue;
            }
            if (isTried(offer))
            {
                Trial const& trial = mTrials[mByKey.at(mMaker.keyOf(mGraph.node(choice.node), offer))];
                if (trial.failure)
                {
                    failure = &*trial.failure;
                    choice.refused.push_back({offer.candidate, "its trial failed: " + failure->message});
                    continue;
                }
                offer.cost = trial.microseconds;
            }
            kept.push_back(std::move(offer));
        }
        if (std::ranges::none_of(kept, isTried))
            std::ranges::move(behind, std::back_inserter(kept));
        if (kept.empty())
            return Error{*failure}.in(fmt::format("[layer '{}']", mGraph.node(choice.node).name));
        choice.offers = std::move(kept);
        choice.isTimed = true;
        return Done{};
    }

    TimingRequest const& mRequest;
    TrialMemory& mMemory;
    Graph const& mGraph;
    Trials mMaker;
    std::vector<Choice>& mChoices;
    std::vector<Trial> mTrials;
    std::map<std::string, size_t> mByKey;
};

//! Copies into another layout, once per type and extents.
class SeamTimer
{
  public:
    SeamTimer(TimingRequest const& request, SeamCosts& seams, TrialMemory& memory)
        : mRequest{request},
          mMemory{memory},
          mSeams{seams}
    {
        for (Layout const layout : request.kernels.target.layouts)
            if (layout != Layout::kLinear && mOther == Layout::kLinear)
                mOther = layout;
        for (size_t i = 0; mOther != Layout::kLinear && i < mSeams.reorder.size(); ++i)
            if (mSeams.reorder[i] > 0.0)
                mCopies[copyOf(i)].push_back(i);
    }

    size_t trials() const noexcept
    {
        return mCopies.size();
    }

    //! Has a copy's kernel compiled, which all of them share, and which takes longer than any other.
    void compile() const
    {
        if (!mCopies.empty() && !isKnown(mCopies.begin()->first))
            static_cast<void>(prepared(mCopies.begin()->first)); // Its failure is told when it is to run.
    }

    Result<Done> run(std::function<bool()> const& afterTrial)
    {
        for (auto const& [copy, values] : mCopies)
        {
            Result<double> const time = knownTimeOf(copy);
            for (size_t const value : values)
                mSeams.reorder[value] = time ? *time : mSeams.reorder[value]; // No such copy: the estimate stays.
            if (!afterTrial())
                return cancelled();
        }
        mSeams.isMeasured = true;
        return Done{};
    }

  private:
    using Copy = std::pair<DType, std::vector<int64_t>>;

    Copy copyOf(size_t value) const
    {
        TensorType const& type = mRequest.kernels.graph.typeOf(static_cast<ValueId>(value));
        Copy copy{type.dtype, {}};
        for (ShapeExpr const& extent : type.shape)
            copy.second.push_back(extent.evaluate(mRequest.kernels.typical));
        return copy;
    }

    TimedTactics::Key entryOf(Copy const& copy) const
    {
        KeyWriter key;
        key.add("copy");
        key.add(mRequest.hostThreads);
        key.add(copy.first, mOther, copy.second);
        return TimedTactics::keyOf(key.take());
    }

    bool isKnown(Copy const& copy) const
    {
        TimedTactics const* const tactics = mRequest.known.tactics;
        return tactics != nullptr && tactics->find(entryOf(copy)).has_value();
    }

    Result<double> knownTimeOf(Copy const& copy)
    {
        KnownTimes const& known = mRequest.known;
        if (known.tactics == nullptr)
            return timeOf(copy);
        TimedTactics::Key const entry = entryOf(copy);
        if (auto const found = known.tactics->find(entry))
            return static_cast<double>(found->milliseconds) * 1000.0;
        Result<double> const time = timeOf(copy);
        if (!time)
            return time;
        auto const milliseconds = static_cast<float>(*time / 1000.0);
        known.tactics->add(entry, {0, milliseconds});
        return static_cast<double>(milliseconds) * 1000.0;
    }

    struct PreparedCopy
    {
        TensorArg from;
        TensorArg to;
        std::unique_ptr<Kernel> kernel;
        std::shared_ptr<Prepared const> step;
    };
    Result<PreparedCopy> prepared(Copy const& copy) const
    {
        PreparedCopy made{{copy.first, Layout::kLinear, copy.second}, {copy.first, mOther, copy.second}, {}, {}};
        KernelSpec const spec = mRequest.kernels.backend.reorder();
        KernelSource const source{.kernel = spec.kernel, .args = spec.args, .weights = {{}}, .layer = "reorder"};
        made.kernel = TENON_TRY(mRequest.device.load(source));
        made.step = TENON_TRY(made.kernel->prepare({&made.from, 1}, {&made.to, 1}, mRequest.hostThreads));
        return made;
    }

    Result<double> timeOf(Copy const& copy)
    {
        PreparedCopy const made = TENON_TRY(prepared(copy));
        TrialOperands operands{mMemory};
        TENON_TRY(operands.addInput(made.from));
        TENON_TRY(operands.addOutput(made.to));
        Launch const launch = TENON_TRY(operands.launch(*made.step));
        return measure(mRequest.device, {&launch, 1}, {.runs = kLeastRuns, .hostThreads = mRequest.hostThreads});
    }

    TimingRequest const& mRequest;
    TrialMemory& mMemory;
    SeamCosts& mSeams;
    Layout mOther{Layout::kLinear};              //!< The first of the target's that is another.
    std::map<Copy, std::vector<size_t>> mCopies; //!< Values by what copying them takes.
};
} // namespace

Result<Done> timeOffers(TimingRequest const& request, Choices& choices, SeamCosts& seams, TrialListener const& listener)
{
    TrialMemory memory{request.device};
    OfferTimer offers{request, choices, memory};
    SeamTimer copies{request, seams, memory};
    listener.start(offers.trials() + copies.trials());
    std::function<void()> const compile = [&] { copies.compile(); };
    TENON_TRY(offers.run(listener.afterTrial, request.kernels.target.hasOwnMemory ? compile : nullptr));
    return copies.run(listener.afterTrial);
}

} // namespace tenon::planner
