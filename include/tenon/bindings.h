//! \file
//! Runs and shape tensors by binding index, with values of 64 bits and with events.
#ifndef TENON_BINDINGS_H
#define TENON_BINDINGS_H

#include "tenon/run.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! Runs as IExecutionContext::enqueueV2 does and, on stream 0, ends early when `mayContinue` says so.
    //! \param context an nvinfer1::IExecutionContext. \param stream as for enqueueV2.
    //! \param bindings an address per I/O tensor; null for the shape tensors whose values were set by index.
    //! \param inputConsumed a cudaEvent_t that is recorded when the inputs have been read; null: none.
    //! \return 1; 0 after a report to the context's logger and recorder.
    TENON_CALL int32_t tenonEnqueueBindings(void* context, void* stream, void* const* bindings, void* inputConsumed,
        TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;

    //! Sets the values of a shape tensor as IExecutionContext::setInputShapeBinding does, whatever its type.
    //! \return 1; 0 with nothing changed, after a report to the context's logger and recorder.
    TENON_CALL int32_t tenonSetShapeInput(
        void* context, int32_t binding, int64_t const* values, int32_t count) TENON_NOEXCEPT;

    //! Copies the values of a shape tensor as IExecutionContext::getShapeBinding does, whatever its type.
    //! \return how many there are, of which at most `room` were copied; -1 after a report to logger and recorder.
    TENON_CALL int32_t tenonGetShape(void* context, int32_t binding, int64_t* values, int32_t room) TENON_NOEXCEPT;

    //! What IExecutionContext::getMaxOutputSize answers, for a run with these bindings: shape tensors whose values were
    //! not set by index have those that lie there.
    //! \return bytes; -1, without a report, while the shape of an input is not set or for what is no output.
    TENON_CALL int64_t tenonMaxOutputSize(
        void const* context, void* const* bindings, char const* tensor) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_BINDINGS_H
