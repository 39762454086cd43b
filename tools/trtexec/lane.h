// Lane: an execution context with its streams, and the queries that go through it.
#pragma once

#include "gpu_memory.h"
#include "host_handles.h"
#include "io_tensors.h"
#include "log.h"
#include "options.h"

#include "NvInfer.h"

#include <array>
#include <memory>
#include <vector>

namespace tenon::trtexec
{

//! Milliseconds since the start of the measuring.
struct QueryTimes
{
    double enqueueStart{0.0};
    double enqueueEnd{0.0};
    double h2dStart{0.0};
    double h2dEnd{0.0};
    double computeStart{0.0};
    double computeEnd{0.0};
    double d2hStart{0.0};
    double d2hEnd{0.0};

    double enqueue() const
    {
        return enqueueEnd - enqueueStart;
    }
    double h2d() const
    {
        return h2dEnd - h2dStart;
    }
    double compute() const
    {
        return computeEnd - computeStart;
    }
    double d2h() const
    {
        return d2hEnd - d2hStart;
    }
    double latency() const
    {
        return h2d() + compute() + d2h();
    }
};

class Lane
{
  public:
    //! Makes the context. Throws std::runtime_error.
    Lane(nvinfer1::ICudaEngine& engine, InferenceOptions const& options, uint32_t seed);

    //! Shapes, contents, room. Throws std::runtime_error.
    void prepare(cli::Shapes const& shapes, cli::GivenInputs const& inputs);
    //! Records a run to launch instead of enqueuing; a warning where that fails.
    void capture(Log const& log);

    //! The lane's work waits for `start`, from which times count; `now` is the time there, by the program's clock.
    void begin(void* start, double (*now)(void const*), void const* clock);
    //! Enqueues one query; with two in flight it first waits for the older one.
    void query();
    //! Waits for all that is in flight; throws std::runtime_error where some of it failed.
    void drain();

    std::vector<QueryTimes> const& times() const
    {
        return mTimes;
    }
    nvinfer1::IExecutionContext& context()
    {
        return *mContext;
    }
    cli::IoTensors const& tensors() const
    {
        return *mTensors;
    }

  private:
    struct Slot
    {
        HostEvent h2dStart{makeEvent()};
        HostEvent h2dEnd{makeEvent()};
        HostEvent computeStart{makeEvent()};
        HostEvent computeEnd{makeEvent()};
        HostEvent d2hStart{makeEvent()};
        HostEvent d2hEnd{makeEvent()};
        QueryTimes times;
        bool isInFlight{false};
    };
    void* input() const
    {
        return (mInput.get() != nullptr ? mInput : mCompute).get();
    }
    void* output() const
    {
        return (mOutput.get() != nullptr ? mOutput : mCompute).get();
    }
    void enqueueCopiesAndRun(Slot& slot, Slot const& before);
    //! Copies and run one after the other, each waited for: its times are the program's clock's.
    void queryGpu();
    void* computeStream() const
    {
        return mGpu == nullptr ? mCompute.get() : mGpu->handle();
    }
    void launch();
    void await(Slot& slot);

    nvinfer1::ICudaEngine* mEngine;
    InferenceOptions const* mOptions;
    std::unique_ptr<cli::EngineStream> mGpu; //!< Null where memory is the program's.
    HostStream mCompute{makeStream()};
    HostStream mInput;  //!< Of its own where queries overlap.
    HostStream mOutput; //!< The same.
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    cli::Buffer mMemory;       //!< Of a context that has none of its own.
    cli::GpuMemory mGpuMemory; //!< The same on a GPU.
    std::unique_ptr<cli::IoTensors> mTensors;
    HostGraph mGraph;
    HostExecutable mExecutable;
    std::array<Slot, 2> mSlots;
    size_t mCount{0};
    void* mStart{nullptr};
    double (*mNow)(void const*){nullptr};
    void const* mClock{nullptr};
    std::vector<QueryTimes> mTimes;
};

} // namespace tenon::trtexec
