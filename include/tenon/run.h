//! \file
//! Runs that can be ended while they go on.
#ifndef TENON_RUN_H
#define TENON_RUN_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! Asked every 20 ms or so on the caller's thread, until the call returns; the work may go on. 0 ends the run.
    typedef int32_t (*TenonContinueCheck)(void* user);

    //! Runs as IExecutionContext::executeV2 does, or without `bindings` as enqueueV3 does, and ends early when
    //! `mayContinue` says so. The outputs of a run that was ended are not defined; the context can run again.
    //! \param context an nvinfer1::IExecutionContext. \param stream as for enqueueV3; 0 with `bindings`.
    //! \param bindings an address per I/O tensor; null: the addresses that were set.
    //! \return 1; 0 after a report to the context's logger and recorder.
    TENON_CALL int32_t tenonRun(
        void* context, void* stream, void* const* bindings, TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;

    //! Runs `batchSize` samples as IExecutionContext::enqueue does, on the default stream as execute does, and ends
    //! early when `mayContinue` says so.
    //! \param consumed an event to record once the inputs may be overwritten, or null.
    //! \param bindings an address per I/O tensor. \return 1; 0 after a report to the context's logger and recorder.
    TENON_CALL int32_t tenonRunBatch(void* context, int32_t batchSize, void* stream, void* consumed,
        void* const* bindings, TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;

    //! Sets memory as IExecutionContext::setDeviceMemoryV2 does, and says whether the context took it.
    //! \param bytes -1: what the engine needs at most.
    //! \return 1; 0 with nothing changed, after a report to the context's logger and recorder.
    TENON_CALL int32_t tenonSetDeviceMemory(void* context, void* memory, int64_t bytes) TENON_NOEXCEPT;

    //! For how long a thread that waits for other threads of a run spins before it sleeps: in the runs of contexts that
    //! are made with the config from now on.
    //! \param config an nvinfer1::IRuntimeConfig. \param microseconds 0: not at all; -1: as TENON_SPIN says.
    //! \return 1; 0 with nothing changed, after a report to the engine's logger and recorder.
    TENON_CALL int32_t tenonSetSpin(void* config, int64_t microseconds) TENON_NOEXCEPT;

    //! What tenonSetSpin has set; -1 at first.
    TENON_CALL int64_t tenonGetSpin(void const* config) TENON_NOEXCEPT;

    //! Whether an I/O tensor of an engine with an implicit batch has one copy for all samples.
    //! \param engine an nvinfer1::ICudaEngine.
    TENON_CALL int32_t tenonIsSharedBySamples(void const* engine, char const* tensor) TENON_NOEXCEPT;

    //! Whether the engine's tensors, but for shape tensors, are memory that the host cannot touch: a GPU's.
    //! \param engine an nvinfer1::ICudaEngine.
    TENON_CALL int32_t tenonIsOnGpu(void const* engine) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_RUN_H
