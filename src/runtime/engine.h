// Engine: a plan on a device: kernels loaded, weights in place, queries by tensor name. Shared by its contexts.
#pragma once

#include "base/log.h"
#include "device/device.h"
#include "plan/plan.h"

#include "NvInferRuntime.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tenon
{

struct EngineState;
class WeightBudget;

struct EngineOptions
{
    Device* device{nullptr}; //!< Must have a program in the plan and outlive the engine.
    Log log;
    nvinfer1::IGpuAllocator* allocator{nullptr}; //!< Null: the device's own.
    int32_t threads{0};                          //!< Of a run; 0: the device's default.
    PluginSource const* plugins{nullptr};        //!< Where custom layers come from; `parent` keeps it alive.
    size_t preparedBytes{size_t{64} << 20};      //!< What is kept for seen shapes: thousands of them for most networks.
    bool allowsHostCode{false};                  //!< Code in the plan may be loaded into the process.
    std::string temporaryFolder; //!< Where streamed weights are, when they are not in memory; empty: the system's.
    std::shared_ptr<void const> parent; //!< Kept alive (the runtime or builder that makes the engine).
};

//! Immutable after creation but for its log and weights; calls may come from several threads at once. Calls that take
//! a profile answer an error for an index that does not exist, and calls that take a name for a name that is not an
//! I/O tensor: the API turns these into the standard answer of each query (rules P1, P5).
class Engine : public std::enable_shared_from_this<Engine>
{
  public:
    using Select = nvinfer1::OptProfileSelector;
    using Dims = nvinfer1::Dims64;

    //! Loads every kernel. A plan that was not read from a blob is checked first (checkPlan).
    static Result<std::shared_ptr<Engine>> create(std::shared_ptr<Plan const> plan, EngineOptions options);
    ~Engine();
    Engine(Engine const&) = delete;
    Engine& operator=(Engine const&) = delete;

    Plan const& plan() const noexcept;
    std::shared_ptr<Plan const> const& sharedPlan() const noexcept;
    //! The plan with what its custom layers store now (they are asked again, J14); null: nothing has changed.
    Result<std::unique_ptr<Plan>> changedPlan() const;
    //! The plan's program for the engine's device: tensors, steps, shape instructions (for inspection and tests).
    Program const& program() const noexcept;
    Device& device() const noexcept;
    Log& log() noexcept;
    Log const& log() const noexcept;
    nvinfer1::IGpuAllocator* allocator() const noexcept;
    PluginSource const* plugins() const noexcept;
    int32_t threads() const noexcept;         //!< Of a run, as resolved.
    std::string const& name() const noexcept; //!< The network's.
    int32_t layerCount() const noexcept;      //!< Steps of the program (P8).
    int32_t auxStreams() const noexcept;      //!< Beside a run's own, that its steps are spread over.

    // ---- I/O tensors: inputs, then outputs, each in network order (P6)
    int32_t ioCount() const noexcept;
    int32_t inputCount() const noexcept;
    //! Index of an I/O tensor, −1 when there is none of the name (null included).
    int32_t findIO(char const* name) const noexcept;
    PlanIO const& io(int32_t index) const;
    Result<int32_t> ioOf(char const* name) const; //!< As findIO; the error names the tensor.
    //! Extents, −1 for those of run time (P2): where all profiles leave one value for an extent, it is that.
    Result<Dims> shape(char const* name) const;
    //! True when the tensor is a shape tensor, which lives on the host.
    Result<bool> isShapeIO(char const* name) const;
    //! True when steps read the input's data, or shapes depend on its values: its address must be set (S1).
    bool isRead(int32_t io) const noexcept;
    //! True when steps read the input's data.
    bool isReadBySteps(int32_t io) const noexcept;

    // ---- profiles
    int32_t profileCount() const noexcept; //!< At least 1 (F6).
    Result<Done> checkProfile(int32_t profile) const;
    //! Of an input; static inputs answer their own shape.
    Result<Dims> profileShape(char const* name, int32_t profile, Select select) const;
    //! Bounds of the values of a shape-tensor input; valid as long as the engine.
    Result<std::span<int64_t const>> profileValues(char const* name, int32_t profile, Select select) const;
    //! Whether a profile's values of an input were given as 32 bits.
    bool hasNarrowValues(int32_t io, int32_t profile) const noexcept;

    // ---- memory
    //! Bytes of activations that suffice for every shape of the profile. Kernels' scratch is not in it: a context takes
    //! that as temporary storage, sized for the shapes that it runs.
    Result<int64_t> deviceMemorySize(int32_t profile) const;
    //! The most over all profiles.
    Result<int64_t> deviceMemorySize() const;
    int64_t weightBytes() const noexcept;
    //! Null: all weights stay in memory. Its budget may change at any time; `setWeightBudget` does so.
    WeightBudget const* weightBudget() const noexcept;
    //! What stays of the weights from now on. What does not leaves at once, and comes back when a step reads it.
    Result<Done> setWeightBudget(int64_t bytes);
    //! Those of the plan with the data that runs use now; what is lacking has none.
    std::vector<PlanWeight> weights() const;
    //! Other data in the same forms, by the plan's places. Runs under way end with what they began with, later ones of
    //! all contexts use these, and none sees some of both.
    Result<Done> replaceWeights(std::vector<PlanWeight> weights);
    //! Shapes whose preparation is kept, over all contexts.
    size_t preparedRuns() const noexcept;

    EngineState const& state() const noexcept //!< For Context.
    {
        return *mState;
    }

  private:
    explicit Engine(std::unique_ptr<EngineState> state);
    std::unique_ptr<EngineState> mState;
};

} // namespace tenon
