//! \file
//! Memory and streams of the device that an engine runs on, for programs that run on every device and link no CUDA.
#ifndef TENON_ENGINE_MEMORY_H
#define TENON_ENGINE_MEMORY_H

#include "tenon/base.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

    //! Memory for tensors of the engine, as aligned as the device allocates; null when there is not enough.
    //! \param engine an nvinfer1::ICudaEngine, which outlives the memory.
    TENON_CALL void* tenonEngineAllocate(void const* engine, size_t bytes) TENON_NOEXCEPT;
    TENON_CALL void tenonEngineFree(void const* engine, void* memory) TENON_NOEXCEPT;

    //! Copies to the device's memory, or from it, behind what stands in the stream; over when it returns.
    //! \return 1; 0 where it failed, or work before it in the stream.
    TENON_CALL int32_t tenonEngineCopyIn(
        void const* engine, void* to, void const* from, size_t bytes, void* stream) TENON_NOEXCEPT;
    TENON_CALL int32_t tenonEngineCopyOut(
        void const* engine, void* to, void const* from, size_t bytes, void* stream) TENON_NOEXCEPT;

    //! A stream of the device's that does not wait for the default one; null where there is none to be had.
    TENON_CALL void* tenonEngineCreateStream(void const* engine) TENON_NOEXCEPT;
    TENON_CALL void tenonEngineDestroyStream(void const* engine, void* stream) TENON_NOEXCEPT;
    //! Returns when all is over that stands in the stream now. \return 1; 0 where that cannot be told.
    TENON_CALL int32_t tenonEngineAwait(void const* engine, void* stream) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_ENGINE_MEMORY_H
