//! \file
//! Loading plans from files, and without copying them.
#ifndef TENON_LOAD_H
#define TENON_LOAD_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! Reads the file into memory of the engine's own and loads the plan in it. What happens to the file afterwards
    //! changes nothing; a file that is written to meanwhile gives null or the plan that was in it. Memory of
    //! memfd_create that is sealed against writing and shrinking (its path is /proc/PID/fd/N) is used where it is:
    //! processes that load it share its pages.
    //! \param runtime an nvinfer1::IRuntime. \return an nvinfer1::ICudaEngine, deleted by the caller; null after a
    //! report to the runtime's logger and recorder.
    TENON_CALL void* tenonDeserializeFile(void* runtime, char const* path) TENON_NOEXCEPT;

    //! Loads a plan in memory without copying it: the memory must stay as it is until `release(user)` is called. (A
    //! file that is mapped changes when somebody writes to it, and may become shorter.) That happens once: when nothing
    //! needs the memory any more, or before this returns null.
    TENON_CALL void* tenonDeserializeShared(
        void* runtime, void const* blob, size_t size, void (*release)(void* user), void* user) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_LOAD_H
