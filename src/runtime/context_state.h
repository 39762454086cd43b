// ContextState: what a context remembers between calls, and the buffers that make a run free of allocation.
#pragma once

#include "base/recorder.h"
#include "runtime/context.h"
#include "runtime/context_allocator.h"
#include "runtime/engine_state.h"
#include "runtime/frame.h"

#include <atomic>

namespace tenon
{

struct ContextState : public std::enable_shared_from_this<ContextState>
{
    using Dims = nvinfer1::Dims64;

    ContextState(std::shared_ptr<Engine> parent, MemoryStrategy how);

    std::shared_ptr<Engine> owner;
    EngineState const& engine;
    MemoryStrategy strategy;
    Log log;
    std::string name;
    int32_t threads{1};
    int32_t profile{0};

    std::vector<Dims> set;  //!< Per input: as the user set it; −1 where nothing is set.
    std::vector<Dims> dims; //!< Per input: with what the profile and dimension names imply.
    std::vector<void*> addresses;
    std::vector<OwnValues> ownValues; //!< Per input: values that the context has copied; null: none.
    //! Per I/O tensor: room for an output that is a shape tensor, which callers by index need not give.
    std::vector<std::vector<std::byte>> spareValues;
    std::vector<nvinfer1::IOutputAllocator*> allocators;

    std::shared_ptr<DeviceMemory> memory; //!< Never null; runs under way keep what they use.
    void* userMemory{nullptr};
    int64_t userBytes{0};
    DeviceMemory apartMemory;              //!< For observed runs that keep inputs.
    std::shared_ptr<DeviceMemory> scratch; //!< Never null.
    nvinfer1::IGpuAllocator* temporary{nullptr};
    void* consumed{nullptr}; //!< Event of the user's.

    // ---- of runs that go on
    std::atomic<bool> hasFailed{false}; //!< One of them, after its call had returned.
    std::atomic<int32_t> recordings{0}; //!< Frames of captures.

    // ---- of the run at hand: the user's callbacks may ask the context, and must not touch this
    std::atomic<bool> isRunning{false}; //!< From the call of a run to its return, not while its work goes on.
    ShapeKey key;
    ShapeKey tailKey;
    std::shared_ptr<PreparedRun const> run;
    std::vector<std::shared_ptr<PreparedTail const>> tails; //!< By segment; [0] is unused.
    std::vector<Span> symbols;
    std::vector<Span> registers;
    std::vector<uint8_t> known; //!< Per symbol.
    std::vector<void*> now;     //!< Address of each I/O tensor in this run.
    std::vector<uint8_t> given; //!< Per output: its allocator has been asked in this run.
    std::vector<std::shared_ptr<Frame>> frames;

    // ---- kernels that keep state for this context
    std::unique_ptr<ContextAllocator> allocator;
    RecorderSlot recorder;                                        //!< The context's, for custom layers to ask for.
    std::vector<std::unique_ptr<Attached>> attached;              //!< By step; empty: no step has any.
    bool isAttached{false};                                       //!< Whether the steps have been asked for them.
    std::vector<std::shared_ptr<PreparedTail const>> reshapedFor; //!< By segment, what they were told last.
    std::shared_ptr<PreparedRun const> reshapedRun;
    std::vector<void*> reshapedInputs; //!< Addresses of network inputs then.

    //! Asks every kernel for its copy, once. A context whose memory the user gives waits until it has it (J8).
    Result<Done> attachKernels();
    //! Other memory for activations; runs under way keep theirs.
    Result<Done> takeMemory(int64_t bytes);
    //! One that no work uses. Waits for the oldest when very many are under way, but not in a stream's work. Null:
    //! `mayContinue` ended the waiting.
    std::shared_ptr<Frame> freeFrame(ContinueCheck const* mayContinue);
    //! False: `mayContinue` ended the waiting.
    bool waitForFrames(ContinueCheck const* mayContinue = nullptr) const;
    bool hasFramesUnderWay() const;
    //! Runs that are over give back what they used, such as memory that the context has exchanged meanwhile.
    void settleFrames() const;
    //! Fills dims from set, profile and dimension names.
    void refreshDims();
    //! Dimensions of an input that is about to be set fit the profile wherever other inputs have them by name, too.
    Result<Done> checkNamed(int32_t input, nvinfer1::Dims64 const& given) const;
    //! Intervals of all symbols; values of shape tensors are read from `from` where an address is, else the profile's.
    void findSymbols(std::span<void* const> from, std::span<Span> into) const;
    //! All registers for the shapes that are set and values of shape tensors at these addresses; what only running
    //! tells lies within its bounds.
    std::vector<Span> registersFor(std::span<void* const> from) const;
    std::vector<Span> registersNow() const
    {
        return registersFor(addresses);
    }
    bool hasShape(size_t input) const noexcept;
    //! Sets `run` for the shapes that are set.
    Result<Done> selectRun(bool apart, std::span<void* const> from);
    //! The prepared run for the shapes and addresses that are set.
    Result<std::shared_ptr<PreparedRun const>> runNow() const;
    //! An error in callbacks of its own custom layers, also of those whose run goes on in another thread.
    Result<Done> checkCaller() const;
    //! Calls that take away what a run uses are refused in its callbacks.
    Result<Done> checkNotRunning() const;
    static Error isBusy();
};

//! Element `index` of a shape tensor on the host; of floating ones, realBits().
int64_t shapeValue(PlanIO const& io, void const* data, int32_t index) noexcept;
//! Writes the values of a shape tensor; with `real`, they are realBits().
void writeShapeValues(PlanIO const& io, void* data, std::span<int64_t const> values, bool real) noexcept;
Result<Done> runOnce(ContextState& state, RunRequest const& request);

} // namespace tenon
