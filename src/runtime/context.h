// Context: one run state of an engine: profile, shapes, addresses, memory. One thread's at a time.
#pragma once

#include "plan/register_values.h"
#include "runtime/engine.h"

#include <functional>
#include <optional>

namespace tenon
{

struct ContextState;
class InputShapes;

using MemoryStrategy = nvinfer1::ExecutionContextAllocationStrategy;

//! What an observer sees after a step has run.
struct ObservedStep
{
    int32_t index{0}; //!< Into program().steps.
    PlanStep const* step{nullptr};
    std::span<TensorArg const> inputs;
    std::span<TensorArg const> outputs; //!< Extents that depend on data are the true ones.
    std::span<void const* const> inputData;
    std::span<void* const> outputData;
    double microseconds{0.0};
};

//! False stops the run, which then fails.
using Observer = std::function<bool(ObservedStep const& step)>;

struct RunRequest
{
    //! On 0 and 1 the run is over when the call returns, on others it goes on unless sizes depend on data.
    void* stream{nullptr};
    void* consumed{nullptr};           //!< Event to record when the inputs have been read; null: none.
    bool isSynchronous{false};         //!< Return when the work is done, on any stream.
    void* const* bindings{nullptr};    //!< One per I/O tensor; null: the addresses that were set (and allocators).
    Observer const* observer{nullptr}; //!< The call returns when the work is done.
    std::shared_ptr<StepObserver const> timer{}; //!< Told of times only, on any thread: the run may go on.
    StepRanges const* ranges{nullptr};           //!< RunOptions::ranges.
    ContinueCheck const* mayContinue{nullptr};
    bool* hasBegun{nullptr}; //!< Set when steps have been given to the device, whatever became of them then.
    bool keepInputs{false};  //!< No step writes over its own inputs, so that an observer can check them.
};

//! Every handle keeps its parents alive. A call that fails changes nothing.
class Context
{
  public:
    using Dims = nvinfer1::Dims64;

    //! Profile 0 is selected (Q1).
    static Result<std::unique_ptr<Context>> create(std::shared_ptr<Engine> engine, MemoryStrategy strategy);
    ~Context(); //!< Waits for runs under way, but where the caller does a stream's work itself.
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    Engine& engine() const noexcept;
    Log const& log() const noexcept;     //!< At first the engine's.
    void setLog(Log log);                //!< Before the first run.
    void setRecorder(Recorder recorder); //!< While other threads run and ask the context, too.
    void setThreads(int32_t threads);    //!< 0: the engine's.
    void setSpin(int64_t microseconds);  //!< −1: the device's own.

    // ---- shapes
    int32_t profile() const noexcept;
    //! Forgets the shapes of all dynamic inputs (Q3).
    Result<Done> setProfile(int32_t index, void* stream = nullptr);
    Result<Done> setInputShape(char const* name, Dims const& dims);
    //! −1 where an extent is not known (yet, or before running).
    Result<Dims> tensorShape(char const* name) const;
    //! In elements; nbDims −1 until the shape is known.
    Result<Dims> tensorStrides(char const* name) const;
    //! Names of inputs that lack a shape or, for shape tensors, an address; empty: all shapes are known, and outputs
    //! that are shape tensors with an address have been written. An error is the public −1.
    Result<std::vector<char const*>> inferShapes();
    bool allInputShapesSet() const noexcept;
    //! All registers of the program, as far as what is set tells them; the same ones again until other things are set.
    std::shared_ptr<std::vector<Span> const> registers() const;
    //! Copies the values of a shape-tensor input, which serve runs until other values or an address are set, or the
    //! profile changes. They lie within the profile.
    Result<Done> setShapeValues(int32_t io, std::span<int64_t const> values);
    //! Values of a shape tensor: of an input as they are now, of an output once all shapes and values of inputs are
    //! set.
    Result<std::vector<int64_t>> shapeValues(int32_t io) const;
    //! Whether every shape-tensor input has an address or values.
    bool allShapeValuesSet() const noexcept;
    //! Upper bound in bytes for the input shapes at hand (Q17); with `bindings`, for a run with those addresses.
    Result<int64_t> maxOutputSize(char const* name, void* const* bindings = nullptr) const;

    // ---- addresses
    Result<Done> setTensorAddress(char const* name, void* data);
    Result<Done> setInputAddress(char const* name, void const* data);
    Result<Done> setOutputAddress(char const* name, void* data);
    void const* tensorAddress(char const* name) const noexcept;
    void* outputAddress(char const* name) const noexcept;
    Result<Done> setOutputAllocator(char const* name, nvinfer1::IOutputAllocator* allocator);
    nvinfer1::IOutputAllocator* outputAllocator(char const* name) const noexcept;

    // ---- memory
    MemoryStrategy strategy() const noexcept;
    //! Only for kUSER_MANAGED. Without `bytes`: as many as the engine asks for over all profiles.
    Result<Done> setDeviceMemory(void* memory, std::optional<int64_t> bytes);
    //! Bytes that runs of the current shapes need; at most the engine's answer for the profile (Q19).
    Result<int64_t> updateDeviceMemorySizeForShapes();
    Result<Done> setTemporaryAllocator(nvinfer1::IGpuAllocator* allocator); //!< For scratch; null: the engine's.
    nvinfer1::IGpuAllocator* temporaryAllocator() const noexcept;

    // ---- running
    //! Checks the event; runs record it from now on when they have read their inputs. Null: none.
    Result<Done> setInputConsumedEvent(void* event);
    void* inputConsumedEvent() const noexcept;
    //! Streams for what runs beside a run's own; those that the engine has no use for are ignored (S6).
    Result<Done> setAuxStreams(std::span<void* const> streams);
    Result<Done> enqueue(void* stream);
    //! Synchronous, pointers in I/O index order (S7); output allocators are not asked (R1).
    Result<Done> execute(void* const* bindings);
    Result<Done> run(RunRequest const& request);
    //! Waits for the run that this timer was given to.
    void awaitTimed(StepObserver const& timer);
    Result<Done> runObserved(Observer const& observer, bool keepInputs = false);

  private:
    explicit Context(std::shared_ptr<ContextState> state);
    //! Those without a shape or, for shape tensors, an address.
    std::vector<char const*> missingInputs(InputShapes const& shapes) const;
    std::shared_ptr<ContextState> mState; //!< Runs that were captured keep it, too.
};

} // namespace tenon
