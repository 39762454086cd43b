//! \file
//! Loading plans without copying them.
#ifndef TENON_LOAD_H
#define TENON_LOAD_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! Maps the file and loads the plan in it; weights stay in the page cache.
    //! \param runtime an nvinfer1::IRuntime. \return an nvinfer1::ICudaEngine, deleted by the caller; null after a
    //! report to the runtime's logger and recorder.
    TENON_CALL void* tenonDeserializeFile(void* runtime, char const* path) TENON_NOEXCEPT;

    //! Loads a plan in memory without copying it: the memory must stay as it is until `release(user)` is called. That
    //! happens once: when nothing needs the memory any more, or before this returns null.
    TENON_CALL void* tenonDeserializeShared(
        void* runtime, void const* blob, size_t size, void (*release)(void* user), void* user) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_LOAD_H
