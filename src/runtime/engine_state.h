// EngineState: what an engine derives from its program once, and the caches that its contexts share.
#pragma once

#include "plan/blocks.h"
#include "runtime/engine.h"
#include "runtime/loaded_program.h"
#include "runtime/lru_cache.h"
#include "runtime/prepared_run.h"
#include "runtime/weight_budget.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace tenon
{

//! Plans count with int32_t.
constexpr size_t asSize(int32_t index) noexcept
{
    return static_cast<size_t>(index);
}

//! Where the memory of a tensor's root is.
struct TensorPlace
{
    int32_t root{-1};
    PlanTensorKind kind{PlanTensorKind::kActivation}; //!< Of the root.
    int32_t index{-1};                                //!< Of the root: I/O tensor or weight.
    int32_t block{-1};                                //!< Of the root when it is an activation.
    int32_t blockApart{-1};                           //!< The same when no memory is shared in place.
    int32_t part{-1};                                 //!< Of the tensor itself: a slice that a loop moves.
};

//! A slice that a loop moves from round to round.
struct PartFacts
{
    PlanPart const* part{nullptr};
    int32_t outer{-1}; //!< The slice that it is a slice of; −1: a tensor that stays.
};

//! A loop or conditional in terms of segments.
struct ControlFacts
{
    size_t begin{0};
    size_t middle{0};
    size_t end{0};
    size_t middleControl{0};      //!< The first control within its second part.
    size_t next{0};               //!< The first control behind it.
    std::vector<int32_t> symbols; //!< That steps within it tell.
    std::vector<int32_t> parts;
};

//! Where one pointer of a launch comes from.
struct Slot
{
    enum class From : uint8_t
    {
        kNothing,
        kBlock,
        kIO,
        kWeight,
        kHostWeight, //!< Where the plan lies.
    };
    From from{From::kNothing};
    int32_t index{-1}; //!< Block, I/O tensor or weight.
    int32_t blockApart{-1};
    int32_t part{-1}; //!< Slice of that; −1: all of it.
};

//! A range of positions; of steps: those that are prepared together, up to one whose results decide shapes, or to the
//! end.
struct Segment
{
    int32_t first{0};
    int32_t last{0}; //!< One past.
};

struct StepSlots
{
    size_t firstInput{0};
    size_t firstOutput{0};
    size_t firstProduced{0};
};

//! An output whose extents the step that writes it tells.
struct IOFacts
{
    int32_t tensor{-1};     //!< In the program; −1: an input that nothing uses.
    int32_t writer{-1};     //!< Step that writes an output.
    int32_t knownAfter{-1}; //!< Step after which all extents are known; −1: before the run.
    int32_t staging{-1};    //!< Block for results of unknown size; −1: none.
    int32_t stagingApart{-1};
    int32_t valuesTensor{-1};  //!< kValues tensor whose values a shape output holds.
    bool hasRealValues{false}; //!< Those are real numbers.
    bool isRead{false};
    bool isReadBySteps{false}; //!< Not for its values alone.
};

struct EngineState
{
    explicit EngineState(EngineOptions given)
        : options{std::move(given)}
    {
    }

    std::shared_ptr<Plan const> plan;
    EngineOptions options;
    Program const* program{nullptr};
    int32_t threads{1};

    std::unordered_map<std::string_view, int32_t> ioByName;
    int32_t inputs{0};
    std::vector<IOFacts> io;

    std::vector<int32_t> order;   //!< Of registers.
    std::vector<Segment> follows; //!< By symbol: the part of `order` that has all that follows from it.
    std::vector<int32_t> knownAfter;
    std::vector<Segment> segments;
    //! By segment: registers that its steps are prepared for, as far as only running tells them.
    std::vector<std::vector<int32_t>> toldRegisters;
    std::vector<uint8_t> hasParts; //!< Per segment: some operand is a slice that a loop moves.
    std::vector<bool> handovers;   //!< By step: see handoversOf().
    std::vector<int32_t> regionOf; //!< By step: see regionsOf().
    std::vector<float>
        costs; //!< Per segment: microseconds on one thread at the shapes it was planned for, as estimated.
    bool hasSizesOfData{false}; //!< Values of inputs or of run time decide extents, and with them what steps cost.
    std::vector<ControlFacts> controls; //!< One per control of the program.
    std::vector<PartFacts> parts;
    std::vector<uint8_t> decidesShapes; //!< Per symbol: an extent follows from it.
    std::vector<TensorPlace> places;
    BlockPlan shared;
    BlockPlan apart; //!< Nothing in place.
    std::vector<StepSlots> stepSlots;
    std::vector<Slot> inputSlots;
    std::vector<Slot> outputSlots;
    int32_t inputsReadUntil{0}; //!< Position of the first step from which on none reads an input of the network.
    int32_t auxStreams{0};      //!< Beside a run's own, that steps are spread over.
    size_t produced{0};         //!< Room for values that steps produce, over all steps.

    //! Computed when first asked for, one per profile.
    mutable std::mutex boundMutex;
    mutable std::vector<std::optional<ArenaBound>> bounds;

    //! Around calls of kernels that hold the user's objects. Such an object may ask for a context of this very engine.
    mutable std::recursive_mutex attachMutex;
    std::mutex refitMutex;                      //!< Around the making of another loaded program.
    std::unique_ptr<WeightBudget> weightBudget; //!< Null: weights are not streamed.
    //! What is prepared for shapes, over all contexts, profiles and thread counts.
    mutable LruCache<PreparedRun> runs{options.preparedBytes / 2};
    mutable LruCache<PreparedTail> tails{options.preparedBytes / 2};

    Device& device() const noexcept
    {
        return *options.device;
    }
    //! What runs that are prepared from now on run.
    std::shared_ptr<LoadedProgram const> loaded() const
    {
        std::scoped_lock const lock{mLoadedMutex};
        return mLoaded;
    }
    //! Runs that have been prepared go on with theirs; none is prepared for it any more.
    void setLoaded(std::shared_ptr<LoadedProgram const> program)
    {
        {
            std::scoped_lock const lock{mLoadedMutex};
            mLoaded.swap(program);
        }
        runs.clear();
        tails.clear();
    }
    PlanProfileInput const* profileInput(int32_t profile, int32_t input) const noexcept;
    //! A kernel's copy for a context. Kernels hold the user's objects: one thread at a time.
    Result<std::unique_ptr<Attached>> attach(size_t step, ContextResources const& resources) const;

  private:
    mutable std::mutex mLoadedMutex;
    std::shared_ptr<LoadedProgram const> mLoaded;
};

//! Fills what follows from plan and program; loads kernels and weights.
Result<std::unique_ptr<EngineState>> loadEngine(std::shared_ptr<Plan const> plan, EngineOptions options);
Result<ArenaBound const*> boundOf(EngineState const& engine, int32_t profile);

} // namespace tenon
